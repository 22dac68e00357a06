"""OpenCL C programs for processors: the host's launches, distributed to groups of one work-item.

The loops over points stay loops, as in the host functions, so that compilers vectorise them.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from tilepragma.codegen.device_functions import DeviceFunctions
from tilepragma.codegen.dialect import PROCESSOR
from tilepragma.codegen.entry_points import DeviceProgram, Entry, program
from tilepragma.codegen.instance_loops import instance_count, instance_kind, instance_loop
from tilepragma.codegen.manifest import ParameterKind
from tilepragma.codegen.numbering import used_dimensions
from tilepragma.codegen.reduction_trees import ReductionPrinter
from tilepragma.codegen.statements import StatementPrinter
from tilepragma.codegen.writer import Writer
from tilepragma.ir.expressions import DataObject
from tilepragma.plan.kernel_plan import KernelPlan


def processor_program(plan: KernelPlan) -> DeviceProgram:
    """The OpenCL C 1.2 program of a region's host launches, for processors."""
    dialect = replace(PROCESSOR, contracts=plan.floating.contract)
    functions = DeviceFunctions(dialect, plan.kernel.name, plan.kernel.functions)
    entries = [_ProcessorEntry(plan, launch, plan.host_steps, functions) for launch in plan.host]
    return program(plan, functions, entries)


class _ProcessorEntry(Entry):
    """One group runs a range of the instances in sequence."""

    def reductions(self) -> ReductionPrinter:
        kind = instance_kind(self.launch)
        distributed = replace(self.launch, axes=() if kind is None else tuple(used_dimensions(self.launch, kind)))
        partials = tuple(self.partials(object_) for _, object_ in self.objects.reduced)
        return ReductionPrinter(
            distributed, self.dialect, self.numbers, self.printer, partials, self.plan.kernel.directive.local_bytes
        )

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
            if parameter.kind is ParameterKind.ORIGIN:
                writer.line(f"{self.printer.name(self.plan.arrays[parameter.index].object)} -= {name};")
        kind = instance_kind(self.launch)
        scalars = () if kind is not None else tuple(object_ for _, object_ in self.objects.indirect)
        for object_ in scalars:
            declared = self.printer.declaration(replace(object_, const=False))
            writer.line(f"{declared} = *{self.pointer_name(object_)};")
        with ExitStack() as stack:
            if kind is not None:
                self._instances(writer, stack)
            self.print_privates(writer)
            self.reductions().start(writer)
            bound = frozenset() if kind is None else frozenset({kind})
            StatementPrinter(writer, self.printer, self.numbers, bound).block(self.launch.body)
            self.reductions().finish(writer)
        for object_ in scalars:
            writer.line(f"*{self.pointer_name(object_)} = {self.printer.name(object_)};")
        return writer.text()

    def _instances(self, writer: Writer, stack: ExitStack) -> None:
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
