"""Data directives as calls of the runtime; each call is one statement."""

from __future__ import annotations

from tilepragma.base.c_text import quote
from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.describe import array_shape, number_types
from tilepragma.codegen.templates import render
from tilepragma.host.launch_expressions import array_initializer, host_text, queue_text
from tilepragma.ir.directives import Construct, Section
from tilepragma.ir.expressions import DataObject, Storage
from tilepragma.ir.loop_tree import DataRegion
from tilepragma.plan.kernel_plan import ArrayArgument, HeldRegion

_ENTER = {"copy": "COPY", "copyin": "COPYIN", "copyout": "COPYOUT", "create": "CREATE", "present": "PRESENT"}
_MOTIONS = _ENTER | {"delete": "DELETE", "self": "UPDATE_SELF", "device": "UPDATE_DEVICE"}


@dataclass(frozen=True)
class DataText:
    """File-scope constants, and text before and after a statement (`after` may be empty)."""

    constants: str
    before: str
    after: str


def data_text(region: DataRegion, number: int) -> DataText:
    """The calls of a data directive; `number` is unique in the file."""
    directive = region.directive
    if directive.construct is Construct.WAIT:
        queues = [host_text(queue) for queue in directive.waits]
        return DataText("", render("host/wait.c.j2", queues=queues), "")
    objects = dict(region.objects)
    items = [
        (objects[section.path], section, _MOTIONS[clause.name])
        for clause in directive.clauses
        for section in clause.sections
        # Scalars travel with every launch, so their host values are always the newest.
        if objects[section.path].storage is not Storage.SCALAR
    ]
    shapes = [array_shape(object_, ()) for object_, _, _ in items]
    arrays = [array_initializer(object_, _section(object_, section)) for object_, section, _ in items]
    constants = render("c/data.c.j2", number=number, shapes=shapes, quote=quote) if shapes else ""
    context = {
        "number": number,
        "items": [(array, motion) for array, (_, _, motion) in zip(arrays, items, strict=True)],
        "place": f"{quote(directive.range.file)}, {directive.range.start.line}",
        "condition": "" if directive.condition is None else host_text(directive.condition),
        "queue": queue_text(directive),
        "waits": [host_text(queue) for queue in directive.waits],
        "wait_all": directive.wait_all,
        "read_types": [],
    }
    if directive.construct is Construct.DATA:
        before = render("host/data_before.c.j2", **context)
        return DataText(constants, before, render("host/data_after.c.j2", **context))
    call = {
        Construct.ENTER_DATA: "tilek_data_enter",
        Construct.EXIT_DATA: "tilek_data_exit",
        Construct.UPDATE: "tilek_data_update",
    }[directive.construct]
    return DataText(constants, render("host/data_call.c.j2", call=call, **context), "")


def held_text(held: HeldRegion, number: int) -> DataText:
    """The calls around a region whose arrays stay on the device between its kernels.

    `number` distinguishes it from the file's data directives.
    """
    directive = held.kernel.directive
    shapes = [array_shape(array.object, ()) for array in held.arrays]
    arrays = [
        array_initializer(array.object, [(host_text(bound.lower), host_text(bound.length)) for bound in array.section])
        for array in held.arrays
    ]
    constants = render("c/data.c.j2", number=number, shapes=shapes, quote=quote) if shapes else ""
    context = {
        "number": number,
        "items": list(zip(arrays, map(_motion, held.arrays), strict=True)),
        "place": f"{quote(directive.range.file)}, {directive.range.start.line}",
        "condition": "" if directive.condition is None else host_text(directive.condition),
        "waits": [host_text(queue) for queue in directive.waits],
        "wait_all": directive.wait_all,
        "read_types": number_types(held.reads),
    }
    return DataText(constants, render("host/data_before.c.j2", **context), render("host/data_after.c.j2", **context))


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
        length = "-1" if whole is None else host_text(whole, 12)
        result.append((lower, length if lower == "0" else f"{length} - {lower}"))
    return result
