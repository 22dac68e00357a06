"""Reductions inside a gang: a tree in local memory combines the work-items in a fixed order."""

from __future__ import annotations

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.dialect import Dialect
from tilepragma.codegen.launch_numbers import Numbers
from tilepragma.codegen.manifest import axis_name
from tilepragma.codegen.numbering import used_dimensions
from tilepragma.codegen.printer import Printer, combination, identity
from tilepragma.codegen.writer import Writer
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.loop_tree import Axis
from tilepragma.ir.types import ScalarType
from tilepragma.plan.kernel_plan import Launch, Reduction

#: Slots of local memory where the number of workers is no constant. More workers take turns.
SLOTS = 1024


@dataclass(frozen=True)
class ReductionPrinter:
    """Prints the reductions of one entry point. `partials` names the buffer of each reduction.
    Trees take at most `local_bytes`. `place` is a value's index in its buffer; empty: the gang's
    number.
    """

    launch: Launch
    dialect: Dialect
    numbers: Numbers
    printer: Printer
    partials: tuple[str, ...]
    local_bytes: int
    place: str = ""

    def slots(self) -> tuple[str, str, int] | None:
        """The macro of the tree's slots, its value with constant workers, and that without."""
        workers = self._workers()
        if not self.partials or not workers:
            return None
        count = " * ".join(self.numbers.axis_count(axis) for axis in workers)
        bytes_each = sum(_scalar(reduction).bits // 8 for reduction in self.launch.reductions)
        most = SLOTS
        while most * bytes_each > self.local_bytes:
            most //= 2
        if self.numbers.varies(AxisKind.WORKER):
            return self._slots(), str(most), most
        return self._slots(), count if most == SLOTS else f"{count} < {most} ? {count} : {most}", most

    def declare(self, writer: Writer) -> None:
        """Declare the local arrays, at the head of the entry point."""
        if self._workers():
            for reduction in self.launch.reductions:
                array = self.printer.type(reduction.object.element, f"{self._tree(reduction)}[{self._slots()}]")
                writer.line(f"{self.dialect.local_space}{array};")

    def start(self, writer: Writer) -> None:
        """Each work-item's accumulator, with the operator's identity."""
        for reduction in self.launch.reductions:
            declared = self.printer.type(reduction.object.element, self.printer.name(reduction.object))
            writer.line(f"{declared} = {identity(reduction.operator, _scalar(reduction))};")

    def finish(self, writer: Writer) -> None:
        """Combine the gang's work-items and store the result, outside every guard."""
        if not self.launch.reductions:
            return
        gang = self.place or self._linear([axis_name(axis) for axis in self._gangs()], AxisKind.GANG, AxisKind.THREAD)
        workers = self._workers()
        if not workers:
            for reduction, partials in zip(self.launch.reductions, self.partials, strict=True):
                writer.line(f"{partials}[{gang}] = {self.printer.name(reduction.object)};")
            return
        writer.line("/* The gang's value: a tree over its workers, in an order that never varies. */")
        with writer.block():
            self._tree_steps(writer, gang)

    def _tree_steps(self, writer: Writer, gang: str) -> None:
        wide, slots, barrier = self.dialect.wide, self._slots(), self.dialect.barrier
        worker, workers = self.numbers.fresh("worker"), self.numbers.fresh("workers")
        used = self.numbers.fresh("used")
        product = " * ".join(self.numbers.axis_count(axis) for axis in self._workers())
        linear = self._linear([axis_name(axis) for axis in self._workers()], AxisKind.WORKER)
        writer.line(f"const {wide} {workers} = {product};")
        writer.line(f"const {wide} {worker} = {linear};")
        with writer.block(f"if ({worker} < {slots})"):
            for reduction in self.launch.reductions:
                writer.line(f"{self._tree(reduction)}[{worker}] = {self.printer.name(reduction.object)};")
        writer.line(barrier)
        turn = self.numbers.fresh("turn")
        with writer.block(f"for ({wide} {turn} = {slots}; {turn} < {workers}; {turn} += {slots})"):
            with writer.block(f"if ({worker} >= {turn} && {worker} < {turn} + {slots})"):
                for reduction in self.launch.reductions:
                    accumulator = self.printer.name(reduction.object)
                    self._combine(writer, reduction, f"{worker} - {turn}", accumulator)
            writer.line(barrier)
        half = self.numbers.fresh("kept")
        head = f"for ({wide} {used} = {workers} < {slots} ? {workers} : {slots}, {half}; {used} > 1; {used} = {half})"
        with writer.block(head):
            writer.line(f"{half} = ({used} + 1) / 2;")
            with writer.block(f"if ({worker} < {used} - {half})"):
                for reduction in self.launch.reductions:
                    self._combine(writer, reduction, worker, f"{self._tree(reduction)}[{worker} + {half}]")
            writer.line(barrier)
        with writer.block(f"if ({worker} == 0)"):
            for reduction, partials in zip(self.launch.reductions, self.partials, strict=True):
                writer.line(f"{partials}[{gang}] = {self._tree(reduction)}[0];")
        writer.line(barrier)

    def _combine(self, writer: Writer, reduction: Reduction, slot: str, operand: str) -> None:
        left = f"{self._tree(reduction)}[{slot}]"
        writer.line(f"{left} = {combination(reduction.operator, _scalar(reduction), left, operand)};")

    def _linear(self, names: list[str], *kinds: AxisKind) -> str:
        """The linear index of a group or work-item, dimension 0 fastest."""
        axes = used_dimensions(self.launch, *kinds)
        text = ""
        for name, axis in reversed(list(zip(names, axes, strict=True))):
            index = self.numbers.fresh(name)
            if not text:
                text = index
            else:
                outer = f"({text})" if " " in text else text
                text = f"{outer} * {self.numbers.axis_count(axis)} + {index}"
        return text or "0"

    def _workers(self) -> list[Axis]:
        return used_dimensions(self.launch, AxisKind.WORKER)

    def _gangs(self) -> list[Axis]:
        return used_dimensions(self.launch, AxisKind.GANG, AxisKind.THREAD)

    def _tree(self, reduction: Reduction) -> str:
        return self.numbers.fresh(f"{reduction.object.name}_tree")

    def _slots(self) -> str:
        return f"{self.launch.name.upper()}_SLOTS"


def _scalar(reduction: Reduction) -> ScalarType:
    element = reduction.object.element
    assert isinstance(element, ScalarType), "reductions are over numbers"
    return element
