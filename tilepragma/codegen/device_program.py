"""OpenCL C and CUDA programs, with an entry point for each launch of a plan.

Programs for processors have the launches of hosts, distributed to groups of one work-item. Their
loops over points stay loops, as in the host functions, so that compilers vectorise them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import Position
from tilepragma.codegen.device_definitions import DeviceFunctions, constant_definitions, record_definitions
from tilepragma.codegen.dialect import CUDA, OPENCL, PROCESSOR, Dialect
from tilepragma.codegen.launch_parameters import (
    Indexed,
    Parameter,
    ParameterKind,
    axis_name,
    is_checked_disjoint,
    launch_objects,
    launch_parameters,
    needs_function,
    used_dimensions,
)
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.mentioned_objects import accessed_objects
from tilepragma.codegen.printer import Flat
from tilepragma.codegen.reduction_printer import ReductionPrinter, declare_accumulators
from tilepragma.codegen.register_queues import RegisterQueuePrinter
from tilepragma.codegen.shared_memory import ScratchpadPool, StagingPrinter
from tilepragma.codegen.statements import StatementPrinter, instance_count, instance_kind, instance_loop
from tilepragma.codegen.templates import render
from tilepragma.codegen.writer import WIDTH, Writer, item_lines, wrapped_list
from tilepragma.ir.directives import AxisKind, Target
from tilepragma.ir.expressions import DataObject, Expression, Storage
from tilepragma.ir.loop_tree import Block, Loop, Stage, TileNest
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import DOUBLE, ArrayType, Type, is_integer
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan, Launch, Step, launches_in
from tilepragma.schedule.doacross import Persistent, persistent_launches

#: The forms of programs that targets compile at run time.
PROGRAMS = (OPENCL, CUDA, PROCESSOR)
#: Functions of `templates/device/body.j2` that a program has where it calls them.
_HELPERS = (
    "tilek_diagonal",
    "tilek_minimum",
    "tilek_maximum",
    "tilek_minimum_index",
    "tilek_maximum_index",
    "tilek_short",
    "tilek_floor_quotient",
    "tilek_ceiling_quotient",
    "tilek_quotient",
    "tilek_remainder",
    "tilek_stretch",
    "tilek_await",
)


@dataclass(frozen=True)
class DeviceProgram:
    """A program's text, and the launch and ordered parameters of each entry point.
    `constant_numbers` cannot be arguments of a specialised program. `suffix` is that of the file in
    which readers find it. Staged launches take at most `local_bytes` of shared memory; 0: there are
    none.
    """

    text: str
    launches: tuple[Launch, ...]
    parameters: tuple[tuple[Parameter, ...], ...]
    constant_numbers: frozenset[str] = frozenset()
    suffix: str = ""
    local_bytes: int = 0


def programs_of(plan: KernelPlan, targets: Collection[Target], on_devices: bool = True) -> dict[str, DeviceProgram]:
    """The plan's programs, by name, for those of the `targets` that it allows; without `on_devices`
    only the programs that run the launches of hosts. A region that runs as written has none.
    """
    wanted = {target for target in plan.targets if target in targets} if plan.untransformed is None else set()
    forms = [form for form in PROGRAMS if form.target in wanted and (on_devices or form.for_hosts)]
    return {form.name: device_program(plan, form) for form in forms}


def device_program(plan: KernelPlan, dialect: Dialect) -> DeviceProgram:
    """The program of a region in a dialect."""
    dialect = replace(dialect, contracts=plan.floating.contract)
    functions = DeviceFunctions(dialect, plan.kernel.name, plan.kernel.functions)
    if dialect.for_hosts:
        entries: list[Entry] = [_ProcessorEntry(plan, launch, plan.host_steps, functions) for launch in plan.host]
    else:
        entries = [Entry(plan, launch, plan.device_steps, functions) for launch in plan.device]
        if dialect.has_persistent_launches:
            entries += [_PersistentEntry(plan, persistent, functions) for persistent in persistent_launches(plan)]
    texts = [entry.text() for entry in entries]
    definitions = "\n".join(functions.texts.values())
    code = definitions + "".join(texts)
    launches = tuple(entry.launch for entry in entries)
    stagings = [entry.staged for entry in entries if entry.staged is not None]
    twice, start = any(staging.twice for staging in stagings), plan.kernel.range.start
    local_bytes = plan.kernel.directive.local_bytes if stagings else 0
    text = render(
        dialect.template,
        name=plan.kernel.name,
        cuda=dialect.name == CUDA.name,
        place=start.place,
        double=uses_double(plan),
        contract=plan.floating.contract,
        index=dialect.index if dialect.index in code and dialect.index != dialect.wide else "",
        helpers=[name for name in _HELPERS if f"{name}(" in code],
        records=record_definitions(dialect, plan.kernel.records),
        constants=constant_definitions(plan, launches, dialect),
        functions=definitions,
        entries=texts,
        readers=sorted({reader for staging in stagings for reader in staging.readers}),
        space=dialect.pointed_local_space,
        ahead=sorted({size for staging in stagings for size in staging.async_sizes}) if twice else None,
        unrolled=dialect.unroll in code,
        local_bytes=local_bytes,
    )
    parameters = tuple(entry.parameters() for entry in entries)
    constants = frozenset(name for entry in entries for name in entry.constant_numbers)
    return DeviceProgram(text, launches, parameters, constants, dialect.suffix, local_bytes)


def uses_double(plan: KernelPlan) -> bool:
    """Whether device code of the region has doubles, those of records that it names among them."""
    if stores_double(plan) or any(_computed_in_double(plan)):
        return True
    return any(_innermost(field.type) == DOUBLE for record in plan.kernel.records for field in record.fields)


def stores_double(plan: KernelPlan) -> bool:
    """Whether an array or a scalar of the region has doubles."""
    return any(object_.element == DOUBLE for object_ in plan.kernel.objects)


def first_double(plan: KernelPlan) -> Position | None:
    """Where the region's text first computes with doubles; None: nowhere, or in functions alone."""
    starts = (node.range.start for node in _computed_in_double(plan) if node.range.file == plan.kernel.range.file)
    return min(starts, default=None)


def _computed_in_double(plan: KernelPlan) -> Iterator[Expression]:
    roots = [launch.body for launch in (*plan.device, *plan.host)]
    roots += [function.body for function in plan.kernel.functions]
    return (node for root in roots for node in walk(root) if getattr(node, "type", None) == DOUBLE)


def _innermost(type_: Type) -> Type:
    return _innermost(type_.element) if isinstance(type_, ArrayType) else type_


class Entry:
    """The entry point of `launch` in `steps`: a gang is a group, its workers are work-items.
    `functions` collects the called user's functions.
    """

    def __init__(self, plan: KernelPlan, launch: Launch, steps: tuple[Step, ...], functions: DeviceFunctions) -> None:
        self.plan = plan
        self.launch = launch
        self.steps = steps
        self.dialect = functions.dialect
        self.objects = launch_objects(plan, launch)
        self.numbers = launch_parameters(plan, launch, launches_in(steps))
        self.declared: list[tuple[str, Parameter]] = []
        self.constant_numbers: frozenset[str] = frozenset()
        """set by `text`: constants of a specialised program, such as lengths of local arrays"""
        flat = {object_: self._flat(plan.arrays[index], index) for index, object_ in self.objects.arrays}
        indirect = self.shared_scalars()
        self.functions = functions
        self.in_global = frozenset(flat) | indirect
        self.printer = functions.printer(flat, self.in_global, indirect)
        self.macro = launch.name.upper() + "_TILES"

    @cached_property
    def staged(self) -> StagingPrinter | ScratchpadPool | None:
        """The printer of what lies in shared memory; None where the entry point stages nothing."""
        if self.launch.staged is None:
            return None
        form = ScratchpadPool if self.launch.staged_scratchpads else StagingPrinter
        return form(self.launch, self.numbers, self.printer)

    @cached_property
    def queues(self) -> RegisterQueuePrinter | None:
        """The printer of scratchpads and register queues; None where the launch has none."""
        if not self.launch.scratchpads:
            return None
        return RegisterQueuePrinter(self.launch, self.numbers, self.printer, self.plan.kernel.directive.local_bytes)

    @cached_property
    def counting(self) -> Mapping[DataObject, str]:
        """The integers that decide how many array tiles a gang copies, with the names of the
        numbers that the program gets for them. Where these are constants, compilers unroll the
        loops over tiles and drop guards.
        """
        if self.staged is None or self.launch.staged is None:
            return {}
        loops = (node for node in walk(self.launch.staged) if isinstance(node, Loop))
        tiled = [loop for loop in loops if any(isinstance(part, Stage) for part in loop.body.statements)]
        read = accessed_objects([bound for loop in tiled for bound in loop.bounds])
        return {
            object_: self.numbers.scalar_number(object_.name, index)
            for index, object_ in self.objects.scalars
            if object_ in read and is_integer(object_.element)
        }

    def reductions(self) -> ReductionPrinter:
        """The printer of the launch's reductions."""
        partials = tuple(self._partials(object_) for _, object_ in self.objects.reduced)
        local_bytes = self.plan.kernel.directive.local_bytes
        return ReductionPrinter(self.launch, self.numbers, self.printer, partials, local_bytes)

    def body(self) -> str:
        """The lines between the braces."""
        writer = Writer(depth=1)
        self.reductions().declare(writer)
        for scalar, number in self.counting.items():
            writer.line(f"{self.printer.declaration(replace(scalar, const=True))} = {number};")
        self._declare_workers(writer)
        if self.queues is not None:
            self.queues.declare(writer)
            body = self.launch.body
            self._instances(writer, body if self.queues.used else self.queues.in_scratchpads(body))
        elif self.staged is not None:
            self.staged.declare(writer)
            with writer.block(f"if ({self.staged.fits})"):
                self.staged.start(writer)
                self._instances(writer, self.staged.body(), self.staged)
                writer.otherwise()
                self._instances(writer, self.launch.body)
        else:
            self._instances(writer, self.launch.body)
        return writer.text()

    def _declare_workers(self, writer: Writer) -> None:
        for axis in used_dimensions(self.launch, AxisKind.WORKER):
            index = self.dialect.worker[axis.dimension]
            writer.line(f"const {self.dialect.wide} {self.numbers.fresh(axis_name(axis))} = {index};")

    def _instances(self, writer: Writer, body: Block, staged: StagingPrinter | ScratchpadPool | None = None) -> None:
        instances = used_dimensions(self.launch, AxisKind.THREAD, AxisKind.GANG)
        if instances:
            kind = instances[0].kind.value
            few = f"the grid has fewer groups than there are {kind}s"
            writer.line(f"/* The {kind}s of this group: more than one where {few}. */")
        with ExitStack() as stack:
            for axis in reversed(instances):
                name, count = self.numbers.fresh(axis_name(axis)), self.numbers.axis_count(axis)
                first, step = self.dialect.gang[axis.dimension], self.dialect.gangs[axis.dimension]
                # The break lets compilers see that no loop is left, and groups of one instance ask
                # for no count. Barriers must stand in plain loops: those of reductions and
                # scratchpads have no break, and those of stages have it only where its condition
                # is a constant.
                plain = self.launch.reductions or self.launch.scratchpads or isinstance(staged, ScratchpadPool)
                alone = "" if plain else f"{self.numbers.axis_rounds(axis)} == 1"
                once = f"if ({alone}) break;" if alone else ""
                if staged is not None and once:
                    once = "" if self.numbers.varies(axis.kind) else f"#ifdef TILEK_SPECIALIZED\n{once}\n#endif"
                inside = f"{name} < {count}" if staged is not None or not alone else f"{alone} || {name} < {count}"
                head = f"for ({self.dialect.wide} {name} = {first}; {inside}; {name} += {step})"
                stack.enter_context(writer.block(head, once))
            self._print_privates(writer)
            declare_accumulators(writer, self.printer, self.launch)
            self._statements(writer, staged).block(body)
            self.reductions().finish(writer)

    def _statements(self, writer: Writer, staged: StagingPrinter | ScratchpadPool | None = None) -> StatementPrinter:
        """The printer of a body's statements; `staged` prints what lies in shared memory."""
        bound = frozenset(AxisKind)
        if staged is None:
            queues = self.queues if self.queues is not None and self.queues.used else None
            return StatementPrinter(writer, self.printer, self.numbers, bound, queues=queues)
        copies = staged if isinstance(staged, StagingPrinter) else None
        flat = {**self.printer.flat, **staged.flats()}
        printer = self.functions.printer(flat, self.in_global, self.printer.indirect)
        return StatementPrinter(writer, printer, self.numbers, bound, copies)

    def may_be_missing(self) -> bool:
        """Whether some calls' programs omit the entry point."""
        return len(launches_in(self.steps)) > 1 and needs_function(self.plan, self.steps)

    def shared_scalars(self) -> frozenset[DataObject]:
        """The scalars that the text reaches through a pointer."""
        return frozenset(object_ for _, object_ in self.objects.indirect)

    def origin(self, name: str) -> str | None:
        """The text for the origin `name` of an array's copy; None where its pointer is moved."""
        return name

    def pointer_name(self, object_: DataObject) -> str:
        """The name of the pointer to an array, or to a scalar that the launch writes."""
        return self.printer.name(object_)

    def text(self) -> str:
        """The definition with its macros. Ask for it before `parameters`."""
        body = self.body()
        if self._may_be_short and self.dialect.index in body:
            self.numbers.index_bits()
        constants = [name for name, parameter in self.numbers.parameters() if parameter.constant is not None]
        wide = self.dialect.wide
        signature = [text for text, _ in self.signature()]
        parameters = signature
        if constants:  # the macro after the last one; a comma between them is the macro's
            parameters = [*signature[:-1], f"{signature[-1]} {self.macro}" if signature else self.macro]
        text = render(
            "device/entry.j2",
            guard=f"TILEK_WITHOUT_{self.launch.name}" if self.may_be_missing() else "",
            arguments=f"TILEK_ARGUMENTS_{self.launch.name}",
            macro=self.macro if constants else "",
            constants=self._constants([f"const {wide} {name}" for name in constants], bool(signature)),
            slots=self.reductions().slots(),
            staged=self.staged,
            columns=None if self.queues is None or not self.queues.used else self.queues,
            comment=self.comment(),
            head=wrapped_list(f"{self.dialect.kernel} {self.launch.name}(", parameters, ")"),
            body=body,
        )
        specialized = text.partition("\n#else\n")[0] if "#ifdef TILEK_SPECIALIZED" in text else ""
        self.constant_numbers = frozenset(constants) & frozenset(re.findall(r"\w+", specialized))
        return text

    def comment(self) -> str:
        """A comment on the host's loops around the launch; empty without them."""
        if not self.launch.values:
            return ""
        names = ", ".join(self.printer.name(object_) for object_ in self.launch.values)
        instances = used_dimensions(self.launch, AxisKind.THREAD, AxisKind.GANG)
        at_once = f": its {instances[0].kind.value}s, tiles of iterations, run at once" if instances else ""
        return f"One step of the host's loop over {names}{at_once}."

    def _constants(self, declarations: list[str], follows: bool) -> str:
        """The macro's parameters, after a comma if others precede. Backslashes break long lists."""
        comma = ", " if follows else ""
        line = comma + ", ".join(declarations)
        if len(self.macro) + len(line) < WIDTH - len("#define  "):
            return line
        return " \\\n".join([comma.strip(), *item_lines(declarations)]).strip()

    def parameters(self) -> tuple[Parameter, ...]:
        """In the order of the signature. The text must have been printed."""
        constants = [parameter for _, parameter in self.numbers.parameters() if parameter.constant is not None]
        return (*(parameter for _, parameter in self.signature()), *constants)

    def signature(self) -> list[tuple[str, Parameter]]:
        """The declarations and the meanings of the parameters that are no constants."""
        space, wide = self.dialect.global_space, self.dialect.wide
        result: list[tuple[str, Parameter]] = []
        for index, object_ in (*self.objects.arrays, *self.objects.indirect):
            # Unless a called function takes the parameter without const.
            only_read = not self.plan.arrays[index].writes and not self.plan.kernel.functions
            const = "const " if object_.const or only_read else ""
            restrict = f"{self.dialect.restrict} " if self.is_sole_access(index, object_) else ""
            pointer = self.printer.type(object_.element, f"*{restrict}{self.pointer_name(object_)}")
            result.append((f"{space}{const}{pointer}", Parameter("ARRAY", index)))
            result += [
                (f"const {wide} {name}", parameter) for name, parameter in self.declared if parameter.index == index
            ]
        by_value: tuple[tuple[ParameterKind, Indexed, Callable[[DataObject], str]], ...] = (
            ("SCALAR", tuple(each for each in self.objects.scalars if each[1] not in self.counting), self.printer.name),
            ("SCALAR", self.objects.first_privates, self._first),
            ("VALUE", self.objects.values, self.printer.name),
        )
        for kind, objects, name_of in by_value:
            for index, object_ in objects:
                declared = self.printer.type(object_.element, name_of(object_))
                result.append((f"const {declared}", Parameter(kind, index)))
        for index, object_ in self.objects.reduced:
            pointer = self.printer.type(object_.element, f"*{self._partials(object_)}")
            result.append((f"{space}{pointer}", Parameter("PARTIALS", index)))
        varying = (named for named in self.numbers.parameters() if named[1].constant is None)
        result += [(f"const {wide} {name}", parameter) for name, parameter in varying]
        return result

    def is_sole_access(self, index: int, object_: DataObject) -> bool:
        """Whether the entry point reaches the memory of array `index` by its parameter only."""
        return object_.restrict or is_checked_disjoint(self.plan, object_)

    def _flat(self, argument: ArrayArgument, index: int) -> Flat:
        object_ = argument.object
        if object_.storage is Storage.ROWS:
            lowers: list[str | None] = []
            for dimension, bound in enumerate(argument.section):
                zero = literal_value(bound.lower) == 0
                lowers.append(None if zero else self._extra(object_, "LOWER", index, dimension))
            lengths = [self._extra(object_, "LENGTH", index, d) for d in range(1, object_.rank)]
            return Flat(tuple(lengths), None, tuple(lowers))
        lengths = []
        for dimension in range(1, object_.rank):
            # Compilers for processors gather elements at known distances, which is slow.
            literal = None if self.dialect.hints else literal_value(object_.lengths[dimension])
            if literal is not None:
                lengths.append(str(literal))
            elif self._may_be_short:
                lengths.append(self.numbers.length(object_.name, index, dimension))
            else:
                lengths.append(self._extra(object_, "LENGTH", index, dimension))
        whole = all(literal_value(bound.lower) == 0 for bound in argument.section)
        whole = whole and not argument.is_gathered and not self.plan.divisions
        if whole:
            return Flat(tuple(lengths), None)
        if self._may_be_short and not self.plan.divisions:
            return Flat(tuple(lengths), self.numbers.origin(object_.name, index))
        return Flat(tuple(lengths), self.origin(self._extra(object_, "ORIGIN", index, 0)))

    @property
    def _may_be_short(self) -> bool:
        """Whether addresses cost enough to specialise programs for 32-bit indices."""
        return self.dialect.index != self.dialect.wide

    def _extra(self, object_: DataObject, kind: ParameterKind, index: int, dimension: int) -> str:
        suffix = kind.lower() + ("" if kind == "ORIGIN" else str(dimension))
        name = self.numbers.fresh(f"{object_.name}_{suffix}")
        self.declared.append((name, Parameter(kind, index, dimension)))
        return name

    def _first(self, object_: DataObject) -> str:
        return self.numbers.fresh(f"{object_.name}_first")

    def _partials(self, object_: DataObject) -> str:
        return self.numbers.fresh(f"{object_.name}_partials")

    def _print_privates(self, writer: Writer) -> None:
        for object_ in self.objects.privates:
            writer.line(f"{self.printer.declaration(replace(object_, const=False))};")
        for _, object_ in self.objects.first_privates:
            declared = self.printer.declaration(replace(object_, const=False))
            writer.line(f"{declared} = {self._first(object_)};")


class _ProcessorEntry(Entry):
    """One group runs a range of the instances of a host's launch in sequence."""

    staged = None
    queues = None

    def reductions(self) -> ReductionPrinter:
        kind = instance_kind(self.launch)
        axes = () if kind is None else tuple(used_dimensions(self.launch, kind))
        return replace(super().reductions(), launch=replace(self.launch, axes=axes))

    def shared_scalars(self) -> frozenset[DataObject]:
        return super().shared_scalars() if instance_kind(self.launch) is not None else frozenset()

    def pointer_name(self, object_: DataObject) -> str:
        alone = instance_kind(self.launch) is None and any(object_ == scalar for _, scalar in self.objects.indirect)
        return self.numbers.fresh(f"{object_.name}_object") if alone else super().pointer_name(object_)

    def origin(self, name: str) -> str | None:
        return None

    def body(self) -> str:
        writer = Writer(depth=1)
        for name, parameter in self.declared:
            if parameter.kind == "ORIGIN":
                writer.line(f"{self.printer.name(self.plan.arrays[parameter.index].object)} -= {name};")
        kind = instance_kind(self.launch)
        scalars = () if kind is not None else tuple(object_ for _, object_ in self.objects.indirect)
        for object_ in scalars:
            declared = self.printer.declaration(replace(object_, const=False))
            writer.line(f"{declared} = *{self.pointer_name(object_)};")
        with ExitStack() as stack:
            if kind is not None:
                self._enter_instances(writer, stack)
            self._print_privates(writer)
            declare_accumulators(writer, self.printer, self.launch)
            bound = frozenset() if kind is None else frozenset({kind})
            StatementPrinter(writer, self.printer, self.numbers, bound).block(self.launch.body)
            self.reductions().finish(writer)
        for object_ in scalars:
            writer.line(f"*{self.pointer_name(object_)} = {self.printer.name(object_)};")
        return writer.text()

    def _enter_instances(self, writer: Writer, stack: ExitStack) -> None:
        wide, (group, *_), (groups, *_) = self.dialect.wide, self.dialect.gang, self.dialect.gangs
        count = instance_count(self.launch, self.numbers)
        if " " in count:
            name = self.numbers.fresh("instances")
            writer.line(f"const {wide} {name} = {count};")
            count = name
        first, last = self.numbers.fresh("first"), self.numbers.fresh("last")
        writer.line(f"const {wide} {first} = tilek_stretch({count}, {group}, {groups});")
        writer.line(f"const {wide} {last} = tilek_stretch({count}, {group} + 1, {groups});")
        instance_loop(writer, stack, self.launch, self.numbers, wide, first, last)


class _PersistentEntry(Entry):
    """A persistent launch: it runs all wavefronts; gangs wait for neighbours by flags.

        for (place = gang; place < columns; place += gangs)   columns by the sum of coordinates
            for (each wavefront)
                wait until the neighbouring columns have finished all earlier wavefronts
                compute the column's tile of this wavefront, if there is one
                set the flag: this column has finished this wavefront

    The device must run all gangs of a launch concurrently; CUDA's cooperative launches guarantee
    it. `schedule/doacross.py` finds the columns to wait for. The runtime decides
    (`runtime/launch/persistent_launch.c`). Arrays that gangs exchange are not `restrict`.
    """

    def __init__(self, plan: KernelPlan, persistent: Persistent, functions: DeviceFunctions) -> None:
        super().__init__(plan, persistent.launch, plan.device_steps, functions)
        self.persistent = persistent
        fresh = self.numbers.fresh
        self.flags, self.boxes = fresh("tilek_flags"), fresh("tilek_boxes")
        self.column, self.first_worker = fresh("column"), fresh("first_worker")
        self.iterators = [tiled.loop.iterator for tiled in persistent.nest.loops]
        """the coordinates of a column"""

    def reductions(self) -> ReductionPrinter:
        return replace(super().reductions(), place=self.column)

    def body(self) -> str:
        writer = Writer(depth=1)
        self.reductions().declare(writer)
        self._declare_workers(writer)
        if self.staged is None or not self.launch.staged_scratchpads:
            self._columns(writer, self._tile)
            return writer.text()
        self.staged.declare(writer)
        self.staged.start(writer)
        self._columns(writer, self._tile_where_it_fits)
        return writer.text()

    def _tile(self, writer: Writer) -> None:
        self._print_privates(writer)
        self._statements(writer).block(self.persistent.nest.body)

    def _tile_where_it_fits(self, writer: Writer) -> None:
        assert self.staged is not None, "asked for staged forms alone"
        (nest,) = self.staged.body().statements
        assert isinstance(nest, TileNest), "scratchpads are of a staged form, which is one nest"
        with writer.block(f"if ({self.staged.fits})"):
            self._print_privates(writer)
            self._statements(writer, self.staged).block(nest.body)
            writer.otherwise()
            self._tile(writer)

    def may_be_missing(self) -> bool:
        return True

    def is_sole_access(self, index: int, object_: DataObject) -> bool:
        return not self.plan.arrays[index].writes and super().is_sole_access(index, object_)

    def comment(self) -> str:
        return f"All wavefronts of {self.persistent.of} in one launch, for gangs that all run at once."

    def signature(self) -> list[tuple[str, Parameter]]:
        """With the runtime's buffers on the device: a flag for each column, and for each wavefront
        the box of columns that have a tile.
        """
        arrays = len(self.objects.arrays) + len(self.objects.indirect)
        given, wide = super().signature(), self.dialect.wide
        buffers = [
            (f"{wide} *{self.flags}", Parameter("FLAGS")),
            (f"const {wide} *{self.dialect.restrict} {self.boxes}", Parameter("BOXES")),
        ]
        return [*given[:arrays], *buffers, *given[arrays:]]

    def _columns(self, writer: Writer, print_tile: Callable[[Writer], None]) -> None:
        """The gang's columns, one after another. `print_tile` prints a tile of a column. A column
        has one partial value of each reduction.
        """
        workers = sorted(axis_name(axis) for axis in set(self.launch.axes) if axis.kind is AxisKind.WORKER)
        first = " && ".join(f"{self.numbers.fresh(name)} == 0" for name in workers) or "1"
        writer.line(f"const int {self.first_worker} = {first};")
        counts = [self._number(place, "columns", "COLUMN_COUNT") for place in range(len(self.iterators))]
        writer.line(
            "/* A gang computes a column of tiles in all wavefronts. Columns wait for those before them in this order "
            "alone, so the first unfinished column never waits. */"
        )

        wide, (gang, *_), (gangs, *_) = self.dialect.wide, self.dialect.gang, self.dialect.gangs
        place = self.numbers.fresh("place")
        head = f"for ({wide} {place} = {gang}; {place} < {' * '.join(counts)}; {place} += {gangs})"
        with writer.block(head):
            writer.line(f"const {wide} {self.column} = {self._ordered(writer, counts, place)};")
            self._coordinates(writer, counts)
            declare_accumulators(writer, self.printer, self.launch)
            self._wavefronts(writer, counts, print_tile)
            self.reductions().finish(writer)

    def _ordered(self, writer: Writer, counts: list[str], place: str) -> str:
        """The number of the column at a place of the order in which gangs take them: by the sum of
        its first two coordinates, then by each. That is nearly the order of their first tiles.
        """
        if len(counts) == 1:
            return place
        wide, fresh = self.dialect.wide, self.numbers.fresh
        total, position, coordinate = fresh("coordinates"), fresh("position"), fresh("coordinate")
        rows, columns, *others = counts
        inner = " * ".join(others)
        writer.line(f"{wide} {total} = 0, {position} = {f'{place} / ({inner})' if inner else place};")
        diagonal = f"tilek_diagonal({total}, {rows}, {columns})"
        with writer.block(f"for (; {position} >= {diagonal}; ++{total})"):
            writer.line(f"{position} -= {diagonal};")
        writer.line(f"const {wide} {coordinate} = tilek_maximum(0, {total} - {columns} + 1) + {position};")
        number = f"{coordinate} * {columns} + {total} - {coordinate}"
        return f"({number}) * ({inner}) + {place} % ({inner})" if inner else number

    def _coordinates(self, writer: Writer, counts: list[str]) -> None:
        """The column's coordinates. Consecutive columns differ in the last coordinate."""
        index = self.column
        for place, iterator in reversed(list(enumerate(self.iterators))):
            first = self._number(place, "first", "COLUMN_LOWER")
            coordinate = index if place == 0 else f"{index} % {counts[place]}"
            writer.line(f"const {self.printer.typed(iterator)} = {first} + {coordinate};")
            index = f"{index} / {counts[place]}"
        for iterator in self.iterators:
            writer.line(f"{self.dialect.wide} {self._seen(iterator)} = 0;")

    def _wavefronts(self, writer: Writer, counts: list[str], print_tile: Callable[[Writer], None]) -> None:
        numbers, wide, wavefront = self.numbers, self.dialect.wide, self.printer.name(self.persistent.wavefront)
        first = numbers.of_wavefronts(f"{wavefront}_first", "WAVE_FIRST")
        last = numbers.of_wavefronts(f"{wavefront}_last", "WAVE_LAST")
        base = numbers.of_wavefronts("tilek_flags_base", "FLAGS_BASE")
        declared = self.printer.typed(self.persistent.wavefront)
        with writer.block(f"for ({declared} = {first}; {wavefront} <= {last}; ++{wavefront})"):
            box, has_tile, before = (numbers.fresh(name) for name in ("box", "has_tile", "before"))
            place = f"{2 * len(self.iterators)} * ({wavefront} - {first})"
            names = [self.printer.name(iterator) for iterator in self.iterators]
            inside = " && ".join(
                f"{name} >= {box}[{2 * place}] && {name} <= {box}[{2 * place + 1}]" for place, name in enumerate(names)
            )
            writer.line(f"const {wide} *const {box} = &{self.boxes}[{place}];")
            writer.line(f"const int {has_tile} = {inside};")
            writer.line(f"const {wide} {before} = {base} + ({wavefront} - {first});")
            with writer.block(f"if ({self.first_worker})"):
                self._waits(writer, counts, before)
            # All workers of a gang have the same column, hence the same answer.
            with writer.block(f"if ({has_tile})"):
                writer.line(self.dialect.barrier)
                print_tile(writer)
                writer.line(self.dialect.barrier)
            writer.line(f"if ({self.first_worker}) tilek_post(&{self.flags}[{self.column}], {before} + 1);")

    def _waits(self, writer: Writer, counts: list[str], before: str) -> None:
        """Wait for the neighbours. In each, one coordinate is smaller by 1. One fence stands behind
        all reads of their flags.
        """
        waited = self.numbers.fresh("waited")
        writer.line(f"int {waited} = 0;")
        for place, iterator in enumerate(self.iterators):
            first = self._number(place, "first", "COLUMN_LOWER")
            distance = " * ".join(counts[place + 1 :]) or "1"
            seen = self._seen(iterator)
            flag = f"&{self.flags}[{self.column} - {distance}]"
            with writer.block(f"if ({self.printer.name(iterator)} > {first} && {seen} < {before})"):
                writer.line(f"{seen} = tilek_await({flag}, {before});")
                writer.line(f"{waited} = 1;")
        writer.line(f"if ({waited}) __threadfence();")

    def _seen(self, iterator: DataObject) -> str:
        return self.numbers.fresh(f"{iterator.name}_seen")

    def _number(self, place: int, ending: str, kind: ParameterKind) -> str:
        name = self.numbers.fresh(f"{self.iterators[place].name}_{ending}")
        return self.numbers.of_wavefronts(name, kind, place)
