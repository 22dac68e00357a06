"""The manifest: what the runtime knows of a kernel, as C constants of the types in tilek.h.

Each table of the header has a function here, with a row's members in the header's order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from tilepragma.base.c_text import in_comment, quote
from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.device_program import DeviceProgram, programs_of, uses_double
from tilepragma.codegen.host_functions import host_function_name
from tilepragma.codegen.launch_parameters import (
    Parameter,
    axis_index,
    bound_objects,
    host_iterators,
    is_one_nest,
    needs_function,
    plan_numbers,
)
from tilepragma.codegen.reduction_printer import chunk, reduced_type
from tilepragma.codegen.statements import counts_in_iterations
from tilepragma.codegen.step_functions import StepFunctions, step_functions
from tilepragma.ir.directives import Target
from tilepragma.ir.expressions import DataObject, IntegerLiteral, Scope
from tilepragma.ir.loop_tree import TiledLoop
from tilepragma.ir.types import ArrayType, RecordType, ScalarKind, ScalarType, Type
from tilepragma.ir.value_bytes import type_size
from tilepragma.normalise.ordered_zeros import ordered_zeros
from tilepragma.plan.dispatch_table import is_of_devices_only
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan, Launch, SizeChoice, Step, launches_in
from tilepragma.plan.summary import points_of
from tilepragma.schedule.doacross import Persistent, persistent_launches

_OPERATORS = {
    "+": "ADD", "*": "MULTIPLY", "min": "MINIMUM", "max": "MAXIMUM", "&": "BIT_AND", "|": "BIT_OR", "^": "BIT_XOR",
    "&&": "LOGICAL_AND", "||": "LOGICAL_OR", "fmin": "MINIMUM_NUMBER", "fmax": "MAXIMUM_NUMBER",
}  # fmt: skip
_INT64_MAX = 2**63 - 1
#: Longest piece of program text in one literal; C99 promises 4095 characters.
_PIECE = 2000
#: Bits of a launch's axes: TILEK_LAUNCH_ALWAYS, TILEK_LAUNCH_POINTS and TILEK_LAUNCH_COPIES.
LAUNCH_ALWAYS, LAUNCH_POINTS, LAUNCH_COPIES = 1 << 8, 1 << 9, 1 << 10
#: Members of tilek_kernel with an initialiser even where they are 0.
_ALWAYS = ("tile_argument_count", "loop_count")
_PERSISTENT = "/* Which wavefronts CUDA devices may run in one persistent launch: the last launches above. */\n"

_LaunchesOfProgram = tuple[tuple[Launch, tuple[Parameter, ...]], ...]


@dataclass(frozen=True)
class KernelManifest:
    """A plan and the code that a translated program has for it: for the `targets`, the device
    `programs` by name and the functions of its `steps`.

    `versions` are the manifests of plans that compute the same. In these, `version` counts from 1
    and `version_text` describes it. `shown` is the name of the kernel for people.
    """

    plan: KernelPlan
    targets: tuple[Target, ...]
    programs: Mapping[str, DeviceProgram]
    steps: StepFunctions
    shown: str
    version: int = 0
    version_text: str = ""
    versions: tuple[KernelManifest, ...] = ()

    @property
    def symbol(self) -> str:
        """The C name of its constant."""
        return kernel_symbol(self.plan.kernel.name)

    @property
    def host_launches(self) -> _LaunchesOfProgram:
        """The launches on hosts, with the parameters of their entry points for processors."""
        program = self.programs.get("processors")
        parameters = program.parameters if program is not None else ((),) * len(self.plan.host)
        return tuple(zip(self.plan.host, parameters, strict=True))

    @property
    def device_launches(self) -> _LaunchesOfProgram:
        """The launches on devices, with the parameters of their entry points. Persistent variants,
        which the CUDA program alone has, are the last.
        """
        programs = [self.programs[name] for name in ("opencl", "cuda") if name in self.programs]
        if not programs:
            return ()
        first, last = programs[0], programs[-1]
        both = (*first.parameters, *last.parameters[len(first.parameters) :])
        return tuple(zip(last.launches, both, strict=True))

    @property
    def persistent(self) -> tuple[Persistent, ...]:
        """The persistent variants among the launches on devices."""
        return persistent_launches(self.plan) if "cuda" in self.programs else ()


def kernel_symbol(name: str) -> str:
    """The C name of a region's tilek_kernel."""
    return f"tilek_{name}_kernel"


def describe(plan: KernelPlan, targets: Collection[Target]) -> KernelManifest:
    """The manifest of a region and of its versions, for the `targets` that the plan does not
    exclude. If the plan leaves the region as written, it has no launches, and the runtime only
    moves data.
    """
    versions = []
    for place, version in enumerate(plan.versions, 1):
        described = _described(version.plan, targets, version.on_devices)
        versions.append(replace(described, shown=plan.kernel.name, version=place, version_text=version.text))
    return replace(_described(plan, targets, True), versions=tuple(versions))


def _described(plan: KernelPlan, targets: Collection[Target], on_devices: bool) -> KernelManifest:
    wanted = tuple(target for target in plan.targets if target in targets)
    programs = programs_of(plan, wanted, on_devices)
    steps = step_functions(plan, not programs.keys().isdisjoint(("opencl", "cuda")))
    return KernelManifest(plan, wanted, programs, steps, plan.kernel.name)


class _Tables:
    """The constants of a kernel, in an order that C takes. `prefix` begins their names."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.text = ""

    def lines(self, type_: str, name: str, lines: Iterable[str], comment: str = "") -> str:
        """Add an array of whole lines; its name, NULL for no elements."""
        text = "".join(lines)
        return self._added(type_, name, f"\n{text}", comment) if text else "NULL"

    def rows(self, type_: str, name: str, rows: Iterable[str], comment: str = "") -> str:
        """Add an array with a line for each element; its name, NULL for no elements."""
        return self.lines(type_, name, (f"    {row},\n" for row in rows), comment)

    def items(self, type_: str, name: str, items: Iterable[object], comment: str = "") -> str:
        """Add an array on one line; its name, NULL for no elements."""
        text = ", ".join(map(str, items))
        return self._added(type_, name, text, comment) if text else "NULL"

    def _added(self, type_: str, name: str, elements: str, comment: str) -> str:
        name = f"{self.prefix}_{name}"
        self.text += f"{comment}static {type_} {name}[] = {{{elements}}};\n"
        return name


def kernel_constants(manifest: KernelManifest) -> str:
    """File-scope definitions for one region. The host functions must stand before them."""
    plan, programs = manifest.plan, manifest.programs
    place, numbering = plan.kernel.range.start, plan_numbers(plan)
    host, device, persistent = manifest.host_launches, manifest.device_launches, manifest.persistent
    on_devices = plan.device_choices if device else ()
    on_processors = plan.processor_choices if "processors" in programs else ()
    sizes = (_row(quote(size.object.name), size.host, size.device) for size in plan.sizes)
    tables = _Tables(f"tilek_{plan.kernel.name}")
    members: dict[str, object] = {
        "abi": "TILEK_ABI",
        "name": quote(manifest.shown),
        "file": quote(place.file_name),
        "line": place.line,
        "flags": _flags(kernel_flags(manifest)),
        "targets": " | ".join(f"1u << TILEK_{target.name}" for target in manifest.targets) or "0",
        "preferred": f"TILEK_{plan.preferred.name}",
        **{name: _program_text(tables, name, program.text) for name, program in programs.items()},
        "array_count": len(plan.arrays),
        "arrays": array_table(tables, "arrays", [(a.object.stored, array_flags(a, plan)) for a in plan.arrays]),
        "scalar_count": len(plan.scalars),
        "scalar_sizes": _sizes(tables, "scalars", plan.scalars),
        "host_launch_count": len(host),
        "host_launches": _launches(tables, plan, "host", host),
        "device_launch_count": len(device) - len(persistent),
        "device_launches": _launches(tables, plan, "device", device),
        "persistent_count": len(persistent),
        "persistent": tables.items("const int", "persistent", (variant.number for variant in persistent), _PERSISTENT),
        "tile_argument_count": sum(len(loop.tiles) for loop in numbering.first_arguments),
        "loop_count": len(numbering.loops),
        **_loop_entries(tables, manifest),
        "host_steps": manifest.steps.host or "NULL",
        "device_steps": manifest.steps.device or "NULL",
        "size_count": len(plan.sizes),
        "sizes": tables.items("const tilek_size", "sizes", sizes),
        "choice_count": len(plan.choices),
        "choices": _choices(tables, plan, "choices", plan.choices, "hosts"),
        "device_choice_count": len(on_devices),
        "device_choices": _choices(tables, plan, "device_choices", on_devices, "devices"),
        "processor_choice_count": len(on_processors),
        "processor_choices": _choices(tables, plan, "processor_choices", on_processors, "OpenCL processors"),
    }
    symbols = (f"&{version.symbol}" for version in manifest.versions)
    versions = tables.items("const tilek_kernel *const", "versions", symbols)
    divisions = _divisions(tables, plan) if device else "NULL"
    constants = sorted({quote(constant) for program in programs.values() for constant in program.constant_numbers})
    members |= {
        "constant_numbers": tables.items(
            "const char *const", "constant_numbers", [*constants, "NULL"] if constants else ()
        ),
        "local_bytes": max((program.local_bytes for program in programs.values()), default=0),
        "version_count": len(manifest.versions),
        "versions": versions,
        "version": manifest.version,
        "version_text": quote(manifest.version_text) if manifest.version else "NULL",
        "state": f"&{tables.prefix}_state",
        "divisions": divisions,
        "row_base_count": len(plan.row_bases) if divisions != "NULL" else 0,
    }
    initialised = "".join(
        f"    .{name} = {value},\n" for name, value in members.items() if name in _ALWAYS or value not in (0, "NULL")
    )
    constant = f"static const tilek_kernel {manifest.symbol} = {{\n{initialised}}};\n"
    return f"{tables.text}static void *{tables.prefix}_state;\n{constant}"


def _program_text(tables: _Tables, name: str, text: str) -> str:
    lines = [f"    {part}\n" for group in pieces(text) for part in (*group[:-1], f"{group[-1]},")]
    return tables.lines("const char *const", name, [*lines, "    NULL\n"])


def _loop_entries(tables: _Tables, manifest: KernelManifest) -> dict[str, str]:
    """For each loop of all launches, its entry in tilek_call.loops. Equal lists share a table."""
    plan = manifest.plan
    of_hosts = _entries(plan, manifest.host_launches, plan.host_steps)
    of_devices = _entries(plan, manifest.device_launches, plan.device_steps)
    host = tables.items("const int", "host_loops", of_hosts)
    device = host if of_devices == of_hosts else tables.items("const int", "device_loops", of_devices)
    return {"host_loops": host, "device_loops": device}


def pieces(text: str) -> list[list[str]]:
    """C string literals of the text's lines, in groups that are one array element each."""
    groups: list[list[str]] = [[]]
    size = 0
    for line in text.splitlines(keepends=True):
        for start in range(0, len(line), _PIECE):
            part = line[start : start + _PIECE]
            if size + len(part) > _PIECE and groups[-1]:
                groups.append([])
                size = 0
            size += len(part)
            ending = "\\n" if part.endswith("\n") else ""
            groups[-1].append(quote(part.rstrip("\n"))[:-1] + ending + '"')
    return groups


def array_constants(prefix: str, objects: Iterable[DataObject]) -> str:
    """The shapes of the objects of a data directive, as the array `prefix_shapes`."""
    tables = _Tables(prefix)
    array_table(tables, "shapes", [(object_, ()) for object_ in objects])
    return tables.text


def array_table(tables: _Tables, name: str, arrays: Iterable[tuple[DataObject, tuple[str, ...]]]) -> str:
    """tilek_array_shape: objects as the runtime sees them, with their flags."""
    rows = []
    for place, (object_, flags) in enumerate(arrays):
        fields = _fields(object_.element, "", 0, 1)
        texts = (_row(quote(field), offset, f"TILEK_{type_}", count) for field, offset, type_, count in fields)
        table = tables.items("const tilek_field", f"fields{place}", texts)
        members = f"TILEK_{object_.storage.name}", object_.rank, type_size(object_.element), len(fields), table
        rows.append(_row(quote(object_.host), *members, _flags(flags)))
    return tables.rows("const tilek_array_shape", name, rows)


def _fields(type_: Type, name: str, offset: int, count: int) -> list[tuple[str, int, str, int]]:
    """tilek_field: `count` numbers of a tilek_type (its ending) at byte `offset`."""
    match type_:
        case ScalarType():
            return [(name, offset, scalar_type_name(type_), count)]
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
            return [(name, offset, "UINT64", count)]


def scalar_type_name(type_: ScalarType) -> str:
    """The ending of the type's tilek_type."""
    if type_.kind is ScalarKind.BOOLEAN:
        return "BOOL"
    if type_.is_floating:
        return {32: "FLOAT", 64: "DOUBLE"}.get(type_.bits, "LONG_DOUBLE")
    return f"{'INT' if type_.signed else 'UINT'}{type_.bits}"


def number_types(types: Iterable[Type]) -> list[str]:
    """The tilek_types (endings) of these types' numbers; integers give both signs, as in C."""
    names = {name for type_ in types for _, _, name, _ in _fields(type_, "", 0, 1)}
    names |= {f"U{name}" for name in names if name.startswith("INT")}
    names |= {name[1:] for name in names if name.startswith("UINT")}
    return sorted(names)


def array_flags(argument: ArrayArgument, plan: KernelPlan) -> tuple[str, ...]:
    """The endings of the flags of tilek_array_shape that hold for an array of a plan."""
    zeros = [zero for zero in ordered_zeros(plan) if zero.object == argument.object]
    return _those_that_hold(
        {
            "READS": argument.reads,
            "WRITES": argument.writes,
            "COPY_IN": argument.copy_in,
            "COPY_OUT": argument.copy_out,
            "MUST_BE_PRESENT": argument.present,
            "TEMPORARY": argument.object.scope is Scope.TEMPORARY,
            "DEVICES_ONLY": is_of_devices_only(plan, argument),
            "UNKNOWN_EXTENT": bool(argument.object.rank and not argument.section),
            "POSSIBLE_EXTENT": argument.doubt is not None,
            "ROWS_APART": argument.rows_apart,
            "ROWS_DISTINCT": argument.rows_distinct,
            "ORDERED_ZERO_ON_HOSTS": any(zero.hosts for zero in zeros),
            "ORDERED_ZERO_ON_DEVICES": any(zero.devices for zero in zeros),
        }
    )


def kernel_flags(manifest: KernelManifest) -> tuple[str, ...]:
    """The endings of the flags of tilek_kernel that hold."""
    plan = manifest.plan
    return _those_that_hold(
        {
            "CONTRACT": plan.floating.contract,
            "FAST_MATH": plan.floating.fast,
            "USES_DOUBLE": uses_double(plan),
            "TARGET_EXPLICIT": plan.preferred in plan.kernel.directive.targets and not plan.preferred.is_open,
            "MUST_BE_APART": plan.checks_overlap,
            "VARYING_STEPS": _varies(plan.host_steps) or _varies(plan.device_steps if manifest.device_launches else ()),
        }
    )


def _those_that_hold(flags: dict[str, bool]) -> tuple[str, ...]:
    return tuple(name for name, holds in flags.items() if holds)


def _flags(names: Iterable[str]) -> str:
    return " | ".join(f"TILEK_{name}" for name in names) or "0"


def _varies(steps: tuple[Step, ...]) -> bool:
    iterators = host_iterators(steps)
    return any(bool(bound_objects(launch) & iterators) for launch in launches_in(steps))


def _launches(tables: _Tables, plan: KernelPlan, side: str, launches: _LaunchesOfProgram) -> str:
    """tilek_launch_shape. A device launch's loops are the host's where both are tiled alike."""
    on_hosts = side == "host"
    steps = plan.host_steps if on_hosts else plan.device_steps
    arrays = [argument.object for argument in plan.arrays]
    rows = []
    for place, (launch, parameters) in enumerate(launches):
        name = f"{side}{place}"
        loops = _loops(plan, launch, steps)
        is_shared = not on_hosts and place < len(plan.host) and loops == _loops(plan, plan.host[place], plan.host_steps)
        reductions = []
        for reduction in launch.reductions:
            operator, type_ = _OPERATORS[reduction.operator], scalar_type_name(reduced_type(reduction))
            reductions.append(_row(f"TILEK_{operator}", f"TILEK_{type_}", arrays.index(reduction.object)))
        members = (
            quote(launch.name),
            len(loops),
            f"{tables.prefix}_host{place}_loops" if is_shared and loops else _loop_table(tables, name, loops),
            f"{launch_axes(launch)}u",
            host_function_name(launch) if on_hosts else "NULL",
            len(launch.reductions),
            tables.rows("const tilek_reduction", f"{name}_reductions", reductions),
            len(parameters),
            tables.rows("const tilek_parameter", f"{name}_parameters", map(_parameter, parameters)),
            len(launch.values),
            _sizes(tables, f"{name}_values", launch.values),
            chunk(launch),
        )
        rows.append(_row(*members))
    return tables.rows("const tilek_launch_shape", f"{side}_launches", rows)


def _sizes(tables: _Tables, name: str, objects: Iterable[DataObject]) -> str:
    return tables.items("const size_t", name, (type_size(object_.element) for object_ in objects))


def _parameter(parameter: Parameter) -> str:
    constant = quote(parameter.constant) if parameter.constant else "NULL"
    return _row(f"TILEK_PARAMETER_{parameter.kind}", parameter.index, parameter.dimension, constant)


def launch_axes(launch: Launch) -> int:
    """The mask of axes in use, and the bits for what else the runtime has to know."""
    axes = sum(1 << axis_index(axis) for axis in set(launch.axes))
    axes += 0 if is_one_nest(launch) else LAUNCH_ALWAYS
    axes += LAUNCH_POINTS if points_of(launch) else 0
    return axes + (LAUNCH_COPIES if launch.staged_scratchpads else 0)


@dataclass(frozen=True)
class _LoopShape:
    """tilek_loop_shape, and the `entry` in tilek_call.loops (None: steps compute the bounds)."""

    symbol: str
    kinds: tuple[str, ...]
    axes: tuple[int, ...]
    first_argument: int
    lowest: int
    highest: int
    entry: int | None


def _loops(plan: KernelPlan, launch: Launch, steps: tuple[Step, ...]) -> list[_LoopShape]:
    numbering, has_fixed_bounds = plan_numbers(plan), not needs_function(plan, steps)
    return [
        _LoopShape(
            loop.symbol,
            tuple(f"TILEK_TILE_{tile.kind.name}" for tile in loop.tiles),
            tuple(-1 if tile.axis is None else axis_index(tile.axis) for tile in loop.tiles),
            numbering.first_arguments[loop],
            *iterator_range(loop),
            numbering.loop_number(loop) if has_fixed_bounds else None,
        )
        for loop in launch.loops
    ]


def _loop_table(tables: _Tables, launch: str, loops: list[_LoopShape]) -> str:
    """tilek_loop_shape."""
    rows = []
    for place, loop in enumerate(loops):
        kinds = tables.items("const tilek_tile_kind", f"{launch}_kinds{place}", loop.kinds)
        axes = tables.items("const int", f"{launch}_axes{place}", loop.axes)
        limits = _int64(loop.lowest), _int64(loop.highest)
        rows.append(_row(quote(loop.symbol), len(loop.kinds), kinds, axes, loop.first_argument, *limits))
    return tables.rows("const tilek_loop_shape", f"{launch}_loops", rows)


def iterator_range(loop: TiledLoop) -> tuple[int, int]:
    """The range of the iterator in the emitted loop; unlimited where it counts in 64 bits."""
    type_ = loop.loop.iterator.element
    if not isinstance(type_, ScalarType) or type_.is_floating or counts_in_iterations(loop):
        return -_INT64_MAX - 1, _INT64_MAX
    if type_.signed:
        return -(2 ** (type_.bits - 1)), 2 ** (type_.bits - 1) - 1
    return 0, min(2**type_.bits - 1, _INT64_MAX)


def _entries(plan: KernelPlan, launches: _LaunchesOfProgram, steps: tuple[Step, ...]) -> list[int]:
    """The entries in tilek_call.loops of all loops of the launches that have one."""
    loops = [loop for launch, _ in launches for loop in _loops(plan, launch, steps)]
    return [loop.entry for loop in loops if loop.entry is not None]


def _choices(tables: _Tables, plan: KernelPlan, name: str, choices: tuple[SizeChoice, ...], where: str) -> str:
    """tilek_choice."""
    names = ", ".join(size.object.name for size in plan.sizes)
    comment = (
        f"/* {{bytes, iterations, {{{names}}}, version}}: a launch on {where} takes the first line with at least "
        "the bytes of\n * its arrays and at least the iterations of its outermost loop."
        f"{' Versions have sizes of their own.' if plan.versions else ''} */\n"
    )
    rows = (
        _row(
            *("INT64_MAX" if limit is None else _int64(limit) for limit in (choice.bytes, choice.trips)),
            f"(const int64_t[]){{{', '.join(map(str, choice.sizes))}}}" if choice.sizes else "NULL",
            choice.version,
        )
        for choice in choices
    )
    return tables.rows("const tilek_choice", name, rows, comment)


def _divisions(tables: _Tables, plan: KernelPlan) -> str:
    """tilek_division, and tilek_row_use: all rows are used where a use has no least one."""
    arrays = [argument.object for argument in plan.arrays]
    rows = []
    for place, (launch, division) in enumerate(zip(plan.device, plan.divisions, strict=False)):
        uses = []
        for use in division.uses:
            array = arrays.index(use.object)
            access = _flags(_those_that_hold({"READS": use.reads, "WRITES": use.writes}))
            least = "INT64_MIN" if use.least is None else use.least
            greatest = "INT64_MAX" if use.greatest is None else use.greatest
            base = 0 if use.base is None else 1 + plan.row_bases.index(use.base)
            row = _row(array, access, use.rank, use.scale, least, greatest, base)
            uses.append(f"    {row}, /* {in_comment(use.object.stored.host)} */\n")
        table = tables.lines("const tilek_row_use", f"rows{place}", uses)
        loop = -1 if division.loop is None else launch.loops.index(division.loop)
        rows.append(_row(loop, len(uses), table))
    comment = (
        "/* How each launch is distributed over several devices: its loop, and the rows that an iteration of it "
        "touches. */\n"
    )
    return tables.items("const tilek_division", "divisions", rows, comment)


def _row(*members: object) -> str:
    return f"{{{', '.join(map(str, members))}}}"


def _int64(value: int) -> str:
    return {-(2**63): "INT64_MIN", _INT64_MAX: "INT64_MAX"}.get(value, str(value))
