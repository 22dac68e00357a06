"""Constant arrays with their values, for devices' constant memory and for host functions."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from math import prod

from tilepragma.codegen.dialect import Dialect
from tilepragma.codegen.line_breaking import wrapped_list
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.printer import Printer
from tilepragma.ir.expressions import Access, DataObject
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ScalarType
from tilepragma.plan.kernel_plan import KernelPlan, Step, launches_in

_FLOAT_DIGITS = 9


def constant_definitions(plan: KernelPlan, steps: tuple[Step, ...], dialect: Dialect) -> list[str]:
    """The definitions of the plan's constants that launches of the steps read."""
    bodies = [launch.body for launch in launches_in(steps)]
    read = {node.object for body in bodies for node in walk(body) if isinstance(node, Access)}
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
