"""The host's steps for a kernel: loops in order, launches, and how loops are distributed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.loop_tree import Declaration, ExpressionStatement, If, Loop, Tile, TiledLoop, TileNest
from tilepragma.ir.loop_tree_text import staged_text
from tilepragma.ir.traversal import walk
from tilepragma.plan.dispatch_table import sizes_on_hosts
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, KernelPlan, Launch, Step, TiledBand, forms
from tilepragma.plan.summary import buffered, copies_ahead, staged_arrays
from tilepragma.report.access_facts import access_lines
from tilepragma.report.size_values import Sizes, iterations
from tilepragma.report.source_text import plain_text
from tilepragma.schedule.doacross import persistent_launches


@dataclass(frozen=True)
class LaunchLine:
    """A loop of the host (`trips` times, where the sizes tell), a condition, or a launch. For a
    launch, `launch` is its name and `loops` are (iterator, distribution). `below` says how workers
    access the arrays, or which tiles a loop visits.
    """

    depth: int
    what: str
    loops: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()
    trips: str = ""
    below: tuple[str, ...] = ()
    launch: str = ""


@dataclass(frozen=True)
class LaunchGroup:
    """The steps on one kind of target."""

    title: str
    lines: tuple[LaunchLine, ...]


def launch_groups(plan: KernelPlan, sizes: Sizes) -> tuple[LaunchGroup, ...]:
    """For cores and for devices, or for all where both are the same."""
    if not plan.host_steps and not plan.device_steps:
        return ()
    on_cores = sizes.with_numbers(_on_cores(plan, sizes))
    on_devices = sizes.with_numbers({size.object.host: size.device for size in plan.sizes})
    on_devices_lines = tuple(_with_device_facts(_lines(plan.device_steps, 0, on_devices), plan))
    if plan.host_steps == plan.device_steps and on_cores == on_devices:
        return (LaunchGroup("on all", on_devices_lines),)
    return (
        LaunchGroup("on cores", tuple(_lines(plan.host_steps, 0, on_cores))),
        LaunchGroup("on devices", on_devices_lines),
    )


def _on_cores(plan: KernelPlan, sizes: Sizes) -> dict[str, int]:
    """The tile sizes of launches on cores; empty where the sizes do not determine them."""
    from tilepragma.ir.evaluation import UncountableError

    try:
        chosen = sizes_on_hosts(plan, sizes.by_name(plan.kernel))
    except UncountableError:
        return {}
    return {size.object.host: value for size, value in zip(plan.sizes, chosen, strict=True)}


def _with_device_facts(lines: Iterable[LaunchLine], plan: KernelPlan) -> Iterator[LaunchLine]:
    """The lines, with the facts of device launches."""
    accesses = access_lines(plan)
    persistent = {launch.of for launch in persistent_launches(plan)}
    staged = [launch for launch in plan.device if launch.staged_scratchpads]
    scratchpads = {launch.name: (_scratchpad_line(plan, launch),) for launch in staged}
    for line in lines:
        waves = (_PERSISTENT,) if line.launch in persistent else ()
        below = (*scratchpads.get(line.launch, ()), *accesses.get(line.launch, ()))
        yield replace(line, below=below, remarks=(*line.remarks, *waves)) if line.launch else line


def _scratchpad_line(plan: KernelPlan, launch: Launch) -> str:
    """What a gang keeps in shared memory, or that it does not fit."""
    from tilepragma.cost.gang_memory import array_tiles_fit, default_array_tile_bytes

    names = " and ".join(scratchpad.array.host for scratchpad in launch.staged_scratchpads)
    size, room = default_array_tile_bytes(plan, launch), plan.kernel.directive.local_bytes
    part = f"with tiles of {' x '.join(str(size.device) for size in plan.sizes)} a tile's part of {names} is"
    if array_tiles_fit(plan, launch):
        return f"{part} staged in shared memory, {size} of {room} bytes: copied by rows, computed there by diagonals"
    return f"{part} not staged: it takes {size} bytes, and a gang has {room} (smaller tiles: TILEK_SIZES)"


def _lines(steps: tuple[Step, ...], depth: int, sizes: Sizes) -> Iterator[LaunchLine]:
    for step in steps:
        if isinstance(step, Launch):
            what = f"launch {step.name}{_line_of(step)}"
            remarks = (*_remarks(step), *_idle_distribution(step, sizes))
            yield LaunchLine(depth, what, _loops(step, sizes), remarks, launch=step.name)
        elif isinstance(step, HostLoop):
            shape = f", {step.shape}" if step.shape else ""
            tiles = () if step.band is None else tuple(_tiles_of_band(step.band))
            what = f"{_host_loop(step.loop)} in order{shape}"
            yield LaunchLine(depth, what, trips=_trips(step.loop, sizes), below=tiles)
            yield from _lines(step.steps, depth + 1, sizes)
        elif isinstance(step, HostCondition):
            yield LaunchLine(depth, f"if ({plain_text(step.condition)})")
            yield from _lines(step.steps, depth + 1, sizes)


def _tiles_of_band(band: TiledBand) -> Iterator[str]:
    """The hyperplanes of the tiles, and which tiles run in parallel."""
    from tilepragma.poly.schedule import Row, row_text

    lines: dict[str, list[int]] = {}
    for statement in band.statements:
        rows = (Row(row, offset, None) for row, offset in zip(statement.rows, statement.offsets, strict=True))
        phi = ", ".join(row_text(row, statement.iterators) for row in rows)
        start = statement.range.start
        lines.setdefault(phi, []).extend([start.line] if start.file != NOWHERE.file else [])
    for phi, places in lines.items():
        yield f"hyperplanes phi{_lines_text(sorted(set(places)))}: ({phi})"
    count = len(band.statements[0].rows)
    numbers = [f"t{place + 1}" for place in range(count)]
    inside = f", {', '.join(numbers[band.summed :])} in order inside each" if count > band.summed else ""
    yield f"tiles t = floor(phi / size): those of equal {' + '.join(numbers[: band.summed])} in parallel{inside}"


def _lines_text(lines: list[int]) -> str:
    """`, line 3`; `, lines 3 to 5, 9`."""
    runs: list[list[int]] = []
    for line in lines:
        if runs and line == runs[-1][-1] + 1:
            runs[-1].append(line)
        else:
            runs.append([line])
    texts = [f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return f", line{'s' if len(lines) > 1 else ''} {', '.join(texts)}" if texts else ""


def _line_of(launch: Launch) -> str:
    """The line of the user's text where the launch's first loop or statement stands."""
    for node in walk(launch.body):
        if isinstance(node, TileNest):
            place = node.loops[0].loop.header
        elif isinstance(node, (Loop, ExpressionStatement, Declaration, If)):
            place = node.header if isinstance(node, Loop) else node.range
        else:
            continue
        if place.file != NOWHERE.file:
            return f", line {place.start.line}"
    return ""


def _trips(loop: Loop, sizes: Sizes) -> str:
    count = iterations(loop, sizes) if sizes.numbers else None
    return "" if count is None else f"{count}×"


def _host_loop(loop: Loop) -> str:
    """The user's loop with its bounds; of a planner's loop, whose bounds are long, the iterator."""
    return loop_text(loop) if loop.header.file != NOWHERE.file else f"for each {_name(loop)}"


def _name(loop: Loop) -> str:
    """The iterator, without the number that tells the planner's names apart."""
    name = loop.iterator.host
    return name if loop.header.file != NOWHERE.file else re.sub(r"_\d+$", "", name)


def loop_text(loop: Loop) -> str:
    """`for t = 0 … < steps`; steps other than 1 are shown."""
    step = plain_text(loop.step)
    by = "" if step in ("1", "-1") else f" by {step}"
    name = loop.iterator.host
    return f"for ({name} = {plain_text(loop.lower)}; {name} {loop.comparison} {plain_text(loop.upper)}{by})"


def _loops(launch: Launch, sizes: Sizes) -> tuple[tuple[str, str], ...]:
    loops = (
        (name, f"{_trips(tiled.loop, sizes)} {_tiles(tiled)}".strip())
        for nest in walk(launch.body)
        if isinstance(nest, TileNest)
        for name, tiled in zip(_names(nest), nest.loops, strict=True)
    )
    return tuple(dict.fromkeys(loops))


def _names(nest: TileNest) -> list[str]:
    """The iterators of the nest; with their numbers where these alone tell loops of it apart."""
    short = [_name(tiled.loop) for tiled in nest.loops]
    return [
        name if short.count(name) == 1 else tiled.loop.iterator.host
        for name, tiled in zip(short, nest.loops, strict=True)
    ]


def _tiles(tiled: TiledLoop) -> str:
    """`gang 0 × worker 0`, outermost tile first; sequential tiles appear only on their own."""
    words = [_tile(tile) for tile in tiled.tiles]
    distributed = [word for tile, word in zip(tiled.tiles, words, strict=True) if tile.axis is not None]
    plain = all(tile.axis is not None or tile.kind.value == "dynamic" for tile in tiled.tiles)
    if not distributed:
        return "in order" if plain else " × ".join(words)
    return " × ".join(distributed if plain else words)


def _tile(tile: Tile) -> str:
    if tile.axis is not None:
        return "threads" if tile.kind.value == "thread" else f"{tile.kind.value}s {tile.axis.dimension}"
    return tile.kind.value + ("" if tile.argument is None else f" {tile.argument.text}")


def _idle_distribution(launch: Launch, sizes: Sizes) -> Iterator[str]:
    """Loops of which the sizes leave one tile or iteration: mostly the domain is below a tile."""
    trips = [
        iterations(loop.loop, sizes)
        for nest in walk(launch.body)
        if isinstance(nest, TileNest)
        for loop in nest.loops
        if any(tile.axis is not None for tile in loop.tiles)
    ]
    if trips and all(count == 1 for count in trips):
        yield "one alone: nothing runs in parallel"


_PERSISTENT = "one launch for all wavefronts on CUDA"
_AHEAD = ", a tile while the one before is computed where there is room for both"


def _remarks(launch: Launch) -> Iterator[str]:
    for reduction in launch.reductions:
        yield f"reduces {reduction.object.host} with {reduction.operator}"
    first = set(launch.first_privates)
    privates = [object_.host for object_ in launch.privates if object_ not in first]
    if privates:
        yield f"private {', '.join(privates)}"
    if first:
        yield f"firstprivate {', '.join(object_.host for object_ in launch.first_privates)}"
    staged = ", ".join(map(staged_text, staged_arrays(launch)))
    if staged:
        yield f"stages {staged} in shared memory{_AHEAD if copies_ahead(launch) else ''}"
    for node in buffered((forms(launch)[1],)) if staged else ():
        for buffer in node.buffers:
            yield f"{plain_text(buffer.access)} stays in registers of its worker"
    if not launch.axes:
        yield "one instance"
    buffers = [buffer for node in buffered((launch,)) for buffer in node.buffers]
    for buffer in buffers:
        extents = " × ".join(plain_text(length) for length in buffer.object.lengths if length is not None)
        where = "in registers" if buffer.stored else "packed"
        if buffer.stored and buffer.object.rank == 1:
            where += ", sums that wait for themselves side by side"
        yield f"{extents} of {plain_text(buffer.access)} {where}"
