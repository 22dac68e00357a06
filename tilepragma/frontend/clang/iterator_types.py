"""The parts of a `for` header in the types in which C computes them.

An iterator wraps, and C converts it where it is compared. Constants become the numbers that C makes
of them. Launch checks test the values that only a launch knows (planner/overflow_guards.py).
"""

from __future__ import annotations

from tilepragma.frontend.clang.literals import constant
from tilepragma.ir.c_values import c_value, converted, least_and_greatest
from tilepragma.ir.expressions import Cast, DataObject, Expression
from tilepragma.ir.types import INT, ScalarType, promoted, usual_type


def is_integer(value: Expression) -> bool:
    """Whether a value is an integer."""
    return isinstance(value.type, ScalarType) and value.type.is_integer


def started(lower: Expression, iterator: DataObject) -> Expression:
    """The first value of the iterator: `lower` converted to its type.

    If the type is narrow and conversion may change the value, a cast stands for it; otherwise the
    launch checks that the value stays.
    """
    type_ = _type(iterator)
    known = c_value(Cast(type_, lower, lower.range))
    if known is not None:
        return lower if known == c_value(lower) else constant(known, promoted(type_), lower.range)
    if not isinstance(lower.type, ScalarType) or lower.type.is_floating:
        return Cast(type_, lower, lower.range)
    (low, high), (least, greatest) = least_and_greatest(lower.type), least_and_greatest(type_)
    changes = low < least or high > greatest
    return Cast(type_, lower, lower.range) if changes and type_.bits < INT.bits else lower


def compared(upper: Expression, iterator: DataObject) -> Expression:
    """The bound in the type in which C compares it, if that changes the constant."""
    known = c_value(upper)
    if known is None or not isinstance(upper.type, ScalarType):
        return upper
    common = usual_type(_type(iterator), upper.type)
    value = converted(known, common)
    return upper if value == known else constant(value, common, upper.range)


def added(step: Expression, sign: int, iterator: DataObject) -> tuple[Expression, int]:
    """A step (if constant, modulo the type: 4294967297 adds 1 to an `int`), and its sign."""
    known, type_ = c_value(step), _type(iterator)
    if known is None:
        return step, sign
    kept = abs(known) % (1 << type_.bits) * (1 if known > 0 else -1)
    return (step, sign) if kept == known else (constant(kept, step.type, step.range), (kept > 0) - (kept < 0))


def leaves_its_type(
    lower: Expression, comparison: str, upper: Expression, step: Expression, iterator: DataObject
) -> bool:
    """Whether the loop surely passes its bound, where the iterator's or comparison's type ends."""
    type_, first, last, by = _type(iterator), c_value(lower), c_value(upper), c_value(step)
    if last is None or by is None or not by or not isinstance(upper.type, ScalarType):
        return False
    least, greatest = least_and_greatest(type_)
    common = usual_type(type_, upper.type)
    if type_.signed and not common.signed:
        least = 0
        if first is not None and first < 0:
            return True
    if comparison == "!=":
        return not least <= last <= greatest or (first is not None and first != last and (last > first) != (by > 0))
    closed = len(comparison) == 2
    if first is not None:
        distance = (last - first) * (1 if by > 0 else -1) + closed
        behind = first + max(0, -(-distance // abs(by))) * by
    elif abs(by) == 1:
        behind = last + by * closed
    else:
        return False
    return not least <= behind <= greatest


def _type(iterator: DataObject) -> ScalarType:
    assert isinstance(iterator.element, ScalarType)
    return iterator.element
