"""Staged array tiles hold what is read of them, and no element without a reader.

For a side with the terms c * i, `least` m and `width` w, and an access with subscript s(i) in one
iteration i of the plan:

    covered    { [i] : 0 <= s(i) - m(i) - sum c i <= w }   contains all iterations of the access
    attained   in every iteration of the tile's loops, some access surely is at m + sum c i,
               and some at m + sum c i + w

The second makes the ends of an array tile, whatever its position, indices of accesses; arrays that
contain these ends contain the tile. A delinearised array need not have all rows: both are also
proven in the order of the user's elements, from `before` after the tile's first element to `after`
before its last; the copy skips the rest. That order is lexicographic, since no access leaves its
row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import islpy as isl

from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.expressions import Expression
from tilepragma.ir.loop_tree import Loop, Stage, Staged, StagedSide
from tilepragma.ir.loop_tree_text import subscripts_text
from tilepragma.poly.affine import Frame, NotAffineError, affine
from tilepragma.verify.certificate import Fault
from tilepragma.verify.launch_tree_relation import Leaf

_SET = isl.dim_type.set
_RULE = "array tiles hold what is read"


def wrong_boxes(leaves: tuple[Leaf, ...]) -> Iterator[Fault]:
    """A sentence for every array tile that misses an access, or ends without a reader."""
    for stage in leaves:
        if isinstance(stage.node, Stage):
            inside = [leaf for leaf in leaves if leaf.launch is stage.launch]
            for staged in stage.node.arrays:
                yield from _wrong_array_tile(stage, staged, inside)


def _wrong_array_tile(stage: Leaf, staged: Staged, leaves: list[Leaf]) -> Iterator[Fault]:
    name = staged.object.host
    uses_ = ((leaf, use) for leaf in leaves for part in leaf.evaluated for use in uses(part))
    accesses = [
        (leaf, use)
        for leaf, use in uses_
        if use.object == staged.object and subscripts_text(use.subscripts) in staged.reads
    ]
    try:
        iterations_of_tile = _tile(stage, staged, leaves)
        if iterations_of_tile is None:
            yield Fault(_RULE, f"the tile that '{name}' is staged for is longer than its array tile", True)
            return
        tile, exact = iterations_of_tile
        for what, measure in _measures(staged):
            ends: list[isl.Set | None] = [None, None]
            for leaf, use in accesses:
                where, *reached = measure(leaf, use)
                if not leaf.domain.is_subset(where):
                    text = f"'{name}' is read on line {use.range.start.line} outside of what is staged of {what}"
                    yield Fault(_RULE, text, not leaf.opaque)
                    return
                if use.conditional or leaf.opaque or leaf.frame.iterators[: tile.depth] != tile.frame.iterators:
                    continue
                for place, end in enumerate(reached):
                    iterations = leaf.domain.intersect(end)
                    iterations = iterations.project_out(_SET, tile.depth, leaf.depth - tile.depth)
                    attained = ends[place]
                    ends[place] = iterations if attained is None else attained.union(iterations)
            if not exact or not all(end is not None and tile.domain.is_subset(end) for end in ends):
                yield Fault(_RULE, f"{what} of what is staged of '{name}' may end without a reader", False)
                return
    except NotAffineError as error:
        yield Fault(_RULE, f"a subscript of '{name}' {error}", False)


#: For an access: { [i] : inside the ends }, { [i] : at the first }, { [i] : at the last }
Measured = tuple[isl.Set, isl.Set, isl.Set]


def _measures(staged: Staged) -> Iterator[tuple[str, Callable[[Leaf, Use], Measured]]]:
    """The ends of the tile in each dimension, and in the order of a delinearised array."""
    for dimension, side in enumerate(staged.sides):
        yield f"dimension {dimension}", partial(_in_dimension, dimension, side)
    if staged.object.rows_in is not None:
        yield "all rows", partial(_in_rows, staged)


def _in_dimension(dimension: int, side: StagedSide, leaf: Leaf, use: Use) -> Measured:
    """0 <= o <= width for the offset o of the subscript. Raises NotAffineError."""
    offset, least, greatest = (
        _offset(leaf, use.subscripts[dimension], side),
        leaf.frame.number(0),
        leaf.frame.number(side.width),
    )
    inside = offset.ge_set(least).intersect(offset.le_set(greatest))
    return inside, offset.eq_set(least), offset.eq_set(greatest)


def _in_rows(staged: Staged, leaf: Leaf, use: Use) -> Measured:
    """before <= (o_1, …, o_n) <= width - after, lexicographically. Raises NotAffineError."""
    nothing = (0,) * len(staged.sides)
    before, after = staged.before or nothing, staged.after or nothing
    beyond = isl.Set.empty(leaf.frame.space)
    same: list[isl.Set] = [isl.Set.universe(leaf.frame.space)] * 2
    for dimension, side in enumerate(staged.sides):
        offset = _offset(leaf, use.subscripts[dimension], side)
        first, last = leaf.frame.number(before[dimension]), leaf.frame.number(side.width - after[dimension])
        beyond = beyond.union(same[0].intersect(offset.lt_set(first))).union(same[1].intersect(offset.gt_set(last)))
        same = [same[0].intersect(offset.eq_set(first)), same[1].intersect(offset.eq_set(last))]
    return beyond.complement(), same[0], same[1]


def _tile(stage: Leaf, staged: Staged, leaves: list[Leaf]) -> tuple[Leaf, bool] | None:
    """An array tile's iterations, the stage's, then those of its loop after the stage, and whether
    these are exact. None where that loop exceeds its extent.
    """
    iterators, tile = stage.frame.iterators, stage
    wanted = {
        term.iterator: term.extent for side in staged.sides for term in side.terms if term.iterator not in iterators
    }
    for leaf in leaves:
        loop = leaf.node
        if not isinstance(loop, Loop) or loop.iterator not in wanted or leaf.depth != stage.depth:
            continue
        tile = leaf.rounds(loop)
        start = affine(loop.lower, leaf.frame).add_dims(isl.dim_type.in_, 1)
        passed = tile.frame.iterator(leaf.depth).sub(start)
        extent = wanted.pop(loop.iterator)
        if not isinstance(extent, int) or not tile.domain.is_subset(passed.lt_set(tile.frame.number(extent))):
            return None
        break
    return tile, not (stage.opaque or tile.opaque or wanted)


def _offset(leaf: Leaf, subscript: Expression, side: StagedSide) -> isl.PwAff:
    """{ [i] -> [s(i) - m(i) - sum c i] }. Raises NotAffineError."""
    frame: Frame = leaf.frame
    offset = affine(subscript, frame).sub(affine(side.least, frame))
    for term in side.terms:
        value = frame.value(term.iterator)
        if value is None:
            raise NotAffineError(subscript, "is not read in the tile")
        offset = offset.sub(value.mul(frame.number(term.coefficient)))
    return offset
