"""OpenCL C and CUDA programs for GPUs, from the host functions' plan: an entry point a launch."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from tilepragma.codegen.device_functions import DeviceFunctions
from tilepragma.codegen.dialect import CUDA, OPENCL, Dialect
from tilepragma.codegen.entry_points import DeviceProgram, Entry, program
from tilepragma.codegen.manifest import Parameter, axis_name
from tilepragma.codegen.numbering import used_dimensions
from tilepragma.codegen.persistent_launches import PersistentPrinter
from tilepragma.codegen.reduction_trees import ReductionPrinter
from tilepragma.codegen.register_queues import RegisterQueueMacros, RegisterQueuePrinter
from tilepragma.codegen.scratchpad_pool import ScratchpadPool
from tilepragma.codegen.shared_memory import StagedMacros, StagingPrinter
from tilepragma.codegen.statements import StatementPrinter
from tilepragma.codegen.writer import Writer
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.loop_tree import Block, TileNest
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.schedule.doacross import Persistent, persistent_launches


def opencl_program(plan: KernelPlan) -> DeviceProgram:
    """The OpenCL C 1.2 program of a region, for devices that are no processors."""
    return device_program(plan, OPENCL)


def cuda_program(plan: KernelPlan) -> DeviceProgram:
    """The CUDA program of a region, for NVRTC and for nvcc."""
    return device_program(plan, CUDA, persistent_launches(plan))


def device_program(plan: KernelPlan, dialect: Dialect, persistent: tuple[Persistent, ...] = ()) -> DeviceProgram:
    """The program of a region's device launches, and of the `persistent` forms of some, in a
    dialect.
    """
    functions = DeviceFunctions(dialect, plan.kernel.name, plan.kernel.functions)
    entries = [_DeviceEntry(plan, launch, plan.device_steps, functions) for launch in plan.device]
    entries += [_PersistentEntry(plan, launch, functions) for launch in persistent]
    return program(plan, functions, entries)


class _DeviceEntry(Entry):
    """A gang is a group; its workers are work-items."""

    def reductions(self) -> ReductionPrinter:
        partials = tuple(self.partials(object_) for _, object_ in self.objects.reduced)
        return ReductionPrinter(
            self.launch, self.dialect, self.numbers, self.printer, partials, self.plan.kernel.directive.local_bytes
        )

    def body(self) -> str:
        writer = Writer(depth=1)
        reductions = self.reductions()
        reductions.declare(writer)
        self.declare_workers(writer)
        if self.launch.scratchpads:
            columns = self._columns()
            columns.declare(writer)
            self._instances(writer, columns.body(self.launch.body))
            return writer.text()
        if self.launch.staged is None:
            self._instances(writer, self.launch.body)
            return writer.text()
        if self.launch.staged_scratchpads:
            pool = self.pool()
            pool.declare(writer)
            with writer.block(f"if ({pool.macros.fits})"):
                pool.start(writer)
                self._instances(writer, self.launch.staged, pool)
                writer.otherwise()
                self._instances(writer, self.launch.body)
            return writer.text()
        staging = self._staging()
        staging.declare(writer)
        with writer.block(f"if ({staging.macros().fits})"):
            staging.start(writer)
            self._instances(writer, staging.body(), staging)
            writer.otherwise()
            self._instances(writer, self.launch.body)
        return writer.text()

    def declare_workers(self, writer: Writer) -> None:
        """Declare the worker's place on each axis in use."""
        for axis in used_dimensions(self.launch, AxisKind.WORKER):
            index = self.dialect.worker[axis.dimension]
            writer.line(f"const {self.dialect.wide} {self.numbers.fresh(axis_name(axis))} = {index};")

    def staged(self) -> StagedMacros | None:
        if self.launch.staged is None:
            return None
        return self.pool().macros if self.launch.staged_scratchpads else self._staging().macros()

    def pool(self) -> ScratchpadPool:
        """The scratchpads of the staged variant."""
        return ScratchpadPool(self.launch, self.dialect, self.numbers, self.printer)

    def columns(self) -> RegisterQueueMacros | None:
        return self._columns().macros

    def _columns(self) -> RegisterQueuePrinter:
        return RegisterQueuePrinter(self.launch, self.dialect, self.numbers, self.printer)

    def _staging(self) -> StagingPrinter:
        return StagingPrinter(self.launch, self.dialect, self.numbers, self.printer)

    def _instances(self, writer: Writer, body: Block, staged: StagingPrinter | ScratchpadPool | None = None) -> None:
        """Print `body` for every instance of the group."""
        reductions = self.reductions()
        instances = used_dimensions(self.launch, AxisKind.THREAD, AxisKind.GANG)
        if instances:
            kind = instances[0].kind.value
            few = f"the grid has fewer groups than there are {kind}s"
            writer.line(f"/* The {kind}s of this group: more than one where {few}. */")
        with ExitStack() as stack:
            for axis in reversed(instances):
                name, count = self.numbers.fresh(axis_name(axis)), self.numbers.axis_count(axis)
                first, step = self.dialect.gang[axis.dimension], self.dialect.gangs[axis.dimension]
                head = f"for ({self.dialect.wide} {name} = {first}; {name} < {count}; {name} += {step})"
                # The macro lets compilers see that no loop is left. Barriers must stand in plain
                # loops, so reductions, stages and scratchpads use these.
                plain = self.launch.reductions or self.launch.scratchpads or staged is not None
                once = "" if plain else f"if ({self.numbers.axis_rounds(axis)} == 1) break;"
                stack.enter_context(writer.block(head, once))
            self.print_privates(writer)
            reductions.start(writer)
            self.statements(writer, staged).block(body)
            reductions.finish(writer)

    def statements(self, writer: Writer, staged: StagingPrinter | ScratchpadPool | None = None) -> StatementPrinter:
        """The printer of a body's statements; `staged` prints what lies in shared memory."""
        bound = frozenset(AxisKind)
        if staged is None:
            columns = self._columns()
            queues = columns if columns.macros is not None else None
            return StatementPrinter(writer, self.printer, self.numbers, bound, columns=queues)
        copies = staged if isinstance(staged, StagingPrinter) else None
        objects = replace(self.reached, flat={**self.reached.flat, **staged.flats()})
        printer = self.functions.printer(objects, frozenset(self.reached.flat) | self.reached.indirect)
        return StatementPrinter(writer, printer, self.numbers, bound, copies)


class _PersistentEntry(_DeviceEntry):
    """All wavefronts of a launch. Arrays that gangs exchange are not `restrict`."""

    def __init__(self, plan: KernelPlan, persistent: Persistent, functions: DeviceFunctions) -> None:
        super().__init__(plan, persistent.launch, plan.device_steps, functions)
        self.wavefronts = PersistentPrinter(persistent, self.numbers, self.printer)

    def reductions(self) -> ReductionPrinter:
        return replace(super().reductions(), place=self.wavefronts.column)

    def body(self) -> str:
        writer = Writer(depth=1)
        reductions = self.reductions()
        reductions.declare(writer)
        self.declare_workers(writer)
        if not self.launch.staged_scratchpads:
            self.wavefronts.print(writer, reductions, self._tile)
            return writer.text()
        pool = self.pool()
        pool.declare(writer)
        pool.start(writer)
        self.wavefronts.print(writer, reductions, self._tile_where_it_fits)
        return writer.text()

    def _tile(self, writer: Writer) -> None:
        self.print_privates(writer)
        self.statements(writer).block(self.wavefronts.persistent.nest.body)

    def _tile_where_it_fits(self, writer: Writer) -> None:
        """Print the tile with scratchpads where these fit, else without."""
        pool, staged = self.pool(), self.launch.staged
        assert staged is not None and isinstance(staged.statements[0], TileNest), (
            "scratchpads are of a staged form, which is one nest"
        )
        with writer.block(f"if ({pool.macros.fits})"):
            self.print_privates(writer)
            self.statements(writer, pool).block(staged.statements[0].body)
            writer.otherwise()
            self._tile(writer)

    def may_be_missing(self) -> bool:
        return True

    def is_sole_access(self, index: int, object_: DataObject) -> bool:
        return not self.plan.arrays[index].writes and super().is_sole_access(index, object_)

    def comment(self) -> str:
        return f"All wavefronts of {self.wavefronts.persistent.of} in one launch, for gangs that are all there at once."

    def signature(self) -> list[tuple[str, Parameter]]:
        arrays = len(self.objects.arrays) + len(self.objects.indirect)
        given = super().signature()
        return [*given[:arrays], *self.wavefronts.buffers(), *given[arrays:]]
