"""What a plan's wavefronts of tiles say of a nest: the tiles that a picture may show, and the loops that they cross."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Step, TiledBand
from tilepragma.plan.summary import all_steps

if TYPE_CHECKING:
    from tilepragma.base.source_ranges import SourceRange
    from tilepragma.poly.scop import ScopStatement
    from tilepragma.report.iteration_space import DrawnTiles
    from tilepragma.report.nest_analysis import NestAnalysis


def drawn_tiles(analysis: NestAnalysis, plan: KernelPlan) -> DrawnTiles | None:
    """The rows that the plan tiles the nest by on cores; None where it doesn't, where its loops
    count what the nest's do not, or where wavefronts are those of one step of a loop around.
    """
    if plan.stepped is not None or plan.reordered is not None:
        return None
    found = [tiles for band in _bands(plan.host_steps) if (tiles := _tiles(analysis, band)) is not None]
    return found[0] if len(found) == 1 else None


def overlapped_loops(analysis: NestAnalysis, plan: KernelPlan) -> frozenset[int]:
    """The loops, by index, whose iterations tiles of one wavefront are of."""
    crossed: dict[tuple[SourceRange, tuple[str, ...]], list[int]] = {}
    for band in (*_bands(plan.host_steps), *_bands(plan.device_steps)):
        for each in band.statements:
            places = [place for place in range(len(each.iterators)) if any(row[place] for row in each.rows)]
            crossed.setdefault((each.range, each.iterators), []).extend(places)
    return frozenset(each.loops[place].index for each in analysis.statements for place in crossed.get(_place(each), ()))


def _bands(steps: tuple[Step, ...]) -> list[TiledBand]:
    return [step.band for step in all_steps(steps) if isinstance(step, HostLoop) and step.band is not None]


def _tiles(analysis: NestAnalysis, band: TiledBand) -> DrawnTiles | None:
    """The rows of every statement of the nest; None where the band has others, or some of its own under other loops."""
    from tilepragma.poly.schedule import Row
    from tilepragma.report.iteration_space import DrawnTiles

    by_place = {(each.range, each.iterators): each for each in band.statements}
    tiled = [by_place.get(_place(each)) for each in analysis.statements]
    whole = len(by_place) == len(band.statements) == len(set(map(_place, analysis.statements))) == len(tiled)
    if band.within or not whole:
        return None
    rows = [
        tuple(Row(row, offset, None) for row, offset in zip(each.rows, each.offsets, strict=True))[: band.summed]
        for each in tiled
        if each is not None
    ]
    return DrawnTiles(tuple(rows)) if len(rows) == len(tiled) else None


def _place(statement: ScopStatement) -> tuple[SourceRange, tuple[str, ...]]:
    return statement.range, tuple(loop.iterator.host for loop in statement.loops)
