"""Whether a loop passes through a value that is known outside of it.

    runs      { [o, x] : some statement of the loop runs at x, in iterations o of outer loops }
    reached   { [o] : the bounds of the outer loops hold }
    meeting   { [o] : lower(o) <= value(o) and value(o) < upper(o) }

The loop always meets the value if reached <= meeting; `runs` cannot tell, as it is empty where the
loop has no iterations.
"""

from __future__ import annotations

from functools import reduce

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.loop_tree import Loop
from tilepragma.ir.polynomial import Polynomial, expression
from tilepragma.poly.affine import Frame, NotAffineError, affine, affine_polynomial, compare
from tilepragma.poly.scop import Scop, ScopStatement

_SET = isl.dim_type.set


@dataclass(frozen=True)
class Passing:
    """A loop and a value of its iterator: whether it `always` takes the value where it is reached,
    and may have iterations `before` and `after` it.
    """

    always: bool
    before: bool
    after: bool


def passing(scop: Scop, loop: Loop, value: Polynomial) -> Passing | None:
    """How a loop with step 1 passes through an outer value; None where it may not do so."""
    held = [each for each in scop.statements if any(loop_.index == loop.index for loop_ in each.loops)]
    if not held or any(each.node is loop for each in held):
        return None
    around = held[0].loops
    place = [outer.index for outer in around].index(loop.index)
    runs = reduce(isl.Set.union, (_runs(each, place) for each in held))
    frame = Frame(scop.context, tuple(outer.iterator for outer in around[: place + 1]), scop.written)
    try:
        difference = frame.iterator(place).sub(affine_polynomial(value, expression(value), frame))
        always = _reached(scop, around[:place]).is_subset(_meeting(scop, around[: place + 1], value))
    except NotAffineError:
        return None
    if runs.intersect(difference.zero_set()).is_empty():
        return None
    zero = frame.number(0)
    before, after = runs.intersect(difference.lt_set(zero)), runs.intersect(difference.gt_set(zero))
    return Passing(always, not before.is_empty(), not after.is_empty())


def _runs(each: ScopStatement, place: int) -> isl.Set:
    """{ [i_0, ..., i_place] } of a statement's domain."""
    depth = len(each.loops)
    return each.domain.reset_tuple_id().project_out(_SET, place + 1, depth - place - 1)


def _reached(scop: Scop, around: tuple[Loop, ...]) -> isl.Set:
    """{ [o] : the bounds of `around` hold }, without steps, conditions. Raises NotAffineError."""
    iterators = tuple(loop.iterator for loop in around)
    result = isl.Set.universe(Frame(scop.context, iterators, scop.written).space)
    for place, outer in enumerate(around):
        frame = Frame(scop.context, iterators[:place], scop.written)
        rest = len(around) - place
        iterator = Frame(scop.context, iterators, scop.written).iterator(place)
        lower, upper = (affine(end, frame).add_dims(isl.dim_type.in_, rest) for end in (outer.lower, outer.upper))
        result = result.intersect(compare(iterator, "<=" if outer.decreasing else ">=", lower))
        result = result.intersect(compare(iterator, outer.holds_inside, upper))
    return result


def _meeting(scop: Scop, loops: tuple[Loop, ...], value: Polynomial) -> isl.Set:
    """{ [o] : the last of the loops meets the value }. Raises NotAffineError."""
    *around, loop = loops
    frame = Frame(scop.context, tuple(outer.iterator for outer in around), scop.written)
    value_outside = affine_polynomial(value, expression(value), frame)
    above = compare(value_outside, ">=", affine(loop.lower, frame))
    return above.intersect(compare(value_outside, loop.comparison, affine(loop.upper, frame)))
