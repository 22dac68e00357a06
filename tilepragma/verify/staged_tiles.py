"""Boxes that a plan stages hold what is read of them, and nothing that nobody reads.

Of a side with the terms c * i, `least` m and `width` w, s(i) being the subscript of an access in
one iteration i of the plan:

    covered    { [i] : 0 <= s(i) - m(i) - sum c i <= w }   holds all iterations of the access, hence of every tile of them
    attained   for every iteration of the loops that the box is of, some access surely is at m + sum c i, and some at m + sum c i + w

The second makes the ends of a box, in whatever tile, indices of accesses; and arrays hold boxes
where they hold their ends. The rows of an array that is seen by rows need not all be there: both
are proven of its elements' order in the user's array too, from `before` behind the first of the box
to `after` before its last, and what lies beyond is not copied. That order is the lexicographic one,
since no access leaves its row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.expressions import DataObject, Expression
from tilepragma.ir.loop_tree import Loop, Stage, Staged, StagedSide
from tilepragma.ir.loop_tree_text import subscripts_text
from tilepragma.poly.affine import Frame, NotAffineError, affine
from tilepragma.verify.launch_tree_relation import Leaf, inside_loop
from tilepragma.verify.statement_matching import Finding

_SET = isl.dim_type.set
_RULE = "boxes hold what is read"


def wrong_boxes(leaves: Iterable[Leaf]) -> Iterator[Finding]:
    """A sentence for every box that does not hold an access, or ends where nobody reads."""
    found = list(leaves)
    for stage in found:
        if isinstance(stage.node, Stage):
            for staged in stage.node.arrays:
                inside = [leaf for leaf in found if leaf.launch is stage.launch]
                yield from _wrong_box(stage, staged, inside)


@dataclass(frozen=True)
class _Tile:
    """The iterations that a box is of: those at the stage, then those of loops behind it whose iterators the box has."""

    iterators: tuple[DataObject, ...]
    domain: isl.Set
    exact: bool


def _wrong_box(stage: Leaf, staged: Staged, leaves: list[Leaf]) -> Iterator[Finding]:
    name = staged.object.host
    uses_ = [(leaf, use) for leaf in leaves for use in _uses(leaf) if use.object == staged.object]
    accesses = [(leaf, use) for leaf, use in uses_ if subscripts_text(use.subscripts) in staged.reads]
    try:
        tile = _tile(stage, staged, leaves)
        if tile is None:
            yield Finding(_RULE, f"the tile that '{name}' is staged for is longer than its box", True)
            return
        for what, measure in _measures(staged):
            ends: list[isl.Set | None] = [None, None]
            for leaf, use in accesses:
                where, *reached = measure(leaf, use)
                if not leaf.domain.is_subset(where):
                    text = f"'{name}' is read on line {use.range.start.line} outside of what is staged of {what}"
                    yield Finding(_RULE, text, not leaf.opaque)
                    return
                if use.conditional or leaf.opaque or leaf.frame.iterators[: len(tile.iterators)] != tile.iterators:
                    continue
                for place, end in enumerate(reached):
                    at = leaf.domain.intersect(end)
                    at = at.project_out(_SET, len(tile.iterators), leaf.depth - len(tile.iterators))
                    known = ends[place]
                    ends[place] = at if known is None else known.union(at)
            if not tile.exact or not all(end is not None and tile.domain.is_subset(end) for end in ends):
                yield Finding(_RULE, f"{what} of what is staged of '{name}' may end where nobody reads", False)
                return
    except NotAffineError as error:
        yield Finding(_RULE, f"a subscript of '{name}' {error}", False)


#: Of an access { [i] : it is not beyond the ends }, { [i] : it is at the first }, { [i] : it is at
#: the last }
Measured = tuple[isl.Set, isl.Set, isl.Set]


def _measures(staged: Staged) -> Iterator[tuple[str, Callable[[Leaf, Use], Measured]]]:
    """What is proven of the box: its ends in each dimension, and of an array that is seen by rows, the first and the last element read."""
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
    """before <= (o_1, …, o_n) <= width - after, lexicographically: the order of the elements in the user's array. Raises NotAffineError."""
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


def _uses(leaf: Leaf) -> Iterator[Use]:
    """What the leaf itself reads."""
    for part in leaf.evaluated:
        yield from uses(part)


def _tile(stage: Leaf, staged: Staged, leaves: list[Leaf]) -> _Tile | None:
    """The tile of a box; None where a loop behind the stage is longer than the box says."""
    iterators, domain, exact = stage.frame.iterators, stage.domain, not stage.opaque
    wanted = {
        term.iterator: term.extent for side in staged.sides for term in side.terms if term.iterator not in iterators
    }
    for leaf in leaves:
        loop = leaf.node
        if not isinstance(loop, Loop) or loop.iterator not in wanted or leaf.depth != stage.depth:
            continue
        inside = inside_loop(loop, leaf)
        frame = inside.frame
        start = affine(loop.lower, leaf.frame).add_dims(isl.dim_type.in_, 1)
        passed = frame.iterator(leaf.depth).sub(start)
        extent = wanted.pop(loop.iterator)
        if not isinstance(extent, int) or not inside.domain.is_subset(passed.lt_set(frame.number(extent))):
            return None
        iterators, domain, exact = frame.iterators, inside.domain, exact and not inside.opaque
        break
    return _Tile(iterators, domain, exact and not wanted)


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
