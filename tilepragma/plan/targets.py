"""Where a region may run and where it prefers to: docs/LANGUAGE.md, "Targets and devices".

`codegen/dialect.py` says what a new target needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.ir.directives import ALL_TARGETS, AxisKind, KernelDirective, Target, TileClause, TileKind
from tilepragma.ir.expressions import DataObject, IntegerLiteral
from tilepragma.ir.loop_tree import Axis, Declarator, Kernel
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ArrayType, PointerType, RecordType, ScalarType, Type, is_floating
from tilepragma.model.device import Device, Gpu

#: The targets that stand for all cores and for a GPU in the model's counts and predictions.
CORES, GPU = Target.THREADS, Target.CUDA


def allowed_targets(kernel: Kernel, command_line: tuple[Target, ...], diagnostics: Diagnostics) -> tuple[Target, ...]:
    """What the clause, the command line and the types allow, in ALL_TARGETS's order."""
    named = [target for target in kernel.directive.targets if not target.is_open]
    wanted: tuple[Target, ...] = tuple(named) or ALL_TARGETS
    targets = [target for target in ALL_TARGETS if target in wanted and target in command_line]
    if not targets:
        diagnostics.warning(
            kernel.directive.range,
            f"none of the targets that kernel '{kernel.name}' allows is among those of the command line; "
            "it runs the original loops",
        )
        return ()
    obstacle = next(_device_obstacles(kernel), None)
    if obstacle is None or not any(target.is_device for target in targets):
        return tuple(targets)
    targets = [target for target in targets if not target.is_device]
    if targets:
        diagnostics.note(kernel.directive.range, f"kernel '{kernel.name}' is not built for OpenCL and CUDA: {obstacle}")
    else:
        diagnostics.error(
            kernel.directive.range,
            f"kernel '{kernel.name}' cannot be built for the targets asked for: {obstacle}",
            "allow threads or serial as well, or change the declaration",
        )
    return tuple(targets)


def preferred_target(
    directive: KernelDirective, clauses: Mapping[int, tuple[TileClause, ...]], targets: tuple[Target, ...]
) -> Target:
    """The explicit choice, else what tiles and counts imply, else AUTO. For gangs and workers this
    is CUDA, which the runtime takes for any accelerator: CUDA where a CUDA device is present, else
    OpenCL.
    """
    named = [target for target in directive.targets if not target.is_open]
    if len(named) == 1 and named[0] in targets:
        return named[0]
    if directive.targets or not targets:
        return Target.AUTO
    axes = {kind.value: kind for kind in AxisKind}
    kinds = {axes[c.kind.value] for c in _tiles(clauses) if c.kind.value in axes}
    kinds |= {count.axis for count in directive.counts}
    if AxisKind.THREAD in kinds:
        return _first(targets, Target.THREADS, Target.SERIAL)
    if kinds:
        return _first(targets, Target.CUDA, Target.OPENCL, Target.THREADS, Target.SERIAL)
    return _first(targets, Target.SERIAL, Target.AUTO) if any(True for _ in _tiles(clauses)) else Target.AUTO


def planned_target(device: Device | None) -> Target:
    """The target that stands for a device; without one, this machine's cores."""
    return GPU if isinstance(device, Gpu) else CORES


def check_axes(
    directive: KernelDirective, clauses: Mapping[int, tuple[TileClause, ...]], diagnostics: Diagnostics
) -> None:
    """Refuse threads beside gangs or workers where no target clause tells them apart."""
    if directive.targets:
        return
    threads = [c.range for c in _tiles(clauses) if c.kind is TileKind.THREAD]
    threads += [count.range for count in directive.counts if count.axis is AxisKind.THREAD]
    accelerator = [c for c in _tiles(clauses) if c.kind in (TileKind.GANG, TileKind.WORKER)]
    counts = [count for count in directive.counts if count.axis is not AxisKind.THREAD]
    if threads and (accelerator or counts):
        diagnostics.error(
            threads[0],
            "threads and gangs or workers stand in one kernel, a contradiction: the former mean processor "
            "cores, the latter an accelerator",
            "use one of them, or say the targets with target(…)",
        )


def check_counts(directive: KernelDirective, axes: frozenset[Axis], user_tiles: bool, diagnostics: Diagnostics) -> None:
    """Refuse counts of axes that nothing uses."""
    for count in directive.counts:
        axis = Axis(count.axis, count.dimension)
        name = f"num_{count.axis.value}s" + ("" if count.axis is AxisKind.THREAD else f"[{count.dimension}]")
        if axis not in axes and user_tiles:
            tile = "thread" if count.axis is AxisKind.THREAD else f"{count.axis.value}, {count.dimension}"
            diagnostics.error(
                count.range, f"{name} has no effect: no loop has tile({tile})", f"add the tile, or remove {name}"
            )
        elif axis not in axes:
            diagnostics.warning(count.range, f"{name} has no effect here: no loop is distributed over that dimension")


def check_device(directive: KernelDirective, device: Device | None, diagnostics: Diagnostics) -> None:
    """Refuse more workers than the planned device runs in a gang."""
    counts = [count for count in directive.counts if count.axis is AxisKind.WORKER and count.count.literal is not None]
    workers = prod(count.count.literal or 1 for count in counts)
    if isinstance(device, Gpu) and workers > device.threads_per_block:
        diagnostics.error(
            counts[0].range,
            f"a gang has {workers} workers, and {device.name} runs {device.threads_per_block} in a block at most",
            f"ask for {device.threads_per_block} or fewer in all, or for none: the runtime then chooses",
        )


def _tiles(clauses: Mapping[int, tuple[TileClause, ...]]) -> Iterator[TileClause]:
    for tiles in clauses.values():
        yield from tiles


def _first(targets: tuple[Target, ...], *wishes: Target) -> Target:
    return next((wish for wish in wishes if wish in targets or wish.is_open), Target.AUTO)


def _device_obstacles(kernel: Kernel) -> Iterator[str]:
    """Why OpenCL C and CUDA C++ cannot express the region, as ends of sentences."""
    objects: list[DataObject] = [*kernel.objects, *(p for f in kernel.functions for p in f.parameters)]
    bodies = [kernel.body, *(function.body for function in kernel.functions)]
    declared = [node.object for body in bodies for node in walk(body) if isinstance(node, Declarator)]
    for object_ in [*objects, *declared]:
        if _has_long_double(object_.element):
            yield f"'{object_.name}' is of type long double"
    for function in kernel.functions:
        arrays = (node.object for node in walk(function.body) if isinstance(node, Declarator))
        for array in arrays:
            if not all(isinstance(length, IntegerLiteral) for length in array.lengths):
                yield f"the length of '{array.name}' in '{function.name}' is known at run time only"
    for node in walk(kernel.body):
        type_ = getattr(node, "type", None)
        if is_floating(type_) and type_.bits > 64:
            yield "an expression is of type long double"


def _has_long_double(type_: Type) -> bool:
    if isinstance(type_, ScalarType):
        return type_.is_floating and type_.bits > 64
    if isinstance(type_, RecordType):
        return any(_has_long_double(field.type) for field in type_.fields)
    if isinstance(type_, ArrayType):
        return _has_long_double(type_.element)
    return isinstance(type_, PointerType) and _has_long_double(type_.pointee)
