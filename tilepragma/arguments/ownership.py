"""The arrays that stay on a device while the host goes through a region that is taken apart
(ir.loop_tree.Parts).

The data clauses of the region hold for them. Where nothing is said, an array is kept if all that
the region's kernels touch of it is known where the region begins; others come and go with each
kernel. Pointers that are exchanged keep what any of them needs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from tilepragma.arguments.data_movement import DataContext, arrays_in_step
from tilepragma.arguments.sections import whole_section
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.ir.accesses import function_uses, uses
from tilepragma.ir.directives import ClauseExpression
from tilepragma.ir.expressions import Access, DataObject
from tilepragma.ir.function_reach import with_reach
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import Kernel, Parts
from tilepragma.ir.polynomial import expression, number, polynomial
from tilepragma.ir.substitution import with_objects
from tilepragma.ir.traversal import walk
from tilepragma.normalise.forward_substitution import with_substituted_subscripts
from tilepragma.plan.kernel_plan import ArrayArgument, SectionBound
from tilepragma.poly.extents import Bounds, Box, hull


def held_arrays(parts: Parts, needed: Sequence[ArrayArgument]) -> tuple[ArrayArgument, ...]:
    """The arguments of the arrays that are kept; `needed` are those of the plans of the parts, which may copy more than loops touch."""
    first = {one: group.used[0] for group in parts.exchanged for one in group.used}
    data = parts.data
    objects = tuple(dict.fromkeys(first.get(object_, object_) for object_ in data.objects))
    joined = replace(data, body=with_objects(data.body, first), objects=objects)
    names = {one.host: other for one, other in first.items()}
    changing = {one.host for one in parts.changed | written_objects(data)}
    arguments = {
        argument.object: _with_needs(argument, [each for each in needed if _is_of(each, argument, names)], changing)
        for argument in _arguments(joined, parts)
        if argument.section and not argument.present
    }
    found = [
        argument
        for argument in arguments.values()
        if argument.object not in first and argument.object not in parts.changed
    ]
    for group in parts.exchanged:
        argument = arguments.get(group.used[0])
        if argument is not None and all(_are_alike(one, argument.object) for one in (*group.used, *group.there)):
            found += [_as(argument, one) for one in group.there]
    return tuple(found)


def _arguments(kernel: Kernel, parts: Parts) -> tuple[ArrayArgument, ...]:
    changing = parts.changed | written_objects(kernel)
    on_host = host_evaluable(changing)
    all_uses = (*uses(kernel.body, kernel.functions), *function_uses(kernel.functions))
    reached = with_substituted_subscripts(with_reach(all_uses, kernel.functions), kernel, on_host)
    return arrays_in_step(DataContext(kernel, reached, on_host, Diagnostics()))


def _is_of(needed: ArrayArgument, argument: ArrayArgument, names: Mapping[str, DataObject]) -> bool:
    """Whether what a part needs is of an array, or of one that it is exchanged with."""
    host = needed.object.stored.host
    return host == argument.object.host or names.get(host) == argument.object


def _with_needs(argument: ArrayArgument, needed: Sequence[ArrayArgument], changing: Collection[str]) -> ArrayArgument:
    """The argument with a section that holds all that parts need and that is known where the region begins."""
    box = _box(argument, changing)
    boxes = [one for one in (_box(each, changing) for each in needed if each.doubt is None) if one is not None]
    if box is None or all(one == box for one in boxes):
        return argument
    whole = replace(argument, section=whole_section(argument.object) or ())
    if _box(whole, changing) in boxes:
        return whole
    section = tuple(SectionBound(expression(low), expression(length)) for low, length in hull([box, *boxes]))
    return replace(argument, section=section)


def _box(argument: ArrayArgument, changing: Collection[str]) -> Box | None:
    """The section as a box; None where the user says it, or it hangs on what changes in the region."""
    bounds, nonempty = [], set()
    for one in argument.section:
        if isinstance(one.lower, ClauseExpression) or isinstance(one.length, ClauseExpression):
            return None
        mentioned = (
            node.object.host for value in (one.lower, one.length) for node in walk(value) if isinstance(node, Access)
        )
        if any(host in changing for host in mentioned):
            return None
        low, last = polynomial(one.lower), polynomial(one.length) - number(1)
        bounds.append(Bounds(low, low + last))
        if last.constant is None or last.constant < 0:
            nonempty.add(last)
    return Box(tuple(bounds), frozenset(nonempty)) if bounds else None


def _are_alike(one: DataObject, other: DataObject) -> bool:
    return (one.storage, one.element, one.lengths[1:]) == (other.storage, other.element, other.lengths[1:])


def _as(argument: ArrayArgument, object_: DataObject) -> ArrayArgument:
    """The argument of an array that may hold what another one held: values come and go with all of them."""
    return replace(argument, object=object_, reads=True, writes=True, copy_in=True, copy_out=True)
