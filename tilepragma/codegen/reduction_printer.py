"""Reductions in kernels: partial values, and their combination in an order that never varies.

A chunk of iterations forms a partial value, in the order of the text. A binary tree over the
chunks' indices combines them (`runtime/launch/reduction.c`). The trip count and the chunk length
alone fix the number of chunks (`runtime/launch/launch_geometry.c`), so that the number of threads
changes no bit of a result. Inside a gang, a tree in local memory combines the work-items.
"""

from __future__ import annotations

from typing import Any

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.launch_parameters import LaunchParameters, used_dimensions
from tilepragma.codegen.printer import Printer
from tilepragma.codegen.writer import Writer
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import Call, Callee
from tilepragma.ir.loop_tree import Axis, ForLoop, Loop, TileNest, While
from tilepragma.ir.traversal import children
from tilepragma.ir.types import ScalarKind, ScalarType
from tilepragma.plan.kernel_plan import Launch, Reduction
from tilepragma.user_tiles.chain_checks import literal_trip

#: The least number of expression nodes that a chunk evaluates: entering and combining a chunk then
#: takes under 1 % of its time.
_CHUNK = 4096
#: The assumed trip count of a loop whose trip count is unknown; the assumed nodes of a user's
#: function and of a library's.
_UNKNOWN, _USER_CALL, _LIBRARY_CALL = 64, 256, 16
#: A longer chunk is one iteration anyway.
_ENOUGH = _CHUNK**2
#: Slots of local memory where the number of workers is no constant. More workers take turns.
SLOTS = 1024


#: Reductions on truths use logical operators, since partial values may have a wider type.
_OF_TRUTHS = {"+": "||", "max": "||", "|": "||", "*": "&&", "min": "&&", "&": "&&"}


def identity(operator: str, type_: ScalarType) -> str:
    """The value that a reduction with `operator` starts from, as text for every target."""
    if type_.kind is ScalarKind.BOOLEAN:
        # Some targets have no Boolean type and use a wider one.
        return "1" if _OF_TRUTHS.get(operator, operator) == "&&" else "0"
    if type_.is_floating and operator in ("+", "min", "max", "fmin", "fmax"):
        suffix = {32: "f", 64: ""}.get(type_.bits, "l")
        unit, zero = f"1.0{suffix}", f"0.0{suffix}"
        if operator == "+":
            return f"-{zero}"  # 0.0 would make 0.0 of -0.0
        if operator in ("fmin", "fmax"):
            return f"({zero} / {zero})"
        return f"({'-' if operator == 'max' else ''}{unit} / {zero})"
    if operator in ("+", "|", "^", "||"):
        return "0"
    if operator in ("*", "&&"):
        return "1"
    if operator == "&":
        return "~0ul" if type_.bits == 64 else "~0"
    lowest = operator == "max"
    if not type_.signed:
        return "0" if lowest else f"{2**type_.bits - 1}{'ul' if type_.bits == 64 else 'u'}"
    suffix = "l" if type_.bits == 64 else ""
    top = f"{2 ** (type_.bits - 1) - 1}{suffix}"
    return f"(-{top} - 1{suffix})" if lowest else top


def combination(operator: str, type_: ScalarType, left: str, right: str) -> str:
    """`left operator right` of a reduction of this type, as text for every target."""
    if type_.kind is ScalarKind.BOOLEAN:
        return f"{left} {_OF_TRUTHS.get(operator, operator)} {right}"
    if operator in ("min", "max"):
        return f"{right} {'<' if operator == 'min' else '>'} {left} ? {right} : {left}"
    if operator in ("fmin", "fmax"):
        return f"{right} {'<' if operator == 'fmin' else '>'} {left} || {left} != {left} ? {right} : {left}"
    return f"{left} {operator} {right}"


def declare_accumulators(writer: Writer, printer: Printer, launch: Launch) -> None:
    """Declare each instance's accumulators, with the operators' identities."""
    for reduction in launch.reductions:
        writer.line(f"{printer.typed(reduction.object)} = {identity(reduction.operator, reduced_type(reduction))};")


@dataclass(frozen=True)
class ReductionPrinter:
    """Prints the reductions of one entry point. `partials` names the buffer of each reduction.
    Trees take at most `local_bytes`. `place` is a value's index in its buffer; empty: the gang's
    number.
    """

    launch: Launch
    numbers: LaunchParameters
    printer: Printer
    partials: tuple[str, ...]
    local_bytes: int
    place: str = ""

    def slots(self) -> tuple[str, str, int] | None:
        """The macro of the tree's slots, its value with constant workers, and that without."""
        workers = self._workers()
        if not self.partials or not workers:
            return None
        count = self.numbers.total(workers)
        bytes_each = sum(reduced_type(reduction).bits // 8 for reduction in self.launch.reductions)
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
                writer.line(f"{self.printer.dialect.local_space}{array};")

    def finish(self, writer: Writer) -> None:
        """Combine the gang's work-items and store the result, outside every guard."""
        if not self.launch.reductions:
            return
        gangs = used_dimensions(self.launch, AxisKind.GANG, AxisKind.THREAD)
        gang = self.place or self.numbers.linear_index(gangs) or "0"
        if not self._workers():
            for reduction, partials in zip(self.launch.reductions, self.partials, strict=True):
                writer.line(f"{partials}[{gang}] = {self.printer.name(reduction.object)};")
            return
        writer.line("/* The gang's value: a tree over its workers, in an order that never varies. */")
        with writer.block():
            self._tree_steps(writer, gang)

    def _tree_steps(self, writer: Writer, gang: str) -> None:
        wide, slots, barrier = self.printer.dialect.wide, self._slots(), self.printer.dialect.barrier
        worker, workers, used = map(self.numbers.fresh, ("worker", "workers", "used"))
        writer.line(f"const {wide} {workers} = {self.numbers.total(self._workers())};")
        writer.line(f"const {wide} {worker} = {self.numbers.linear_index(self._workers())};")
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
        rest = self.numbers.fresh("remaining")
        head = f"for ({wide} {used} = {workers} < {slots} ? {workers} : {slots}, {rest}; {used} > 1; {used} = {rest})"
        with writer.block(head):
            writer.line(f"{rest} = ({used} + 1) / 2;")
            with writer.block(f"if ({worker} < {used} - {rest})"):
                for reduction in self.launch.reductions:
                    self._combine(writer, reduction, worker, f"{self._tree(reduction)}[{worker} + {rest}]")
            writer.line(barrier)
        with writer.block(f"if ({worker} == 0)"):
            for reduction, partials in zip(self.launch.reductions, self.partials, strict=True):
                writer.line(f"{partials}[{gang}] = {self._tree(reduction)}[0];")
        writer.line(barrier)

    def _combine(self, writer: Writer, reduction: Reduction, slot: str, operand: str) -> None:
        left = f"{self._tree(reduction)}[{slot}]"
        writer.line(f"{left} = {combination(reduction.operator, reduced_type(reduction), left, operand)};")

    def _workers(self) -> list[Axis]:
        return used_dimensions(self.launch, AxisKind.WORKER)

    def _tree(self, reduction: Reduction) -> str:
        return self.numbers.fresh(f"{reduction.object.name}_tree")

    def _slots(self) -> str:
        return f"{self.launch.name.upper()}_SLOTS"


def reduced_type(reduction: Reduction) -> ScalarType:
    """The type of the reduced scalar."""
    element = reduction.object.element
    assert isinstance(element, ScalarType), "reductions are over numbers"
    return element


def chunk(launch: Launch) -> int:
    """The least number of iterations in a chunk; 0 without floating-point reductions."""
    if not any(reduction.is_floating for reduction in launch.reductions):
        return 0
    return max(1, _CHUNK // _weight(launch))


def _weight(launch: Launch) -> int:
    """The nodes of expressions that an iteration evaluates."""
    total = 1
    waiting: list[tuple[Any, int]] = [(launch.body, 1)]
    while waiting and total < _ENOUGH:
        node, times = waiting.pop()
        weight = 1
        match node:
            case TileNest():
                for loop in node.loops:
                    times *= 1 if loop.is_distributed else _trip(loop.loop)
                waiting.append((node.body, times))
                continue
            case Loop():
                waiting.append((node.body, times * _trip(node)))
                continue
            case ForLoop() | While():
                times *= _UNKNOWN
            case Call():
                weight = _USER_CALL if node.callee is Callee.USER else _LIBRARY_CALL
        total += weight * times
        waiting.extend((below, times) for below in children(node))
    return min(total, _ENOUGH)


def _trip(loop: Loop) -> int:
    trip = literal_trip(loop)
    return _UNKNOWN if trip is None else max(1, trip)
