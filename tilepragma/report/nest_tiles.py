"""A plan's wavefronts of tiles for one nest: the tiles to draw, and the loops that they cross."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.loop_tree import TileNest
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Step, TiledBand, all_steps

if TYPE_CHECKING:
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


def overlapped_loops(plan: KernelPlan) -> frozenset[SourceRange]:
    """The user's loops, by their heads, whose iterations the plan overlaps, on cores or on devices:
    those that its launches distribute, and those that their hyperplanes cross.
    """
    launches = (*plan.host, *plan.device)
    nests = [node for launch in launches for node in walk(launch.body) if isinstance(node, TileNest)]
    distributed = {
        tiled.loop.header for nest in nests for tiled in nest.loops if any(tile.axis for tile in tiled.tiles)
    }
    return frozenset(distributed).union(*(launch.overlapped for launch in launches)) - {NOWHERE}


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
