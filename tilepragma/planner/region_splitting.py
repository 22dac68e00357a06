"""Region splitting (ir.loop_tree.Parts): one kernel, or several that host text calls.

Ownership: some arrays stay on a device across these kernels. The region's data clauses hold for
them. Without a clause, an array stays if all that the kernels touch of it is known where the region
begins; other arrays move with each kernel. Exchanged pointers keep what any of them needs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from tilepragma.arguments.array_arguments import DataContext, synchronised_arrays
from tilepragma.arguments.sections import whole_section
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import function_uses, uses
from tilepragma.ir.directives import ClauseExpression
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.function_reach import with_reach
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import ForLoop, Kernel, Loop, Parts, While
from tilepragma.ir.polynomial import expression, number, polynomial
from tilepragma.ir.substitution import with_objects
from tilepragma.ir.traversal import loops_in, objects_in, walk
from tilepragma.normalise.forward_substitution import with_substituted_subscripts
from tilepragma.patterns.recognition import relaxations
from tilepragma.patterns.relaxation import SorNest
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan, ResidentRegion, SectionBound
from tilepragma.planner.assembly import Planned, with_plan
from tilepragma.poly.extents import Bounds, Box, hull
from tilepragma.user_tiles.clause_variables import check_names

#: Plans one kernel, as make_plan does.
MakePlan = Callable[[Kernel, Diagnostics], Planned | None]


@dataclass(frozen=True)
class PlannedRegion:
    """A region's kernels, the plans of those not refused, and arrays resident between them."""

    kernels: tuple[Kernel, ...]
    planned: tuple[Planned, ...]
    resident: tuple[ResidentRegion, ...] = ()


def plan_region(kernel: Kernel, make: MakePlan, diagnostics: Diagnostics) -> PlannedRegion:
    """Plan a region as one kernel, or split if condition-ended loops contain parallel work."""
    parts = kernel.parts
    if parts is None:
        return _whole(kernel, make, diagnostics)
    whole_messages = Diagnostics()
    single = None if parts.required else make(kernel, whole_messages)
    whole = PlannedRegion((kernel,), () if single is None else (single,))
    if single is not None and not whole_messages.has_errors and not _runs_in_order(single.plan):
        diagnostics.add_all(whole_messages)
        return whole
    split_messages = Diagnostics()
    split = _split(kernel, parts, make, split_messages)
    gains = any(planned.plan.untransformed is None for planned in split.planned)
    if not parts.required and not whole_messages.has_errors and not gains and not split_messages.has_errors:
        diagnostics.add_all(whole_messages)
        return whole
    diagnostics.add_all(split_messages)
    return split


def _whole(kernel: Kernel, make: MakePlan, diagnostics: Diagnostics) -> PlannedRegion:
    planned = make(kernel, diagnostics)
    refusal = kernel.split_refusal
    if refusal is not None and planned is not None and _runs_in_order(planned.plan):
        diagnostics.warning(
            refusal.range,
            f"a loop of kernel '{kernel.name}' that ends with a condition runs in order, with all that is in it: "
            f"{refusal.message}",
            *(note.message for note in refusal.notes),
        )
    return PlannedRegion((kernel,), () if planned is None else (planned,))


def _runs_in_order(plan: KernelPlan) -> bool:
    """Whether loops that end with conditions, and loops in them, are all sequential."""
    if plan.untransformed is not None:
        return True
    nodes = (node for launch in plan.host if not launch.axes for node in walk(launch.body))
    return any(isinstance(node, (ForLoop, While)) and any(loops_in(node.body)) for node in nodes)


def _split(kernel: Kernel, parts: Parts, make: MakePlan, diagnostics: Diagnostics) -> PlannedRegion:
    """The region split into kernels in the user's text."""
    check_names(parts.data, diagnostics)
    regions = [plan_region(part, make, diagnostics) for part in _with_condition(kernel, _with_method(parts.kernels))]
    needed = [array for region in regions for planned in region.planned for array in planned.plan.arrays]
    resident = ResidentRegion(kernel, _resident_arrays(parts, needed), parts.reads)
    names = frozenset(array.object.host for array in resident.arrays)
    staying = [group for group in parts.exchanged if names & {pointer.host for pointer in group.live_in}]
    names |= {member.host for group in staying for member in group.used}
    return PlannedRegion(
        tuple(kernel for region in regions for kernel in region.kernels),
        tuple(_in_region(planned, names) for region in regions for planned in region.planned),
        (resident, *(inner for region in regions for inner in region.resident)),
    )


def _in_region(planned: Planned, resident: frozenset[str]) -> Planned:
    """The plan as a part of a split region."""
    plan = replace(planned.plan, resident=planned.plan.resident | resident)
    nodes = walk(plan.kernel.body)
    if plan.untransformed is not None and not any(isinstance(node, (Loop, ForLoop, While)) for node in nodes):
        reason = "it is no loop; each time, the newest values of the arrays that it names first come from their device"
        plan = replace(plan, untransformed=reason)
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


def _with_condition(kernel: Kernel, kernels: tuple[Kernel, ...]) -> tuple[Kernel, ...]:
    """The kernels with the value that the clause's condition has at the begin of the region."""
    if kernel.directive.condition is None:
        return kernels
    condition = replace(kernel.directive.condition, text="tilek_enabled")
    return tuple(replace(part, directive=replace(part.directive, condition=condition)) for part in kernels)


# -- ownership


def _resident_arrays(parts: Parts, needed: Sequence[ArrayArgument]) -> tuple[ArrayArgument, ...]:
    """The arguments of the arrays that stay; `needed` are those of the parts' plans."""
    first = {object_: group.used[0] for group in parts.exchanged for object_ in group.used}
    data = parts.data
    objects = tuple(dict.fromkeys(first.get(object_, object_) for object_ in data.objects))
    joined = replace(data, body=with_objects(data.body, first), objects=objects)
    on_host = host_evaluable(parts.changed | written_objects(joined))
    all_uses = (*uses(joined.body, joined.functions), *function_uses(joined.functions))
    reached = with_substituted_subscripts(with_reach(all_uses, joined.functions), joined, on_host)
    names = {object_.host: representative for object_, representative in first.items()}
    changing = {object_.host for object_ in parts.changed | written_objects(data)}
    arguments = {
        argument.object: _with_needs(argument, [a for a in needed if _is_of(a, argument, names)], changing)
        for argument in synchronised_arrays(DataContext(joined, reached, on_host, Diagnostics()))
        if argument.section and not argument.present
    }
    moving = first.keys() | parts.changed
    resident = [argument for argument in arguments.values() if argument.object not in moving]
    for group in parts.exchanged:
        argument = arguments.get(group.used[0])
        members = (*group.used, *group.live_in)
        if argument is not None and len({(each.storage, each.element, each.lengths[1:]) for each in members}) == 1:
            # Values come and go with the whole group.
            whole = replace(argument, reads=True, writes=True, copy_in=True, copy_out=True)
            resident += [replace(whole, object=member) for member in group.live_in]
    return tuple(resident)


def _is_of(needed: ArrayArgument, argument: ArrayArgument, names: Mapping[str, DataObject]) -> bool:
    """Whether a part's argument is for this array, or for one that is exchanged with it."""
    host = needed.object.stored.host
    return host == argument.object.host or names.get(host) == argument.object


def _with_needs(argument: ArrayArgument, needed: Sequence[ArrayArgument], changing: Collection[str]) -> ArrayArgument:
    """The argument with a section for all parts' needs, if it is known where the region begins."""
    box = _box(argument, changing)
    boxes = [box_ for box_ in (_box(each, changing) for each in needed if each.doubt is None) if box_ is not None]
    if box is None or all(box_ == box for box_ in boxes):
        return argument
    whole = replace(argument, section=whole_section(argument.object) or ())
    if _box(whole, changing) in boxes:
        return whole
    section = tuple(SectionBound(expression(low), expression(length)) for low, length in hull([box, *boxes]))
    return replace(argument, section=section)


def _box(argument: ArrayArgument, changing: Collection[str]) -> Box | None:
    """The section as a box; None for a user's section, or one that depends on changing values."""
    bounds, nonempty = [], set()
    for bound in argument.section:
        if isinstance(bound.lower, ClauseExpression) or isinstance(bound.length, ClauseExpression):
            return None
        if any(object_.host in changing for value in (bound.lower, bound.length) for object_ in objects_in(value)):
            return None
        low, last = polynomial(bound.lower), polynomial(bound.length) - number(1)
        bounds.append(Bounds(low, low + last))
        if last.constant is None or last.constant < 0:
            nonempty.add(last)
    return Box(tuple(bounds), frozenset(nonempty)) if bounds else None
