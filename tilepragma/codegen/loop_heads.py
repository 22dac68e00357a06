"""The heads of loops that are printed as they stand: `for (…)`, with bounds on lines of their own where it would be long."""

from __future__ import annotations

from dataclasses import replace

from tilepragma.base.source_ranges import NOWHERE
from tilepragma.codegen.launch_numbers import Numbers
from tilepragma.codegen.literal_values import literal_value
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


def loop_head(printer: Printer, loop: Loop, declared: str) -> str:
    """`for (…)` of a loop as the user wrote it; `declared` is its iterator, with the type where the loop declares it."""
    iterator = printer.scalar(loop.iterator)
    step = literal_value(loop.step)
    if step in (1, -1):
        advance = f"{'++' if step == 1 else '--'}{iterator}"
    elif isinstance(loop.step, Unary) and loop.step.operator == "-":
        advance = f"{iterator} -= {printer.expression(loop.step.operand, 1)}"
    else:
        advance = f"{iterator} += {printer.expression(loop.step, 1)}"
    if counts_down_to_zero(loop):
        return countdown_head(printer, declared, loop)
    condition = f"{iterator} {loop.comparison} {printer.expression(loop.upper, 11)}"
    return f"for ({declared} = {printer.expression(loop.lower, 1)}; {condition}; {advance})"


def with_bounds_apart(writer: Writer, printer: Printer, numbers: Numbers, loop: Loop, declared: str) -> Loop:
    """The loop, reading bounds that are declared before it where its head does not fit on a line;
    the upper one first. Only loops of the planner's: its bounds change nowhere inside, and a
    debugger shows nobody's line for them.
    """
    if loop.range != NOWHERE or counts_down_to_zero(loop):
        return loop
    if not writer.fits(f"{loop_head(printer, loop, declared)} {{"):
        loop = replace(
            loop, upper=declared_apart(writer, printer, numbers.once(f"{loop.iterator.name}_end"), loop.upper)
        )
    if not writer.fits(f"{loop_head(printer, loop, declared)} {{"):
        loop = replace(
            loop, lower=declared_apart(writer, printer, numbers.once(f"{loop.iterator.name}_start"), loop.lower)
        )
    return loop


def declared_apart(writer: Writer, printer: Printer, name: str, bound: Expression) -> Expression:
    """Declare `name` as the bound's value; what reads it. A bound of one word stays where it is."""
    if isinstance(bound, Access) or literal_value(bound) is not None:
        return bound
    object_ = DataObject(name, name, bound.type, Storage.SCALAR, Scope.LOCAL, const=True)
    writer.line(f"{printer.declaration(object_)} = {printer.expression(bound, 1)};")
    return access_to(object_)


def counts_down_to_zero(loop: Loop) -> bool:
    """Whether an unsigned iterator ends at 0 itself: `i >= 0` would hold for ever, so the loop is printed as `i-- > 0`."""
    type_ = loop.iterator.element
    unsigned = isinstance(type_, ScalarType) and not type_.signed
    return unsigned and loop.comparison == ">=" and literal_value(loop.step) == -1 and literal_value(loop.upper) == 0


def countdown_head(printer: Printer, declared: str, loop: Loop) -> str:
    """The head of such a loop; `declared` is its iterator, with the type where the loop declares it."""
    start = printer.expression(Binary("+", loop.lower, integer(1), loop.lower.type), 1)
    return f"for ({declared} = {start}; {printer.scalar(loop.iterator)}-- > 0;)"
