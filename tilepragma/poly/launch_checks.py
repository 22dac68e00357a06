"""Launch checks, decided at translation where possible: for all values of their parameters.

    n / max(n + 1, 1) >= 1      holds for no n           m >= 0, m unsigned      holds for every m

The facts on parameters are the ranges of their types, and for a quotient q = a / d with d >= 1:
q <= 0 where a < 0, q = 0 where 0 <= a < d, q = 1 where d <= a < 2 d, and 2 <= q <= a beyond. A
check that is not affine in these stays undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

import islpy as isl

from tilepragma.ir.c_values import never_wraps
from tilepragma.ir.expressions import Access, Binary, Cast, Expression, access_to
from tilepragma.ir.loop_tree import Declarator, Loop
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.quotients import unguarded
from tilepragma.ir.traversal import changed_in, walk
from tilepragma.ir.types import ScalarType, is_integer
from tilepragma.poly.affine import Frame, NotAffineError, affine, between_ends, condition

#: The greatest number of quotients with cases: each may double or triple the pieces of the set.
_MOST_QUOTIENTS = 3


def undecided(conditions: Iterable[Expression]) -> tuple[Expression, ...]:
    """The conditions without those that hold for all values of their parameters."""
    return tuple(condition for condition in conditions if not _always(condition))


def can_hold(conditions: Iterable[Expression]) -> bool:
    """Whether the conditions may hold together; False only where that is certain."""
    frame = Frame(isl.Context(), (), frozenset())
    holds = isl.Set.universe(frame.space)
    for expression in conditions:
        try:
            holds = holds.intersect(condition(expression, frame))
        except NotAffineError:
            continue
    return not holds.params().intersect(possible_values(frame)).is_empty()


def possible_values(frame: Frame) -> isl.Set:
    """{ [p] : values that the frame's parameters may have }, or a larger set."""
    space = Frame(frame.context, (), frame.written)
    result = isl.Set.universe(space.space)
    quotients = 0
    for value in [unguarded(parameter) for parameter in frame.parameters.values()]:
        if isinstance(value, Access | Cast):
            result = result.intersect(_in_type(value, space))
        elif isinstance(value, Binary) and value.operator == "/" and quotients < _MOST_QUOTIENTS:
            quotients += 1
            result = result.intersect(_quotient(value, space))
    return result.params()


def may_leave(value: Expression, least: int | None, greatest: int | None, loops: Sequence[Loop]) -> bool:
    """Whether a value may leave [least, greatest] in the loops, outermost first, as far as these
    are affine; False where the value is not, so that plans must not rely on it.
    """
    if not loops:
        return False
    bodies = loops[0].body
    declared = {node.object: node.value for node in walk(bodies) if isinstance(node, Declarator)}
    changed = changed_in(bodies)
    frame = Frame(isl.Context(), tuple(loop.iterator for loop in loops), frozenset({*declared, *changed}))
    for object_, initial in declared.items():
        if object_ not in changed and initial is not None:
            with suppress(NotAffineError):
                frame = frame.knowing(object_, affine(initial, frame))
    try:
        number = affine(value, frame)
    except NotAffineError:
        return False
    outside = isl.Set.empty(frame.space)
    if least is not None:
        outside = outside.union(number.lt_set(frame.number(least)))
    if greatest is not None:
        outside = outside.union(number.gt_set(frame.number(greatest)))
    for loop in loops:
        with suppress(NotAffineError):
            outside = outside.intersect(between_ends(loop, affine(access_to(loop.iterator), frame), frame))
    return not outside.intersect_params(possible_values(frame)).is_empty()


def _always(expression: Expression) -> bool:
    frame = Frame(isl.Context(), (), frozenset())
    try:
        holds = condition(expression, frame)
    except NotAffineError:
        return False
    return bool(possible_values(frame).is_subset(holds.params()))


def _in_type(value: Access | Cast, frame: Frame) -> isl.Set:
    """{ [p] : values of the parameter's type }"""
    type_ = value.type
    if not is_integer(type_):
        return isl.Set.universe(frame.space)
    high = 2 ** (type_.bits - 1) if type_.signed else 2**type_.bits
    low = -high if type_.signed else 0
    parameter = affine(value, frame)
    return parameter.ge_set(frame.number(low)).intersect(parameter.lt_set(frame.number(high)))


def _quotient(value: Binary, frame: Frame) -> isl.Set:
    """{ [p] : quotients by C's division }, or more"""
    signed = isinstance(value.type, ScalarType) and value.type.signed
    if not signed and not (never_wraps(polynomial(value.left)) and never_wraps(polynomial(value.right))):
        return isl.Set.universe(frame.space)
    try:
        quotient, dividend, divisor = (affine(operand, frame) for operand in (value, value.left, value.right))
    except NotAffineError:
        return isl.Set.universe(frame.space)
    zero, one, double = frame.number(0), frame.number(1), divisor.add(divisor)
    natural = divisor.ge_set(one)
    cases = natural.complement()
    for case in (
        dividend.lt_set(zero).intersect(quotient.le_set(zero)),
        dividend.ge_set(zero).intersect(dividend.lt_set(divisor)).intersect(quotient.eq_set(zero)),
        dividend.ge_set(divisor).intersect(dividend.lt_set(double)).intersect(quotient.eq_set(one)),
        dividend.ge_set(double).intersect(quotient.ge_set(frame.number(2))).intersect(quotient.le_set(dividend)),
    ):
        cases = cases.union(natural.intersect(case))
    return cases.coalesce()
