"""The box of an array that a tile of a gang reads, and whether a copy of it in the gang's memory is worth its price."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import DataObject, access_to
from tilepragma.ir.loop_tree import Axis, Staged, StagedSide, StagedTerm
from tilepragma.ir.loop_tree_text import subscripts_text
from tilepragma.ir.polynomial import Polynomial, expression, is_scalar, number
from tilepragma.ir.types import ScalarType
from tilepragma.model.bank_conflicts import Reference, best_parity
from tilepragma.poly.reference_spans import Reading, Span

#: Rows of workers that read a row of the array, on the average, from which on a copy pays.
_LEAST_REUSE = 2.0
#: Neighbouring elements of a row that a copy reads at least where the workers read down columns.
_LEAST_RUN = 4
_MOST_ROWS = 4096

Terms = Mapping[DataObject, "Axis | int"]


@dataclass(frozen=True)
class Candidate:
    """A box, and what speaks for it, at the numbers of workers that are likely: `bytes` of memory,
    `uses_of_element` accesses to an element, `row_reuse` rows of workers that read a row;
    `columns`: the workers read down columns.
    """

    staged: Staged
    bytes: int
    uses_of_element: float
    uses_of_worker: int
    row_reuse: float
    columns: bool
    run: int

    @property
    def is_worth_it(self) -> bool:
        """By the rule of docs/EMISSION.md."""
        if self.uses_of_element < 1:
            return False
        if self.columns:
            return self.run >= _LEAST_RUN
        return self.uses_of_worker > 1 and self.row_reuse >= _LEAST_REUSE


def candidates(
    read: Iterable[Reading],
    terms: Terms,
    shared: frozenset[DataObject],
    counts: Mapping[Axis, int],
    points: Mapping[Axis, int],
) -> list[Candidate]:
    """The boxes whose sizes the numbers of workers say: one for all accesses to an array that move
    with the tile in the same way. `terms` are the iterators of a tile, `shared` the scalars that
    are the same for all workers. Workers that have several `points` are so many in `counts`.
    """
    groups: dict[tuple[DataObject, tuple[Polynomial, ...]], list[_Placed]] = {}
    for one in read:
        placed = _placed(one, terms, shared)
        if placed is not None:
            moves = tuple(
                least - number(offset) for least, (offset, _) in zip(placed.least, placed.offsets, strict=True)
            )
            groups.setdefault((one.access.object, moves), []).append(placed)
    found = (_candidate(object_, each, terms, counts, points) for (object_, _), each in groups.items())
    return [one for one in found if one is not None]


@dataclass(frozen=True)
class _Placed:
    """A reading by dimension: its least subscript, the coefficients of the tile's iterators in it,
    the rest without its constant, and the constants (lowest, highest) beside that.
    """

    reading: Reading
    least: tuple[Polynomial, ...]
    factors: tuple[tuple[int, ...], ...]
    rests: tuple[Polynomial, ...]
    offsets: tuple[tuple[int, int], ...]


def _placed(one: Reading, terms: Terms, shared: frozenset[DataObject]) -> _Placed | None:
    """None where a subscript is no sum of the tile's iterators and of what all workers know, or its span is not of a constant length."""
    least, factors, rests, offsets = [], [], [], []
    for span in one.spans:
        width = None if span is None else (span.greatest - span.least).constant
        parts = None if span is None else _without(span.least, terms)
        if span is None or width is None or parts is None:
            return None
        rest = parts[1]
        if not all(is_scalar(atom) and getattr(atom, "object", None) in shared for atom in rest.atoms):
            return None
        constant = dict(rest.terms).get((), 0)
        least.append(span.least)
        factors.append(parts[0])
        rests.append(rest - number(constant))
        offsets.append((constant, constant + width))
    return _Placed(one, tuple(least), tuple(factors), tuple(rests), tuple(offsets))


def _candidate(
    object_: DataObject, read: Sequence[_Placed], terms: Terms, counts: Mapping[Axis, int], points: Mapping[Axis, int]
) -> Candidate | None:
    """The box of the accesses that are surely made, which must reach its ends; of the others those that lie in it read it too."""
    sure = [one for one in read if one.reading.certain]
    if not sure:
        return None
    sides = []
    for dimension in range(object_.rank):
        lowest = min(one.offsets[dimension][0] for one in sure)
        highest = max(one.offsets[dimension][1] for one in sure)
        found = tuple(
            StagedTerm(iterator, factor, extent, points.get(extent, 1) if isinstance(extent, Axis) else 1)
            for (iterator, extent), factor in zip(terms.items(), sure[0].factors[dimension], strict=True)
            if factor != 0
        )
        least = sure[0].rests[dimension] + number(lowest)
        sides.append(((lowest, highest), StagedSide(found, expression(least), highest - lowest)))
    inside = [one for one in read if all(_holds(ends, at) for (ends, _), at in zip(sides, one.offsets, strict=True))]
    judged = _judged(object_, tuple(side for _, side in sides), [one.reading for one in inside], counts)
    if judged is None or object_.rows_in is None:
        return judged
    # Rows lie one behind the other, so the first element is that of the first row, and the first
    # one there.
    before, after = (min(_apart(one, sides, end) for one in sure) for end in (0, 1))
    return replace(
        judged, staged=replace(judged.staged, before=before if any(before) else (), after=after if any(after) else ())
    )


def _apart(one: _Placed, sides: Sequence[tuple[tuple[int, int], StagedSide]], end: int) -> tuple[int, ...]:
    """By how much the subscripts at an end of the box (0: the first) and of an access differ."""
    pairs = zip(sides, one.offsets, strict=True)
    return tuple(abs(offsets[end] - ends[end]) for (ends, _), offsets in pairs)


def _holds(ends: tuple[int, int], offsets: tuple[int, int]) -> bool:
    return ends[0] <= offsets[0] and offsets[1] <= ends[1]


def _without(value: Polynomial, terms: Terms) -> tuple[tuple[int, ...], Polynomial] | None:
    """The coefficients of the iterators, in their order, and the rest; None where one is no number."""
    factors = []
    for iterator in terms:
        parts = value.split(access_to(iterator))
        factor = None if parts is None else parts[0].constant
        if parts is None or factor is None:
            return None
        factors.append(factor)
        value = parts[1]
    return tuple(factors), value


def _judged(
    object_: DataObject,
    sides: tuple[StagedSide, ...],
    read: Sequence[Reading],
    counts: Mapping[Axis, int],
) -> Candidate | None:
    dealt = {term.extent for side in sides for term in side.terms if isinstance(term.extent, Axis)}
    if not dealt or not isinstance(object_.element, ScalarType):
        return None
    first = min(counts, key=lambda axis: axis.dimension)
    lengths = [_length(side, counts) for side in sides]
    last = sides[-1].terms
    elsewhere = any(term.extent == first for side in sides[:-1] for term in side.terms)
    along = any(term.extent == first and abs(term.coefficient) == 1 for term in last)
    inside = {term.iterator: term.extent for side in sides for term in side.terms}
    splits = math.prod(size for size in inside.values() if isinstance(size, int))
    # Neighbours read down columns; or all the same element of a row that a sequential loop goes
    # along.
    columns = elsewhere or (not along and first not in dealt and any(not isinstance(one.extent, Axis) for one in last))
    accesses = sum(math.prod(_width(span) + 1 for span in one.spans if span is not None) for one in read)
    others = math.prod(count for axis, count in counts.items() if axis != first)
    rows = best_parity(_between_neighbours(sides, lengths, first))
    pitch = rows.pitch(lengths[-1])
    elements = math.prod((*lengths[:-1], pitch))
    return Candidate(
        staged=Staged(
            object_, sides, tuple(dict.fromkeys(subscripts_text(one.access.subscripts) for one in read)), rows.odd
        ),
        bytes=-(-elements * object_.element.bits // 64) * 8,
        uses_of_element=accesses * splits * math.prod(counts.values()) / math.prod(lengths),
        uses_of_worker=accesses * splits,
        row_reuse=_rows(read) * splits * others / math.prod(lengths[:-1]) if along else 0.0,
        columns=columns,
        run=lengths[-1],
    )


def _between_neighbours(sides: Sequence[StagedSide], lengths: Sequence[int], first: Axis) -> Reference:
    """How far apart in the box neighbouring workers read, the same for all accesses to it."""
    steps = [sum(term.coefficient for term in side.terms if term.extent == first) for side in sides]
    rows = 0
    for step, length in zip(steps[:-1], lengths, strict=False):
        rows = rows * length + step
    return Reference(within=steps[-1], rows=rows)


def _length(side: StagedSide, counts: Mapping[Axis, int]) -> int:
    sizes = [(term, counts[term.extent] if isinstance(term.extent, Axis) else term.extent) for term in side.terms]
    return side.width + 1 + sum(abs(term.coefficient) * (size - 1) for term, size in sizes)


def _width(span: Span) -> int:
    return (span.greatest - span.least).constant or 0


def _rows(read: Sequence[Reading]) -> int:
    """Different rows that one worker reads."""
    rows: set[tuple[int, ...]] = set()
    first = read[0].spans
    for one in read:
        ranges = []
        for span, origin in zip(one.spans[:-1], first[:-1], strict=True):
            assert span is not None and origin is not None, "spans of a box are known"
            start = (span.least - origin.least).constant or 0
            ranges.append(range(start, start + _width(span) + 1))
        rows |= set(itertools.islice(itertools.product(*ranges), _MOST_ROWS))
    return len(rows)
