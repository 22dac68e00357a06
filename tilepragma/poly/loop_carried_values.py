"""Whether a loop passes through a value that is known outside it.

    runs      { [o, x] : some statement under the loop runs at x, inside iterations o of the loops around it }
    reached   { [o] : the bounds of the loops around hold }
    meeting   { [o] : lower(o) <= value(o) and value(o) < upper(o) }

The loop meets the value whenever it is reached if reached <= meeting; `runs` cannot tell, which has
nothing where the loop does not run.
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
    """A loop and a value of its iterator: whether it is `always` met where the loop is reached, and
    whether there may be iterations `before` and `after` it.
    """

    always: bool
    before: bool
    after: bool


def passing(scop: Scop, loop: Loop, value: Polynomial) -> Passing | None:
    """How the loop, which goes up by 1, passes through a value that is known outside it; None where it never does, or nobody knows."""
    held = [each for each in scop.statements if any(one.index == loop.index for one in each.loops)]
    if not held or any(each.node is loop for each in held):
        return None
    around = held[0].loops
    place = [one.index for one in around].index(loop.index)
    runs = reduce(isl.Set.union, (_runs(each, place) for each in held))
    frame = Frame(scop.context, tuple(one.iterator for one in around[: place + 1]), scop.written)
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
    """{ [o] : the bounds of the loops `around` hold }; steps and conditions, which leave out some of these, aside. Raises NotAffineError."""
    iterators = tuple(one.iterator for one in around)
    result = isl.Set.universe(Frame(scop.context, iterators, scop.written).space)
    for place, one in enumerate(around):
        frame = Frame(scop.context, iterators[:place], scop.written)
        rest = len(around) - place
        iterator = Frame(scop.context, iterators, scop.written).iterator(place)
        lower, upper = (affine(end, frame).add_dims(isl.dim_type.in_, rest) for end in (one.lower, one.upper))
        result = result.intersect(compare(iterator, "<=" if one.decreasing else ">=", lower))
        result = result.intersect(compare(iterator, one.holds_inside, upper))
    return result


def _meeting(scop: Scop, loops: tuple[Loop, ...], value: Polynomial) -> isl.Set:
    """{ [o] : the last of the loops meets the value }. Raises NotAffineError."""
    *around, loop = loops
    frame = Frame(scop.context, tuple(one.iterator for one in around), scop.written)
    at = affine_polynomial(value, expression(value), frame)
    above = compare(at, ">=", affine(loop.lower, frame))
    return above.intersect(compare(at, loop.comparison, affine(loop.upper, frame)))
