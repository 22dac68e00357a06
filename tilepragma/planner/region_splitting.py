"""Region splitting (ir.loop_tree.Parts): one kernel, or several that host text calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tilepragma.arguments.ownership import resident_arrays
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.loop_tree import ForLoop, Kernel, Loop, Parts, While
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.patterns.recognition import relaxations
from tilepragma.patterns.relaxation import SorNest
from tilepragma.plan.kernel_plan import HeldRegion, KernelPlan
from tilepragma.planner.assembly import Planned, with_plan
from tilepragma.user_tiles.clause_variables import check_names

_LOOPS = (Loop, ForLoop, While)

#: Plans one kernel, as make_plan does.
Make = Callable[[Kernel, Diagnostics], Planned | None]


@dataclass(frozen=True)
class PlannedRegion:
    """A region's kernels, the plans of those not refused, and arrays resident between them."""

    kernels: tuple[Kernel, ...]
    planned: tuple[Planned, ...]
    held: tuple[HeldRegion, ...] = ()


def plan_region(kernel: Kernel, make: Make, diagnostics: Diagnostics) -> PlannedRegion:
    """Plan a region as one kernel, or split if condition-ended loops contain parallel work."""
    parts = kernel.parts
    if parts is None:
        single = _whole(kernel, make, diagnostics)
        return PlannedRegion((kernel,), () if single is None else (single,))
    whole_messages = Diagnostics()
    single = None if parts.required else make(kernel, whole_messages)
    whole = PlannedRegion((kernel,), () if single is None else (single,))
    if single is not None and not whole_messages.has_errors and not _runs_in_order(single.plan):
        diagnostics.add_all(whole_messages)
        return whole
    split_messages = Diagnostics()
    split = _split(kernel, parts, make, split_messages)
    gains = any(planned.plan.as_written is None for planned in split.planned)
    if not parts.required and not whole_messages.has_errors and not gains and not split_messages.has_errors:
        diagnostics.add_all(whole_messages)
        return whole
    diagnostics.add_all(split_messages)
    return split


def _whole(kernel: Kernel, make: Make, diagnostics: Diagnostics) -> Planned | None:
    planned = make(kernel, diagnostics)
    refusal = kernel.split_refusal
    if refusal is not None and planned is not None and _runs_in_order(planned.plan):
        diagnostics.warning(
            refusal.range,
            f"a loop of kernel '{kernel.name}' that ends with a condition runs in order, with all that is in it: "
            f"{refusal.message}",
            *(note.message for note in refusal.notes),
        )
    return planned


def _runs_in_order(plan: KernelPlan) -> bool:
    """Whether loops that end with conditions, and loops in them, are all sequential."""
    if plan.as_written is not None:
        return True
    nodes = (node for launch in plan.host if not launch.axes for node in walk(launch.body))
    return any(isinstance(node, (ForLoop, While)) and any(loops_in(node.body)) for node in nodes)


def _split(kernel: Kernel, parts: Parts, make: Make, diagnostics: Diagnostics) -> PlannedRegion:
    """The region split into kernels in the user's text."""
    check_names(parts.data, diagnostics)
    regions = [plan_region(part, make, diagnostics) for part in _with_condition(kernel, _with_method(parts.kernels))]
    needed = [array for region in regions for planned in region.planned for array in planned.plan.arrays]
    held = HeldRegion(kernel, resident_arrays(parts, needed), parts.reads)
    names = frozenset(array.object.host for array in held.arrays)
    names |= {
        member.host
        for group in parts.exchanged
        for member in group.used
        if names & {pointer.host for pointer in group.live_in}
    }
    return PlannedRegion(
        tuple(kernel for region in regions for kernel in region.kernels),
        tuple(_in_region(planned, names) for region in regions for planned in region.planned),
        (held, *(inner for region in regions for inner in region.held)),
    )


def _in_region(planned: Planned, held: frozenset[str]) -> Planned:
    """The plan as a part of a split region."""
    plan = replace(planned.plan, held=planned.plan.held | held)
    if plan.as_written is not None and not any(isinstance(node, _LOOPS) for node in walk(plan.kernel.body)):
        reason = "it is no loop; each time, the newest values of the arrays that it names first come from their device"
        plan = replace(plan, as_written=reason)
    return with_plan(planned, plan)


def _with_method(kernels: tuple[Kernel, ...]) -> tuple[Kernel, ...]:
    """Keep a `sor` clause on relaxations, or near ones; on all if none is, as their error."""
    if all(kernel.directive.sor is None for kernel in kernels):
        return kernels
    candidates = [
        [relaxation for relaxation in relaxations(kernel) if isinstance(relaxation, SorNest) or relaxation.near]
        for kernel in kernels
    ]
    if not any(candidates):
        return kernels
    return tuple(
        kernel if relaxed else replace(kernel, directive=replace(kernel.directive, sor=None))
        for kernel, relaxed in zip(kernels, candidates, strict=True)
    )


def _with_condition(kernel: Kernel, kernels: tuple[Kernel, ...]) -> Iterator[Kernel]:
    """The kernels with the value that the clause's condition has at the begin of the region."""
    condition = kernel.directive.condition
    for part in kernels:
        if condition is None:
            yield part
        else:
            value = replace(condition, text="tilek_enabled")
            yield replace(part, directive=replace(part.directive, condition=value))
