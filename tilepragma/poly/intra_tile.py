"""Intra-tile wavefronts: the second level of thesis (3.19).

    { S[i] -> [outer rows, e_1, rows of the part] },  e_1 = Theta_S phi's first component

A sequential loop runs over e_1; points of one e_1 run in parallel, in groups of statements with
barriers between (Figure 4.7).
"""

from __future__ import annotations

from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.bands import Band
from tilepragma.poly.concurrent_start import ConcurrentStart
from tilepragma.poly.program_model import ProgramDependence
from tilepragma.poly.schedule import Row, Schedule, StatementSchedule
from tilepragma.poly.thread_mapping import Cost, by_transactions, transactions
from tilepragma.poly.wavefronts import band_wavefronts


@dataclass(frozen=True)
class IntraTile:
    """`part` with e_1 as the row at level `outer`, so that its own rows are one level deeper.

    `summed`: the levels, so numbered, of the rows whose sum e_1 is; empty where e_1 is a row that
    tiles do not have. `parallel`: the parallel levels, with neighbours in memory along the last.
    `groups`: names of statements that may run in parallel; groups run in sequence.
    """

    part: Band
    summed: tuple[int, ...]
    parallel: tuple[int, ...]
    groups: tuple[tuple[str, ...], ...]

    @property
    def level(self) -> int:
        """The level of e_1."""
        return self.part.outer

    def of_group(self, names: tuple[str, ...]) -> Band:
        """The part with only these statements."""
        return replace(self.part, statements=tuple(e for e in self.part.statements if e.statement.name in names))


def intra_tile(
    part: Band, dependences: tuple[ProgramDependence, ...], private: frozenset[str] = frozenset()
) -> IntraTile:
    """The intra-tile wavefronts of the part's band; `private` objects are not in global memory."""
    names = {each.statement.name for each in part.statements}
    inside = tuple(each for each in dependences if each.source in names and each.target in names)
    wavefronts = band_wavefronts(Schedule(part.statements), inside)
    wavefront = next(each for each in wavefronts if each.levels == part.band)
    first = wavefront.intra[0]
    stepped = tuple(replace(each, rows=_with_sum(each, part, first)) for each in part.statements)
    summed = tuple(level + 1 for level, factor in zip(part.band, first, strict=True) if factor)
    band = tuple(level + 1 for level in part.band)
    parallel = _parallel_levels(stepped, band, summed, private)
    carrying = tuple(level + 1 for level in part.carrying)
    shifted = replace(part, statements=stepped, band=band, carrying=carrying)
    return IntraTile(shifted, summed, parallel, wavefront.order)


def concurrent_tile(
    start: ConcurrentStart, dependences: tuple[ProgramDependence, ...], private: frozenset[str] = frozenset()
) -> IntraTile | None:
    """The same for concurrent start: e_1 is f, which h' replaces; None where points then wait."""
    tile = intra_tile(start.skewed, dependences, private)
    replaced = start.pair[0]
    if tile.summed != (replaced + 1,):
        return None
    statements = tuple(
        replace(each, rows=(*each.rows[: replaced + 1], started.rows[replaced], *each.rows[replaced + 2 :]))
        for each, started in zip(tile.part.statements, start.part.statements, strict=True)
    )
    return replace(tile, part=replace(tile.part, statements=statements), summed=())


def _parallel_levels(
    stepped: tuple[StatementSchedule, ...], band: tuple[int, ...], summed: tuple[int, ...], private: frozenset[str]
) -> tuple[int, ...]:
    """The parallel members: all but one of those in e_1's sum, which the others determine. Leaves
    out the one without which neighbours' accesses take the fewest transactions.
    """
    best: tuple[int, ...] = ()
    least: Cost | None = None
    for left_out in summed or band[:1]:
        parallel = tuple(level for level in band if level != left_out)
        fixed = tuple(level for level in range(len(stepped[0].rows)) if level not in band or level in parallel)
        ordered = by_transactions(stepped, parallel, fixed, private)
        cost = transactions(stepped, ordered[-1], fixed, private) if ordered else ()
        if least is None or cost < least:
            best, least = ordered, cost
    return best


def _with_sum(each: StatementSchedule, part: Band, factors: tuple[int, ...]) -> tuple[Row, ...]:
    """The rows with e_1 = factors . (rows of the band) before the part's rows."""
    rows = [each.rows[level] for level in part.band]
    coefficients = tuple(
        sum(factor * row.coefficients[place] for factor, row in zip(factors, rows, strict=True))
        for place in range(each.statement.depth)
    )
    constant = sum(factor * row.constant for factor, row in zip(factors, rows, strict=True))
    return (*each.rows[: part.outer], Row(coefficients, constant, rows[0].band), *each.rows[part.outer :])
