"""Expressions of isl's AST as C expressions: sums over iterators and parameters, quotients,
conditions.

Values are polynomials, computed in 64 bits for scalars of all types. isl divides by positive
constants only; where the dividend may be negative, the quotient is a helper of tilek.h.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Binary, Call, Callee, Cast, Expression, IntegerLiteral, Unary, integer
from tilepragma.ir.polynomial import Polynomial, combination, maximum, minimum, number, of_atom, polynomial, select
from tilepragma.ir.polynomial import expression as plain_expression
from tilepragma.ir.types import INT, LONG, ScalarType
from tilepragma.poly.ast_tree import identifier, operands, operation
from tilepragma.poly.operation_limit import OperationLimitError

_Op = isl.ast_expr_op_type
# islpy's stubs have other names than islpy.
_AND, _OR = isl.ast_expr_op_type["and_"], isl.ast_expr_op_type["or_"]
_COMPARISONS = {_Op.eq: "==", _Op.le: "<=", _Op.lt: "<", _Op.ge: ">=", _Op.gt: ">"}
_CONNECTIVES = {_AND: "&&", _Op.and_then: "&&", _OR: "||", _Op.or_else: "||"}
_QUOTIENTS = {_Op.div: "/", _Op.pdiv_q: "/", _Op.pdiv_r: "%", _Op.zdiv_r: "%"}


@dataclass(frozen=True)
class AstReader:
    """Reads isl's expressions; `values` maps its identifiers. Raises OperationLimitError where a
    number does not fit 64 bits.
    """

    values: Mapping[str, Polynomial]

    def value(self, ast: isl.AstExpr) -> Polynomial:
        """An integer-valued expression."""
        does = operation(ast)
        if does is None:
            name = identifier(ast)
            return number(_number(ast.get_val())) if name is None else self.values[name]
        arguments = operands(ast)
        if does in (_Op.add, _Op.sub, _Op.minus):
            return combination(self._terms(ast, 1))
        if does == _Op.mul:
            return self.value(arguments[0]) * self.value(arguments[1])
        if does in (_Op.min, _Op.max):
            extreme = minimum if does == _Op.min else maximum
            return extreme(self.value(argument) for argument in arguments)
        if does == _Op.fdiv_q:
            return helper("tilek_floor_quotient", self.value(arguments[0]), self.value(arguments[1]))
        if does in _QUOTIENTS:
            left, right = (long_expression(self.value(argument)) for argument in arguments)
            return of_atom(Binary(_QUOTIENTS[does], left, right, LONG))
        if does in (_Op.cond, _Op.select):
            return select(self.condition(arguments[0]), self.value(arguments[1]), self.value(arguments[2]))
        return of_atom(self.condition(ast))

    def condition(self, ast: isl.AstExpr) -> Expression:
        """A truth-valued expression, of type int."""
        does = operation(ast)
        if does in _COMPARISONS:
            left, right = (short_expression(self.value(argument)) for argument in operands(ast))
            return Binary(_COMPARISONS[does], left, right, INT)
        if does in _CONNECTIVES:
            connective = _CONNECTIVES[does]
            parts = [self.condition(argument) for argument in operands(ast)]
            return reduce(lambda left, right: Binary(connective, left, right, INT), parts)
        return short_expression(self.value(ast))

    def _terms(self, ast: isl.AstExpr, sign: int) -> Iterator[tuple[int, Polynomial]]:
        """The terms (sign, value) of a sum, with nested sums split."""
        does = operation(ast)
        if does in (_Op.add, _Op.sub):
            left, right = operands(ast)
            yield from self._terms(left, sign)
            yield from self._terms(right, sign if does == _Op.add else -sign)
        elif does == _Op.minus:
            yield from self._terms(operands(ast)[0], -sign)
        elif does == _Op.fdiv_q and sign < 0:
            dividend, divisor = (self.value(operand) for operand in operands(ast))
            yield 1, helper("tilek_ceiling_quotient", -dividend, divisor)
        else:
            yield sign, self.value(ast)


def _number(value: isl.Val) -> int:
    integer_ = int(value.to_python())
    if abs(integer_) >= 2**63:
        raise OperationLimitError(f"The number {integer_} in the bounds of a loop does not fit 64 bits.")
    return integer_


def increased(value: Polynomial) -> Polynomial:
    """value + 1; a minimum becomes the minimum of increased values."""
    atom = value.terms[0][0][0] if len(value.terms) == 1 and value.terms[0][0] else None
    if isinstance(atom, Call) and value == of_atom(atom) and atom.function == "tilek_minimum":
        return minimum(increased(polynomial(argument)) for argument in atom.arguments)
    return value + number(1)


def negated(value: Polynomial) -> Polynomial:
    """-value; a minimum becomes the maximum of negated values."""
    atom = value.terms[0][0][0] if len(value.terms) == 1 and value.terms[0][0] else None
    if isinstance(atom, Call) and value == of_atom(atom) and atom.function in _MIRRORED:
        return _MIRRORED[atom.function](negated(polynomial(argument)) for argument in atom.arguments)
    return -value


_MIRRORED: dict[str, Callable[..., Polynomial]] = {"tilek_minimum": maximum, "tilek_maximum": minimum}


def long_expression(value: Polynomial) -> Expression:
    """C of type long for the polynomial, without suffixes of small numbers."""
    return _with_plain_numbers(plain_expression(value))


def short_expression(value: Polynomial) -> Expression:
    """The same for contexts that convert to long: a number or signed variable stays as it is."""
    written = long_expression(value)
    if isinstance(written, IntegerLiteral):
        return _literal(written)
    if isinstance(written, Cast) and isinstance(written.operand.type, ScalarType) and written.operand.type.signed:
        return written.operand
    return written


def _with_plain_numbers(value: Expression) -> Expression:
    """The expression without suffixes of literals next to values of type long."""
    if isinstance(value, Binary) and value.type == LONG and value.operator in ("+", "-", "*", "/", "%"):
        left, right = _with_plain_numbers(value.left), _with_plain_numbers(value.right)
        if isinstance(right, IntegerLiteral):
            right = _literal(right)
        elif isinstance(left, IntegerLiteral):
            left = _literal(left)
        return Binary(value.operator, left, right, LONG)
    if isinstance(value, Unary):
        return Unary(value.operator, _with_plain_numbers(value.operand), value.type)
    if isinstance(value, Call) and value.callee is Callee.HELPER:
        arguments = tuple(short_expression(polynomial(argument)) for argument in value.arguments)
        return Call(value.function, value.callee, arguments, value.type)
    return value


def _literal(value: IntegerLiteral) -> IntegerLiteral:
    return integer(value.value) if -(2**31) < value.value < 2**31 else value


def helper(function: str, left: Polynomial, right: Polynomial) -> Polynomial:
    """A call of a binary function of tilek.h."""
    arguments = (short_expression(left), short_expression(right))
    return of_atom(Call(function, Callee.HELPER, arguments, LONG))
