"""The common parts of all device programs' entry points: signatures, macros, the program."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.device_constants import constant_definitions
from tilepragma.codegen.device_functions import DeviceFunctions, record_definitions
from tilepragma.codegen.dialect import CUDA
from tilepragma.codegen.line_breaking import WIDTH, item_lines, wrapped_list
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.manifest import Parameter, ParameterKind
from tilepragma.codegen.numbering import (
    is_checked_disjoint,
    launch_numbers,
    launch_objects,
    needs_function,
    used_dimensions,
)
from tilepragma.codegen.printer import Flat, ObjectMap
from tilepragma.codegen.reduction_trees import ReductionPrinter
from tilepragma.codegen.register_queues import RegisterQueueMacros
from tilepragma.codegen.shared_memory import StagedMacros
from tilepragma.codegen.templates import render
from tilepragma.codegen.writer import Writer
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import DataObject, Storage
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import DOUBLE
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan, Launch, Step, launches_in


@dataclass(frozen=True)
class DeviceProgram:
    """A program's text, and the launch and ordered parameters of each entry point.
    `constant_numbers` cannot be arguments of a specialised program.
    """

    text: str
    launches: tuple[Launch, ...]
    parameters: tuple[tuple[Parameter, ...], ...]
    constant_numbers: frozenset[str] = frozenset()


class Entry(ABC):
    """The entry point of `launch` in `steps`. `functions` collects the called user's functions."""

    def __init__(
        self,
        plan: KernelPlan,
        launch: Launch,
        steps: tuple[Step, ...],
        functions: DeviceFunctions,
    ) -> None:
        self.plan = plan
        self.launch = launch
        self.steps = steps
        self.dialect = functions.dialect
        self.objects = launch_objects(plan, launch)
        self.numbers = launch_numbers(plan, launch, launches_in(steps))
        self.declared: list[tuple[str, Parameter]] = []
        self.constant_numbers: frozenset[str] = frozenset()
        """set by `text`: constants of a specialised program, such as lengths of local arrays"""
        flat = {object_: self._flat(plan.arrays[index], index) for index, object_ in self.objects.arrays}
        indirect = self.shared_scalars()
        self.functions = functions
        self.reached = ObjectMap(flat, indirect)
        self.printer = functions.printer(self.reached, frozenset(flat) | indirect)
        self.macro = launch.name.upper() + "_TILES"

    @abstractmethod
    def body(self) -> str:
        """The lines between the braces."""

    @abstractmethod
    def reductions(self) -> ReductionPrinter:
        """The printer of the launch's reductions."""

    def staged(self) -> StagedMacros | None:
        """The macros of array tiles in shared memory; None where the entry point stages nothing."""
        return None

    def columns(self) -> RegisterQueueMacros | None:
        """The macros of register queues; None where the entry point has none."""
        return None

    def may_be_missing(self) -> bool:
        """Whether some calls' programs omit the entry point."""
        return len(launches_in(self.steps)) > 1 and needs_function(self.plan, self.steps)

    def shared_scalars(self) -> frozenset[DataObject]:
        """The scalars that the text reaches through a pointer."""
        return frozenset(object_ for _, object_ in self.objects.indirect)

    def origin(self, name: str) -> str | None:
        """The origin parameter `name` of an array whose copy begins elsewhere; None if moved."""
        return name

    def pointer_name(self, object_: DataObject) -> str:
        """The name of the pointer to an array, or to a scalar that the launch writes."""
        return self.printer.name(object_)

    def text(self) -> str:
        """The definition with its macros. Ask for it before `parameters`."""
        body = self.body()
        if self._may_be_short and self.dialect.index in body:
            self.numbers.index_bits()
        numbers = self.numbers.parameters()
        constants = [name for name, parameter in numbers if parameter.constant is not None]
        wide = self.dialect.wide
        signature = [text for text, _ in self.signature()]
        text = render(
            "device/entry.j2",
            guard=f"TILEK_WITHOUT_{self.launch.name}" if self.may_be_missing() else "",
            arguments=f"TILEK_ARGUMENTS_{self.launch.name}",
            macro=self.macro if constants else "",
            constants=self._constants([f"const {wide} {name}" for name in constants], bool(signature)),
            slots=self.reductions().slots(),
            staged=self.staged(),
            columns=self.columns(),
            comment=self.comment(),
            head=wrapped_list(
                f"{self.dialect.kernel} {self.launch.name}(", self._with_macro(signature, constants), ")"
            ),
            body=body,
        )
        specialized = text.partition("\n#else\n")[0] if "#ifdef TILEK_SPECIALIZED" in text else ""
        self.constant_numbers = frozenset(constants) & frozenset(re.findall(r"\w+", specialized))
        return text

    def comment(self) -> str:
        """Tells the reader of the host's loops around the launch; empty without them."""
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

    def _with_macro(self, signature: list[str], constants: list[str]) -> list[str]:
        """The parameters, with the macro after the last. A needed comma belongs to the macro."""
        if not constants:
            return signature
        return [*signature[:-1], f"{signature[-1]} {self.macro}" if signature else self.macro]

    def parameters(self) -> tuple[Parameter, ...]:
        """In the order of the signature. The text must have been printed."""
        constants = [parameter for _, parameter in self.numbers.parameters() if parameter.constant is not None]
        return (*(parameter for _, parameter in self.signature()), *constants)

    def signature(self) -> list[tuple[str, Parameter]]:
        """The declarations of the parameters that are no constants, and their meanings."""
        space, wide = self.dialect.global_space, self.dialect.wide
        result: list[tuple[str, Parameter]] = []
        for index, object_ in (*self.objects.arrays, *self.objects.indirect):
            const = "const " if object_.const or self._only_read(index) else ""
            restrict = f"{self.dialect.restrict} " if self.is_sole_access(index, object_) else ""
            pointer = self.printer.type(object_.element, f"*{restrict}{self.pointer_name(object_)}")
            result.append((f"{space}{const}{pointer}", Parameter(ParameterKind.ARRAY, index, 0, None)))
            result += [
                (f"const {wide} {name}", parameter) for name, parameter in self.declared if parameter.index == index
            ]
        for index, object_ in self.objects.scalars:
            declared = self.printer.type(object_.element, self.printer.name(object_))
            result.append((f"const {declared}", Parameter(ParameterKind.SCALAR, index, 0, None)))
        for index, object_ in self.objects.first_privates:
            declared = self.printer.type(object_.element, self._first(object_))
            result.append((f"const {declared}", Parameter(ParameterKind.SCALAR, index, 0, None)))
        for index, object_ in self.objects.values:
            declared = self.printer.type(object_.element, self.printer.name(object_))
            result.append((f"const {declared}", Parameter(ParameterKind.VALUE, index, 0, None)))
        for index, object_ in self.objects.reduced:
            pointer = self.printer.type(object_.element, f"*{self.partials(object_)}")
            result.append((f"{space}{pointer}", Parameter(ParameterKind.PARTIALS, index, 0, None)))
        result += [
            (f"const {wide} {name}", parameter)
            for name, parameter in self.numbers.parameters()
            if parameter.constant is None
        ]
        return result

    def is_sole_access(self, index: int, object_: DataObject) -> bool:
        """Whether the entry point reaches the memory of array `index` by its parameter only."""
        return object_.restrict or is_checked_disjoint(self.plan, object_)

    def _only_read(self, index: int) -> bool:
        """Whether the parameter may point to const: no called function takes it without const."""
        return not self.plan.arrays[index].writes and not self.plan.kernel.functions

    def _flat(self, argument: ArrayArgument, index: int) -> Flat:
        object_ = argument.object
        if object_.storage is Storage.ROWS:
            lowers: list[str | None] = []
            for dimension, bound in enumerate(argument.section):
                zero = literal_value(bound.lower) == 0
                lowers.append(None if zero else self._extra(object_, ParameterKind.LOWER, index, dimension))
            lengths = [self._extra(object_, ParameterKind.LENGTH, index, d) for d in range(1, object_.rank)]
            return Flat(tuple(lengths), None, tuple(lowers))
        lengths = []
        for dimension in range(1, object_.rank):
            # Compilers for processors gather elements at known distances, which is slow.
            literal = None if self.dialect.hints else literal_value(object_.lengths[dimension])
            constant = str(literal) if literal is not None else None
            lengths.append(constant or self._length(object_, index, dimension))
        whole = all(literal_value(bound.lower) == 0 for bound in argument.section)
        whole = whole and not argument.is_gathered and not self.plan.divisions
        return Flat(
            tuple(lengths), None if whole else self.origin(self._extra(object_, ParameterKind.ORIGIN, index, 0))
        )

    def _length(self, object_: DataObject, index: int, dimension: int) -> str:
        if self._may_be_short:
            return self.numbers.length(object_.name, index, dimension)
        return self._extra(object_, ParameterKind.LENGTH, index, dimension)

    @property
    def _may_be_short(self) -> bool:
        """Whether addresses cost enough to specialise programs for 32-bit indices."""
        return self.dialect.index != self.dialect.wide

    def _extra(self, object_: DataObject, kind: ParameterKind, index: int, dimension: int) -> str:
        suffix = kind.value.lower() + ("" if kind is ParameterKind.ORIGIN else str(dimension))
        name = self.numbers.fresh(f"{object_.name}_{suffix}")
        self.declared.append((name, Parameter(kind, index, dimension, None)))
        return name

    def _first(self, object_: DataObject) -> str:
        return self.numbers.fresh(f"{object_.name}_first")

    def partials(self, object_: DataObject) -> str:
        """The name of the buffer for a reduced scalar's partial values."""
        return self.numbers.fresh(f"{object_.name}_partials")

    def print_privates(self, writer: Writer) -> None:
        """Declare each instance's private objects."""
        for object_ in self.objects.privates:
            writer.line(f"{self.printer.declaration(replace(object_, const=False))};")
        for _, object_ in self.objects.first_privates:
            declared = self.printer.declaration(replace(object_, const=False))
            writer.line(f"{declared} = {self._first(object_)};")


def program(plan: KernelPlan, functions: DeviceFunctions, entries: Sequence[Entry]) -> DeviceProgram:
    """The program of the entry points, with the user's functions that they call."""
    texts = [entry.text() for entry in entries]
    definitions = "\n".join(functions.texts.values())
    code = definitions + "".join(texts)
    steps = tuple(entry.launch for entry in entries)
    stagings = [macros for entry in entries if (macros := entry.staged()) is not None]
    start = plan.kernel.range.start
    dialect = functions.dialect
    text = render(
        dialect.template,
        name=plan.kernel.name,
        cuda=dialect is CUDA,
        place=f"{start.file}:{start.line}",
        double=uses_double(plan),
        contract=plan.floating.contract,
        index=dialect.index if dialect.index in code and dialect.index != dialect.wide else "",
        helpers=[name for name in _HELPERS if f"{name}(" in code],
        records=record_definitions(dialect, plan.kernel.records),
        constants=constant_definitions(plan, steps, dialect),
        functions=definitions,
        entries=texts,
        ahead=sorted({size for staging in stagings for size in staging.async_sizes})
        if any(staging.twice for staging in stagings)
        else None,
        unrolled=dialect.unroll in code,
        local_bytes=plan.kernel.directive.local_bytes if stagings else 0,
    )
    return DeviceProgram(
        text,
        steps,
        tuple(entry.parameters() for entry in entries),
        frozenset(name for entry in entries for name in entry.constant_numbers),
    )


_HELPERS = (
    "tilek_minimum",
    "tilek_maximum",
    "tilek_short",
    "tilek_floor_quotient",
    "tilek_ceiling_quotient",
    "tilek_stretch",
    "tilek_await",
)


def uses_double(plan: KernelPlan) -> bool:
    """Whether device code of the region computes with doubles."""
    roots = [launch.body for launch in (*plan.device, *plan.host)]
    roots += [function.body for function in plan.kernel.functions]
    if any(getattr(node, "type", None) == DOUBLE for root in roots for node in walk(root)):
        return True
    return any(object_.element == DOUBLE for object_ in plan.kernel.objects)
