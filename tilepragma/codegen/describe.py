"""A plan's manifest: every constant of tilek_kernel, and the programs of the wanted targets."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from tilepragma.codegen.entry_points import DeviceProgram, uses_double
from tilepragma.codegen.host_functions import host_function_name
from tilepragma.codegen.kernel_constants import kernel_symbol
from tilepragma.codegen.launch_order import step_functions
from tilepragma.codegen.manifest import (
    LAUNCH_ALWAYS,
    ArrayShape,
    ChoiceShape,
    DivisionShape,
    FieldShape,
    KernelManifest,
    LaunchShape,
    LoopShape,
    Parameter,
    ReductionShape,
    RowUseShape,
    SizeShape,
    axis_index,
)
from tilepragma.codegen.nests import counts_in_iterations
from tilepragma.codegen.numbering import (
    Numbering,
    bound_objects,
    host_iterators,
    is_one_nest,
    needs_function,
    number,
)
from tilepragma.codegen.reduction_chunks import chunk
from tilepragma.codegen.target_programs import programs_of
from tilepragma.ir.directives import Target
from tilepragma.ir.expressions import DataObject, IntegerLiteral, Scope
from tilepragma.ir.loop_tree import TiledLoop
from tilepragma.ir.types import ArrayType, RecordType, ScalarKind, ScalarType, Type
from tilepragma.ir.value_bytes import type_size
from tilepragma.normalise.ordered_zeros import ordered_zeros
from tilepragma.plan.dispatch_table import is_of_devices_only
from tilepragma.plan.kernel_plan import ArrayArgument, Division, KernelPlan, Launch, SizeChoice, Step, launches_in
from tilepragma.schedule.doacross import persistent_launches

_OPERATORS = {
    "+": "ADD", "*": "MULTIPLY", "min": "MINIMUM", "max": "MAXIMUM", "&": "BIT_AND", "|": "BIT_OR", "^": "BIT_XOR",
    "&&": "LOGICAL_AND", "||": "LOGICAL_OR", "fmin": "MINIMUM_NUMBER", "fmax": "MAXIMUM_NUMBER",
}  # fmt: skip
_INT64_MAX = 2**63 - 1


def describe(plan: KernelPlan, targets: Collection[Target], on_devices: bool = True) -> KernelManifest:
    """The manifest of a region for the `targets` that the plan does not exclude. `on_devices`:
    whether device launches are included. If the plan leaves the region as written, it has no
    launches, and the runtime only moves data.
    """
    numbering = number(plan)
    wanted = [target for target in plan.targets if target in targets]
    programs = {form.name: program for form, program in programs_of(plan, wanted, on_devices)}
    opencl, cuda, processors = map(programs.get, ("opencl", "cuda", "processors"))
    device = cuda if opencl is None else opencl
    on_device = plan.device if device is not None else ()
    persistent = persistent_launches(plan) if cuda is not None else ()
    cuda_only = cuda.parameters[len(on_device) :] if cuda is not None else ()
    start = plan.kernel.range.start
    steps = step_functions(plan, device is not None)
    return KernelManifest(
        name=plan.kernel.name,
        file=start.file,
        line=start.line,
        flags=_flags(plan, device is not None),
        targets=tuple(target.name for target in wanted),
        preferred=plan.preferred.name,
        opencl=opencl.text if opencl else None,
        cuda=cuda.text if cuda else None,
        processors=processors.text if processors else None,
        arrays=tuple(array_shape(argument.object.stored, _motions(argument, plan)) for argument in plan.arrays),
        scalar_sizes=tuple(type_size(object_.element) for object_ in plan.scalars),
        host_launches=tuple(
            _launch(plan, launch, host_function_name(launch), parameters)
            for launch, parameters in zip(plan.host, _parameters(processors, plan.host), strict=True)
        ),
        device_launches=(
            *(
                _launch(plan, launch, None, parameters)
                for launch, parameters in zip(on_device, _parameters(device, on_device), strict=True)
            ),
            *(
                _launch(plan, variant.launch, None, parameters)
                for variant, parameters in zip(persistent, cuda_only, strict=True)
            ),
        ),
        persistent=tuple(variant.number for variant in persistent),
        tile_argument_count=numbering.tile_argument_count,
        loop_count=len(numbering.loops),
        host_steps=steps.host,
        device_steps=steps.device,
        sizes=tuple(SizeShape(size.object.name, size.host, size.device) for size in plan.sizes),
        choices=_choices(plan.choices),
        device_choices=_choices(plan.device_choices if on_device else ()),
        processor_choices=_choices(plan.processor_choices if processors else ()),
        versions=tuple(kernel_symbol(version.plan.kernel.name) for version in plan.versions),
        divisions=tuple(
            _division(plan, on_device[place], division)
            for place, division in enumerate(plan.divisions if on_device else ())
        ),
        row_base_count=len(plan.row_bases) if on_device else 0,
        constant_numbers=tuple(
            sorted({name for program in (opencl, cuda, processors) if program for name in program.constant_numbers})
        ),
    )


def _choices(choices: tuple[SizeChoice, ...]) -> tuple[ChoiceShape, ...]:
    return tuple(ChoiceShape(choice.bytes, choice.trips, choice.sizes, choice.version) for choice in choices)


def describe_version(plan: KernelPlan, number: int, targets: Collection[Target]) -> KernelManifest:
    """The manifest of version `number` (from 1) of a plan."""
    version = plan.versions[number - 1]
    manifest = describe(version.plan, targets, version.on_devices)
    return replace(manifest, version=number, version_text=version.text, kernel=plan.kernel.name)


def _parameters(program: DeviceProgram | None, launches: tuple[Launch, ...]) -> tuple[tuple[Parameter, ...], ...]:
    return program.parameters[: len(launches)] if program is not None else ((),) * len(launches)


def array_shape(object_: DataObject, flags: tuple[str, ...]) -> ArrayShape:
    """The shape of an object as the runtime sees it; `flags` are endings of the header's names."""
    return ArrayShape(
        name=object_.host,
        storage=object_.storage.name,
        rank=object_.rank,
        element_size=type_size(object_.element),
        fields=tuple(_fields(object_.element, "", 0, 1)),
        flags=flags,
    )


def scalar_type_name(type_: ScalarType) -> str:
    """The ending of the type's tilek_type."""
    if type_.kind is ScalarKind.BOOLEAN:
        return "BOOL"
    if type_.is_floating:
        return {32: "FLOAT", 64: "DOUBLE"}.get(type_.bits, "LONG_DOUBLE")
    return f"{'INT' if type_.signed else 'UINT'}{type_.bits}"


def number_types(types: Iterable[Type]) -> list[str]:
    """The tilek_types (endings) of these types' numbers; integers give both signs, as in C."""
    names = {field.type for type_ in types for field in _fields(type_, "", 0, 1)}
    names |= {f"U{name}" for name in names if name.startswith("INT")} | {
        name[1:] for name in names if name.startswith("UINT")
    }
    return sorted(names)


def _fields(type_: Type, name: str, offset: int, count: int) -> list[FieldShape]:
    match type_:
        case ScalarType():
            return [FieldShape(name, offset, scalar_type_name(type_), count)]
        case RecordType():
            return [
                part
                for index in range(count)
                for member in type_.fields
                for part in _fields(
                    member.type,
                    (f"{name}[{index}]" if count > 1 else name) + ("." if name else "") + member.name,
                    offset + index * type_.size + member.offset,
                    1,
                )
            ]
        case ArrayType(element, IntegerLiteral(value)):
            return _fields(element, name, offset, count * value)
        case _:
            return [FieldShape(name, offset, "UINT64", count)]


def _motions(argument: ArrayArgument, plan: KernelPlan) -> tuple[str, ...]:
    zeros = [zero for zero in ordered_zeros(plan) if zero.object == argument.object]
    chosen = {
        "READS": argument.reads,
        "WRITES": argument.writes,
        "COPY_IN": argument.copy_in,
        "COPY_OUT": argument.copy_out,
        "MUST_BE_PRESENT": argument.present,
        "TEMPORARY": argument.object.scope is Scope.TEMPORARY,
        "DEVICES_ONLY": is_of_devices_only(plan, argument),
        "UNKNOWN_EXTENT": bool(argument.object.rank and not argument.section),
        "POSSIBLE_EXTENT": argument.doubt is not None,
        "ORDERED_ZERO_ON_HOSTS": any(zero.hosts for zero in zeros),
        "ORDERED_ZERO_ON_DEVICES": any(zero.devices for zero in zeros),
    }
    return tuple(name for name, holds in chosen.items() if holds)


def _flags(plan: KernelPlan, on_device: bool) -> tuple[str, ...]:
    chosen = {
        "CONTRACT": plan.floating.contract,
        "FAST_MATH": plan.floating.fast,
        "USES_DOUBLE": uses_double(plan),
        "TARGET_EXPLICIT": plan.preferred in plan.kernel.directive.targets and not plan.preferred.is_open,
        "MUST_BE_APART": plan.checks_overlap,
        "VARYING_STEPS": _varies(plan.host_steps) or (on_device and _varies(plan.device_steps)),
    }
    return tuple(name for name, holds in chosen.items() if holds)


def _varies(steps: tuple[Step, ...]) -> bool:
    iterators = host_iterators(steps)
    return any(bool(bound_objects(launch) & iterators) for launch in launches_in(steps))


def _launch(plan: KernelPlan, launch: Launch, host: str | None, parameters: tuple[Parameter, ...]) -> LaunchShape:
    arrays = [argument.object for argument in plan.arrays]
    has_fixed_bounds = not needs_function(plan, plan.device_steps if host is None else plan.host_steps)
    reductions = []
    for reduction in launch.reductions:
        assert isinstance(reduction.object.element, ScalarType), "reductions are over numbers"
        type_ = scalar_type_name(reduction.object.element)
        reductions.append(ReductionShape(_OPERATORS[reduction.operator], type_, arrays.index(reduction.object)))
    return LaunchShape(
        entry=launch.name,
        loops=tuple(_loop(loop, number(plan), has_fixed_bounds) for loop in launch.loops),
        axes=sum(1 << axis_index(axis) for axis in set(launch.axes)) + (0 if is_one_nest(launch) else LAUNCH_ALWAYS),
        host=host,
        reductions=tuple(reductions),
        parameters=parameters,
        value_sizes=tuple(type_size(object_.element) for object_ in launch.values),
        chunk=chunk(launch),
    )


def _division(plan: KernelPlan, launch: Launch, division: Division) -> DivisionShape:
    arrays = [argument.object for argument in plan.arrays]
    uses = tuple(
        RowUseShape(
            arrays.index(use.object),
            tuple(name for name, holds in (("READS", use.reads), ("WRITES", use.writes)) if holds),
            use.rank,
            use.scale,
            use.least,
            use.greatest,
            0 if use.base is None else 1 + plan.row_bases.index(use.base),
        )
        for use in division.uses
    )
    return DivisionShape(-1 if division.loop is None else launch.loops.index(division.loop), uses)


def _loop(loop: TiledLoop, numbering: Numbering, has_fixed_bounds: bool) -> LoopShape:
    lowest, highest = _iterator_range(loop)
    return LoopShape(
        symbol=loop.symbol,
        kinds=tuple(tile.kind.name for tile in loop.tiles),
        axes=tuple(-1 if tile.axis is None else axis_index(tile.axis) for tile in loop.tiles),
        first_argument=numbering.first_arguments[loop],
        iterator_minimum=lowest,
        iterator_maximum=highest,
        number=numbering.loop_number(loop) if has_fixed_bounds else None,
    )


def _iterator_range(loop: TiledLoop) -> tuple[int, int]:
    """The range of the iterator in the emitted loop; unlimited where it counts in 64 bits."""
    type_ = loop.loop.iterator.element
    if not isinstance(type_, ScalarType) or type_.is_floating or counts_in_iterations(loop):
        return -_INT64_MAX - 1, _INT64_MAX
    if type_.signed:
        return -(2 ** (type_.bits - 1)), 2 ** (type_.bits - 1) - 1
    return 0, min(2**type_.bits - 1, _INT64_MAX)
