"""What `explain` says of a plan, held against the instance maps read from its loops.

    { [h_1, …, h_k, i_1, …, i_n] -> S[j] }     host loops, the launch's loops, and what they execute

Everything said is read from the words of the report (`LaunchLine`), so that a wrong word is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

import islpy as isl

from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.directives import TileKind
from tilepragma.ir.evaluation import Evaluation
from tilepragma.ir.expressions import DataObject, Expression, Scope
from tilepragma.ir.loop_tree import Declaration, If, Loop, PackedPanels, Stage, TiledLoop, TileNest
from tilepragma.ir.traversal import loop_directives, walk
from tilepragma.ir.types import ScalarType
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch, Step, all_steps, forms, launches_in
from tilepragma.plan.summary import tile_wavefronts
from tilepragma.poly.dependences import memory_dependences
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.scop import ScopStatement
from tilepragma.report.launch_facts import LaunchGroup, LaunchLine
from tilepragma.report.source_text import plain_text
from tilepragma.verify.instances import InstanceMap, Original
from tilepragma.verify.launch_tree_relation import Mapped
from tilepragma.verify.proofs import (
    instance_maps,
    is_automatic,
    region_of,
    region_without_dependences,
    with_staged_forms,
)
from tilepragma.verify.space_time_faults import wrong_schedules

IN, OUT = isl.dim_type.in_, isl.dim_type.out
#: Sizes of tiles besides those in use, another for each symbol.
ODD = (3, 2, 5, 7, 4, 6)
AXES = {"gangs": TileKind.GANG, "workers": TileKind.WORKER, "threads": TileKind.THREAD}
Sizes = Mapping[DataObject, int]


@dataclass(frozen=True, eq=False)
class SaidLine:
    """A line of the report with the step that it is of and the lines around it, outermost first."""

    line: LaunchLine
    step: Step
    around: tuple[SaidLine, ...]


@dataclass(frozen=True, eq=False)
class Executed:
    """An instance map with the host's loops and the conditions around its launch, outermost first."""

    map: InstanceMap
    around: tuple[Loop | Expression, ...]

    @property
    def relation(self) -> isl.Map:
        return self.map.relation

    @property
    def statement(self) -> ScopStatement:
        return self.map.statement

    @property
    def launch(self) -> str:
        return self.map.leaf.launch.name if self.map.leaf.launch is not None else ""

    @property
    def host_loops(self) -> tuple[Loop, ...]:
        return tuple(each for each in self.around if isinstance(each, Loop))

    @property
    def nests(self) -> tuple[tuple[int, TileNest], ...]:
        """Each with the number of the dimension of its first loop."""
        return tuple((element.first, element.nest) for element in self.map.leaf.path if isinstance(element, Mapped))


def all_executed(region: Original, steps: tuple[Step, ...], sizes: Sizes) -> list[Executed]:
    around = dict(_steps_around(steps, ()))
    with operation_limit(region.scop.context, DEFAULT_LIMIT, "finding what a plan executes"):
        maps = instance_maps(region, steps, sizes)
    return [Executed(each, around.get(each.leaf.launch.name if each.leaf.launch else "", ())) for each in maps]


def _steps_around(
    steps: tuple[Step, ...], outside: tuple[Loop | Expression, ...]
) -> Iterator[tuple[str, tuple[Loop | Expression, ...]]]:
    """Each launch, by its name, with the host's loops and conditions around it."""
    for step in steps:
        if isinstance(step, Launch):
            yield step.name, outside
        else:
            own = step.loop if isinstance(step, HostLoop) else step.condition
            yield from _steps_around(step.steps, (*outside, own))


def disagreements(plan: KernelPlan, groups: tuple[LaunchGroup, ...]) -> list[str]:
    """What the groups say that the plan's loops do not do, in words, and what they do not say."""
    if not plan.host and not plan.device:
        return [f"{group.title} is of nothing" for group in groups]
    said = {group.title: group.lines for group in groups}
    by_form = [(said.get("on cores", said.get("on all")), plan.host_steps, False)]
    by_form.append((said.get("on devices", said.get("on all")), plan.device_steps, True))
    results: list[str] = []
    region: Original | None = None
    for lines, steps, on_devices in by_form:
        if lines is None:
            results.append("a form of the plan is not explained")
            continue
        pairs = list(_paired(list(lines), steps, ()))
        complaints = [each for each in pairs if isinstance(each, str)]
        matched = [each for each in pairs if isinstance(each, SaidLine)]
        complaints += [text for each in matched for text in _of_line(plan, each, on_devices)]
        results += complaints
        if complaints or (on_devices and steps == plan.host_steps):
            continue
        computed = plan.device_kernel if on_devices and plan.device_kernel is not None else plan.kernel
        if region is None or computed is not plan.kernel:
            region = _region(replace(plan, kernel=computed))
        for form, sizes in _runs(plan, steps, on_devices):
            results += _against_instances(plan, region, matched, form, sizes)
    return results


def _region(plan: KernelPlan) -> Original:
    """The region of the plan, with its dependences; without those of another order of the user's
    where it takes long to find them at once: parts of it are proven one by one.
    """
    region = region_without_dependences(plan)
    limit = DEFAULT_LIMIT if plan.reordered is None else DEFAULT_LIMIT // 4
    try:
        with operation_limit(region.scop.context, limit, "finding the dependences"):
            return region_of(plan, Original(region.scop, memory_dependences(region.scop)))
    except OperationLimitError:
        assert plan.reordered is not None
        return region


def _runs(plan: KernelPlan, steps: tuple[Step, ...], on_devices: bool) -> Iterator[tuple[tuple[Step, ...], Sizes]]:
    usual = {size.object: size.device if on_devices else size.host for size in plan.sizes}
    yield steps, usual
    if plan.sizes:
        yield steps, {size.object: ODD[place % len(ODD)] for place, size in enumerate(plan.sizes)}
    # What scratchpads hold is copied by statements that no region has.
    staged = with_staged_forms(steps)
    if staged != steps and not any(launch.staged_scratchpads for launch in launches_in(steps)):
        yield staged, usual


# -- line by line


def _paired(lines: list[LaunchLine], steps: tuple[Step, ...], around: tuple[SaidLine, ...]) -> Iterator[SaidLine | str]:
    """The lines with the steps that they are of; takes the lines of the steps from the list."""
    for step in steps:
        if not lines or lines[0].depth != len(around):
            yield f"a step of depth {len(around)} is not told: {type(step).__name__} {getattr(step, 'name', '')}"
            return
        said = SaidLine(lines.pop(0), step, around)
        yield said
        if not isinstance(step, Launch):
            yield from _paired(lines, step.steps, (*around, said))
    if lines and lines[0].depth >= len(around):
        yield f"'{lines[0].what}' is no step of the plan"
        lines.clear()


def _of_line(plan: KernelPlan, said: SaidLine, on_devices: bool) -> Iterator[str]:
    line, step = said.line, said.step
    if isinstance(step, Launch):
        yield from _of_launch(plan, line, step, on_devices)
    elif isinstance(step, HostLoop):
        yield from _of_host_loop(line, step)
    elif line.what != f"if ({plain_text(step.condition)})":
        yield f"'{line.what}' is another condition"


def _of_host_loop(line: LaunchLine, step: HostLoop) -> Iterator[str]:
    match = re.fullmatch(
        r"for (?:each (\w+)|\((\w+) = (.*); (\w+) (<|<=|>|>=|!=) (.*?)(?: by (.*))?\)) in order(.*)", line.what
    )
    if match is None:
        yield f"'{line.what}' is no loop of the host"
        return
    if (match[1] or match[2]) != _name(step.loop):
        yield f"'{line.what}' is the loop over {_name(step.loop)}"
    if match[2] and match[5] != step.loop.comparison:
        yield f"'{line.what}' ends otherwise"
    if match[8] != (f", {step.shape}" if step.shape else ""):
        yield f"'{line.what}' has another shape: {step.shape}"
    rows = [text for text in line.below if text.startswith("hyperplanes")]
    if bool(rows) != any(tile_wavefronts(step)):
        yield f"'{line.what}' has {len(rows)} lines of hyperplanes"


def _of_launch(plan: KernelPlan, line: LaunchLine, launch: Launch, on_devices: bool) -> Iterator[str]:
    match = re.fullmatch(r"launch (\w+)(?:, line \d+|, lines [\d, to]+)?", line.what)
    if match is None or match[1] != launch.name or line.launch != launch.name:
        yield f"'{line.what}' is launch {launch.name}"
    if [(name, _axes(how)) for name, how in line.loops] != _told_once(launch):
        yield f"launch {launch.name} has other loops: {line.loops}"
    axes = {axis for _, how in line.loops for axis in _axes(how)}
    if axes != {(axis.kind.value, 0 if axis.kind.value == "thread" else axis.dimension) for axis in launch.axes}:
        yield f"launch {launch.name} has other axes: {sorted(axes)}"
    if ("one instance" in line.remarks) != (not launch.axes):
        yield f"launch {launch.name} has {len(launch.axes)} axes"
    yield from _of_staging(line, launch)
    if on_devices:
        yield from _of_scratchpads(plan, line, launch)
    yield from _of_registers(line, launch)


def overlapping(plan: KernelPlan) -> frozenset[SourceRange]:
    """The loops, by their heads, whose iterations the plan overlaps: at fixed values of all other iterators
    around a statement the loop's decides in which tile of a wavefront it runs, or in which thread, gang or worker.
    """
    results = set()
    for steps, on_devices in ((plan.host_steps, False), (plan.device_steps, True)):
        computed = plan.device_kernel if on_devices and plan.device_kernel is not None else plan.kernel
        region = region_without_dependences(replace(plan, kernel=computed))
        waves = {step.loop for step in all_steps(steps) if isinstance(step, HostLoop) and any(tile_wavefronts(step))}
        for executed in all_executed(region, steps, {size.object: ODD[0] for size in plan.sizes}):
            relation = executed.relation
            places = [place for place, loop in enumerate(executed.host_loops) if loop in waves]
            for start, nest in executed.nests:
                places += [start + place for place, loop in enumerate(nest.loops) if _tile_axes(loop)]
            results |= {
                loop.header
                for depth, loop in enumerate(executed.statement.loops[: relation.dim(OUT)])
                if any(_decides(relation, depth, place) for place in places if place < relation.dim(IN))
            }
    return frozenset(results)


def _decides(relation: isl.Map, depth: int, place: int) -> bool:
    """{ x -> x' : relation(x) and relation(x') differ in iterator `depth` alone } has x and x' that differ in `place`."""
    instances = relation.range()
    alike = isl.Map.from_domain_and_range(instances, instances)
    for other in range(instances.dim(isl.dim_type.set)):
        if other != depth:
            alike = alike.equate(IN, other, OUT, other)
    pairs = relation.apply_range(alike).apply_range(relation.reverse())
    return not pairs.is_subset(pairs.equate(IN, place, OUT, place))


def _told_once(launch: Launch) -> list[tuple[str, frozenset[tuple[str, int]]]]:
    """The name of each loop and the axes it is distributed to; alike ones of several nests are told
    once, if their other tiles are alike too. Loops of one iteration, which give a nest the axes of
    another, are left out.
    """
    nests = [node for node in walk(launch.body) if isinstance(node, TileNest)]
    named = [pair for nest in nests for pair in zip(_names(nest), nest.loops, strict=True)]
    told = ((name, loop) for name, loop in named if not _is_left_out(loop.loop))
    seen = dict.fromkeys((name, _tile_axes(loop), _other_tiles(loop)) for name, loop in told)
    return [(name, axes) for name, axes, _ in seen]


def _names(nest: TileNest) -> list[str]:
    """What reports call the loops of a nest: each otherwise, unless the user gave two one name."""
    short = [_name(each.loop) for each in nest.loops]
    return [
        name if short.count(name) == 1 else each.loop.iterator.host
        for name, each in zip(short, nest.loops, strict=True)
    ]


def _other_tiles(loop: TiledLoop) -> tuple[str, ...]:
    kinds = [(tile.kind.value, "" if tile.argument is None else tile.argument.text) for tile in loop.tiles]
    plain = all(tile.axis is not None or tile.kind is TileKind.DYNAMIC for tile in loop.tiles)
    return () if plain else tuple(map(" ".join, kinds))


def _tile_axes(loop: TiledLoop) -> frozenset[tuple[str, int]]:
    axes = [tile.axis for tile in loop.tiles if tile.axis is not None]
    return frozenset((axis.kind.value, 0 if axis.kind.value == "thread" else axis.dimension) for axis in axes)


def _axes(how: str) -> frozenset[tuple[str, int]]:
    """What `16× gangs 1 × workers 1` distributes a loop to."""
    results = re.findall(r"\b(gangs|workers|threads)\b(?: (\d+))?", how)
    return frozenset((AXES[word].value, int(number or 0)) for word, number in results)


def _of_staging(line: LaunchLine, launch: Launch) -> Iterator[str]:
    said = [match[1] for remark in line.remarks if (match := re.match(r"stages (.*) in shared memory", remark))]
    boxes = [
        (name, _counts(sides))
        for name, sides in re.findall(r"([^\[\], ][^\[\]]*?)((?:\[[^\]]* : \d+\])+)", ", ".join(said))
    ]
    stages = [] if launch.staged is None else [node for node in walk(launch.staged) if isinstance(node, Stage)]
    held = [(one.object.host, tuple(side.width + 1 for side in one.sides)) for stage in stages for one in stage.arrays]
    if [(name.removeprefix(", "), counts) for name, counts in boxes] != held:
        yield f"launch {launch.name} stages {held}, not {boxes}"
    ahead = any("a tile while the one before is computed" in remark for remark in line.remarks)
    if ahead != any(stage.ahead for stage in stages):
        yield f"launch {launch.name} copies ahead otherwise"


def _counts(sides: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r" : (\d+)\]", sides)))


def _of_scratchpads(plan: KernelPlan, line: LaunchLine, launch: Launch) -> Iterator[str]:
    held = r"staged in shared memory, (\d+) of (\d+) bytes"
    not_held = r"not staged: it takes (\d+) bytes, and a gang has (\d+)"
    pattern = rf"with tiles of ([\dx ]+) a tile's part of (.*) is (?:{held}|{not_held}).*"
    results = [match for text in line.below if (match := re.fullmatch(pattern, text))]
    if not launch.staged_scratchpads:
        if results:
            yield f"launch {launch.name} keeps no part of a tile"
        return
    if len(results) != 1:
        yield f"launch {launch.name} says {len(results)} times what it keeps of a tile"
        return
    (said,) = results
    value = Evaluation({size.object.name: size.device for size in plan.sizes}).value
    total = 0
    for each in launch.staged_scratchpads:
        assert isinstance(each.object.element, ScalarType)
        lengths = [int(value(length)) for length in each.object.lengths if length is not None]
        total += -(-prod(lengths) * (each.object.element.bits // 8) // 8) * 8
    room = plan.kernel.directive.local_bytes
    if tuple(map(int, said[1].split(" x "))) != tuple(size.device for size in plan.sizes):
        yield f"launch {launch.name} has other tiles: {said[1]}"
    if said[2].split(" and ") != [each.array.host for each in launch.staged_scratchpads]:
        yield f"launch {launch.name} keeps other arrays: {said[2]}"
    if (int(said[3] or said[5]), int(said[4] or said[6])) != (total, room) or bool(said[3]) != (total <= room):
        yield f"launch {launch.name} keeps {total} of {room} bytes: {said[0]}"


def _of_registers(line: LaunchLine, launch: Launch) -> Iterator[str]:
    """As many panels and register tiles as the launch has."""
    staged = launch.staged is not None and any(isinstance(node, Stage) for node in walk(launch.staged))
    held = [panel for node in walk(launch.body) if isinstance(node, PackedPanels) for panel in node.buffers]
    if staged:
        held += [
            panel for node in walk(forms(launch)[1].body) if isinstance(node, PackedPanels) for panel in node.buffers
        ]
    said = [
        text
        for text in line.remarks
        if re.search(r" in registers(,|$)| packed$| stays in registers of its worker$", text)
    ]
    if len(said) != len(held):
        yield f"launch {launch.name} has {len(held)} panels: {said}"


def _is_left_out(loop: Loop) -> bool:
    """Whether reports omit the loop: it runs once, for the axes of other nests."""
    return loop.header.file == NOWHERE.file and _name(loop) == "once"


def _name(loop: Loop) -> str:
    """The loop's iterator as reports call it."""
    made = loop.header.file == NOWHERE.file
    return re.sub(r"_\d+$", "", loop.iterator.host) if made else loop.iterator.host


# -- against what the loops execute


def _against_instances(
    plan: KernelPlan, region: Original, said: list[SaidLine], steps: tuple[Step, ...], sizes: Sizes
) -> Iterator[str]:
    maps = all_executed(region, steps, sizes)
    yield from (fault.message for fault in wrong_schedules(each.map for each in maps))
    by_launch: dict[str, list[Executed]] = {}
    for executed in maps:
        by_launch.setdefault(executed.launch, []).append(executed)
    names = {line.step.name for line in said if isinstance(line.step, Launch)}
    yield from (f"launch {name} is not told" for name in by_launch.keys() - names)
    for line in said:
        step = line.step
        if isinstance(step, Launch):
            mine = by_launch.get(step.name, [])
            for executed in mine:
                yield from _around(line, executed)
            if not vouched(plan):
                yield from _apart(plan, region, step, mine)
        elif isinstance(step, HostLoop) and any(tile_wavefronts(step)):
            mine = [executed for executed in maps if step.loop in executed.host_loops]
            yield from _hyperplanes(region, line.line, step, mine, sizes)


def vouched(plan: KernelPlan) -> bool:
    """Whether the user says that iterations are independent."""
    loops = loop_directives(plan.kernel.body)
    return plan.kernel.directive.independent or any(directive.independent for directive in loops)


def _around(said: SaidLine, one: Executed) -> Iterator[str]:
    """The lines around a launch are the loops and conditions around its instances, its loops those of the nests."""
    if len(said.around) != len(one.around):
        yield f"launch {one.launch} has {len(one.around)} steps around it"
    for line, inside in zip(said.around, one.around, strict=False):
        text = line.line.what
        same = (
            re.match(rf"for (each |\(){_name(inside)}\b", text)
            if isinstance(inside, Loop)
            else text == f"if ({plain_text(inside)})"
        )
        if not same:
            yield f"launch {one.launch} stands in '{text}'"
    told = [(name, _axes(how)) for name, how in said.line.loops]
    for _, nest in one.nests:
        for name, loop in zip(_names(nest), nest.loops, strict=True):
            if not _is_left_out(loop.loop) and (name, _tile_axes(loop)) not in told:
                yield f"launch {one.launch} distributes {name} otherwise"
    for place, line in enumerate(each for each in said.around if isinstance(each.step, HostLoop)):
        yield from _bounds(line.line, one, place)


def _bounds(line: LaunchLine, one: Executed, place: int) -> Iterator[str]:
    """The instances lie within the bounds said, where these are plain sums of what isl knows."""
    match = re.fullmatch(
        r"for \((\w+) = ([\w +*-]+); (\w+) (<|<=|>|>=) ([\w +*-]+)(?: by (-?\d+))?\) in order.*", line.what
    )
    if match is None or "*" in match[2] + match[5]:
        return
    domain = one.relation.domain()
    parameters = {domain.get_dim_name(isl.dim_type.param, at) for at in range(domain.dim(isl.dim_type.param))}
    words = set(re.findall(r"[A-Za-z_]\w*", match[2] + " " + match[5]))
    if not words <= parameters:
        return
    names = [f"p{at}" for at in range(domain.dim(isl.dim_type.set))]
    first = f"p{place} {'<=' if match[4] in ('>', '>=') else '>='} {match[2]}"
    text = f"[{', '.join(sorted(words))}] -> {{ [{', '.join(names)}] : {first} and p{place} {match[4]} {match[5]} }}"
    if not domain.is_subset(isl.Set.read_from_str(domain.get_ctx(), text)):
        yield f"launch {one.launch} runs outside of '{line.what}'"


def _hyperplanes(
    region: Original, line: LaunchLine, step: HostLoop, maps: list[Executed], sizes: Sizes
) -> Iterator[str]:
    """{ [.., w, t_1, .., t_(m-1), t_(m+1), .., points] -> S[j] : t_k = floor(phi_k(j) / size_k), w = t_1 + .. + t_m }"""
    *rows, tiles = line.below
    claim = re.fullmatch(
        r"tiles t = floor\(phi / size\): those of equal (t1(?: \+ t\d+)*) in parallel(?:, (t\d+(?:, t\d+)*) in order inside each)?",
        tiles,
    )
    if claim is None:
        yield f"'{tiles}' says nothing of tiles"
        return
    summed, inner = claim[1].count("t"), (claim[2] or "").count("t")
    wavefronts = next(iter(tile_wavefronts(step)))
    extents = [
        Evaluation({size.name: sizes[size] for size in sizes}).value(plane.size) for plane in wavefronts.hyperplanes
    ]
    said: list[tuple[set[int], list[str]]] = []
    for text in rows:
        match = re.fullmatch(r"hyperplanes phi(?:, lines? ([\d, to]+))?: \((.*)\)", text)
        if match is None:
            yield f"'{text}' has no hyperplanes"
            return
        said.append((_numbers(match[1] or ""), match[2].split(", ")))
    if any(len(phi) != summed + inner for _, phi in said) or len(extents) != summed + inner:
        yield f"'{tiles}' is of {summed + inner} rows, not of {[len(phi) for _, phi in said]}"
        return
    used: set[tuple[int, int]] = set()
    for one in maps:
        mine = [
            number for number, (place, _) in enumerate(said) if not place or one.statement.range.start.line in place
        ]
        held = [number for number in mine if _is_tiled(one, step.loop, said[number][1], summed, extents)]
        used |= {(number, one.statement.range.start.line) for number in held}
        if not held and not isinstance(one.statement.node, (If, Loop, Declaration)):
            yield f"what launch {one.launch} does of line {one.statement.range.start.line} is not in the tiles said: {[said[n][1] for n in mine]}"
    decided = {one.range.start.line for one in region.scop.statements if isinstance(one.node, (If, Loop))}
    for number, (places, _) in enumerate(said):
        # A decision may be taken elsewhere too: who depends on it says where it is taken.
        for place in places - decided - {place for each, place in used if each == number}:
            yield f"nothing of line {place} is in the tiles of '{rows[number]}'"


def _numbers(text: str) -> set[int]:
    """3, 4, 5 and 9 of `3 to 5, 9`."""
    ends = [list(map(int, part.split(" to "))) for part in text.split(", ") if part]
    return {line for run in ends for line in range(run[0], run[-1] + 1)}


def _is_tiled(one: Executed, loop: Loop, phi: list[str], summed: int, extents: list[int]) -> bool:
    names = [each.iterator.host for each in one.statement.loops]
    texts = [_in_order(row, names) for row in phi]
    if any(text is None for text in texts):
        return False
    tiles = [f"floor(({text})/{extent})" for text, extent in zip(texts, extents, strict=True)]
    depth, inside = one.map.leaf.depth, len(one.host_loops)
    distributed = [*tiles[: summed - 1], *tiles[summed:]]
    if inside + len(distributed) > depth:
        return False
    claims = [f"p{one.host_loops.index(loop)} = {' + '.join(tiles[:summed])}"]
    claims += [f"p{inside + place} = {tile}" for place, tile in enumerate(distributed)]
    domain = ", ".join(f"p{place}" for place in range(depth))
    indices = ", ".join(f"c{place}" for place in range(len(names)))
    text = f"{{ [{domain}] -> {one.relation.get_tuple_name(OUT)}[{indices}] : {' and '.join(claims)} }}"
    return bool(one.relation.is_subset(isl.Map.read_from_str(one.relation.get_ctx(), text)))


def _in_order(row: str, names: list[str]) -> str | None:
    """The row over c0, c1, …; None where it names no iterator of the statement."""
    words = re.findall(r"[A-Za-z_]\w*", row)
    if not set(words) <= set(names):
        return None
    return re.sub(r"[A-Za-z_]\w*", lambda found: f"c{names.index(found[0])}", row)


def _apart(plan: KernelPlan, region: Original, launch: Launch, maps: list[Executed]) -> Iterator[str]:
    """Instances of one launch in one step of the host's loops that are said to run at once do not wait for each other."""
    if not launch.axes:
        return
    own = {*launch.privates, *(reduction.object for reduction in launch.reductions)}
    relations: dict[tuple[str, str], isl.Map] = {}
    for dependence in region.dependences:
        object_ = dependence.source.object
        # Of the user's own tiles only what is surely wrong is refused.
        if (dependence.exact or is_automatic(plan)) and object_ not in own and object_.scope is not Scope.LOCAL:
            known = relations.get(dependence.ends)
            relations[dependence.ends] = dependence.relation if known is None else known.union(dependence.relation)
    for first in maps:
        for second in maps:
            relation = relations.get((first.statement.name, second.statement.name))
            if relation is None:
                continue
            pairs = first.relation.apply_range(relation).apply_range(second.relation.reverse())
            for place in range(len(first.host_loops)):
                pairs = pairs.equate(IN, place, OUT, place)
            if not pairs.is_empty():
                yield from _waiting(launch, first, second, pairs)


def _waiting(launch: Launch, first: Executed, second: Executed, pairs: isl.Map) -> Iterator[str]:
    for axis in launch.axes:
        one, other = _distributing(first, axis), _distributing(second, axis)
        if one is None or other is None:
            continue
        (nest, start, place), (its, _, there) = one, other
        waiting = pairs
        if axis.kind.value == "worker":
            if nest is not its:
                continue  # a barrier is between them, or they are of the same worker: what the proof asks
            for before in range(start):
                waiting = waiting.equate(IN, before, OUT, before)
        apart = waiting.subtract(waiting.equate(IN, place, OUT, there))
        if not apart.is_empty():
            lines = first.statement.range.start.line, second.statement.range.start.line
            yield f"launch {launch.name} has {axis.kind.value}s that wait for each other: lines {lines[0]} and {lines[1]}"


def _distributing(one: Executed, axis: object) -> tuple[TileNest, int, int] | None:
    for start, nest in one.nests:
        for place, loop in enumerate(nest.loops):
            if any(tile.axis == axis for tile in loop.tiles):
                return nest, start, start + place
    return None
