"""Questions about a plan: its steps, their wavefronts of tiles, the sizes and numbers in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.directives import TileKind
from tilepragma.ir.expressions import Access, DataObject, IntegerLiteral
from tilepragma.ir.loop_tree import Axis, Loop, PackedPanels, Stage, Staged, Tile, TiledLoop
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ScalarType
from tilepragma.plan.kernel_plan import (
    ArrayArgument,
    HostLoop,
    KernelPlan,
    Launch,
    Step,
    TileSize,
    all_steps,
    launches_in,
)
from tilepragma.plan.space_time import Hyperplane


def are_wavefronts(steps: tuple[Step, ...], sizes: tuple[TileSize, ...]) -> bool:
    """Whether the host runs wavefronts of tiles: the bound of a HostLoop mentions a tile's size."""
    objects = {size.object for size in sizes}
    return any(mentions(step.loop, objects) for step in all_steps(steps) if isinstance(step, HostLoop))


@dataclass(frozen=True)
class TileWavefronts:
    """Statements of which a host loop runs wavefronts of tiles: its iterator is the sum of tile
    numbers of the hyperplanes `summed`; the tiles of those `ordered` run in order in each of them.
    """

    statements: tuple[SourceRange, ...]
    summed: tuple[Hyperplane, ...]
    ordered: tuple[Hyperplane, ...]

    @property
    def hyperplanes(self) -> tuple[Hyperplane, ...]:
        """All hyperplanes of its tiles."""
        return (*self.summed, *self.ordered)


def tile_wavefronts(step: HostLoop[Launch]) -> Iterator[TileWavefronts]:
    """The wavefronts of tiles that a host loop runs, for each group of statements."""
    for launch in launches_in(step.steps):
        for statements in launch.schedule:
            sums = (each.hyperplanes for each in statements.time if each.iterator == step.loop.iterator)
            summed = next(sums, ())
            if len(summed) > 1:
                inside = (plane for each in statements.ordered for plane in each.hyperplanes)
                ordered = tuple(plane for plane in inside if plane.size is not None)
                yield TileWavefronts(statements.statements, summed, ordered)


def buffered(steps: tuple[Step, ...]) -> Iterator[PackedPanels]:
    """The packed panels and register tiles of all launches."""
    for launch in launches_in(steps):
        yield from (node for node in walk(launch.body) if isinstance(node, PackedPanels))


def has_shapes(plan: KernelPlan) -> bool:
    """Whether a host loop runs tiles with concurrent start."""
    return any(isinstance(step, HostLoop) and bool(step.shape) for step in all_steps(plan.host_steps))


def used_sizes(steps: tuple[Step, ...], sizes: tuple[TileSize, ...]) -> tuple[TileSize, ...]:
    """The sizes that bounds or bodies of the steps mention."""
    nodes = (node for part in _parts(steps) for node in walk(part))
    used = {node.object for node in nodes if isinstance(node, Access)}
    return tuple(size for size in sizes if size.object in used)


def mentions(loop: Loop, sizes: Set[DataObject]) -> bool:
    """Whether a bound of the loop mentions a tile's size: it runs over tiles."""
    bounds = (loop.lower, loop.upper)
    return any(isinstance(node, Access) and node.object in sizes for bound in bounds for node in walk(bound))


def copies_ahead(launch: Launch) -> bool:
    """Whether the launch may prefetch the next tile while it computes (double buffering)."""
    return launch.staged is not None and any(isinstance(node, Stage) and node.ahead for node in walk(launch.staged))


def staged_arrays(launch: Launch) -> tuple[Staged, ...]:
    """The array tiles that a launch stages, in textual order."""
    stages = [node for node in walk(launch.staged) if isinstance(node, Stage)] if launch.staged is not None else []
    return tuple(array for stage in stages for array in stage.arrays)


def points_of(launch: Launch) -> dict[Axis, int]:
    """A worker's points by axis, if more than 1; only staged launches have any of ours."""
    points: dict[Axis, int] = {}
    for tiled in launch.loops if launch.staged is not None else ():
        coarsening, last = coarsening_tile(tiled), tiled.tiles[-1]
        if coarsening is not None and last.axis is not None:
            points[last.axis] = int(coarsening.argument.literal or 1) if coarsening.argument is not None else 1
    return points


def coarsening_tile(tiled: TiledLoop) -> Tile | None:
    """The tile that thread coarsening inserted before the workers'."""
    kinds = [tile.kind for tile in tiled.tiles]
    return tiled.tiles[2] if kinds == [TileKind.DYNAMIC, TileKind.GANG, TileKind.STATIC, TileKind.WORKER] else None


def numbers_fit(plan: KernelPlan) -> bool:
    """Whether integer literals fit the types that print them, in sections, conditions, loop bounds
    and bodies; exact integers need not.
    """
    parts = _parts((*plan.host_steps, *plan.device_steps))
    return all(map(_section_fits, plan.arrays)) and _fit(plan.conditions) and _fit(parts)


def with_fitting_sections(arrays: Iterable[ArrayArgument]) -> tuple[ArrayArgument, ...]:
    """The arguments, without the sections whose numbers do not fit."""
    return tuple(array if _section_fits(array) else replace(array, section=()) for array in arrays)


def _section_fits(argument: ArrayArgument) -> bool:
    return _fit(bound for side in argument.section for bound in (side.lower, side.length))


def _parts(steps: tuple[Step, ...]) -> Iterator[object]:
    """What each step itself has: a launch's body, a loop or a condition of the host."""
    for step in all_steps(steps):
        yield step.body if isinstance(step, Launch) else step.loop if isinstance(step, HostLoop) else step.condition


def _fit(computed: Iterable[object]) -> bool:
    numbers = (node for value in computed for node in walk(value) if isinstance(node, IntegerLiteral))
    return all(
        isinstance(number.type, ScalarType) and abs(number.value) < 2 ** (63 if number.type.signed else 64)
        for number in numbers
    )
