"""Sequential loops over a launch's instances, for host functions and processors' programs."""

from __future__ import annotations

from contextlib import ExitStack

from tilepragma.codegen.launch_numbers import Numbers
from tilepragma.codegen.manifest import axis_name
from tilepragma.codegen.numbering import used_dimensions
from tilepragma.codegen.writer import Writer
from tilepragma.ir.directives import AxisKind
from tilepragma.plan.kernel_plan import Launch


def instance_kind(launch: Launch) -> AxisKind | None:
    """The axis kind of the launch's instances: threads, else gangs; None for one instance."""
    kinds = {axis.kind for axis in launch.axes}
    return next((kind for kind in (AxisKind.THREAD, AxisKind.GANG) if kind in kinds), None)


def instance_count(launch: Launch, numbers: Numbers) -> str:
    """The number of instances of a launch that has several."""
    kind = instance_kind(launch)
    assert kind is not None, "one instance needs no count"
    return " * ".join(numbers.axis_count(axis) for axis in used_dimensions(launch, kind))


def instance_loop(
    writer: Writer, stack: ExitStack, launch: Launch, numbers: Numbers, wide: str, first: str, last: str
) -> str:
    """Loop over the instances [first, last) and compute gang indices; the linear index."""
    if instance_kind(launch) is AxisKind.THREAD:
        name = numbers.fresh("thread")
        stack.enter_context(writer.block(f"for ({wide} {name} = {first}; {name} < {last}; ++{name})"))
        return name
    axes = used_dimensions(launch, AxisKind.GANG)
    names = [numbers.fresh(axis_name(axis)) for axis in axes]
    linear = names[0] if len(axes) == 1 else numbers.fresh("gang")
    stack.enter_context(writer.block(f"for ({wide} {linear} = {first}; {linear} < {last}; ++{linear})"))
    inner = ""
    for axis, name in zip(axes, names, strict=True):
        if len(axes) > 1:
            divided = linear if not inner else f"{linear} / {inner if ' ' not in inner else f'({inner})'}"
            count = numbers.axis_count(axis) if axis != axes[-1] else ""
            writer.line(f"const {wide} {name} = {divided}{f' % {count}' if count else ''};")
            inner = f"{inner} * {count}" if inner and count else count or inner
    return linear
