"""isl's AST as plain data, and its expressions as C: loops, conditions and leaves, with blocks
flattened; sums over iterators and parameters, quotients, conditions; functions and sets of
parameters that the host evaluates at a launch.

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
from tilepragma.poly.operation_limit import OperationLimitError

# islpy's stubs have other names than islpy.
_FOR = isl.ast_node_type["for_"]
_IF = isl.ast_node_type["if_"]
_Op = isl.ast_expr_op_type
_AND, _OR = isl.ast_expr_op_type["and_"], isl.ast_expr_op_type["or_"]
_LOOP_COMPARISONS: dict[isl.ast_expr_op_type | None, str] = {_Op.le: "<=", _Op.lt: "<"}


@dataclass(frozen=True)
class AstLoop:
    """`for (iterator = start; iterator comparison end; iterator += step) body`; `once`: one
    iteration.

    isl's loops count up: `step` is positive, `comparison` < or <=.
    """

    iterator: str
    start: isl.AstExpr
    comparison: str
    end: isl.AstExpr
    step: int
    once: bool
    body: tuple[AstNode, ...]


@dataclass(frozen=True)
class AstIf:
    """`if (condition) then else otherwise`."""

    condition: isl.AstExpr
    then: tuple[AstNode, ...]
    otherwise: tuple[AstNode, ...]


@dataclass(frozen=True)
class AstLeaf:
    """`statement(arguments)`: one instance, given by its iterators' values."""

    statement: str
    arguments: tuple[isl.AstExpr, ...]


AstNode = AstLoop | AstIf | AstLeaf


def ast_nodes(node: isl.AstNode) -> tuple[AstNode, ...]:
    """The tree under an isl node."""
    kind = isl.ast_node_type(node.get_type())
    if kind == isl.ast_node_type.block:
        children = node.block_get_children()
        return tuple(node for place in range(children.n_ast_node()) for node in ast_nodes(children.get_at(place)))
    if kind == _FOR:
        return (_loop(node),)
    if kind == _IF:
        otherwise = ast_nodes(node.if_get_else_node()) if node.if_has_else_node() else ()
        return (AstIf(node.if_get_cond(), ast_nodes(node.if_get_then_node()), otherwise),)
    function, *arguments = operands(node.user_get_expr())
    return (AstLeaf(function.get_id().get_name(), tuple(arguments)),)


def leaves_of(nodes: tuple[AstNode, ...]) -> Iterator[AstLeaf]:
    """All leaves of a tree, in textual order."""
    for node in nodes:
        if isinstance(node, AstLoop):
            yield from leaves_of(node.body)
        elif isinstance(node, AstIf):
            yield from leaves_of(node.then)
            yield from leaves_of(node.otherwise)
        else:
            yield node


def operation(ast: isl.AstExpr) -> isl.ast_expr_op_type | None:
    """The operation of an expression; None for numbers and identifiers."""
    is_operation = isl.ast_expr_type(ast.get_type()) == isl.ast_expr_type.op
    return isl.ast_expr_op_type(ast.get_op_type()) if is_operation else None


def operands(ast: isl.AstExpr) -> tuple[isl.AstExpr, ...]:
    """The arguments of an operation."""
    return tuple(ast.get_op_arg(place) for place in range(ast.get_op_n_arg()))


def identifier(ast: isl.AstExpr) -> str | None:
    """The name of an identifier; None for other expressions."""
    is_name = isl.ast_expr_type(ast.get_type()) == isl.ast_expr_type.id
    return str(ast.get_id().get_name()) if is_name else None


def _loop(node: isl.AstNode) -> AstLoop:
    iterator = node.for_get_iterator().get_id().get_name()
    start = node.for_get_init()
    if node.for_is_degenerate():
        return AstLoop(iterator, start, "<=", start, 1, True, ast_nodes(node.for_get_body()))
    condition = node.for_get_cond()
    comparison = _LOOP_COMPARISONS.get(operation(condition))
    if comparison is None:
        # isl found no end, as for some sets with divisions.
        raise OperationLimitError("isl found no bound for a loop.")
    step = int(node.for_get_inc().get_val().to_python())
    return AstLoop(iterator, start, comparison, condition.get_op_arg(1), step, False, ast_nodes(node.for_get_body()))


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
        operator = operation(ast)
        if operator is None:
            name = identifier(ast)
            return number(_number(ast.get_val())) if name is None else self.values[name]
        arguments = operands(ast)
        if operator in (_Op.add, _Op.sub, _Op.minus):
            return combination(self._terms(ast, 1))
        if operator == _Op.mul:
            return self.value(arguments[0]) * self.value(arguments[1])
        if operator in (_Op.min, _Op.max):
            extreme = minimum if operator == _Op.min else maximum
            return extreme(self.value(argument) for argument in arguments)
        if operator == _Op.fdiv_q:
            return helper("tilek_floor_quotient", self.value(arguments[0]), self.value(arguments[1]))
        if operator in _QUOTIENTS:
            left, right = (long_expression(self.value(argument)) for argument in arguments)
            return of_atom(Binary(_QUOTIENTS[operator], left, right, LONG))
        if operator in (_Op.cond, _Op.select):
            return select(self.condition(arguments[0]), self.value(arguments[1]), self.value(arguments[2]))
        return of_atom(self.condition(ast))

    def condition(self, ast: isl.AstExpr) -> Expression:
        """A truth-valued expression, of type int."""
        operator = operation(ast)
        if operator in _COMPARISONS:
            left, right = (short_expression(self.value(argument)) for argument in operands(ast))
            return Binary(_COMPARISONS[operator], left, right, INT)
        if operator in _CONNECTIVES:
            connective = _CONNECTIVES[operator]
            parts = [self.condition(argument) for argument in operands(ast)]
            return reduce(lambda left, right: Binary(connective, left, right, INT), parts)
        return short_expression(self.value(ast))

    def _terms(self, ast: isl.AstExpr, sign: int) -> Iterator[tuple[int, Polynomial]]:
        """The terms (sign, value) of a sum, with nested sums split."""
        operator = operation(ast)
        if operator in (_Op.add, _Op.sub):
            left, right = operands(ast)
            yield from self._terms(left, sign)
            yield from self._terms(right, sign if operator == _Op.add else -sign)
        elif operator == _Op.minus:
            yield from self._terms(operands(ast)[0], -sign)
        elif operator == _Op.fdiv_q and sign < 0:
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
    return of_atom(Call(function, Callee.HELPER, (short_expression(left), short_expression(right)), LONG))


def reader_of(parameters: Mapping[str, Expression]) -> AstReader:
    """Reads isl's expressions over parameters, by name."""
    return AstReader({name: polynomial(value) for name, value in parameters.items()})


#: Functions of more cases are too long for every launch.
_MOST_PIECES = 6


@dataclass(frozen=True)
class ParameterTest:
    """A test of parameters; None where it always holds."""

    test: Expression | None


@dataclass(frozen=True)
class ParameterReader:
    """Writes short functions and sets as C; `parameters`: each parameter's expression by name."""

    context: isl.Context
    parameters: Mapping[str, Expression]

    def value(self, function: isl.PwAff) -> Polynomial | None:
        """[p] -> { [v(p)] }; None where it has too many cases."""
        function = function.coalesce()
        if function.n_piece() > _MOST_PIECES:
            return None
        return self._ast.value(self._build.expr_from_pw_aff(function))

    def condition(self, holds: isl.Set) -> ParameterTest | None:
        """{ [p] : holds }; None where it has too many cases."""
        holds = holds.coalesce()
        if holds.n_basic_set() > _MOST_PIECES:
            return None
        if holds.is_equal(isl.Set.universe(holds.get_space())):
            return ParameterTest(None)
        return ParameterTest(self._ast.condition(self._build.expr_from_set(holds)))

    def constraints(self, holds: isl.BasicSet) -> tuple[Expression, ...]:
        """{ [p] : holds } as tests that all hold, one for each constraint."""
        universe = isl.BasicSet.universe(holds.get_space())
        sets = (isl.Set.from_basic_set(universe.add_constraint(constraint)) for constraint in holds.get_constraints())
        return tuple(self._ast.condition(self._build.expr_from_set(set_)) for set_ in sets)

    @property
    def _build(self) -> isl.AstBuild:
        return isl.AstBuild.from_context(isl.Set.universe(isl.Space.params_alloc(self.context, 0)))

    @property
    def _ast(self) -> AstReader:
        return reader_of(self.parameters)
