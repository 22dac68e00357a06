"""Host functions in C that compute a region's instances, for the serial and threads targets."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from tilepragma.codegen.device_definitions import constant_definition
from tilepragma.codegen.dialect import C
from tilepragma.codegen.launch_parameters import (
    Parameter,
    is_checked_disjoint,
    launch_objects,
    launch_parameters,
    nest_loops,
)
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.printer import Printer
from tilepragma.codegen.reduction_printer import declare_accumulators
from tilepragma.codegen.statements import Rows, StatementPrinter, instance_kind, instance_loop
from tilepragma.codegen.templates import render
from tilepragma.codegen.writer import Writer, wrapped_list
from tilepragma.ir.accesses import implied_objects
from tilepragma.ir.expressions import DataObject, Storage
from tilepragma.ir.types import INT
from tilepragma.plan.kernel_plan import KernelPlan, Launch
from tilepragma.plan.summary import buffered

#: Members of tilek_host_call that hold numbers of a launch, by index and dimension.
_NUMBERS = {
    "LOOP_LOWER": "loops[{0}]->lower",
    "LOOP_STEP": "loops[{0}]->step",
    "LOOP_TRIP": "loops[{0}]->trip",
    "TILE_COUNT": "tiles[{0}][{1}].count",
    "TILE_STRIDE": "tiles[{0}][{1}].stride",
    "AXIS_COUNT": "axes[{0}]",
    "SIZE": "sizes[{0}]",
    "TILE_ARGUMENT": "tile_arguments[{0}]",
}
#: Larger constant arrays are not written out in host functions.
_MOST_VALUES = 256


def host_function_name(launch: Launch) -> str:
    """The name of the launch's host function; no user's name begins like it."""
    return f"tilek_{launch.name}_host"


def host_functions(plan: KernelPlan) -> str:
    """All host functions of a region; generated lines keep their marks (see `writer`)."""
    return "\n".join(_HostFunction(plan, launch).text() for launch in plan.host)


class _HostFunction:
    def __init__(self, plan: KernelPlan, launch: Launch) -> None:
        self.plan = plan
        self.launch = launch
        self.objects = launch_objects(plan, launch)
        self.implied = implied_objects(launch.body)
        self.numbers = launch_parameters(plan, launch)
        self.call = self.numbers.fresh("call")
        self.instance_kind = instance_kind(launch)
        shared = self.objects.indirect if self.instance_kind is not None else ()
        self.printer = Printer(C, indirect=frozenset(object_ for _, object_ in shared))
        apart = [(index, object_) for index, object_ in self.objects.arrays if is_checked_disjoint(plan, object_)]
        declarations = {object_: self._array(index, replace(object_, restrict=True)) for index, object_ in apart}
        passed = {object_: tuple((name, text) for name, text, _ in named) for object_, named in declarations.items()}
        reached = (named for object_, named in declarations.items() if not self._is_written_out(object_))
        self.parameters = [(text, value) for named in reached for _, text, value in named]
        self.rows = Rows(f"tilek_{launch.name}_row", passed)

    def text(self) -> str:
        body, parameters = self._body(), self.parameters
        arrays: list[str] = []
        for index, object_ in self.objects.arrays:
            if self._is_written_out(object_):
                arrays.append(f"static const {constant_definition(self.printer, object_)}")
            elif object_ not in self.rows.arrays:
                # The user's functions reach the object by its name.
                object_ = replace(object_, restrict=False) if object_ in self.implied else object_
                arrays += (f"{declared} = {value};" for _, declared, value in self._array(index, object_))
        named = (*self.objects.arrays, *self.objects.scalars, *self.objects.indirect)
        unused = [f"(void){self.printer.name(object_)};" for _, object_ in named if object_ in self.implied]
        head = Writer(depth=1)
        for line in (*arrays, *self._scalars(), *self._numbers(), *unused):
            head.line(line)
        if f"{self.call}->" not in head.text() + body:
            head.line(f"(void){self.call};")
        name, first, last = host_function_name(self.launch), self.numbers.fresh("first"), self.numbers.fresh("last")
        declared = (f"const tilek_host_call *{self.call}", f"int64_t {first}", f"int64_t {last}")
        delegation = Writer(depth=1)
        delegation.line(f"{name}_apart({', '.join((self.call, first, last, *(name_ for _, name_ in parameters)))});")
        return render(
            "c/host_function.c.j2",
            signature=wrapped_list(f"static void {name}(", declared, ")"),
            apart=wrapped_list(f"static void {name}_apart(", (*declared, *(text for text, _ in parameters)), ")"),
            delegation=delegation.text(),
            parameters=bool(parameters),
            wide=any(buffered((self.launch,))),
            comment=self._comment(),
            rows="\n".join(self.rows.texts),
            head="" if head.text() == "\n" else head.text(),
            body=body,
        )

    def _comment(self) -> str:
        loops = ", ".join(dict.fromkeys(loop.loop.iterator.name for loop in nest_loops(self.launch)))
        start, kind = self.plan.kernel.range.start, self.instance_kind
        instances = "there is one instance" if kind is None else f"instances are {kind.value}s"
        place = f"{f'loops {loops} of ' if loops else ''}{start.place}"
        return f"{self.launch.name}: {place}; {instances}."

    def _body(self) -> str:
        writer = Writer(user_lines=True, depth=1)
        first, last = self.numbers.fresh("first"), self.numbers.fresh("last")
        with ExitStack() as stack:
            if self.instance_kind is None:
                instance = first
                writer.line(f"(void){last};" if self.launch.reductions else f"(void){first}, (void){last};")
            else:
                instance = instance_loop(writer, stack, self.launch, self.numbers, C.wide, first, last)
            self._privates(writer)
            bound = frozenset() if self.instance_kind is None else frozenset({self.instance_kind})
            StatementPrinter(writer, self.printer, self.numbers, bound, rows=self.rows).block(self.launch.body)
            for index, object_ in self.objects.reduced:
                type_ = self.printer.type(object_.element)
                writer.line(f"(({type_} *){self.call}->partials[{index}])[{instance}] = {self.printer.name(object_)};")
            if self.instance_kind is None:
                for index, object_ in self.objects.indirect:
                    type_ = self.printer.type(object_.element)
                    writer.line(f"*({type_} *){self.call}->arrays[{index}].base = {self.printer.name(object_)};")
        return writer.text()

    def _privates(self, writer: Writer) -> None:
        for object_ in self.objects.privates:
            writer.line(f"{self.printer.declaration(replace(object_, const=False))};")
        for index, object_ in self.objects.first_privates:
            writer.line(self._scalar_copy(object_, f"scalars[{index}]"))
        declare_accumulators(writer, self.printer, self.launch)

    def _is_written_out(self, object_: DataObject) -> bool:
        """Whether the array is a small constant whose values are printed for the compiler."""
        lengths = [literal_value(length) for length in object_.lengths]
        is_plain = object_.const and not object_.table and object_.rows_in is None
        return is_plain and None not in lengths and 0 < len(object_.values) <= _MOST_VALUES

    def _array(self, index: int, object_: DataObject) -> list[tuple[str, str, str]]:
        """Name, declaration and value of each variable row length of an array, then of its pointer.
        Constants of the file need none: compilers see their values by name.
        """
        if object_.table and object_.rows_in is None and self.printer.name(object_) == object_.host:
            return []
        named: list[tuple[str, str, str]] = []
        inner = f"*{f'{C.restrict} ' if object_.restrict else ''}const {self.printer.name(object_)}"
        if object_.storage is Storage.ROWS:
            inner = "*" * (object_.rank - 1) + inner
        elif object_.rank > 1:
            lengths = []
            for dimension in range(1, object_.rank):
                literal = literal_value(object_.lengths[dimension])
                length = str(literal)
                if literal is None:
                    length = self.numbers.fresh(f"{object_.name}_length{dimension}")
                    extent = f"{self.call}->arrays[{index}].extent[{dimension}]"
                    named.append((length, f"const int64_t {length}", extent))
                lengths.append(f"[{length}]")
            inner = f"({inner}){''.join(lengths)}"
        const = "const " if object_.const else ""
        declared = f"{const}{self.printer.type(object_.element, inner)}"
        return [*named, (self.printer.name(object_), declared, f"{self.call}->arrays[{index}].base")]

    def _scalars(self) -> list[str]:
        lines = [self._scalar_copy(object_, f"scalars[{k}]", "const ") for k, object_ in self.objects.scalars]
        lines += [self._scalar_copy(object_, f"values[{k}]", "const ") for k, object_ in self.objects.values]
        for index, object_ in self.objects.indirect:
            base = f"arrays[{index}].base"
            if self.instance_kind is None:
                lines.append(self._scalar_copy(object_, base))
            else:
                pointer = self.printer.type(object_.element, f"*const {self.printer.name(object_)}")
                lines.append(f"{pointer} = {self.call}->{base};")
        return lines

    def _scalar_copy(self, object_: DataObject, member: str, const: str = "") -> str:
        """The declaration of a scalar, with the value at the address in a member of the call."""
        type_ = self.printer.type(object_.element)
        return f"{const}{self.printer.typed(object_)} = *(const {type_} *){self.call}->{member};"

    def _numbers(self) -> list[str]:
        lines = [f"const {self._number(name, item)};" for name, item in self.numbers.parameters()]
        return ["/* Tiles, by Algorithm 1. */", *lines] if lines else []

    def _number(self, name: str, item: Parameter) -> str:
        """The declaration of a number of the launch, with its value."""
        value = f"{self.call}->{_NUMBERS[item.kind].format(item.index, item.dimension)}"
        if item.kind == "LOOP_STEP":
            loop = self.numbers.loops[item.index].loop
            if loop.step.type == INT == loop.iterator.element:
                return f"int {name} = tilek_int_step({value})"
        return f"{C.wide} {name} = {value}"
