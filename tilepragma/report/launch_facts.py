"""The steps of a kernel on cores and on devices, and what its device launches do with memory."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.quantities import amount
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.cost.gang_memory import array_tiles_fit, default_array_tile_bytes, gang_bytes, register_use
from tilepragma.cost.gang_workers import gang_workers, gang_workers_by_dimension, likely_workers
from tilepragma.cost.launch_work import plan_work
from tilepragma.cost.ptx_walk import PlanCounts
from tilepragma.cost.thread_accesses import WorkerAccess, accesses_of, is_side_by_side, uncoalesced
from tilepragma.ir.evaluation import UncountableError
from tilepragma.ir.expressions import access_to
from tilepragma.ir.loop_tree import Declaration, ExpressionStatement, If, Loop, Statement, Tile, TiledLoop, TileNest
from tilepragma.ir.loop_tree_text import staged_text
from tilepragma.ir.polynomial import expression, number, of_atom, polynomial
from tilepragma.ir.traversal import walk
from tilepragma.model.device import Device, Gpu
from tilepragma.model.occupancy import occupancy
from tilepragma.plan.dispatch_table import sizes_on_hosts
from tilepragma.plan.kernel_plan import Division, HostCondition, HostLoop, KernelPlan, Launch, RowUse, Step, forms
from tilepragma.plan.space_time import Hyperplane
from tilepragma.plan.summary import buffered, copies_ahead, staged_arrays, tile_wavefronts
from tilepragma.plan.targets import GPU
from tilepragma.poly.schedule import Row, row_text
from tilepragma.report.size_values import Sizes, iterations
from tilepragma.report.source_text import plain_text
from tilepragma.schedule.doacross import persistent_launches
from tilepragma.user_tiles.chain_checks import literal_trip


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
    try:
        chosen = sizes_on_hosts(plan, sizes.by_name(plan.kernel))
    except UncountableError:
        return {}
    return {size.object.host: value for size, value in zip(plan.sizes, chosen, strict=True)}


def _with_device_facts(lines: Iterable[LaunchLine], plan: KernelPlan) -> Iterator[LaunchLine]:
    accesses = access_lines(plan)
    persistent = {launch.of for launch in persistent_launches(plan)}
    staged = [launch for launch in plan.device if launch.staged_scratchpads]
    scratchpads = {launch.name: (_scratchpad_line(plan, launch),) for launch in staged}
    for line in lines:
        waves = (_PERSISTENT,) if line.launch in persistent else ()
        below = (*scratchpads.get(line.launch, ()), *accesses.get(line.launch, ()))
        yield replace(line, below=below, remarks=(*line.remarks, *waves)) if line.launch else line


def _scratchpad_line(plan: KernelPlan, launch: Launch) -> str:
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
            tiles = tuple(_tiles_of_wavefronts(step))
            what = f"{_host_loop(step.loop)} in order{shape}"
            yield LaunchLine(depth, what, trips=_trips(step.loop, sizes), below=tiles)
            yield from _lines(step.steps, depth + 1, sizes)
        elif isinstance(step, HostCondition):
            yield LaunchLine(depth, f"if ({plain_text(step.condition)})")
            yield from _lines(step.steps, depth + 1, sizes)


def _tiles_of_wavefronts(step: HostLoop[Launch]) -> Iterator[str]:
    lines: dict[str, list[int]] = {}
    summed = count = 0
    for wavefronts in tile_wavefronts(step):
        summed, count = len(wavefronts.summed), len(wavefronts.hyperplanes)
        phi = ", ".join(map(_phi_text, wavefronts.hyperplanes))
        places = lines.setdefault(phi, [])
        places += [each.start.line for each in wavefronts.statements if each.start.file != NOWHERE.file]
    for phi, places in lines.items():
        yield f"hyperplanes phi{_lines_text(sorted(set(places)))}: ({phi})"
    if lines:
        numbers = [f"t{place + 1}" for place in range(count)]
        inside = f", {', '.join(numbers[summed:])} in order inside each" if count > summed else ""
        yield f"tiles t = floor(phi / size): those of equal {' + '.join(numbers[:summed])} in parallel{inside}"


def _phi_text(plane: Hyperplane) -> str:
    iterators = tuple(iterator.host for iterator, _ in plane.factors)
    return row_text(Row(plane.coefficients(iterators) or (), plane.constant, None), iterators)


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
    """The line of the user's text where the launch's first loop or statement stands, or the lines
    where each of several nests begins.
    """
    nests = launch.body.statements if _has_several_nests(launch) else (launch.body,)
    return _lines_text(sorted({line for line in map(_first_line, nests) if line is not None}))


def _has_several_nests(launch: Launch) -> bool:
    statements = launch.body.statements
    return len(statements) > 1 and all(isinstance(statement, TileNest) for statement in statements)


def _first_line(part: Statement) -> int | None:
    for node in walk(part):
        places = []
        if isinstance(node, TileNest):
            places = [tiled.loop.header for tiled in node.loops]
        elif isinstance(node, (Loop, ExpressionStatement, Declaration, If)):
            places = [node.header if isinstance(node, Loop) else node.range]
        for place in places:
            if place.file != NOWHERE.file:
                return place.start.line
    return None


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
        if not _runs_once(tiled.loop)
    )
    return tuple(dict.fromkeys(loops))


def _runs_once(loop: Loop) -> bool:
    """Whether it is a loop of one iteration that gives a nest the axes of another."""
    return loop.header.file == NOWHERE.file and literal_trip(loop) == 1


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
        if loop.is_distributed
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
    if _has_several_nests(launch):
        yield "loops that do not wait for each other"
    if not launch.axes:
        yield "one instance"
    buffers = [buffer for node in buffered((launch,)) for buffer in node.buffers]
    for buffer in buffers:
        extents = " × ".join(plain_text(length) for length in buffer.object.lengths if length is not None)
        where = "in registers" if buffer.stored else "packed"
        if buffer.stored and buffer.object.rank == 1:
            where += ", sums that wait for themselves side by side"
        yield f"{extents} of {plain_text(buffer.access)} {where}"


# -- access facts


def access_lines(plan: KernelPlan) -> Mapping[str, tuple[str, ...]]:
    """Lines on each device launch, by name: `neighbours along i: x coalesced, a strided by n`."""
    accesses_by_launch: dict[str, list[WorkerAccess]] = {}
    for access in accesses_of(plan):
        accesses_by_launch.setdefault(access.launch, []).append(access)
    return {
        launch.name: (
            *_access_clauses(accesses_by_launch[launch.name]),
            *_fetched_alone(plan, launch, accesses_by_launch[launch.name]),
        )
        for launch in plan.device
        if launch.name in accesses_by_launch
    }


def _fetched_alone(plan: KernelPlan, launch: Launch, accesses: list[WorkerAccess]) -> Iterator[str]:
    staged = {array.object for array in staged_arrays(launch)}
    staged |= {scratchpad.array for scratchpad in launch.staged_scratchpads} if array_tiles_fit(plan, launch) else set()
    left = [array.host for array in uncoalesced(accesses, launch.name) if array not in staged]
    if left:
        yield f"neither coalesced nor staged: {', '.join(left)}"


def _access_clauses(accesses: list[WorkerAccess]) -> Iterator[str]:
    alone = all(access.first for access in accesses) and not all(map(is_side_by_side, accesses))
    for loop, arrays in _by_loop(access for access in accesses if access.first).items():
        why = ", which alone runs in parallel" if alone else ""
        yield f"neighbours along {loop}{why}: {', '.join(_access_phrases(arrays))}"
    # Another loop that is no worse is no reason.
    worse = _by_loop(access for access in accesses if not access.first and not is_side_by_side(access))
    for loop, arrays in worse.items():
        yield f"along {loop} they would have {', '.join(_access_phrases(arrays))}"


_Arrays = dict[str, dict[str, None]]


def _by_loop(accesses: Iterable[WorkerAccess]) -> dict[str, _Arrays]:
    """For each loop's iterator, how its neighbours access every array, each once."""
    by_loop: dict[str, _Arrays] = {}
    for access in accesses:
        arrays = by_loop.setdefault(access.along.loop.iterator.host, {})
        arrays.setdefault(access.reference.object.host, {})[_access_pattern(access)] = None
    return by_loop


def _access_phrases(arrays: _Arrays) -> list[str]:
    return [f"{array} {' and '.join(reaches)}" for array, reaches in arrays.items()]


def _access_pattern(access: WorkerAccess) -> str:
    """`strided by n`"""
    if access.pattern.moves:
        stride = access.apart
        if stride is not None and all(factor < 0 for _, factor in stride.terms):
            stride = -stride
        return f"strided by {'rows' if stride is None else plain_text(expression(stride))}"
    return access.pattern.reach.value if is_side_by_side(access) or not access.blocked else "in blocks"


# -- division facts


def division_rows(plan: KernelPlan) -> Iterator[str]:
    """For each device launch, the distributed loop and the rows that an iteration touches."""
    for launch, division in zip(plan.device, plan.divisions, strict=bool(plan.divisions)):
        uses = ", ".join(dict.fromkeys(_use(use, division) for use in division.uses))
        if division.loop is None:
            yield f"launch {launch.name} on one of several: {uses}"
        else:
            yield f"launch {launch.name} on several, blocks of {division.loop.loop.iterator.host}: {uses}"


def _use(use: RowUse, division: Division) -> str:
    does = "writes" if use.writes else "reads"
    if use.least is None or use.greatest is None:
        return f"{does} any row of {use.object.host}"
    ends = [_row(use, division, offset) for offset in dict.fromkeys((use.least, use.greatest))]
    return f"{does} {use.object.host} in row{'s' if len(ends) > 1 else ''} {' to '.join(ends)}"


def _row(use: RowUse, division: Division, offset: int) -> str:
    row = number(offset)
    if use.base is not None:
        row = row + polynomial(use.base)
    if division.loop is not None:
        row = row + number(use.scale) * of_atom(access_to(division.loop.loop.iterator))
    return plain_text(expression(row))


# -- register facts


Workers = tuple[int, int, int]


def register_rows(plan: KernelPlan, sizes: Sizes, device: Device | None) -> Iterator[str]:
    """A clause on each device launch; none where no GPU is planned for."""
    if plan.registers is None or not isinstance(device, Gpu):
        return
    known = _known_workers(plan, sizes, device)
    for launch in plan.device:
        likely = gang_workers_by_dimension(likely_workers(plan, launch, device.threads_per_block))
        words = _of_launch(plan, launch, device, known.get(launch.name, likely), launch.name in known)
        yield f"{words} ({plan.registers.by})"


def executed_rows(counts: PlanCounts | str | None) -> Iterator[str]:
    """A clause on each device launch whose instructions are counted, and on memory."""
    if isinstance(counts, str):
        yield f"not known: {counts}"
    elif counts is not None:
        for name, (times, each) in counts.launches.items():
            launches = "1 launch" if times == 1 else f"{amount(times)} launches"
            conflicts = f", {amount(each.conflicts)} bank conflicts" if each.conflicts else ""
            numbers = f"{amount(each.instructions)} instructions of threads, {amount(each.sectors)} sectors"
            yield f"{name}: {launches}, {numbers}{conflicts} (PTX of {counts.by})"
        if counts.memory is not None:
            yield f"memory: at least {amount(counts.memory)} sectors"


def _known_workers(plan: KernelPlan, sizes: Sizes, gpu: Gpu) -> Mapping[str, Workers]:
    numbers = sizes.by_name(plan.kernel)
    workers: dict[str, Workers] = {}
    try:
        work = plan_work(plan, numbers, {}, GPU) if numbers else ()
    except UncountableError:
        return workers
    for launch in work:
        try:
            first, second, third = gang_workers(launch.place, plan.counts, numbers, gpu)
        except UncountableError:
            continue
        workers[launch.place.launch.name] = int(first[0]), int(second[0]), int(third[0])
    return workers


def _of_launch(plan: KernelPlan, launch: Launch, gpu: Gpu, workers: Workers, known: bool) -> str:
    use = register_use(plan, launch, gpu)
    threads = math.prod(workers)
    tile_bytes = default_array_tile_bytes(plan, launch) if array_tiles_fit(plan, launch) else 0
    shared_bytes = gang_bytes(launch, workers, gpu) + tile_bytes
    occupied = occupancy(gpu, threads, use.registers, shared_bytes)
    spilled = f"{use.spilled} bytes spilled" if use.spilled else "none spilled"
    gangs = f"gangs of {threads}" if known else f"gangs of {threads} at most"
    share = f"{occupied.share:.0%} of its warps"
    at_once = f"up to {occupied.blocks} at once on a multiprocessor, {share}, " if occupied.blocks else ""
    return f"{launch.name}: {use.registers} a worker, {spilled}; {gangs}: {at_once}{occupied.reason}"
