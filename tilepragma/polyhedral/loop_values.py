"""Whether a loop passes through a value, as its statements' domains have it.

runs     { [o, x] : some statement under the loop runs at x, inside iterations o of the loops around it }
at       runs . { [o, x] : x = value(o) }
around   { [o] : lower(o) <= o_j < upper(o), of each loop around }, an over-approximation: the loop may run no iteration there
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import islpy as isl

from tilepragma.ir.looptree import Loop
from tilepragma.ir.polynomial import Polynomial, expression
from tilepragma.polyhedral.affine import Frame, NotAffineError, affine, affine_polynomial, compare
from tilepragma.polyhedral.scop import Scop, ScopStatement

_SET = isl.dim_type.set


@dataclass(frozen=True)
class Passing:
    """A loop and a value of its iterator: whether it is met in `always` every run of the loop, and whether there may be iterations `before`
    and `after` it.
    """

    always: bool
    before: bool
    after: bool


def passing(scop: Scop, loop: Loop, value: Polynomial) -> Passing | None:
    """How the loop, which goes up by 1, passes through a value that is known outside it; None where it never does, or nobody knows."""
    held = [each for each in scop.statements if any(one.index == loop.index for one in each.loops)]
    if not held or any(each.node is loop for each in held):
        return None
    place = [one.index for one in held[0].loops].index(loop.index)
    runs = reduce(isl.Set.union, (_runs(each, place) for each in held))
    frame = Frame(scop.context, tuple(one.iterator for one in held[0].loops[: place + 1]), scop.written)
    try:
        whole = expression(value)
        difference = frame.iterator(place).sub(affine_polynomial(value, whole, frame))
    except NotAffineError:
        return None
    at = runs.intersect(difference.zero_set())
    if at.is_empty():
        return None
    zero = frame.number(0)
    return Passing(
        _around(scop, held[0].loops[:place]).is_subset(at.project_out(_SET, place, 1)),
        not runs.intersect(difference.lt_set(zero)).is_empty(),
        not runs.intersect(difference.gt_set(zero)).is_empty(),
    )


def _around(scop: Scop, loops: tuple[Loop, ...]) -> isl.Set:
    """{ [o] : around }; bounds that are not affine say nothing."""
    iterators = tuple(one.iterator for one in loops)
    frame = Frame(scop.context, iterators, scop.written)
    whole = isl.Set.universe(frame.space)
    if scop.assumed is not None:
        whole = whole.intersect_params(scop.assumed)
    for place, one in enumerate(loops):
        for bound, comparison in ((one.lower, "<=" if one.decreasing else ">="), (one.upper, one.comparison)):
            try:
                whole = whole.intersect(compare(frame.iterator(place), comparison, affine(bound, frame)))
            except NotAffineError:
                continue
    return whole


def _runs(each: ScopStatement, place: int) -> isl.Set:
    """{ [i_0, ..., i_place] } of a statement's domain."""
    depth = len(each.loops)
    return each.domain.reset_tuple_id().project_out(_SET, place + 1, depth - place - 1)
