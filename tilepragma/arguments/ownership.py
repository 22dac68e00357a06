"""Ownership: the arrays that stay on a device across the kernels of a split region
(ir.loop_tree.Parts).

The region's data clauses hold for them. Without a clause, an array stays if all that the kernels
touch of it is known where the region begins; other arrays move with each kernel. Exchanged pointers
keep what any of them needs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from tilepragma.arguments.array_arguments import DataContext, synchronised_arrays
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


def resident_arrays(parts: Parts, needed: Sequence[ArrayArgument]) -> tuple[ArrayArgument, ...]:
    """The arguments of the arrays that stay; `needed` are those of the parts' plans."""
    first = {object_: group.used[0] for group in parts.exchanged for object_ in group.used}
    data = parts.data
    objects = tuple(dict.fromkeys(first.get(object_, object_) for object_ in data.objects))
    joined = replace(data, body=with_objects(data.body, first), objects=objects)
    names = {object_.host: representative for object_, representative in first.items()}
    changing = {object_.host for object_ in parts.changed | written_objects(data)}
    arguments = {
        argument.object: _with_needs(argument, [a for a in needed if _is_of(a, argument, names)], changing)
        for argument in _arguments(joined, parts)
        if argument.section and not argument.present
    }
    held = [
        argument
        for argument in arguments.values()
        if argument.object not in first and argument.object not in parts.changed
    ]
    for group in parts.exchanged:
        argument = arguments.get(group.used[0])
        members = (*group.used, *group.live_in)
        if argument is not None and len({(each.storage, each.element, each.lengths[1:]) for each in members}) == 1:
            # Values come and go with the whole group.
            held += [
                replace(argument, object=member, reads=True, writes=True, copy_in=True, copy_out=True)
                for member in group.live_in
            ]
    return tuple(held)


def _arguments(kernel: Kernel, parts: Parts) -> tuple[ArrayArgument, ...]:
    changing = parts.changed | written_objects(kernel)
    on_host = host_evaluable(changing)
    all_uses = (*uses(kernel.body, kernel.functions), *function_uses(kernel.functions))
    reached = with_substituted_subscripts(with_reach(all_uses, kernel.functions), kernel, on_host)
    return synchronised_arrays(DataContext(kernel, reached, on_host, Diagnostics()))


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
        nodes = (node for value in (bound.lower, bound.length) for node in walk(value))
        if any(isinstance(node, Access) and node.object.host in changing for node in nodes):
            return None
        low, last = polynomial(bound.lower), polynomial(bound.length) - number(1)
        bounds.append(Bounds(low, low + last))
        if last.constant is None or last.constant < 0:
            nonempty.add(last)
    return Box(tuple(bounds), frozenset(nonempty)) if bounds else None
