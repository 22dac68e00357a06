"""The heads `for (…)` of loops that are printed as they stand. Long bounds get their own lines."""

from __future__ import annotations

from dataclasses import replace

from tilepragma.base.source_ranges import NOWHERE
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.numbering import Numbers
from tilepragma.codegen.printer import Printer
from tilepragma.codegen.writer import Writer
from tilepragma.ir.expressions import (
    Access,
    Binary,
    DataObject,
    Expression,
    Scope,
    Storage,
    Unary,
    access_to,
    integer,
)
from tilepragma.ir.loop_tree import Loop
from tilepragma.ir.types import ScalarType


def loop_head(printer: Printer, loop: Loop, is_typed: bool = True) -> str:
    """The loop's `for (…)`, which declares its iterator if `is_typed`."""
    iterator = printer.scalar(loop.iterator)
    declared = printer.typed(loop.iterator) if is_typed else iterator
    if counts_down_to_zero(loop):
        start = printer.expression(Binary("+", loop.lower, integer(1), loop.lower.type), 1)
        return f"for ({declared} = {start}; {iterator}-- > 0;)"
    step = literal_value(loop.step)
    if step in (1, -1):
        advance = f"{'++' if step == 1 else '--'}{iterator}"
    elif isinstance(loop.step, Unary) and loop.step.operator == "-":
        advance = f"{iterator} -= {printer.expression(loop.step.operand, 1)}"
    else:
        advance = f"{iterator} += {printer.expression(loop.step, 1)}"
    condition = f"{iterator} {loop.comparison} {printer.expression(loop.upper, 11)}"
    return f"for ({declared} = {printer.expression(loop.lower, 1)}; {condition}; {advance})"


def with_declared_bounds(writer: Writer, printer: Printer, numbers: Numbers, loop: Loop) -> Loop:
    """The loop, with bounds declared before it where the head is too long; the upper one first.
    Only the planner's loops: their bounds do not change inside, and a debugger shows no user's line
    for them.
    """
    if loop.range != NOWHERE or counts_down_to_zero(loop):
        return loop
    for side, suffix in (("upper", "end"), ("lower", "start")):
        if not writer.fits(f"{loop_head(printer, loop)} {{"):
            name = numbers.once(f"{loop.iterator.name}_{suffix}")
            bound = declared_bound(writer, printer, name, loop.upper if side == "upper" else loop.lower)
            loop = replace(loop, upper=bound) if side == "upper" else replace(loop, lower=bound)
    return loop


def declared_bound(writer: Writer, printer: Printer, name: str, bound: Expression) -> Expression:
    """Declare `name` with the bound's value; the expression that reads it. Short bounds stay."""
    if isinstance(bound, Access) or literal_value(bound) is not None:
        return bound
    object_ = DataObject(name, name, bound.type, Storage.SCALAR, Scope.LOCAL, const=True)
    writer.line(f"{printer.declaration(object_)} = {printer.expression(bound, 1)};")
    return access_to(object_)


def counts_down_to_zero(loop: Loop) -> bool:
    """Whether an unsigned iterator ends at 0. `i >= 0` always holds, so `i-- > 0` is printed."""
    type_ = loop.iterator.element
    unsigned = isinstance(type_, ScalarType) and not type_.signed
    return unsigned and loop.comparison == ">=" and literal_value(loop.step) == -1 and literal_value(loop.upper) == 0
