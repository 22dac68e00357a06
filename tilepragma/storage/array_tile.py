"""The array tile that a gang's tile reads, and whether staging it in shared memory pays off."""

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
from tilepragma.poly.extents import Bounds
from tilepragma.poly.reference_spans import Reading

#: Staging pays from this average number of worker rows that read a row of the array.
_LEAST_REUSE = 2.0
#: The least length of contiguous rows for a copy where the workers read down columns.
_LEAST_RUN = 4
_MOST_ROWS = 4096

Terms = Mapping[DataObject, "Axis | int"]


@dataclass(frozen=True)
class Candidate:
    """An array tile and its merits for the likely numbers of workers: `bytes` of shared memory,
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
    def key(self) -> tuple[DataObject, tuple[str, ...]]:
        """The array and the accesses that the array tile serves."""
        return self.staged.object, self.staged.reads

    @property
    def is_worth_it(self) -> bool:
        """Whether it pays off by the rule of docs/EMISSION.md."""
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
    """The array tiles whose sizes follow from the numbers of workers: one for all accesses to an
    array that move with the tile in the same way.

    `terms` are the iterators of a tile, `shared` the scalars that are the same for all workers.
    `counts` multiplies workers by their `points`.
    """
    groups: dict[tuple[DataObject, tuple[Polynomial, ...]], list[_Placed]] = {}
    for reading in read:
        placed = _placed(reading, terms, shared)
        if placed is not None:
            moves = tuple(
                least - number(offset) for least, (offset, _) in zip(placed.least, placed.offsets, strict=True)
            )
            groups.setdefault((reading.access.object, moves), []).append(placed)
    tiles = (_candidate(object_, group, terms, counts, points) for (object_, _), group in groups.items())
    return [tile for tile in tiles if tile is not None]


@dataclass(frozen=True)
class _Placed:
    """A reading by dimension: its least subscript, the coefficients of the tile's iterators in it,
    the rest without its constant, and the least and greatest constant.
    """

    reading: Reading
    least: tuple[Polynomial, ...]
    factors: tuple[tuple[int, ...], ...]
    rests: tuple[Polynomial, ...]
    offsets: tuple[tuple[int, int], ...]


def _placed(reading: Reading, terms: Terms, shared: frozenset[DataObject]) -> _Placed | None:
    """None unless subscripts are sums of tile iterators and shared scalars, of fixed width."""
    least, factors, rests, offsets = [], [], [], []
    for span in reading.spans:
        width = None if span is None else (span.high - span.low).constant
        parts = None if span is None else _without(span.low, terms)
        if span is None or width is None or parts is None:
            return None
        rest = parts[1]
        if not all(is_scalar(atom) and getattr(atom, "object", None) in shared for atom in rest.atoms):
            return None
        constant = dict(rest.terms).get((), 0)
        least.append(span.low)
        factors.append(parts[0])
        rests.append(rest - number(constant))
        offsets.append((constant, constant + width))
    return _Placed(reading, tuple(least), tuple(factors), tuple(rests), tuple(offsets))


def _candidate(
    object_: DataObject, read: Sequence[_Placed], terms: Terms, counts: Mapping[Axis, int], points: Mapping[Axis, int]
) -> Candidate | None:
    """The hull of the certain accesses; uncertain ones inside it read it too."""
    sure = [placed for placed in read if placed.reading.certain]
    if not sure:
        return None
    sides = []
    for dimension in range(object_.rank):
        lowest = min(placed.offsets[dimension][0] for placed in sure)
        highest = max(placed.offsets[dimension][1] for placed in sure)
        side_terms = tuple(
            StagedTerm(iterator, factor, extent, points.get(extent, 1) if isinstance(extent, Axis) else 1)
            for (iterator, extent), factor in zip(terms.items(), sure[0].factors[dimension], strict=True)
            if factor != 0
        )
        least = sure[0].rests[dimension] + number(lowest)
        sides.append(((lowest, highest), StagedSide(side_terms, expression(least), highest - lowest)))
    bounds = [ends for ends, _ in sides]
    inside = [placed.reading for placed in read if all(map(_holds, bounds, placed.offsets))]
    judged = _judged(object_, tuple(side for _, side in sides), inside, counts)
    if judged is None or object_.rows_in is None:
        return judged
    # Rows are contiguous: the first element is the first one of the first row.
    before, after = (min(_apart(placed, sides, end) for placed in sure) for end in (0, 1))
    return replace(
        judged, staged=replace(judged.staged, before=before if any(before) else (), after=after if any(after) else ())
    )


def _apart(placed: _Placed, sides: Sequence[tuple[tuple[int, int], StagedSide]], end: int) -> tuple[int, ...]:
    """The distance of an access from an end of the array tile (0: its begin) in each dimension."""
    pairs = zip(sides, placed.offsets, strict=True)
    return tuple(abs(offsets[end] - ends[end]) for (ends, _), offsets in pairs)


def _holds(ends: tuple[int, int], offsets: tuple[int, int]) -> bool:
    return ends[0] <= offsets[0] and offsets[1] <= ends[1]


def _without(value: Polynomial, terms: Terms) -> tuple[tuple[int, ...], Polynomial] | None:
    """The iterators' coefficients and the rest; None if a coefficient is no constant."""
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
    mapped = {term.extent for side in sides for term in side.terms if isinstance(term.extent, Axis)}
    if not mapped or not isinstance(object_.element, ScalarType):
        return None
    first = min(counts, key=lambda axis: axis.dimension)
    lengths = [_length(side, counts) for side in sides]
    last = sides[-1].terms
    elsewhere = any(term.extent == first for side in sides[:-1] for term in side.terms)
    along = any(term.extent == first and abs(term.coefficient) == 1 for term in last)
    inside = {term.iterator: term.extent for side in sides for term in side.terms}
    splits = math.prod(size for size in inside.values() if isinstance(size, int))
    # Neighbours read down columns, or one element of a row along which a sequential loop runs.
    uniform = not along and first not in mapped
    columns = elsewhere or (uniform and any(not isinstance(term.extent, Axis) for term in last))
    accesses = sum(math.prod(_width(span) + 1 for span in reading.spans if span is not None) for reading in read)
    worker_rows = math.prod(count for axis, count in counts.items() if axis != first)
    rows = best_parity(_between_neighbours(sides, lengths, first))
    pitch = rows.pitch(lengths[-1])
    elements = math.prod((*lengths[:-1], pitch))
    texts = tuple(dict.fromkeys(subscripts_text(reading.access.subscripts) for reading in read))
    return Candidate(
        staged=Staged(object_, sides, texts, rows.odd),
        bytes=-(-elements * object_.element.bits // 64) * 8,
        uses_of_element=accesses * splits * math.prod(counts.values()) / math.prod(lengths),
        uses_of_worker=accesses * splits,
        row_reuse=_rows(read) * splits * worker_rows / math.prod(lengths[:-1]) if along else 0.0,
        columns=columns,
        run=lengths[-1],
    )


def _between_neighbours(sides: Sequence[StagedSide], lengths: Sequence[int], first: Axis) -> Reference:
    """How far apart in the array tile neighbouring workers read, for every access to it."""
    steps = [sum(term.coefficient for term in side.terms if term.extent == first) for side in sides]
    rows = 0
    for step, length in zip(steps[:-1], lengths, strict=False):
        rows = rows * length + step
    return Reference(within=steps[-1], rows=rows)


def _length(side: StagedSide, counts: Mapping[Axis, int]) -> int:
    sizes = [(term, counts[term.extent] if isinstance(term.extent, Axis) else term.extent) for term in side.terms]
    return side.width + 1 + sum(abs(term.coefficient) * (size - 1) for term, size in sizes)


def _width(span: Bounds) -> int:
    return (span.high - span.low).constant or 0


def _rows(read: Sequence[Reading]) -> int:
    """The number of different rows that one worker reads."""
    rows: set[tuple[int, ...]] = set()
    first = read[0].spans
    for reading in read:
        ranges = []
        for span, origin in zip(reading.spans[:-1], first[:-1], strict=True):
            assert span is not None and origin is not None, "spans of a box are known"
            start = (span.low - origin.low).constant or 0
            ranges.append(range(start, start + _width(span) + 1))
        rows |= set(itertools.islice(itertools.product(*ranges), _MOST_ROWS))
    return len(rows)
