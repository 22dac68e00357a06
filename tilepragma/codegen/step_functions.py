"""The order of a region's launches, as a C function where they do not just run once each.

The function has the host's loops around launches, and each step's bounds of the launches' loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tilepragma.base.c_text import in_comment
from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.dialect import C
from tilepragma.codegen.launch_parameters import LaunchParameters, bound_objects, needs_function
from tilepragma.codegen.mentioned_objects import accessed_objects
from tilepragma.codegen.printer import Printer
from tilepragma.codegen.statements import loop_head, with_declared_bounds
from tilepragma.codegen.writer import Writer
from tilepragma.ir.expressions import DataObject, Expression
from tilepragma.ir.loop_tree import Loop
from tilepragma.ir.quotients import with_guarded_quotients
from tilepragma.plan.balanced_chunking import EvenParts, even_parts
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, KernelPlan, Launch, Step, StreamedGrid, all_steps

_COMPARISONS = {"<": "<", "<=": "l", ">": ">", ">=": "g", "!=": "!"}


@dataclass(frozen=True)
class StepFunctions:
    """The function names for host and device targets (None: plain order), and the definitions."""

    host: str | None
    device: str | None
    text: str


def step_functions(plan: KernelPlan, on_device: bool) -> StepFunctions:
    """The region's functions, shared where they agree. `on_device`: it has device programs."""
    if plan.untransformed is not None:
        return StepFunctions(None, None, "")
    start, names, definitions = plan.kernel.range.start, {}, []
    comment = f"/* {plan.kernel.name}: the order of its launches, {in_comment(start.place)}. */"
    functions: list[str | None] = []
    for side, steps in (("host", plan.host_steps), ("device", plan.device_steps if on_device else ())):
        if not needs_function(plan, steps):
            functions.append(None)
            continue
        body = _Steps(plan, steps, side == "device").text()
        if body not in names:
            names[body] = f"tilek_{plan.kernel.name}_{side}_steps"
            head = f"static int {names[body]}(struct tilek_run *tilek_run_, const tilek_call *tilek_call_)"
            definitions.append(f"{comment}\n{head}\n{{\n{body}}}\n")
        functions.append(names[body])
    return StepFunctions(functions[0], functions[1], "\n".join(definitions))


def range_text(loop: Loop, text: Callable[[Expression], str]) -> str:
    """The arguments of tilek_trip and tilek_bounded for a loop; `text` prints expressions."""
    return f"{text(loop.lower)}, {text(loop.upper)}, {text(loop.step)}, '{_COMPARISONS[loop.comparison]}'"


class _Steps:
    def __init__(self, plan: KernelPlan, steps: tuple[Step, ...], on_device: bool) -> None:
        self.plan, self.steps = plan, steps
        self.printer = Printer(C)
        self.streams = [(k, size.stream) for k, size in enumerate(plan.sizes) if on_device and size.stream is not None]
        read = {object_: None for step in steps for object_ in _read(step)}
        read |= accessed_objects(stream for _, stream in self.streams)
        self.scalars = [(k, object_) for k, object_ in enumerate(plan.scalars) if object_ in read]
        self.sizes = [(k, size.object) for k, size in enumerate(plan.sizes) if size.object in read]
        self.writer = Writer(depth=1)
        self.numbers = LaunchParameters((), {}, frozenset(object_.name for object_ in plan.kernel.objects))
        self.launches = 0

    def text(self) -> str:
        writer, printer = self.writer, self.printer
        for index, object_ in self.scalars:
            type_ = printer.type(object_.element)
            writer.line(f"const {printer.typed(object_)} = *(const {type_} *)tilek_call_->scalars[{index}];")
        even = {part.place: part for part in even_parts(self.steps, self.plan.sizes)}
        for index, stream in self.streams:
            self._choose(index, stream)
        for index, object_ in self.sizes:
            value = self._even_size(index, even[index]) if index in even else f"tilek_size_of(tilek_run_, {index})"
            writer.line(f"const {printer.typed(object_)} = {value};")
        writer.line("int tilek_stop;")
        if not self.scalars:
            writer.line("(void)tilek_call_;")
        self._sequence(self.steps)
        writer.line("return 0;")
        return writer.text()

    def _value(self, value: Expression) -> str:
        """A number that is computed even where a launch has nothing to do."""
        return self.printer.expression(with_guarded_quotients(value))

    def _choose(self, index: int, stream: StreamedGrid) -> None:
        """Let the device choose the sizes of streamed tiles."""
        numbers = {size.object: k for k, size in enumerate(self.plan.sizes)}
        sides = (
            f"{{{self._value(side.extent)}, {side.length}, {side.more[0]}, {side.more[1]}, {numbers[side.size]}}}"
            for side in stream.sides
        )
        steps, planes = self._value(stream.steps), self._value(stream.planes)
        chunk = numbers[stream.chunk]
        with self.writer.block():
            self.writer.line(
                f"const tilek_stream tilek_grid = {{{steps}, {planes}, {stream.more[0]}, {stream.more[1]},"
            )
            self.writer.line(f"    {{{', '.join(sides)}}}, {stream.statements}, {stream.bytes}}};")
            self.writer.line(f"tilek_sizes_of_stream(tilek_run_, {index}, {chunk}, &tilek_grid);")

    def _even_size(self, index: int, part: EvenParts) -> str:
        upper = self._value(part.upper)
        if part.columns:
            return f"tilek_size_of_columns(tilek_run_, {index}, {upper}, {part.unit})"
        operations = "tilek_call_->operations" if part.once and self.plan.operations else "0"
        lower = self._value(part.lower)
        return f"tilek_size_of_blocks(tilek_run_, {index}, {lower}, {upper}, {part.unit}, {operations})"

    def _sequence(self, steps: tuple[Step, ...], around: str = "") -> None:
        """`around` is the iterator of the innermost loop around the steps."""
        for step in steps:
            match step:
                case HostLoop(loop, inner):
                    lower, upper, step_ = map(with_guarded_quotients, loop.bounds)
                    loop = replace(loop, lower=lower, upper=upper, step=step_)
                    loop = with_declared_bounds(self.writer, self.printer, self.numbers, loop)
                    with self.writer.block(loop_head(self.printer, loop)):
                        self._sequence(inner, self.printer.name(loop.iterator))
                    if any(isinstance(step, Launch) and step.pipelined for step in inner):
                        self.writer.line("tilek_stop = tilek_waves_end(tilek_run_);")
                        self.writer.line("if (tilek_stop) return tilek_stop;")
                case HostCondition(condition, inner):
                    with self.writer.block(f"if ({self.printer.condition(with_guarded_quotients(condition))})"):
                        self._sequence(inner)
                case Launch() if len(steps) == 1:
                    self._launch(step, around)
                case Launch():
                    with self.writer.block():
                        self._launch(step, around)

    def _launch(self, launch: Launch, around: str) -> None:
        number, self.launches = self.launches, self.launches + 1
        writer, printer = self.writer, self.printer
        loops = values = "NULL"
        if launch.loops:
            loops = "tilek_loops"
            bounds = [f"tilek_bounded({range_text(tiled.loop, self._value)})" for tiled in launch.loops]
            writer.line(f"const tilek_bounds {loops}[] = {{{', '.join(bounds)}}};")
        if launch.values:
            values = "tilek_values"
            names = ", ".join(f"&{printer.name(object_)}" for object_ in launch.values)
            writer.line(f"const void *const {values}[] = {{{names}}};")
        call, last = ("tilek_wave", f", {around}") if launch.pipelined else ("tilek_step", "")
        writer.line(f"tilek_stop = {call}(tilek_run_, {number}, {loops}, {values}{last}); /* {launch.name} */")
        writer.line("if (tilek_stop) return tilek_stop;")


def _read(step: Step) -> Iterator[DataObject]:
    """The objects that the order of a step and the bounds in it depend on."""
    for inner in all_steps((step,)):
        if isinstance(inner, Launch):
            yield from bound_objects(inner)
        elif isinstance(inner, HostLoop):
            yield from accessed_objects(inner.loop.bounds)
        else:
            yield from accessed_objects((inner.condition,))
