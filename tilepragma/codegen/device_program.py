"""OpenCL C and CUDA programs for devices with many workers: one a region, one entry point a launch, from the same plan as the host functions."""

from __future__ import annotations

from contextlib import ExitStack

from tilepragma.codegen.device_functions import DeviceFunctions
from tilepragma.codegen.dialect import CUDA, OPENCL, Dialect
from tilepragma.codegen.entry_points import DeviceProgram, Entry, program
from tilepragma.codegen.launches import Numbering, used_dimensions
from tilepragma.codegen.manifest import axis_name
from tilepragma.codegen.reductions import ReductionPrinter
from tilepragma.codegen.statements import StatementPrinter
from tilepragma.codegen.writer import Writer
from tilepragma.ir.directives import AxisKind
from tilepragma.plan.kernel_plan import KernelPlan


def opencl_program(plan: KernelPlan, numbering: Numbering) -> DeviceProgram:
    """The OpenCL C 1.2 program of a region, for devices that are no processors."""
    return _program(plan, numbering, OPENCL)


def cuda_program(plan: KernelPlan, numbering: Numbering) -> DeviceProgram:
    """The CUDA program of a region, for NVRTC and for nvcc."""
    return _program(plan, numbering, CUDA)


def _program(plan: KernelPlan, numbering: Numbering, dialect: Dialect) -> DeviceProgram:
    functions = DeviceFunctions(dialect, plan.kernel.name, plan.kernel.functions)
    entries = [_DeviceEntry(plan, launch, plan.device_steps, numbering, functions) for launch in plan.device]
    return program(plan, functions, entries)


class _DeviceEntry(Entry):
    """One group is a gang, its work-items the workers."""

    def reductions(self) -> ReductionPrinter:
        partials = tuple(self.partials(object_) for _, object_ in self.objects.reduced)
        return ReductionPrinter(self.launch, self.dialect, self.numbers, self.printer, partials)

    def body(self) -> str:
        writer = Writer(depth=1)
        reductions = self.reductions()
        reductions.declare(writer)
        for axis in used_dimensions(self.launch, AxisKind.WORKER):
            index = self.dialect.worker[axis.dimension]
            writer.line(f"const {self.dialect.wide} {self.numbers.fresh(axis_name(axis))} = {index};")
        instances = used_dimensions(self.launch, AxisKind.THREAD, AxisKind.GANG)
        if instances:
            kind = instances[0].kind.value
            writer.line(
                f"/* The {kind}s of this group: more than one where the grid has fewer groups than there are {kind}s. */"
            )
        with ExitStack() as stack:
            for axis in reversed(instances):
                name, count = self.numbers.fresh(axis_name(axis)), self.numbers.axis_count(axis)
                first, step = self.dialect.gang[axis.dimension], self.dialect.gangs[axis.dimension]
                head = f"for ({self.dialect.wide} {name} = {first}; {name} < {count}; {name} += {step})"
                # Compilers then see that there is no loop. Reductions end in barriers, which have to stand in plain loops.
                once = "" if self.launch.reductions else f"if ({self.numbers.axis_rounds(axis)} == 1) break;"
                stack.enter_context(writer.block(head, once))
            self.print_privates(writer)
            reductions.start(writer)
            bound = frozenset(AxisKind)
            StatementPrinter(writer, self.printer, self.numbers, bound).block(self.launch.body)
            reductions.finish(writer)
        return writer.text()
