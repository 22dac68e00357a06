"""Value ranges of subscripts that are no sums: remainders, table values, small types, choices.

    { v(e, i) : i an iteration, along any path } subset of [low, high]

The launch knows low and high. The range need not be the smallest one, and does not say whether any
iteration exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Assignment,
    Binary,
    Cast,
    Conditional,
    DataObject,
    Expression,
    Increment,
    IntegerLiteral,
    Scope,
    Storage,
    Unary,
)
from tilepragma.ir.loop_tree import Block, Declarator, Loop
from tilepragma.ir.polynomial import (
    Polynomial,
    expression,
    keeps_value,
    maximum,
    minimum,
    not_negative,
    number,
    polynomial,
    select,
)
from tilepragma.ir.traversal import children, walk
from tilepragma.ir.types import INT, LONG, ScalarType, is_integer, least_and_greatest
from tilepragma.poly.extents import Bounds, around

#: Greater numbers are those of hash functions, whose products wrap.
_GREATEST = 1 << 31

_TRUTH = ("<", "<=", ">", ">=", "==", "!=", "&&", "||")


class UnboundedError(Exception):
    """The value has no known bounds."""


_ONE = number(1)
_NOTHING = number(0)


def _between(low: int, high: int) -> Bounds:
    return Bounds(number(low), number(high))


@dataclass
class ValueRanges:
    """The ranges of a region's values; `invariant` says what the host can evaluate at launch."""

    body: Block
    invariant: Callable[[Expression], bool]
    _known: dict[DataObject, Bounds | None] = field(default_factory=dict)
    _sources: Mapping[DataObject, list[Any]] | None = None

    def of(self, value: Expression) -> Bounds:
        """The range of a value of the region. Raises UnboundedError."""
        value_range = self._of(value)
        type_ = value.type
        if isinstance(type_, ScalarType) and not type_.signed and type_.bits < LONG.bits and not value_range.is_natural:
            raise UnboundedError  # it wraps
        return value_range

    def _of(self, value: Expression) -> Bounds:
        if self.invariant(value) and is_integer(value.type):
            exact = polynomial(value)
            if any(abs(factor) > _GREATEST for _, factor in exact.terms):
                raise UnboundedError
            return Bounds(exact, exact)
        match value:
            case IntegerLiteral(number_) if abs(number_) <= _GREATEST:
                return _between(number_, number_)
            case Access():
                return self._of_access(value)
            case Unary("-", operand):
                inner = self.of(operand)
                return Bounds(-inner.high, -inner.low)
            case Unary("+", operand):
                return self.of(operand)
            case Unary("!", _):
                return _between(0, 1)
            case Binary():
                return self._of_binary(value)
            case Conditional(_, then, otherwise):
                return around((self.of(then), self.of(otherwise)))
            case Cast(_, operand) if keeps_value(value) or (value.type == INT and is_integer(operand.type)):
                return self.of(operand)
            case Cast():
                return _of_type(value)
        raise UnboundedError

    def _of_access(self, value: Access) -> Bounds:
        object_ = value.object
        if value.path or object_.volatile:
            raise UnboundedError
        if object_.storage is not Storage.SCALAR:
            integers = [value for value in object_.values if isinstance(value, int)]
            if object_.table and integers and len(integers) == len(object_.values):
                return _between(min(*integers, 0), max(*integers, 0))
            return _of_type(value)
        if object_ not in self._known:
            self._known[object_] = None
            self._known[object_] = self._of_scalar(object_)
        value_range = self._known[object_]
        if value_range is None:
            raise UnboundedError
        return value_range

    def _of_scalar(self, object_: DataObject) -> Bounds:
        """The range of all values that the region gives the object, in any order."""
        value_range: Bounds | None = None
        for source in self._sources_of(object_):
            if isinstance(source, Loop):
                source_range = self._of_iterator(source)
            elif source is None:
                raise UnboundedError
            else:
                source_range = self.of(source)
            value_range = source_range if value_range is None else around((value_range, source_range))
        if value_range is None or (object_.scope is not Scope.LOCAL and is_read_outside_loops(object_, self.body)):
            raise UnboundedError
        return value_range

    def _of_iterator(self, loop: Loop) -> Bounds:
        """The iterator's values, also after a loop that it outlives; low > high if empty."""
        step = polynomial(loop.step).constant
        if step is None:
            raise UnboundedError
        first, end = self.of(loop.lower), self.of(loop.upper)
        short = number(0 if len(loop.comparison) == 2 and loop.comparison != "!=" else 1)
        past = number(abs(step))
        if loop.decreasing:
            last = end.low + short
            return Bounds(last if loop.declares_iterator else minimum((first.low, last - past)), first.high)
        last = end.high - short
        return Bounds(first.low, last if loop.declares_iterator else maximum((first.high, last + past)))

    def _sources_of(self, object_: DataObject) -> list[Any]:
        """What gives an object its values: expressions, loops over it, and None for all else."""
        if self._sources is None:
            sources: dict[DataObject, list[Any]] = {}
            for node in walk(self.body):
                for assigned, source in _sources_in(node):
                    sources.setdefault(assigned, []).append(source)
            self._sources = sources
        return self._sources.get(object_, [])

    def _of_binary(self, value: Binary) -> Bounds:
        if value.operator in _TRUTH:
            return _between(0, 1)
        if value.operator == "%":
            return self._of_remainder(value)
        if value.operator == "&":
            masks = [mask.value for mask in (value.right, value.left) if isinstance(mask, IntegerLiteral)]
            fitting = [mask for mask in masks if 0 <= mask <= _GREATEST]
            if not fitting:
                raise UnboundedError
            return _between(0, fitting[0])
        if value.operator in ("^", "|"):
            ends = [side.high.constant for side in (self.of(value.left), self.of(value.right)) if side.is_natural]
            known = [end for end in ends if end is not None]
            if len(known) < 2:
                raise UnboundedError
            return _between(0, (1 << max(known).bit_length()) - 1)
        type_ = value.type
        if isinstance(type_, ScalarType) and not type_.signed and type_.bits < LONG.bits:
            raise UnboundedError  # it may wrap
        left, right = self.of(value.left), self.of(value.right)
        match value.operator:
            case "+":
                return Bounds(left.low + right.low, left.high + right.high)
            case "-":
                return Bounds(left.low - right.high, left.high - right.low)
            case "*":
                return _product(left, right)
            case "/" | ">>" if left.is_natural and right.low == right.high and (right.low.constant or 0) > 0:
                by = right.low if value.operator == "/" else number(1 << min(right.low.constant or 0, 30))
                return Bounds(_NOTHING, _quotient(left.high, by))
        raise UnboundedError

    def _of_remainder(self, value: Binary) -> Bounds:
        """-|m| < x % m < |m|, with the sign of x."""
        by = self.of(value.right)
        size = maximum((by.high, -by.low)) - _ONE if by.low.constant is None or by.low.constant < 0 else by.high - _ONE
        type_ = value.type
        if isinstance(type_, ScalarType) and not type_.signed:
            return Bounds(_NOTHING, size)
        try:
            least = self.of(value.left).low
        except UnboundedError:
            return Bounds(-size, size)
        if least.constant is not None:
            return Bounds(_NOTHING if least.constant >= 0 else -size, size)
        return Bounds(select(not_negative(least), _NOTHING, -size), size)


def is_read_outside_loops(object_: DataObject, node: Any) -> bool:
    """Whether the region, outside loops over it, may read a variable's earlier value."""
    if isinstance(node, Access) and node.object == object_:
        return True
    inside = isinstance(node, Loop) and node.iterator == object_
    return any(is_read_outside_loops(object_, child) for child in children(node) if not (inside and child is node.body))


def _sources_in(node: Any) -> Iterable[tuple[DataObject, Any]]:
    """The objects that a node gives values, with the sources of these (`_sources_of`)."""
    match node:
        case Declarator() if node.initializer is not None:
            yield node.object, node.value
        case Assignment("=", target, value):
            yield target.object, value
        case Assignment(_, target, _) | Increment(_, _, target) | AddressOf(target):
            yield target.object, None
        case Loop():
            yield node.iterator, node


def _of_type(value: Expression) -> Bounds:
    """The range of a small type."""
    type_ = value.type
    if not isinstance(type_, ScalarType) or type_.is_floating or type_.bits > 16:
        raise UnboundedError
    return _between(*least_and_greatest(type_))


def _quotient(value: Polynomial, by: Polynomial) -> Polynomial:
    if value.constant is not None and by.constant:
        return number(value.constant // by.constant)
    return polynomial(Binary("/", expression(value), expression(by), LONG))


def _product(left: Bounds, right: Bounds) -> Bounds:
    if left.is_natural and right.is_natural:
        return Bounds(left.low * right.low, left.high * right.high)
    if left.low == left.high and right.low == right.high:
        return Bounds(left.low * right.low, left.low * right.low)
    corners = [end * other_end for end in (left.low, left.high) for other_end in (right.low, right.high)]
    return Bounds(minimum(corners), maximum(corners))
