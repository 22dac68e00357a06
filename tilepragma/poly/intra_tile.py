"""Wavefronts of points inside one tile: the second level of thesis (3.19).

    { S[i] -> [outer rows, e_1, rows of the part] },  e_1 = Theta_S phi's first component

e_1 is stepped through; what has one e_1 runs at once, in groups of statements with a barrier
between (Figure 4.7).
"""

from __future__ import annotations

from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.bands import Part
from tilepragma.poly.concurrent_start import ConcurrentStart
from tilepragma.poly.program_model import Dependence
from tilepragma.poly.schedule import Row, Schedule, StatementSchedule
from tilepragma.poly.thread_mapping import Cost, by_transactions, transactions
from tilepragma.poly.wavefronts import band_wavefronts


@dataclass(frozen=True)
class IntraTile:
    """`part` with e_1 as the row at level `outer`, so that its own rows are one level further in.

    `summed`: the levels, in that numbering, of the rows that e_1 is the sum of; none where it is a
    row that tiles do not have. `parallel`: those that run at once, neighbours in memory along the
    last. `groups`: names of statements that may run at once; each group follows the one before it.
    """

    part: Part
    summed: tuple[int, ...]
    parallel: tuple[int, ...]
    groups: tuple[tuple[str, ...], ...]

    @property
    def level(self) -> int:
        """The level of e_1."""
        return self.part.outer

    def of_group(self, names: tuple[str, ...]) -> Part:
        """The part with these statements alone."""
        return replace(self.part, statements=tuple(e for e in self.part.statements if e.statement.name in names))


def intra_tile(part: Part, dependences: tuple[Dependence, ...], private: frozenset[str] = frozenset()) -> IntraTile:
    """The wavefronts of points in a tile of the part's band; objects named in `private` have no place in global memory."""
    names = {each.statement.name for each in part.statements}
    inside = tuple(each for each in dependences if each.source in names and each.target in names)
    wavefronts = band_wavefronts(Schedule(part.statements), inside)
    found = next(each for each in wavefronts if each.levels == part.band)
    first = found.intra[0]
    stepped = tuple(replace(each, rows=_with_sum(each, part, first)) for each in part.statements)
    summed = tuple(level + 1 for level, factor in zip(part.band, first, strict=True) if factor)
    band = tuple(level + 1 for level in part.band)
    parallel = _at_once(stepped, band, summed, private)
    carrying = tuple(level + 1 for level in part.carrying)
    shifted = replace(part, statements=stepped, band=band, carrying=carrying)
    return IntraTile(shifted, summed, parallel, found.order)


def concurrent_tile(
    start: ConcurrentStart, dependences: tuple[Dependence, ...], private: frozenset[str] = frozenset()
) -> IntraTile | None:
    """The same in a tile that begins at once with others: e_1 is f, the row that h' replaced; None where f leaves points waiting."""
    found = intra_tile(start.skewed, dependences, private)
    replaced = start.pair[0]
    if found.summed != (replaced + 1,):
        return None
    statements = tuple(
        replace(each, rows=(*each.rows[: replaced + 1], own.rows[replaced], *each.rows[replaced + 2 :]))
        for each, own in zip(found.part.statements, start.part.statements, strict=True)
    )
    return replace(found, part=replace(found.part, statements=statements), summed=())


def _at_once(
    stepped: tuple[StatementSchedule, ...], band: tuple[int, ...], summed: tuple[int, ...], private: frozenset[str]
) -> tuple[int, ...]:
    """The rows of the band that workers step along: all but one of those that e_1 is the sum of,
    which follows from the others. That one is left out without which neighbours' accesses take
    fewest transactions.
    """
    found: tuple[int, ...] = ()
    least: Cost | None = None
    for left_out in summed or band[:1]:
        at_once = tuple(level for level in band if level != left_out)
        fixed = tuple(at for at in range(len(stepped[0].rows)) if at not in band or at in at_once)
        ordered = by_transactions(stepped, at_once, fixed, private)
        cost = transactions(stepped, ordered[-1], fixed, private) if ordered else ()
        if least is None or cost < least:
            found, least = ordered, cost
    return found


def _with_sum(each: StatementSchedule, part: Part, factors: tuple[int, ...]) -> tuple[Row, ...]:
    """The rows with e_1 = factors . (rows of the band) before those of the part."""
    rows = [each.rows[level] for level in part.band]
    coefficients = tuple(
        sum(factor * row.coefficients[place] for factor, row in zip(factors, rows, strict=True))
        for place in range(each.statement.depth)
    )
    constant = sum(factor * row.constant for factor, row in zip(factors, rows, strict=True))
    return (*each.rows[: part.outer], Row(coefficients, constant, rows[0].band), *each.rows[part.outer :])
