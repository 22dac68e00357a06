"""A report's facts of a kernel, as words and numbers, for the text and for the page.

Statements are S1, S2, … in the order of the text, since the engine's names mean nothing to the
user.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from tilepragma.arguments.array_arguments import doubts
from tilepragma.arguments.constant_memory import table_bytes
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import ClauseExpression
from tilepragma.ir.expressions import DataObject, Scope, Storage, access_to
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Kernel, Loop, TileNest
from tilepragma.ir.polynomial import expression, of_atom, polynomial
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.normalise.delinearisation import with_delinearised_arrays
from tilepragma.normalise.ordered_zeros import ordered_zeros
from tilepragma.plan.balanced_chunking import even_parts
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan, SectionBound, TileSize
from tilepragma.plan.summary import used_sizes
from tilepragma.planner.overflow_guards import never_holding
from tilepragma.report.choice_facts import ChoiceFacts, choice_facts
from tilepragma.report.colour_facts import unsplit_colours
from tilepragma.report.division_facts import division_rows
from tilepragma.report.launch_facts import LaunchGroup, launch_groups
from tilepragma.report.nest_tiles import drawn_tiles, overlapped_loops
from tilepragma.report.register_facts import register_rows
from tilepragma.report.relaxation_facts import order_rows, region_as_written, region_planned, relaxation_rows
from tilepragma.report.size_rules import size_rules, version_rows
from tilepragma.report.size_values import Sizes, byte_text, iterations, value_of
from tilepragma.report.source_text import SourceText, plain_header, plain_text
from tilepragma.report.work_facts import WorkFacts, work_facts
from tilepragma.schedule.in_order import keeps_order
from tilepragma.user_tiles.mapping import top_loops

if TYPE_CHECKING:
    from tilepragma.model.device import Device
    from tilepragma.poly.dependences import Dependence
    from tilepragma.poly.scop import ScopStatement
    from tilepragma.report.iteration_space import DrawnTiles
    from tilepragma.report.nest_analysis import LoopFacts, NestAnalysis, Owned


MOST_SHORT_POSITIONS = 1 << 30
"""most elements of an array whose positions fit 32 bits on devices (tilek_index_bits)"""


@dataclass(frozen=True)
class DataRow:
    """An array of the kernel: its section, its use, its copies, and its size where known."""

    section: str
    element: str
    mode: str
    movement: str
    size: str


@dataclass(frozen=True)
class CodeRow:
    """A loop or a statement. `kind` is a loop's class or ""; `label` is "S1" or ""."""

    line: int
    depth: int
    text: str
    label: str
    kind: str
    why: str
    trips: str


@dataclass(frozen=True)
class DependenceRow:
    """Dependences of one distance between two statements. `kinds` are `flow, anti`, with a ? if
    data decide. `distance` counts iterations of `loops`, those around both; `accesses` are `A[i] →
    A[i + 1]`.
    """

    source: str
    sink: str
    kinds: str
    distance: str
    loops: str
    accesses: str


@dataclass(frozen=True)
class NestFacts:
    """One nest. If the engine gave up, `problem` says why, and there is no analysis."""

    line: int
    iterator: str
    code: tuple[CodeRow, ...]
    dependences: tuple[DependenceRow, ...]
    notes: tuple[str, ...]
    problem: str
    analysis: NestAnalysis | None
    tiles: DrawnTiles | None
    """the tiles on cores, if wavefronts of tiles of this nest run there"""


@dataclass(frozen=True)
class KernelFacts:
    """One kernel region."""

    name: str
    file: str
    line: int
    targets: str
    as_written: str | None
    relaxations: tuple[str, ...]
    """its relaxations in place, and statements that resemble one"""
    storage: tuple[str, ...]
    """the kernel's array expansions, and why"""
    work: WorkFacts
    split: tuple[str, ...]
    """loops that are split"""
    counted: tuple[tuple[str, str], ...]
    """iterators that the user did not write, with what they count"""
    rejected: tuple[str, ...]
    checks: tuple[str, ...]
    """the launch checks; if one fails, the original loop runs"""
    divisions: tuple[str, ...]
    """how launches are distributed to several devices"""
    tile_sizes: str
    versions: tuple[str, ...]
    """the versions that launches choose from, and the rules"""
    choice: ChoiceFacts
    """the model's facts on tile sizes"""
    registers: tuple[str, ...]
    """workers' registers on the planned GPU, for each device launch"""
    data: tuple[DataRow, ...]
    scalars: str
    launches: tuple[LaunchGroup, ...]
    finals: tuple[str, ...]
    nests: tuple[NestFacts, ...]
    listing: tuple[tuple[int, str], ...]
    """the region's lines with their numbers"""


def kernel_facts(plan: KernelPlan, source: SourceText, sizes: Sizes, device: Device | None = None) -> KernelFacts:
    """All facts of a report on one region; predictions are for the device."""
    start = plan.kernel.range.start
    kernel = _analysed(plan)
    nests = [loop for statement in kernel.body.statements for loop in top_loops(statement)]
    return KernelFacts(
        name=plan.kernel.name,
        file=start.file,
        line=start.line,
        targets=_targets(plan),
        as_written=plan.as_written,
        relaxations=(*relaxation_rows(region_as_written(plan)), *order_rows(plan)),
        storage=plan.storage,
        work=work_facts(plan, sizes, device),
        split=plan.split,
        counted=tuple(dict.fromkeys(_counted(plan))),
        rejected=tuple(dict.fromkeys(_rejected(plan, sizes))),
        checks=tuple(_checks(plan)),
        divisions=tuple(division_rows(plan)),
        tile_sizes=_tile_sizes(plan),
        versions=tuple(version_rows(plan)),
        choice=choice_facts(plan, sizes, device),
        registers=register_rows(plan, sizes, device),
        data=(*(_data_row(argument, sizes, plan.held) for argument in plan.arrays), *map(_table_row, plan.constants)),
        scalars=", ".join(_with_value(object_, sizes) for object_ in plan.scalars),
        launches=launch_groups(plan, sizes),
        finals=tuple(dict.fromkeys(final.iterator.host for final in plan.final_values)),
        nests=tuple(_numbered(nests, plan, source, sizes)),
        listing=source.lines(plan.kernel.range),
    )


def _analysed(plan: KernelPlan) -> Kernel:
    """The region that the plan computes, with the user's steps and delinearised arrays."""
    kernel = region_planned(plan)
    by_rows = plan.stepped is not None and any(object_.rows_in is not None for object_ in plan.kernel.objects)
    return with_delinearised_arrays(kernel).kernel if by_rows else kernel


def _counted(plan: KernelPlan) -> Iterator[tuple[str, str]]:
    """The iterators of loops that count iterations, for loops with steps."""
    if plan.stepped is None:
        return
    counting = {loop.index: loop.iterator for loop in loops_in((plan.source or plan.kernel).body)}
    for loop in loops_in(plan.stepped.body):
        index = counting.get(loop.index, loop.iterator)
        if index != loop.iterator:
            value = polynomial(loop.lower) + of_atom(access_to(index)) * polynomial(loop.step)
            name, line = loop.iterator.host, loop.header.start.line
            yield (
                index.host,
                f"the iterations of the loop over {name}, line {line}: {name} is {plain_text(expression(value))}",
            )


def _checks(plan: KernelPlan) -> Iterator[str]:
    if plan.checks_overlap:
        yield "no written array overlaps another"
    never = never_holding(condition for condition in plan.conditions if not isinstance(condition, ClauseExpression))
    for condition in plan.conditions:
        yield plain_text(condition) + (", which never holds: the original loop runs" if condition in never else "")
    for zero in ordered_zeros(plan):
        where = "" if zero.hosts and zero.devices else " on cores" if zero.hosts else " on devices"
        again = "else the original loop runs again, since the order decides the sign of a zero"
        yield f"{zero.object.host} does not end as a zero{where}; {again} (a reduction clause would allow any order)"


def _tile_sizes(plan: KernelPlan) -> str:
    """`i_size = 32 (16 on devices)`; a size that only cores or only devices use says so."""
    host, device = (used_sizes(steps, plan.sizes) for steps in (plan.host_steps, plan.device_steps))
    usual = ", ".join(_tile_size(size, size in host, size in device) for size in plan.sizes)
    choices, others = [], []
    if not plan.versions:
        choices, others = size_rules(plan, plan.choices), size_rules(plan, plan.device_choices, on_host=False)
    processor_rules = size_rules(plan, plan.processor_choices)
    if choices and (device or processor_rules):
        choices[0] = f"on cores {choices[0]}"
    if processor_rules:
        processor_rules[0] = f"on OpenCL processors, where each wavefront is a launch of its own, {processor_rules[0]}"
    if others:
        others[0] = f"on devices {others[0]}"
    return "; ".join(
        filter(None, (usual, *choices, *processor_rules, *others, *_evened(plan), *_measured(plan), plan.kept))
    )


def _evened(plan: KernelPlan) -> Iterator[str]:
    """The default sizes that launches on cores change to fit their number of threads."""
    names = [plan.sizes[part.place].object.host for part in even_parts(plan.host_steps, plan.sizes)]
    if names:
        yield f"launches on cores take another {' and '.join(names)} where threads would have unequal shares otherwise"


def _measured(plan: KernelPlan) -> Iterator[str]:
    """Where choices were measured."""
    if plan.measured is not None:
        last = plan.measured.choices[-1].bytes or 0
        yield f"measured for arrays of {byte_text(plan.measured.least)} to {byte_text(last)}"


def _tile_size(size: TileSize, on_host: bool, on_device: bool) -> str:
    name = size.object.host
    if on_host and on_device:
        return f"{name} = {size.host}" + ("" if size.device == size.host else f" ({size.device} on devices)")
    return f"{name} = {size.device} (on devices)" if on_device else f"{name} = {size.host} (on cores)"


def _targets(plan: KernelPlan) -> str:
    names = ", ".join(target.value for target in plan.targets) or "none"
    return names if plan.preferred.value == "auto" else f"{names}; {plan.preferred.value} is preferred"


def _with_value(object_: DataObject, sizes: Sizes) -> str:
    value = sizes.of(object_)
    return object_.host if value is None else f"{object_.host} = {value}"


def _rejected(plan: KernelPlan, sizes: Sizes) -> Iterator[str]:
    yield from _other_reasons(plan)
    yield from unsplit_colours(plan)
    yield from _without_devices(plan)
    yield from _long_arrays(plan, sizes)


def _other_reasons(plan: KernelPlan) -> Iterator[str]:
    """Rejected candidates and why, without the reasons for the whole kernel."""
    if plan.undivided:
        yield f"several devices: {plan.undivided}"
    for reason in plan.rejected:
        if plan.as_written is None or not reason.endswith(plan.as_written):
            yield reason


def _without_devices(plan: KernelPlan) -> Iterator[str]:
    """Arrays whose unknown extent keeps the kernel from devices."""
    for doubt in doubts(plan):
        yield f"devices, unless a data region holds the array: {doubt.message}"


def _long_arrays(plan: KernelPlan, sizes: Sizes) -> Iterator[str]:
    """Arrays too long for 32-bit positions, as the runtime decides for sections that begin at 0."""
    for argument in plan.arrays if plan.device else ():
        count = _elements(argument, sizes)
        if count is not None and count > MOST_SHORT_POSITIONS:
            size = f"'{argument.object.host}' has {count} elements, more than {MOST_SHORT_POSITIONS} (2^30)"
            yield f"positions of 32 bits, on devices: {size}"


def _data_row(argument: ArrayArgument, sizes: Sizes, held: Collection[str]) -> DataRow:
    object_ = argument.object
    bounds = "".join(_bounds_text(bound) for bound in argument.section)
    if object_.rank and not argument.section:
        bounds = "[…]"
    mode = " and ".join(word for word, holds in (("read", argument.reads), ("written", argument.writes)) if holds)
    moves = [word for word, holds in (("in", argument.copy_in), ("out", argument.copy_out)) if holds]
    if argument.doubt is not None:
        moves = []
    movement = "must be present" if argument.present else f"copied {' and '.join(moves)}" if moves else "not copied"
    movement = "held for the region around" if object_.host in held else movement
    return DataRow(f"{object_.host}{bounds}", _element(object_), mode, movement, _bytes(argument, sizes))


def _table_row(table: DataObject) -> DataRow:
    return DataRow(table.host, _element(table), "read", "a table of the program", byte_text(table_bytes(table)))


def _bounds_text(bound: SectionBound) -> str:
    text = f"[{plain_text(bound.lower)}:{plain_text(bound.length)}]"
    # Hulls of many accesses under many conditions tell a reader nothing.
    return text if len(text) <= _LONGEST_BOUNDS else "[…]"


def _element(object_: DataObject) -> str:
    from tilepragma.ir.loop_tree_text import type_text

    rows = ", rows" if object_.storage is Storage.ROWS else ""
    return type_text(object_.element) + rows


def _bytes(argument: ArrayArgument, sizes: Sizes) -> str:
    from tilepragma.ir.types import RecordType, ScalarType

    element = argument.object.element
    if isinstance(element, ScalarType):
        count = element.bits // 8
    elif isinstance(element, RecordType):
        count = element.size
    else:
        return ""
    elements = _elements(argument, sizes)
    return "" if elements is None else byte_text(count * elements)


def _elements(argument: ArrayArgument, sizes: Sizes) -> int | None:
    """The number of elements of the section, None where it is not known."""
    if argument.object.rank and not argument.section:
        return None
    count = 1
    for bound in argument.section:
        length = value_of(bound.length, sizes)
        if length is None:
            return None
        count *= max(0, length)
    return count


# -- nests


def _numbered(nests: Iterable[Loop], plan: KernelPlan, source: SourceText, sizes: Sizes) -> Iterator[NestFacts]:
    """Statements are numbered over the whole kernel."""
    from tilepragma.poly.operation_limit import OperationLimitError
    from tilepragma.report.nest_analysis import analyse_nest

    first = 1
    owned = _owned(plan)
    written, overlapped = written_objects(plan.kernel), overlapped_loops(plan)
    for nest in nests:
        if plan.kernel.original_sweeps and keeps_order(nest):
            problem = (
                "What it runs are nests one after another, each proven by itself: none of them is moved beyond another."
            )
            yield NestFacts(nest.header.start.line, nest.iterator.host, (), (), (), problem, None, None)
            continue
        try:
            analysis = analyse_nest(
                nest, plan.kernel.functions, written, owned, plan.kernel.body.statements, overlapped
            )
        except OperationLimitError:
            problem = "Its dependences are unknown: the engine reached its limit of operations."
            yield NestFacts(nest.header.start.line, nest.iterator.host, (), (), (), problem, None, None)
            continue
        yield _nest_facts(analysis, plan, source, sizes, first)
        first += len(analysis.statements)


def _owned(plan: KernelPlan) -> Owned:
    """The objects that the plan privatises or reduces, and the user's distributed loops."""
    from tilepragma.report.nest_analysis import Owned

    privates = [object_ for launch in plan.host for object_ in launch.privates]
    reduced = [reduction.object for launch in plan.host for reduction in launch.reductions]
    nests = [node for launch in plan.host for node in walk(launch.body) if isinstance(node, TileNest)]
    distributed = {loop.loop.index for nest in nests for loop in nest.loops if any(tile.axis for tile in loop.tiles)}
    return Owned(frozenset((*privates, *reduced)), frozenset(reduced), frozenset(distributed))


def statement_labels(analysis: NestAnalysis, first: int = 1) -> dict[str, str]:
    """The report's name of each statement, by the engine's: S1, S2, …"""
    return {statement.name: f"S{number}" for number, statement in enumerate(analysis.statements, first)}


def _nest_facts(analysis: NestAnalysis, plan: KernelPlan, source: SourceText, sizes: Sizes, first: int) -> NestFacts:
    labels = statement_labels(analysis, first)
    reasons = (f"line {reason.range.start.line}: {reason.reason}" for reason in analysis.scop.reasons)
    notes = tuple(dict.fromkeys(reasons))  # one expression may stand in several accesses of a line
    return NestFacts(
        line=analysis.nest.header.start.line,
        iterator=analysis.nest.iterator.host,
        code=tuple(_code(analysis, plan, source, sizes, labels)),
        dependences=tuple(_dependences(analysis, source, labels)),
        notes=notes,
        problem="",
        analysis=analysis,
        tiles=drawn_tiles(analysis, plan),
    )


def _code(
    analysis: NestAnalysis, plan: KernelPlan, source: SourceText, sizes: Sizes, labels: dict[str, str]
) -> Iterator[CodeRow]:
    """Loops and statements as they stand in the text, or as the plan replaces them."""
    from tilepragma.report.nest_analysis import loop_facts

    named = sizes.by_name(plan.kernel)
    rows: list[tuple[int, CodeRow]] = []
    for facts in loop_facts(analysis):
        header = facts.loop.header
        row = CodeRow(
            header.start.line,
            facts.depth,
            (plan.reordered is None and source.at(header)) or plain_header(facts.loop),
            "",
            facts.kind.value,
            carried_text(facts),
            _trips(analysis, facts.loop, sizes, named) if named else "",
        )
        rows.append((header.start.offset if plan.reordered is None else facts.loop.index, row))
    for statement in analysis.statements:
        text = _statement(statement, source)
        row = CodeRow(statement.range.start.line, len(statement.loops), text, labels[statement.name], "", "", "")
        rows.append((statement.range.start.offset if plan.reordered is None else statement.loops[-1].index, row))
    yield from (row for _, row in sorted(rows, key=lambda pair: pair[0]))


def _statement(statement: ScopStatement, source: SourceText) -> str:
    """The statement's text; for `if (…) …` and the like, whose bodies have rows, the head."""
    text = source.statement(statement.range, 60)
    if not re.match(r"(if|for|while|switch)\b", text):
        return text
    depth = 0
    for place, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == ")" and depth == 0:
            return text[: place + 1]
    return text


def carried_text(facts: LoopFacts) -> str:
    """`carries flow and anti of A, perhaps flow of B`."""
    by_array: dict[tuple[str, bool], set[str]] = {}
    for dependence in facts.carried:
        by_array.setdefault((dependence.source.object.host, dependence.exact), set()).add(dependence.kind.value)
    parts: dict[str, list[str]] = {}
    for (array, certain), array_kinds in by_array.items():
        kinds = array_kinds if certain else array_kinds - by_array.get((array, True), set())
        if kinds:
            words = joined(kind for kind in _KINDS if kind in kinds)
            parts.setdefault(f"{'' if certain else 'perhaps '}{words}", []).append(array)
    return f"carries {'; '.join(f'{words} of {joined(arrays)}' for words, arrays in parts.items())}" if parts else ""


def _trips(analysis: NestAnalysis, loop: Loop, sizes: Sizes, named: dict[str, int]) -> str:
    from tilepragma.report.nest_analysis import trip_count

    count = iterations(loop, sizes)
    if count is not None:
        return f"{count}×"
    trips = trip_count(analysis, loop, named.get)
    if trips is None:
        return ""
    return f"{trips.most}×" if trips.least == trips.most else f"{trips.least}…{trips.most}×"


def joined(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _dependences(analysis: NestAnalysis, source: SourceText, labels: dict[str, str]) -> Iterator[DependenceRow]:
    from tilepragma.poly.dependences import distance_text

    groups: dict[tuple[str, str, str, str], dict[str, list[tuple[str, str]]]] = {}
    for value in analysis.values:
        if _inside_one_iteration(value):
            continue
        loops = ", ".join(loop.iterator.host for loop in value.loops)
        ends = labels[value.source_statement.name], labels[value.sink_statement.name]
        kinds = groups.setdefault((*ends, f"({loops})", distance_text(value.distances)), {})
        pair = _access(value, source, "source"), _access(value, source, "sink")
        kinds.setdefault(value.kind.value + ("" if value.exact else "?"), []).append(pair)
    for (start, end, loops, distance), kinds in sorted(groups.items(), key=_by_number):
        merged: dict[str, list[str]] = {}
        for kind in sorted(kinds, key=lambda word: (_KINDS.index(word.rstrip("?")), word)):
            for accesses in _arrows(list(dict.fromkeys(kinds[kind]))):
                access_kinds = merged.setdefault(accesses, [])
                if kind.rstrip("?") not in access_kinds:
                    access_kinds.append(kind)
        for accesses, words in merged.items():
            yield DependenceRow(start, end, ", ".join(words), distance, loops, accesses)


def _inside_one_iteration(dependence: Dependence) -> bool:
    """Whether it only says that the loop's body sets a local variable before its use."""
    from tilepragma.poly.dependences import carried_at

    return dependence.source.object.scope is Scope.LOCAL and not carried_at(dependence)


def _by_number(group: tuple[tuple[str, str, str, str], object]) -> tuple[int, int]:
    (source, sink, _, _), _ = group
    return int(source[1:]), int(sink[1:])


_KINDS = ("flow", "anti", "output", "input")


def _access(dependence: Dependence, source: SourceText, end: str) -> str:
    reference = dependence.source if end == "source" else dependence.sink
    text = source.at(reference.range, 40)
    return text if text.startswith(reference.object.host.partition("[")[0]) else reference.object.host


def _arrows(pairs: list[tuple[str, str]]) -> Iterator[str]:
    """`a, b → c` if every left access pairs with every right one, else an arrow for each pair."""
    left, right = list(dict.fromkeys(a for a, _ in pairs)), list(dict.fromkeys(b for _, b in pairs))
    if len(left) * len(right) == len(pairs):
        yield f"{_shortened(left)} → {_shortened(right)}"
    else:
        yield from (f"{a} → {b}" for a, b in pairs)


def _shortened(accesses: list[str]) -> str:
    if len(accesses) <= _MOST_ACCESSES:
        return ", ".join(accesses)
    return f"{', '.join(accesses[: _MOST_ACCESSES - 1])}, … ({len(accesses)} in all)"


#: How many accesses of one dependence are named.
_MOST_ACCESSES = 3
#: The most characters for the bounds of one dimension.
_LONGEST_BOUNDS = 60
