"""Algorithm 1 in place: declares the numbers of a loop whose bounds depend on outer iterators.

The rule is that of runtime/launch/tile.c: counts from the innermost tile out, each stride the
product of the counts inside.
"""

from __future__ import annotations

from tilepragma.codegen.launch_numbers import Numbers
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.printer import UNARY, Printer
from tilepragma.codegen.writer import Writer
from tilepragma.ir.directives import TileKind
from tilepragma.ir.loop_tree import Loop, Tile, TiledLoop


def declare_tile_numbers(
    writer: Writer, printer: Printer, numbers: Numbers, loop: TiledLoop, outermost_count: bool
) -> None:
    """Declare lower, step, trip, counts and strides of `loop`; the first count only on request."""
    wide = printer.dialect.wide
    source = loop.loop
    if literal_value(source.lower) is None:
        writer.line(f"const {wide} {numbers.lower(loop)} = {printer.expression(source.lower, 1)};")
    if literal_value(source.step) is None:
        writer.line(f"const {wide} {numbers.step(loop)} = {printer.expression(source.step, 1)};")
    writer.line(f"const {wide} {numbers.trip(loop)} = {_trip(printer, numbers, loop)};")
    for tile in reversed(loop.tiles):
        if tile.position > 0 or outermost_count:
            writer.line(f"const {wide} {numbers.count(loop, tile)} = {_count(numbers, loop, tile)};")
        if tile.position > 0:
            outer = loop.tiles[tile.position - 1]
            stride = numbers.stride(loop, tile)
            factor = "" if stride == "1" else f" * {stride}"
            writer.line(f"const {wide} {numbers.stride(loop, outer)} = {numbers.count(loop, tile)}{factor};")


def _trip(printer: Printer, numbers: Numbers, loop: TiledLoop) -> str:
    source = loop.loop
    wide = printer.dialect.wide
    lower, upper = numbers.lower(loop), f"({wide}){printer.expression(source.upper, UNARY)}"
    span = f"{lower} - {upper}" if source.decreasing else upper if lower == "0" else f"{upper} - {lower}"
    span += " + 1" if source.comparison in ("<=", ">=") else ""
    return f"tilek_maximum(0, tilek_ceiling_quotient({span}, {_step_size(numbers, loop, source)}))"


def _step_size(numbers: Numbers, loop: TiledLoop, source: Loop) -> str:
    literal = literal_value(source.step)
    if literal is not None:
        return str(abs(literal))
    return f"-{numbers.step(loop)}" if source.decreasing else numbers.step(loop)


def _count(numbers: Numbers, loop: TiledLoop, tile: Tile) -> str:
    if tile.axis is not None:
        return numbers.axis_count(tile.axis)
    if tile.kind is TileKind.STATIC:
        return numbers.tile_argument(loop, tile)
    stride = numbers.stride(loop, tile)
    dynamic = next((tile_.position for tile_ in loop.tiles if tile_.kind is TileKind.DYNAMIC), len(loop.tiles))
    if tile.position > dynamic:
        return f"tilek_ceiling_quotient({numbers.tile_argument(loop, tile)}, {stride})"
    extent, factors = numbers.trip(loop), [stride]
    for outer in loop.tiles[: tile.position]:
        if outer.kind is TileKind.SIZE:
            extent, factors = numbers.tile_argument(loop, outer), [stride]
        else:
            factors.append(numbers.count(loop, outer) if outer.axis is None else numbers.axis_count(outer.axis))
            if outer.kind is TileKind.STATIC:
                factors[-1] = numbers.tile_argument(loop, outer)
    divisor = " * ".join(factor for factor in factors if factor != "1") or "1"
    return f"tilek_ceiling_quotient({extent}, {divisor})"
