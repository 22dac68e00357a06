"""Directives `data`, `enter data`, `exit data`, `update`, `wait`: the runtime calls that copy the
sections of their clauses.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilepragma.base.c_text import quote
from tilepragma.codegen.manifest import array_constants, number_types
from tilepragma.codegen.templates import render
from tilepragma.host.region_text import SurroundingText, array_initializer, array_text, host_text, queue_text
from tilepragma.ir.directives import Construct, DataDirective, KernelDirective, Section
from tilepragma.ir.expressions import DataObject, Storage
from tilepragma.ir.loop_tree import DataRegion
from tilepragma.plan.kernel_plan import ArrayArgument, ResidentRegion

#: Precedence of an operand of `-`.
_MULTIPLICATION = 12
_MOTIONS = {
    "copy": "COPY", "copyin": "COPYIN", "copyout": "COPYOUT", "create": "CREATE", "present": "PRESENT",
    "delete": "DELETE", "self": "UPDATE_SELF", "device": "UPDATE_DEVICE",
}  # fmt: skip
_CALLS = {
    Construct.ENTER_DATA: "tilek_data_enter",
    Construct.EXIT_DATA: "tilek_data_exit",
    Construct.UPDATE: "tilek_data_update",
}

#: An array of a data directive, with its initialiser and the ending of its tilek_motion.
_DataItem = tuple[DataObject, str, str]


def data_text(region: DataRegion, number: int) -> SurroundingText:
    """The calls of a data directive; each is one statement. `number` is unique in the file."""
    directive = region.directive
    if directive.construct is Construct.WAIT:
        queues = [host_text(queue) for queue in directive.waits]
        return SurroundingText(render("host/wait.c.j2", queues=queues), "")
    objects = dict(region.objects)
    items = [
        (object_, array_initializer(object_, _section(object_, section)), _MOTIONS[clause.name])
        for clause in directive.clauses
        for section in clause.sections
        # Scalars travel with every launch, so their host values are always the newest.
        if (object_ := objects[section.path]).storage is not Storage.SCALAR
    ]
    return _data_calls(directive, items, number, _CALLS.get(directive.construct, ""), queue_text(directive))


def resident_text(held: ResidentRegion, number: int) -> SurroundingText:
    """The calls around a region whose arrays stay on the device between its kernels.

    `number` distinguishes it from the file's data directives.
    """
    items = [(array.object, array_text(array), _motion(array)) for array in held.arrays]
    return _data_calls(held.kernel.directive, items, number, read_types=number_types(held.reads))


def _data_calls(
    directive: DataDirective | KernelDirective,
    items: Sequence[_DataItem],
    number: int,
    call: str = "",
    queue: str = "",
    read_types: Sequence[str] = (),
) -> SurroundingText:
    """A `call` of the runtime; without, calls where a region begins and ends."""
    context = {
        "number": number,
        "items": [(array, motion) for _, array, motion in items],
        "place": f"{quote(directive.range.file)}, {directive.range.start.line}",
        "condition": "" if directive.condition is None else host_text(directive.condition),
        "queue": queue,
        "waits": [host_text(queue) for queue in directive.waits],
        "wait_all": directive.wait_all,
        "read_types": read_types,
        "call": call,
    }
    constants = array_constants(f"tilek_data{number}", [object_ for object_, _, _ in items])
    if call:
        return SurroundingText(render("host/data_call.c.j2", **context), "", constants)
    before, after = (render(f"host/data_{side}.c.j2", **context) for side in ("before", "after"))
    return SurroundingText(before, after, constants)


def _motion(argument: ArrayArgument) -> str:
    if argument.copy_out or not argument.writes:
        return "KEEP"
    return "COPYIN" if argument.copy_in else "CREATE"


def _section(object_: DataObject, section: Section) -> list[tuple[str, str]]:
    """Lower bound and length per dimension; the default is the whole known dimension."""
    result = []
    for dimension in range(object_.rank):
        given = section.dimensions[dimension] if dimension < len(section.dimensions) else None
        lower = "0" if given is None or given.lower is None else host_text(given.lower)
        if given is not None and given.length is not None:
            result.append((lower, host_text(given.length)))
            continue
        whole = object_.lengths[dimension]
        length = "-1" if whole is None else host_text(whole, _MULTIPLICATION)
        result.append((lower, length if lower == "0" else f"{length} - {lower}"))
    return result
