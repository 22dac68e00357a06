"""Definitions before a device program's entry points: records, constants, the user's functions."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from math import prod

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.dialect import Dialect
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.mentioned_objects import accessed_objects
from tilepragma.codegen.printer import Flat, Printer
from tilepragma.codegen.statements import StatementPrinter
from tilepragma.codegen.writer import Writer, wrapped_list
from tilepragma.ir.expressions import Access, AddressOf, Call, DataObject, Expression, Storage
from tilepragma.ir.loop_tree import Function
from tilepragma.ir.types import UNSIGNED_LONG, ArrayType, PointerType, RecordType, ScalarType, Type
from tilepragma.ir.value_bytes import type_size
from tilepragma.plan.kernel_plan import KernelPlan, Launch

_FLOAT_DIGITS = 9


@dataclass
class DeviceFunctions:
    """The user's functions in one program. OpenCL C types tell pointers to global memory from
    others, so a function is printed once for each way it is called. Printing calls fills `texts`,
    callees first.
    """

    dialect: Dialect
    prefix: str
    functions: tuple[Function, ...]
    texts: dict[str, str] = field(default_factory=dict)

    def printer(
        self,
        flat: Mapping[DataObject, Flat],
        in_global: frozenset[DataObject],
        indirect: frozenset[DataObject] = frozenset(),
    ) -> Printer:
        """A printer whose calls reach variants for pointers `in_global` memory."""
        return Printer(self.dialect, flat, indirect, called=lambda call: self._called(call, flat, in_global))

    def _called(
        self, call: Call, flat: Mapping[DataObject, Flat], in_global: frozenset[DataObject]
    ) -> tuple[str, tuple[str, ...]]:
        function = next((item for item in self.functions if item.name == call.function), None)
        if function is None:
            return call.function, ()
        spaces: list[bool] = []
        lengths: list[str] = []
        for argument, parameter in zip(call.arguments, function.parameters, strict=True):
            base = _base(argument)
            spaces.append(bool(self.dialect.global_space) and parameter.rank > 0 and base in in_global)
            if parameter.storage is Storage.ROWS:
                assert base is not None, "rows are of an array"
                lengths += flat[base].lengths[base.rank - parameter.rank :]
        name = f"{self.prefix}_{function.name}"
        if any(spaces):
            name += "_" + "".join("g" if space else "p" for space in spaces)
        if name not in self.texts:
            # Its callees come first.
            self.texts[name] = self._definition(function, name, tuple(spaces))
        return name, tuple(lengths)

    def _definition(self, function: Function, name: str, spaces: tuple[bool, ...]) -> str:
        in_global = frozenset(p for p, space in zip(function.parameters, spaces, strict=True) if space)
        plain = Printer(self.dialect)
        flat: dict[DataObject, Flat] = {}
        given: list[str] = []
        computed: list[str] = []
        for parameter in function.parameters:
            lengths = []
            for place, length in enumerate(parameter.lengths[1:], 1):
                text = "" if length is None or literal_value(length) is None else plain.expression(length)
                if not text:
                    text = f"tilek_{parameter.name}_length{place}"  # no name of the user's begins so
                    declared = f"const {self.dialect.wide} {text}"
                    # The caller passes lengths of rows; the function computes the others.
                    if length is None:
                        given.append(declared)
                    else:
                        computed.append(f"{declared} = {plain.expression(length)};")
                lengths.append(text)
            if parameter.rank > 1:
                flat[parameter] = Flat(tuple(lengths))
        printer = self.printer(flat, in_global)
        parameters = ", ".join([*(self._parameter(printer, p, p in in_global) for p in function.parameters), *given])
        writer = Writer()
        with writer.block(f"{self.dialect.function} {printer.type(function.result, f'{name}({parameters})')}"):
            for line in computed:
                writer.line(line)
            StatementPrinter(writer, printer).block(function.body)
        return writer.text()

    def _parameter(self, printer: Printer, parameter: DataObject, in_global: bool) -> str:
        space = self.dialect.global_space if in_global else ""
        const = "const " if parameter.const else ""
        stars = "*" if parameter.rank else ""
        return space + const + printer.type(parameter.element, stars + printer.name(parameter))


def _base(argument: Expression) -> DataObject | None:
    target = argument.target if isinstance(argument, AddressOf) else argument
    return target.object if isinstance(target, Access) else None


def record_definitions(dialect: Dialect, records: Iterable[RecordType]) -> str:
    """The records, dependencies first, with the host's layout on every target."""
    return "\n".join(_record(Printer(dialect), record) for record in records)


def _record(printer: Printer, record: RecordType) -> str:
    writer = Writer()
    natural = record.is_union or _natural_layout(record)
    kind = "union" if record.is_union else "struct"
    packed = "" if natural else "__attribute__((packed)) "
    writer.line(f"{kind} {packed}{printer.dialect.identifier(record.tag)} {{")
    end = 0
    for field_ in record.fields:
        if not natural and field_.offset > end:
            writer.line(f"    char padding{end}[{field_.offset - end}];")
        # A pointer inside a record means nothing on a device: a number in its place.
        stored = UNSIGNED_LONG if isinstance(field_.type, PointerType) else field_.type
        writer.line(f"    {printer.type(stored, printer.dialect.identifier(field_.name))};")
        end = field_.offset + type_size(field_.type)
    if not natural and record.size > end:
        writer.line(f"    char padding{end}[{record.size - end}];")
    writer.line("};")
    return writer.text()


def _natural_layout(record: RecordType) -> bool:
    end = 0
    for field_ in record.fields:
        alignment = _alignment(field_.type)
        if field_.offset != -(-end // alignment) * alignment:
            return False
        end = field_.offset + type_size(field_.type)
    largest = max((_alignment(field_.type) for field_ in record.fields), default=1)
    return record.size == -(-end // largest) * largest


def _alignment(type_: Type) -> int:
    match type_:
        case ScalarType():
            return type_.bits // 8
        case RecordType():
            return type_.alignment
        case ArrayType(element):
            return _alignment(element)
        case _:
            return 8


def constant_definitions(plan: KernelPlan, launches: tuple[Launch, ...], dialect: Dialect) -> list[str]:
    """The definitions of the plan's constants that the launches read."""
    read = accessed_objects(launch.body for launch in launches)
    printer = Printer(dialect)
    return [constant_definition(printer, table) for table in plan.constants if table in read]


def constant_definition(printer: Printer, table: DataObject) -> str:
    """The definition of a constant array whose values are known."""
    element = table.element
    assert isinstance(element, ScalarType), "tables are of numbers"
    lengths = [literal_value(length) or 0 for length in table.lengths]
    inner = printer.name(table) + "".join(f"[{length}]" for length in lengths)
    values = [number_text(value, element, printer.dialect) for value in table.values]
    head = f"{printer.dialect.constant_space}{printer.type(element, inner)} = {{"
    return wrapped_list(head, list(_rows(values, lengths)), "};")


def _rows(values: Sequence[str], lengths: Sequence[int]) -> Iterator[str]:
    """The items between the outermost braces."""
    if len(lengths) == 1:
        yield from values
        return
    size = prod(lengths[1:])
    for start in range(0, len(values), size):
        yield "{" + ", ".join(_rows(values[start : start + size], lengths[1:])) + "}"


def number_text(value: float, type_: ScalarType, dialect: Dialect) -> str:
    """A finite value as text of a device's language that reads back as the same value."""
    if type_.is_floating:
        single = type_.bits < struct.calcsize("d") * 8
        text = _shortest(value) if single else repr(float(value))
        text = text if any(sign in text for sign in ".en") else f"{text}.0"
        return f"{text}f" if single else text
    signed, unsigned = dialect.literal_suffixes if type_.bits == struct.calcsize("q") * 8 else ("", "u")
    if value == -(2 ** (type_.bits - 1)):
        # The magnitude alone is not representable in the type.
        return f"(-{-int(value) - 1}{signed} - 1)"
    return f"{int(value)}{signed if type_.signed else unsigned}"


def _shortest(value: float) -> str:
    """The shortest decimal of a 32-bit number."""
    bits = struct.pack("f", value)
    texts = (f"{value:.{digits}g}" for digits in range(1, _FLOAT_DIGITS))
    return next((text for text in texts if _single(text) == bits), f"{value:.{_FLOAT_DIGITS}g}")


def _single(text: str) -> bytes:
    try:
        return struct.pack("f", float(text))
    except OverflowError:
        return b""
