"""The header of a `for`, and two idioms that stand for a plain bound: `i-- > 0` and `i + 1 < n`."""

from __future__ import annotations

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.c_values import c_value
from tilepragma.ir.expressions import (
    Access,
    Binary,
    Call,
    Cast,
    Conditional,
    DataObject,
    Expression,
    Increment,
    IntegerLiteral,
    integer,
)
from tilepragma.ir.loop_tree import Declaration
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INT, LONG, ScalarType, usual_type


@dataclass(frozen=True)
class Header:
    """The lowered header of a `for`; absent parts are None."""

    initialization: Declaration | Expression | None
    condition: Expression | None
    advance: Expression | None
    range: SourceRange


def is_iterator(expression: Expression, iterator: DataObject) -> bool:
    """Whether the expression is the iterator alone."""
    return (
        isinstance(expression, Access)
        and expression.object == iterator
        and not expression.subscripts
        and not expression.path
    )


def countdown_of(header: Header, iterator: DataObject, lower: Expression) -> tuple[Expression, str, Expression] | None:
    """(first value, comparison, bound) of `for (i = n; i-- > b;)` or `(i = n; --i >= b;)`.

    The step is -1. The final value is that of the plain loop, since the last decrement ends it.
    """
    condition = header.condition
    if header.advance is not None or condition is None:
        return None
    counted: Expression = condition
    comparison = "!="
    bound: Expression = integer(0)
    if isinstance(condition, Binary):
        counted, comparison, bound = condition.left, condition.operator, condition.right
        if isinstance(bound, Increment):
            counted, bound = bound, counted
            comparison = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(comparison, comparison)
    if not (isinstance(counted, Increment) and counted.operator == "--" and is_iterator(counted.target, iterator)):
        return None
    zero = isinstance(bound, IntegerLiteral) and bound.value == 0
    if not zero and _is_unsigned(iterator.element):
        return None
    if comparison == "!=" and _is_narrow(iterator.element):
        # Below 0 the iterator goes on to the least number of its type, and wraps.
        return None
    if not counted.prefix and (comparison == ">" or (comparison == "!=" and zero)):
        return _less(lower, integer(1)), ">=", bound
    if counted.prefix and comparison in (">", ">=") and not _is_unsigned(iterator.element):
        return _less(lower, integer(1)), comparison, bound
    return None


def shifted_bound(
    comparison: str, left: Expression, right: Expression, iterator: DataObject, lower: Expression
) -> tuple[str, Expression] | None:
    """(comparison, bound) with `i` alone of `i + c < n` or `i + c <= n`, or None."""
    if comparison not in ("<", "<=") or not (isinstance(left, Binary) and left.operator == "+"):
        return None
    shift = left.right if is_iterator(left.left, iterator) else left.left
    if not is_iterator(left.left, iterator) and not is_iterator(left.right, iterator):
        return None
    if not (isinstance(left.type, ScalarType) and isinstance(right.type, ScalarType)):
        return None
    common = usual_type(left.type, right.type)
    unsigned = _is_unsigned(iterator.element)
    if not (unsigned and iterator.element == left.type) and (common.signed or _is_natural(iterator, lower, shift)):
        return comparison, _less(right, shift)
    # In unsigned arithmetic n - c wraps if the loop does not run at all.
    natural = isinstance(shift, IntegerLiteral) and shift.value >= 0
    if not (natural or _is_unsigned(shift.type)):
        return None
    type_ = left.type if unsigned else common
    above, rest = (">", right) if comparison == "<" else (">=", Binary("+", right, integer(1), right.type, right.range))
    difference = Binary("-", rest, shift, type_, right.range)
    test = Binary(above, right, shift, integer(0).type, right.range)
    return "<", Conditional(test, difference, integer(0), type_, right.range)


def _is_natural(iterator: DataObject, lower: Expression, shift: Expression) -> bool:
    """Whether `i + c` is plainly not negative for an iterator that counts up."""
    first = 0 if _is_unsigned(iterator.element) else c_value(lower)
    by = c_value(shift)
    return first is not None and by is not None and first + by >= 0


def nearer_bound(first: tuple[str, Expression], second: tuple[str, Expression]) -> tuple[str, Expression] | None:
    """(comparison, bound) of `i < a && i < b`; None if b may fail, or directions differ."""
    (comparison, left), (also, right) = first, second
    if comparison == "!=" or comparison[0] != also[0] or any(map(_may_fail, walk(right))):
        return None
    mixed = left.type != right.type or comparison != also
    if mixed and (_is_unsigned(left.type) or _is_unsigned(right.type)):
        return None
    if comparison != also:
        left, right = (_inclusive(*bound) for bound in (first, second))
        comparison = comparison[0] + "="
    if left.type != right.type:
        left, right = (Cast(LONG, bound, bound.range) for bound in (left, right))
    test = Binary(comparison[0], left, right, INT, left.range)
    return comparison, Conditional(test, left, right, left.type, left.range)


def _may_fail(node: object) -> bool:
    if isinstance(node, Access):
        return bool(node.subscripts or node.path)
    return isinstance(node, Call) or (isinstance(node, Binary) and node.operator in ("/", "%"))


def _inclusive(comparison: str, bound: Expression) -> Expression:
    """The bound by <= or >=, in 64 bits."""
    wide = Cast(LONG, bound, bound.range)
    if comparison.endswith("="):
        return wide
    return Binary("-" if comparison == "<" else "+", wide, integer(1), LONG, bound.range)


def _less(value: Expression, by: Expression) -> Expression:
    """`value - by`, in 64 bits where it could wrap."""
    if isinstance(value, IntegerLiteral) and isinstance(by, IntegerLiteral):
        return integer(value.value - by.value)
    wide = value if not (_is_unsigned(value.type) or _is_unsigned(by.type)) else Cast(LONG, value, value.range)
    type_ = LONG if LONG in (wide.type, by.type) else wide.type
    return Binary("-", wide, by, type_, value.range)


def _is_narrow(type_: object) -> bool:
    return isinstance(type_, ScalarType) and type_.signed and type_.bits < INT.bits


def _is_unsigned(type_: object) -> bool:
    return isinstance(type_, ScalarType) and not type_.signed
