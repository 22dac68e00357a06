"""A report's facts of a kernel, as words and numbers, for the text and for the page."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from tilepragma.arguments.array_arguments import doubts
from tilepragma.arguments.constant_memory import table_bytes
from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.device_program import first_double, stores_double
from tilepragma.cost.ptx_walk import PlanCounts
from tilepragma.ir.directives import ClauseExpression
from tilepragma.ir.expressions import DataObject, Storage, access_to
from tilepragma.ir.loop_tree import Kernel
from tilepragma.ir.loop_tree_text import type_text
from tilepragma.ir.polynomial import expression, of_atom, polynomial
from tilepragma.ir.traversal import loops_in
from tilepragma.ir.types import RecordType, ScalarType
from tilepragma.model.device import Device
from tilepragma.normalise.array_reductions import COPIES
from tilepragma.normalise.delinearisation import with_delinearised_arrays
from tilepragma.normalise.ordered_zeros import ordered_zeros
from tilepragma.plan.array_bytes import element_bytes
from tilepragma.plan.balanced_chunking import even_parts
from tilepragma.plan.dispatch_table import outermost_loop
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan, SectionBound, SizeChoice, StreamedGrid, TileSize
from tilepragma.plan.shared_constants import SHORT_ELEMENTS
from tilepragma.plan.summary import used_sizes
from tilepragma.planner.overflow_guards import never_holding
from tilepragma.report.landscape import Landscape
from tilepragma.report.launch_facts import LaunchGroup, division_rows, executed_rows, launch_groups, register_rows
from tilepragma.report.model_facts import choice_facts, work_facts
from tilepragma.report.nest_analysis import NestFacts, nest_facts
from tilepragma.report.relaxation_facts import (
    order_rows,
    region_as_written,
    region_planned,
    relaxation_rows,
    unsplit_colours,
)
from tilepragma.report.size_values import Sizes, byte_text, value_of
from tilepragma.report.source_text import SourceText, plain_text
from tilepragma.user_tiles.mapping import top_loops

#: The most characters for the bounds of one dimension.
_LONGEST_BOUNDS = 60


@dataclass(frozen=True)
class KernelFacts:
    """One kernel region. `rows` have clauses by their titles, in the order of the text. `data` has
    a row for each array: its section, element type, accesses, copies, and bytes where known.
    `landscape` has the model's times of tile sizes. `listing` has the region's lines with their
    numbers.
    """

    name: str
    file: str
    line: int
    rows: Mapping[str, tuple[str, ...]]
    landscape: Landscape | None
    data: tuple[tuple[str, str, str, str, str], ...]
    scalars: str
    launches: tuple[LaunchGroup, ...]
    nests: tuple[NestFacts, ...]
    listing: tuple[tuple[int, str], ...]


def kernel_facts(
    plan: KernelPlan,
    source: SourceText,
    sizes: Sizes,
    device: Device | None = None,
    counts: PlanCounts | str | None = None,
) -> KernelFacts:
    """All facts of a report on one region; predictions are for the device. `counts`: what its
    launches execute there, or why that is not known.
    """
    start = plan.kernel.range.start
    nests = [loop for statement in _analysed(plan).body.statements for loop in top_loops(statement)]
    choice, landscape = choice_facts(plan, sizes, device, counts if isinstance(counts, PlanCounts) else None)
    scalars = [(object_.host, sizes.of(object_)) for object_ in plan.scalars]
    rows: dict[str, Iterable[str | None]] = {
        "original": [plan.untransformed],
        "relaxation": [*relaxation_rows(region_as_written(plan)), *order_rows(plan)],
        "devices": division_rows(plan),
        "live-out": [", ".join(dict.fromkeys(final.iterator.host for final in plan.final_values))],
        "tile sizes": [_tile_sizes(plan, sizes)],
        "versions": version_rows(plan),
        **{title: [choice.get(title)] for title in ("device", "predicted", "runners-up", "default")},
        "registers": register_rows(plan, sizes, device),
        "executed": executed_rows(counts),
        "work": (),
        "limits": (),
        **work_facts(plan, sizes, device),
        "checked": _checks(plan),
        "split": plan.split,
        "counted": dict.fromkeys(_counted(plan)),
        "storage": (*plan.storage, *_copies(plan)),
        "rejected": dict.fromkeys(_rejected(plan, sizes)),
        "targets": [_targets(plan)],
    }
    return KernelFacts(
        name=plan.kernel.name,
        file=start.file_name,
        line=start.line,
        rows={title: tuple(filter(None, clauses)) for title, clauses in rows.items()},
        landscape=landscape,
        data=(
            *(_data_row(argument, sizes, plan.resident) for argument in plan.arrays),
            *map(_table_row, plan.constants),
        ),
        scalars=", ".join(name if number is None else f"{name} = {number}" for name, number in scalars),
        launches=launch_groups(plan, sizes),
        nests=tuple(nest_facts(nests, plan, source, sizes)),
        listing=source.lines(plan.kernel.range),
    )


def _targets(plan: KernelPlan) -> str:
    """The targets; and where single data are computed in double, which some devices cannot."""
    text = ", ".join(target.value for target in plan.targets) or "none"
    if not plan.preferred.is_open:
        text += f"; {plan.preferred.value} is preferred"
    double = first_double(plan) if plan.device and not stores_double(plan) else None
    if double is not None:
        text += f"; devices need double precision (the expression at line {double.line}, column {double.column})"
    return text


def _analysed(plan: KernelPlan) -> Kernel:
    """The region that the plan computes, with the user's steps and delinearised arrays."""
    kernel = region_planned(plan)
    by_rows = plan.before_normalisation is not None and any(
        object_.rows_in is not None for object_ in plan.kernel.objects
    )
    return with_delinearised_arrays(kernel).kernel if by_rows else kernel


def _counted(plan: KernelPlan) -> Iterator[str]:
    """A clause for each loop that counts iterations in place of the user's steps."""
    if plan.before_normalisation is None:
        return
    counting = {loop.index: loop.iterator for loop in loops_in((plan.source or plan.kernel).body)}
    for loop in loops_in(plan.before_normalisation.body):
        index = counting.get(loop.index, loop.iterator)
        if index != loop.iterator:
            value = polynomial(loop.lower) + of_atom(access_to(index)) * polynomial(loop.step)
            name, line = loop.iterator.host, loop.header.start.line
            counted = f"the iterations of the loop over {name}, line {line}"
            yield f"{index.host} counts {counted}: {name} is {plain_text(expression(value))}"


def _checks(plan: KernelPlan) -> Iterator[str]:
    if plan.checks_overlap:
        yield "no written array overlaps another"
    if plan.kernel.reductions is not None:
        yield f"{plain_text(plan.kernel.reductions.worthwhile)}; else the original loop runs, since copies cost more"
    for array in plan.arrays:
        others = ["with other arrays"] * array.rows_apart + ["with each other"] * array.rows_distinct
        if others:
            yield f"rows of {array.object.host} share no memory {' or '.join(others)}"
    never = never_holding(condition for condition in plan.conditions if not isinstance(condition, ClauseExpression))
    for condition in plan.conditions:
        yield plain_text(condition) + (", which never holds: the original loop runs" if condition in never else "")
    for zero in ordered_zeros(plan):
        where = "" if zero.hosts and zero.devices else " on cores" if zero.hosts else " on devices"
        again = "else the original loop runs again, since the order decides the sign of a zero"
        yield f"{zero.object.host} does not end as a zero{where}; {again} (a reduction clause would allow any order)"


def _copies(plan: KernelPlan) -> Iterator[str]:
    """A clause for each array that a loop updates in copies."""
    for loop, arrays in () if plan.kernel.reductions is None else plan.kernel.reductions.loops:
        where = f"the loop over {loop.iterator.host}, line {loop.header.start.line}"
        for array, operator in arrays:
            yield f"{where}, updates {COPIES} copies of '{array.host}', which are combined with {operator} after it"


def _tile_sizes(plan: KernelPlan, sizes: Sizes) -> str:
    """`i_size = 32 (16 on devices)`; a size that only cores or only devices use says so."""
    host, device = (used_sizes(steps, plan.sizes) for steps in (plan.host_steps, plan.device_steps))
    rules = [", ".join(_tile_size(size, size in host, size in device) for size in plan.sizes)]
    processor_rules = size_rules(plan, plan.processor_choices)
    if not plan.versions:
        where = "on cores " if device or processor_rules else ""
        rules += _placed(where, size_rules(plan, plan.choices))
    rules += _placed("on OpenCL processors, where each wavefront is a launch of its own, ", processor_rules)
    if not plan.versions:
        rules += _placed("on devices ", size_rules(plan, plan.device_choices, on_host=False))
    changed = [plan.sizes[part.place].object.host for part in even_parts(plan.host_steps, plan.sizes)]
    if changed:
        names = f"{' and '.join(changed)} if {'this' if len(changed) == 1 else 'these'}"
        rules.append(f"launches on cores take another {names} would give threads unequal shares")
    rules += [_stream_rule(size, size.stream, sizes) for size in plan.sizes if size.stream is not None]
    if plan.measured is not None:
        last = plan.measured.choices[-1].bytes or 0
        rules.append(f"measured for arrays of {byte_text(plan.measured.least)} to {byte_text(last)}")
    return "; ".join(filter(None, (*rules, plan.recorded_sizes)))


def _stream_rule(size: TileSize, grid: StreamedGrid, sizes: Sizes) -> str:
    """What launches choose (runtime/launch/streamed_tiles.c), with the grid where sizes give it."""
    steps, planes = value_of(grid.steps, sizes), value_of(grid.planes, sizes)
    here = "" if steps is None or planes is None else f", here for {steps} time steps over {planes} planes"
    side, *_ = grid.sides
    return (
        f"where TILEK_SIZES gives none, each launch on a device chooses {size.object.host} (at most {size.device}), "
        f"{grid.chunk.host} and {side.size.host} (at most {side.length}) for the least time predicted from the "
        f"device's multiprocessors, operations and bandwidth{here} (TILEK_PROFILE=FILE.json shows what it chose)"
    )


def _placed(where: str, rules: list[str]) -> list[str]:
    """The rules, with the words that say where they hold before the first."""
    return [f"{where}{rules[0]}", *rules[1:]] if rules else []


def _tile_size(size: TileSize, on_host: bool, on_device: bool) -> str:
    name = size.object.host
    if on_host and on_device:
        return f"{name} = {size.host}" + ("" if size.device == size.host else f" ({size.device} on devices)")
    return f"{name} = {size.device} (on devices)" if on_device else f"{name} = {size.host} (on cores)"


def _rejected(plan: KernelPlan, sizes: Sizes) -> Iterator[str]:
    """What was rejected and why, except the reason why the whole kernel runs as written."""
    if plan.undivided:
        yield f"several devices: {plan.undivided}"
    for reason in plan.rejected:
        if plan.untransformed is None or not reason.endswith(plan.untransformed):
            yield reason
    yield from unsplit_colours(plan)
    for doubt in doubts(plan):
        yield f"devices, unless a data region holds the array: {doubt.message}"
    # Arrays too long for 32-bit indices, as the runtime decides for sections that begin at 0.
    for argument in plan.arrays if plan.device else ():
        count = _elements(argument, sizes)
        if count is not None and count > SHORT_ELEMENTS:
            size = f"'{argument.object.host}' has {count} elements, more than {SHORT_ELEMENTS} (2^30)"
            yield f"32-bit indices on devices: {size}"


def _data_row(argument: ArrayArgument, sizes: Sizes, held: Collection[str]) -> tuple[str, str, str, str, str]:
    object_ = argument.object
    bounds = "".join(map(_bounds_text, argument.section)) or ("[…]" if object_.rank else "")
    mode = " and ".join(word for word, holds in (("read", argument.reads), ("written", argument.writes)) if holds)
    copied = () if argument.doubt is not None else (("in", argument.copy_in), ("out", argument.copy_out))
    moves = [word for word, holds in copied if holds]
    movement = "must be present" if argument.present else f"copied {' and '.join(moves)}" if moves else "not copied"
    movement = "present for the surrounding region" if object_.host in held else movement
    return f"{object_.host}{bounds}", _element(object_), mode, movement, _bytes(argument, sizes)


def _table_row(table: DataObject) -> tuple[str, str, str, str, str]:
    return table.host, _element(table), "read", "a constant array of the program", byte_text(table_bytes(table))


def _bounds_text(bound: SectionBound) -> str:
    text = f"[{plain_text(bound.lower)}:{plain_text(bound.length)}]"
    # Hulls of many accesses under many conditions tell a reader nothing.
    return text if len(text) <= _LONGEST_BOUNDS else "[…]"


def _element(object_: DataObject) -> str:
    return type_text(object_.element) + (", rows" if object_.storage is Storage.ROWS else "")


def _bytes(argument: ArrayArgument, sizes: Sizes) -> str:
    elements = _elements(argument, sizes)
    if elements is None or not isinstance(argument.object.element, (ScalarType, RecordType)):
        return ""
    return byte_text(element_bytes(argument.object) * elements)


def _elements(argument: ArrayArgument, sizes: Sizes) -> int | None:
    """The number of elements of the section, None where it is not known."""
    lengths = [value_of(bound.length, sizes) for bound in argument.section]
    if None in lengths or (argument.object.rank and not lengths):
        return None
    return math.prod(max(0, length) for length in lengths if length is not None)


# -- rules of tile sizes and versions


def size_rules(plan: KernelPlan, choices: Sequence[SizeChoice], on_host: bool = True) -> list[str]:
    """A rule for each choice: `32 for arrays up to 1.0 MB`, or `version 1 for …`. Several sizes
    have their names; a single choice is just `32`. Empty where no launch has sizes or versions.
    """
    rules = []
    for choice in choices:
        taken = _taken(plan, choice, on_host)
        if taken:
            limits = _limits(plan, choice) or ("all others" if choice != choices[0] else "")
            rules.append(f"{taken} for {limits}" if limits else taken)
    return rules


def version_rows(plan: KernelPlan) -> Iterator[str]:
    """The versions by number, and the rules that choose among them."""
    if not plan.versions:
        return
    yield "0: the plan above"
    yield from (f"{number}: {version.text}" for number, version in enumerate(plan.versions, 1))
    for where, choices, on_host in (("cores", plan.choices, True), ("devices", plan.device_choices, False)):
        if choices:
            usual = tuple(size.host if on_host else size.device for size in plan.sizes)
            listed = list(choices)
            while listed and listed[-1].version == 0 and listed[-1].sizes == usual:
                listed.pop()
            has_all = bool(listed) and (listed[-1].bytes, listed[-1].trips) == (None, None)
            rules = size_rules(plan, listed, on_host) + ([] if has_all else ["version 0 for all others"])
            yield f"on {where}: {'; '.join(rules)}"


def _taken(plan: KernelPlan, choice: SizeChoice, on_host: bool) -> str:
    version = plan.versions[choice.version - 1].plan if choice.version else plan
    used = used_sizes(version.host_steps if on_host else version.device_steps, version.sizes)
    places = [place for place, size in enumerate(version.sizes) if size in used] if choice.sizes else []
    names = "" if len(version.sizes) == 1 and not plan.versions else "{} = "
    sizes = ", ".join(names.format(version.sizes[place].object.host) + str(choice.sizes[place]) for place in places)
    if not plan.versions:
        return sizes
    return f"version {choice.version}" + (f" with {sizes}" if sizes else "")


def _limits(plan: KernelPlan, choice: SizeChoice) -> str:
    limits = [] if choice.bytes is None else [f"arrays up to {byte_text(choice.bytes)}"]
    outermost = outermost_loop(plan)
    if choice.trips is not None and outermost is not None:
        limits.append(f"up to {choice.trips} iteration{'' if choice.trips == 1 else 's'} of {outermost.iterator.host}")
    return " and ".join(limits)
