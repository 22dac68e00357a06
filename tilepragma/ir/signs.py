"""Which floating values are never -0.0: a minimum or maximum of both zeros keeps either.

Arrays, parameters and outside variables are unknown. A fact about a variable must hold for all
values that the code assigns to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import uses
from tilepragma.ir.expressions import (
    COMPARISONS,
    Access,
    Assignment,
    Binary,
    Call,
    Callee,
    Cast,
    Comma,
    Conditional,
    DataObject,
    Expression,
    FloatingLiteral,
    IntegerLiteral,
    Storage,
    Unary,
)
from tilepragma.ir.flow import exposed_read
from tilepragma.ir.loop_tree import Declarator, Function, Return
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ScalarType

_NOT_NEGATIVE = ("fabs", "exp", "exp2", "hypot", "cosh")
_AS_THEIR_ARGUMENTS = ("sqrt", "fmin", "fmax")


@dataclass(frozen=True)
class Signs:
    """The signs of values in `body` and the functions that it calls.

    For the minima and maxima `settled`, launches correct the sign of a zero, so they need no order.
    With `strict` the question is whether a value is never of negative sign, NaNs aside. `asked` are
    the variables on the way to a question. They may be assumed, by induction.
    """

    body: Any
    functions: tuple[Function, ...] = ()
    settled: frozenset[DataObject] = frozenset()
    strict: bool = False
    asked: frozenset[tuple[DataObject, bool]] = frozenset()

    def never_negative_zero(self, value: Expression) -> bool:
        """Whether the expression's value, if it is 0, is +0.0 or an integer."""
        type_ = value.type
        if not isinstance(type_, ScalarType):
            return False
        if type_.is_integer and (not self.strict or not type_.signed):
            return True
        if isinstance(value, IntegerLiteral):
            return value.value >= 0
        if isinstance(value, FloatingLiteral):
            return math.copysign(1.0, value.value) > 0
        if isinstance(value, Cast):
            return self._converted(value, type_)
        if isinstance(value, Conditional):
            return self.never_negative_zero(value.then) and self.never_negative_zero(value.otherwise)
        if isinstance(value, Comma):
            return self.never_negative_zero(value.right)
        if isinstance(value, Assignment):
            return value.operator == "=" and self.never_negative_zero(Cast(type_, value.value))
        if isinstance(value, Unary):
            return value.operator == "!" or (value.operator == "+" and self.never_negative_zero(value.operand))
        if isinstance(value, Binary):
            return self._computed(value, type_)
        if isinstance(value, Call):
            return self._called(value)
        return isinstance(value, Access) and self._kept(value)

    def _converted(self, value: Cast, type_: ScalarType) -> bool:
        operand = value.operand.type
        if not isinstance(operand, ScalarType) or (type_.is_integer and operand.bits >= type_.bits):
            return False
        # Small numbers become zeros of their sign in a narrower type.
        narrows = operand.is_floating and operand.bits > type_.bits
        return (self._stricter if narrows else self).never_negative_zero(value.operand)

    def _computed(self, value: Binary, type_: ScalarType) -> bool:
        left, right, operator = value.left, value.right, value.operator
        if operator in (*COMPARISONS, "&&", "||"):
            return True
        if type_.is_integer:
            return False  # it may overflow
        if operator in ("*", "/"):
            square = operator == "*" and left == right and not any(isinstance(node, Call) for node in walk(left))
            return square or (self._stricter.never_negative_zero(left) and self._stricter.never_negative_zero(right))
        if operator == "+":
            return (self._stricter.never_negative_zero(left) and self._stricter.never_negative_zero(right)) or (
                not self.strict
                and not _fused(left, right)
                and (self.never_negative_zero(left) or self.never_negative_zero(right))
            )
        return operator == "-" and not self.strict and not _fused(left, right) and self.never_negative_zero(left)

    def _called(self, call: Call) -> bool:
        if call.callee is Callee.MATH:
            name = call.function.removesuffix("f").removesuffix("l")
            as_arguments = name in _AS_THEIR_ARGUMENTS and all(map(self.never_negative_zero, call.arguments))
            return name in _NOT_NEGATIVE or as_arguments
        function = next((function for function in self.functions if function.name == call.function), None)
        if call.callee is not Callee.USER or function is None or not isinstance(function.result, ScalarType):
            return False
        inside = Signs(function.body, self.functions, strict=self.strict)
        returned = [node.value for node in walk(function.body) if isinstance(node, Return)]
        return bool(returned) and all(
            value is not None and inside.never_negative_zero(Cast(function.result, value)) for value in returned
        )

    def _kept(self, access: Access) -> bool:
        object_ = access.object
        if access.path or object_.storage is not Storage.SCALAR or object_.volatile:
            return False
        if (object_, self.strict) in self.asked:
            return True
        body, functions = self.body, self.functions
        values = tuple(_assigned(body, object_))
        changes = [use for use in uses(body, functions) if use.object == object_ and use.writes]
        if not values or len(changes) != len(values) or exposed_read(body, object_, functions) is not None:
            return False
        further = replace(self, asked=self.asked | {(object_, self.strict)})
        return all(further.never_negative_zero(Cast(object_.element, value)) for value in values)

    @property
    def _stricter(self) -> Signs:
        return replace(self, strict=True)


def _assigned(body: Any, object_: DataObject) -> Iterator[Expression]:
    """The values that a variable is set to; nothing for its other changes."""
    for node in walk(body):
        if isinstance(node, Declarator) and node.object == object_ and isinstance(node.initializer, Expression):
            yield node.initializer
        elif isinstance(node, Assignment) and node.target.object == object_ and node.operator == "=":
            yield node.value


def _fused(*operands: Expression) -> bool:
    """Whether an operand is a product, which compilers may add without rounding."""
    return any(isinstance(operand, Binary) and operand.operator == "*" for operand in operands)
