"""Regions that may be taken apart (ir.loop_tree.Parts): planned as one kernel, or as kernels that the host calls from the user's own text."""

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
    """The kernels of a region as they were taken, with their plans (fewer where some were refused), and where arrays are kept between them."""

    kernels: tuple[Kernel, ...]
    planned: tuple[Planned, ...]
    held: tuple[HeldRegion, ...] = ()


def plan_region(kernel: Kernel, make: Make, diagnostics: Diagnostics) -> PlannedRegion:
    """Plan a region: as one kernel where its loops that end with conditions have nothing inside that could run at once, else taken apart."""
    parts = kernel.parts
    if parts is None:
        made = _whole(kernel, make, diagnostics)
        return PlannedRegion((kernel,), () if made is None else (made,))
    own = Diagnostics()
    made = None if parts.required else make(kernel, own)
    whole = PlannedRegion((kernel,), () if made is None else (made,))
    if made is not None and not own.has_errors and not _runs_in_order(made.plan):
        diagnostics.add_all(own)
        return whole
    found = Diagnostics()
    apart = _apart(kernel, parts, make, found)
    gains = any(one.plan.as_written is None for one in apart.planned)
    if not parts.required and not own.has_errors and not gains and not found.has_errors:
        diagnostics.add_all(own)
        return whole
    diagnostics.add_all(found)
    return apart


def _whole(kernel: Kernel, make: Make, diagnostics: Diagnostics) -> Planned | None:
    made = make(kernel, diagnostics)
    why = kernel.split_refusal
    if why is not None and made is not None and _runs_in_order(made.plan):
        diagnostics.warning(
            why.range,
            f"a loop of kernel '{kernel.name}' that ends with a condition runs in order, with all that is in it: {why.message}",
            *(note.message for note in why.notes),
        )
    return made


def _runs_in_order(plan: KernelPlan) -> bool:
    """Whether loops that end with conditions, and loops in them, are nowhere dealt out."""
    if plan.as_written is not None:
        return True
    launches = (launch for launch in plan.host if not launch.axes)
    return any(_has_uncounted(launch.body) for launch in launches)


def _has_uncounted(body: object) -> bool:
    return any(isinstance(node, (ForLoop, While)) and any(loops_in(node.body)) for node in walk(body))


def _apart(kernel: Kernel, parts: Parts, make: Make, diagnostics: Diagnostics) -> PlannedRegion:
    """The region as kernels in the user's text."""
    check_names(parts.data, diagnostics)
    regions = [plan_region(one, make, diagnostics) for one in _with_condition(kernel, _with_method(parts.kernels))]
    needed = [array for region in regions for each in region.planned for array in each.plan.arrays]
    held = HeldRegion(kernel, resident_arrays(parts, needed), parts.reads)
    names = frozenset(array.object.host for array in held.arrays)
    names |= {
        one.host
        for group in parts.exchanged
        for one in group.used
        if names & {pointer.host for pointer in group.live_in}
    }
    return PlannedRegion(
        tuple(kernel for region in regions for kernel in region.kernels),
        tuple(_in_region(one, names) for region in regions for one in region.planned),
        (held, *(one for region in regions for one in region.held)),
    )


def _in_region(planned: Planned, held: frozenset[str]) -> Planned:
    """The plan with what is to be said of it as a part of a region."""
    plan = replace(planned.plan, held=planned.plan.held | held)
    if plan.as_written is not None and not any(isinstance(node, _LOOPS) for node in walk(plan.kernel.body)):
        reason = "it is no loop; the arrays that it names come back from a device first, each time, where their newest values are there"
        plan = replace(plan, as_written=reason)
    return with_plan(planned, plan)


def _with_method(kernels: tuple[Kernel, ...]) -> tuple[Kernel, ...]:
    """A clause `sor` is of the kernels that are relaxations, or come near one; of all where there are none, which is an error of theirs."""
    if all(kernel.directive.sor is None for kernel in kernels):
        return kernels
    found = [
        [relaxation for relaxation in relaxations(kernel) if isinstance(relaxation, SorNest) or relaxation.near]
        for kernel in kernels
    ]
    if not any(found):
        return kernels
    return tuple(
        one if said else replace(one, directive=replace(one.directive, sor=None))
        for one, said in zip(kernels, found, strict=True)
    )


def _with_condition(kernel: Kernel, kernels: tuple[Kernel, ...]) -> Iterator[Kernel]:
    """The kernels with the value that the condition of the region's clause has where the region begins."""
    condition = kernel.directive.condition
    for one in kernels:
        if condition is None:
            yield one
        else:
            value = replace(condition, text="tilek_enabled")
            yield replace(one, directive=replace(one.directive, condition=value))
