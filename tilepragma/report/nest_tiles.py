"""A plan's wavefronts of tiles for one nest: the tiles to draw, and the loops that they cross."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Step, TiledBand, all_steps

if TYPE_CHECKING:
    from tilepragma.base.source_ranges import SourceRange
    from tilepragma.poly.scop import ScopStatement
    from tilepragma.report.iteration_space import DrawnTiles
    from tilepragma.report.nest_analysis import NestAnalysis


def drawn_tiles(analysis: NestAnalysis, plan: KernelPlan) -> DrawnTiles | None:
    """The hyperplanes that tile the nest on cores. None where the plan has none, where its loops
    count other than the nest's, or where wavefronts lie inside one step of an outer loop.
    """
    if plan.stepped is not None or plan.reordered is not None:
        return None
    candidates = [tiles for band in _bands(plan.host_steps) if (tiles := _tiles(analysis, band)) is not None]
    return candidates[0] if len(candidates) == 1 else None


def overlapped_loops(analysis: NestAnalysis, plan: KernelPlan) -> frozenset[int]:
    """The loops, by index, whose iterations the tiles of one wavefront span."""
    crossed: dict[tuple[SourceRange, tuple[str, ...]], list[int]] = {}
    for band in (*_bands(plan.host_steps), *_bands(plan.device_steps)):
        for statement in band.statements:
            places = [place for place in range(len(statement.iterators)) if any(row[place] for row in statement.rows)]
            crossed.setdefault((statement.range, statement.iterators), []).extend(places)
    places_in = ((statement, crossed.get(_place(statement), ())) for statement in analysis.statements)
    return frozenset(statement.loops[place].index for statement, places in places_in for place in places)


def _bands(steps: tuple[Step, ...]) -> list[TiledBand]:
    return [step.band for step in all_steps(steps) if isinstance(step, HostLoop) and step.band is not None]


def _tiles(analysis: NestAnalysis, band: TiledBand) -> DrawnTiles | None:
    """The hyperplanes of every statement; None where the band does not match the nest."""
    from tilepragma.poly.schedule import Row
    from tilepragma.report.iteration_space import DrawnTiles

    by_place = {(statement.range, statement.iterators): statement for statement in band.statements}
    tiled = [by_place.get(_place(statement)) for statement in analysis.statements]
    whole = len(by_place) == len(band.statements) == len(set(map(_place, analysis.statements))) == len(tiled)
    if band.within or not whole:
        return None
    rows = [
        tuple(
            Row(row, offset, None)
            for row, offset in list(zip(statement.rows, statement.offsets, strict=True))[: band.summed]
        )
        for statement in tiled
        if statement is not None
    ]
    return DrawnTiles(tuple(rows)) if len(rows) == len(tiled) else None


def _place(statement: ScopStatement) -> tuple[SourceRange, tuple[str, ...]]:
    return statement.range, tuple(loop.iterator.host for loop in statement.loops)
