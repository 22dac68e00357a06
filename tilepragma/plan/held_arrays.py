"""The arrays that stay on a device while the host goes through a region that is taken apart (ir.looptree.Parts).

The data clauses of the region hold for them. Where nothing is said, an array is kept if all that the region's kernels touch of it is
known where the region begins; others come and go with each kernel. Pointers that are exchanged keep what any of them needs.
"""

from __future__ import annotations

from dataclasses import replace

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.ir.accesses import function_uses, uses
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.looptree import Kernel, Parts
from tilepragma.ir.substitution import with_objects
from tilepragma.plan.data import DataContext, arrays_in_step
from tilepragma.plan.function_reach import with_reach
from tilepragma.plan.invariance import host_evaluable, written_objects
from tilepragma.plan.kernel_plan import ArrayArgument
from tilepragma.plan.named_subscripts import without_names


def held_arrays(parts: Parts) -> tuple[ArrayArgument, ...]:
    """The arguments of the arrays that are kept."""
    first = {one: group.used[0] for group in parts.exchanged for one in group.used}
    data = parts.data
    objects = tuple(dict.fromkeys(first.get(one, one) for one in data.objects))
    joined = replace(data, body=with_objects(data.body, first), objects=objects)
    arguments = {one.object: one for one in _arguments(joined, parts) if one.section and not one.present}
    found = [one for one in arguments.values() if one.object not in first and one.object not in parts.changed]
    for group in parts.exchanged:
        argument = arguments.get(group.used[0])
        if argument is not None and all(_are_alike(one, argument.object) for one in (*group.used, *group.there)):
            found += [_as(argument, one) for one in group.there]
    return tuple(found)


def _arguments(kernel: Kernel, parts: Parts) -> tuple[ArrayArgument, ...]:
    changing = parts.changed | written_objects(kernel)
    on_host = host_evaluable(changing)
    all_uses = (*uses(kernel.body, kernel.functions), *function_uses(kernel.functions))
    reached = without_names(with_reach(all_uses, kernel.functions), kernel, on_host)
    return arrays_in_step(DataContext(kernel, reached, on_host, Diagnostics()))


def _are_alike(one: DataObject, other: DataObject) -> bool:
    return (one.storage, one.element, one.lengths[1:]) == (other.storage, other.element, other.lengths[1:])


def _as(argument: ArrayArgument, object_: DataObject) -> ArrayArgument:
    """The argument of an array that may hold what another one held: values come and go with all of them."""
    return replace(argument, object=object_, reads=True, writes=True, copy_in=True, copy_out=True)
