"""Tile nests as loops for every target: distributed tiles, tile loops, point loops, guards.

All numbers outside the point loops are iterations, in 64 bits. The point loop runs over the user's
iterator.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.launch_numbers import Numbers, tile_label
from tilepragma.codegen.loop_heads import loop_head, with_declared_bounds
from tilepragma.codegen.loop_hints import LoopHints, loop_hints
from tilepragma.codegen.manifest import axis_name
from tilepragma.codegen.printer import Printer
from tilepragma.codegen.tile_numbers import declare_tile_numbers
from tilepragma.codegen.writer import Writer
from tilepragma.ir.directives import AxisKind, TileKind
from tilepragma.ir.expressions import Access
from tilepragma.ir.loop_tree import Block, Tile, TiledLoop, TileNest
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ScalarType


@dataclass(frozen=True)
class NestPrinter:
    """Prints tile nests. Tiles of the axes in `bound` get their index from outside; other
    distributed tiles become loops. `in_rounds`: a worker's share of a distributed loop is counted
    in rounds, which the text may name.
    """

    writer: Writer
    printer: Printer
    numbers: Numbers
    bound: frozenset[AxisKind]
    print_block: Callable[[Block], None]
    in_rounds: bool = False

    def nest(self, nest: TileNest) -> None:
        """Print the nest with its body."""
        _Nest(self, nest).print()

    def is_bound(self, tile: Tile) -> bool:
        """Whether the tile's index is known outside the nest."""
        return tile.axis is not None and tile.axis.kind in self.bound


class _Nest:
    """The state of printing one nest: the tile iterators of each loop that are declared so far."""

    def __init__(self, context: NestPrinter, nest: TileNest) -> None:
        self.context = context
        self.nest = nest
        self.writer = context.writer
        self.numbers = context.numbers
        self.wide = context.printer.dialect.wide
        self.minimum = context.printer.dialect.minimum
        self.loops = {loop.loop.index: loop for loop in nest.loops}
        self.offsets: dict[int, list[str]] = {index: [] for index in self.loops}
        self.read = {node.object for node in walk(nest) if isinstance(node, Access)}
        self.stack = ExitStack()

    def print(self) -> None:
        with self.stack:
            if any(loop.launch_bounds and self._is_distributed(loop) for loop in self.nest.loops):
                self.writer.line("/* Where the distributed tiles of this instance begin, in iterations. */")
            for loop in self.nest.loops:
                if loop.launch_bounds:
                    self._bind(loop)
            entered = {index for index, loop in self.loops.items() if loop.launch_bounds}
            for tile in self._order():
                loop = self.loops[tile.loop]
                if tile.loop not in entered:
                    self._enter(loop)
                    entered.add(tile.loop)
                self._loop(loop, tile)
            for index, loop in self.loops.items():
                if index not in entered:
                    self._enter(loop)
            self.context.print_block(self.nest.body)

    def _is_distributed(self, loop: TiledLoop) -> bool:
        return any(self.context.is_bound(tile) for tile in loop.tiles)

    def _order(self) -> list[Tile]:
        """The tiles that become loops. If a loop's numbers are not known at the nest's head, its
        distributed tile waits for the loop's first other tile, or for the end.
        """
        order: list[Tile] = []
        waiting: dict[int, list[Tile]] = {}
        for tile in self.nest.order:
            if self.context.is_bound(tile):
                continue
            if not self.loops[tile.loop].launch_bounds and tile.axis is not None:
                waiting.setdefault(tile.loop, []).append(tile)
                continue
            order += [*waiting.pop(tile.loop, []), tile]
        for tiles in waiting.values():
            order += tiles
        return order

    def _enter(self, loop: TiledLoop) -> None:
        """Compute the numbers of a loop with bounds from outer iterators, then bind its tiles."""
        if not _is_plain(loop):
            others = [tile for tile in self._order() if tile.loop == loop.loop.index]
            counted = any(tile.position == 0 for tile in others[:-1])
            name = self.context.printer.name(loop.loop.iterator)
            self.writer.line(f"/* Tiles of {name}, by Algorithm 1; its bounds depend on the loops around it. */")
            declare_tile_numbers(self.writer, self.context.printer, self.numbers, loop, counted)
        self._bind(loop)

    def _bind(self, loop: TiledLoop) -> None:
        for tile in loop.tiles:
            if self.context.is_bound(tile) and tile.axis is not None:
                name = self.numbers.name(loop, tile_label(loop, tile))
                index = self.numbers.fresh(axis_name(tile.axis))
                self.writer.line(f"const {self.wide} {name} = {_product(index, self.numbers.stride(loop, tile))};")
                self.offsets[loop.loop.index].append(name)
        if all(self.context.is_bound(tile) for tile in loop.tiles):
            self._guard(loop)

    def _guard(self, loop: TiledLoop) -> None:
        """`if (point < trip)`: all tiles are distributed."""
        point = " + ".join(self.offsets[loop.loop.index])
        self.stack.enter_context(self.writer.block(f"if ({point} < {self.numbers.trip(loop)})"))
        self._declare_iterator(loop, point)

    def _declare_iterator(self, loop: TiledLoop, point: str) -> None:
        if loop.loop.iterator in self.read:
            self.writer.line(f"const {self._declared(loop)} = {self._value(loop, point)};")

    def _loop(self, loop: TiledLoop, tile: Tile) -> None:
        others = [candidate for candidate in self._order() if candidate.loop == tile.loop]
        if tile != others[-1]:
            self._tile_loop(loop, tile)
        elif _is_plain(loop) and not loop.launch_bounds:
            self._as_written(loop, tile)
        else:
            self._point_loop(loop, tile)

    def _tile_loop(self, loop: TiledLoop, tile: Tile) -> None:
        name = self.numbers.name(loop, tile_label(loop, tile))
        stride = self.numbers.stride(loop, tile)
        end = _product(self.numbers.count(loop, tile), stride)
        advance = f"++{name}" if stride == "1" else f"{name} += {stride}"
        self.stack.enter_context(self.writer.block(f"for ({self.wide} {name} = 0; {name} < {end}; {advance})"))
        self.offsets[tile.loop].append(name)

    def _point_loop(self, loop: TiledLoop, tile: Tile) -> None:
        start = " + ".join(self.offsets[tile.loop])
        stride = self.numbers.stride(loop, tile)
        trip = self.numbers.trip(loop)
        end = trip
        if tile.position > 0:
            extent = _product(self.numbers.count(loop, tile), stride)
            end = f"{self.minimum}({start} + {extent}, {trip})" if start else f"{self.minimum}({extent}, {trip})"
        if counts_in_iterations(loop):
            point, last = self.numbers.name(loop, "point"), self.numbers.name(loop, "end")
            self.writer.line(f"const {self.wide} {last} = {end};")
            self._unroll(loop, tile)
            head = f"for ({self.wide} {point} = {start or '0'}; {point} < {last}; {_advance(point, stride)})"
            self.stack.enter_context(self.writer.block(head, self._single_iteration_exit(loop, tile)))
            self._body_hints(loop, tile)
            self._declare_iterator(loop, point)
            return
        last = self.numbers.name(loop, "end")
        iterator = self.context.printer.name(loop.loop.iterator)
        type_ = self.context.printer.type(loop.loop.iterator.element)
        self.writer.line(f"const {type_} {last} = {self._value(loop, end)};")
        if self.context.in_rounds and any(tile.kind is TileKind.WORKER for tile in loop.tiles):
            self._rounds(loop, tile, start, last)
            return
        self._unroll(loop, tile)
        comparison = ">" if loop.loop.decreasing else "<"
        first = self._value(loop, start)
        advance = _advance(iterator, stride, self.numbers.step(loop))
        head = f"for ({self._declared(loop)} = {first}; {iterator} {comparison} {last}; {advance})"
        self.stack.enter_context(self.writer.block(head, self._single_iteration_exit(loop, tile)))
        self._body_hints(loop, tile)

    def _rounds(self, loop: TiledLoop, tile: Tile, start: str, last: str) -> None:
        """A loop over a worker's rounds, a constant number in specialised programs."""
        iterator, count = self.numbers.name(loop, "round"), self.numbers.count(loop, tile)
        point = f"{start} + {_product(iterator, self.numbers.stride(loop, tile))}"
        self.writer.line(self.context.printer.dialect.unroll)
        self.stack.enter_context(self.writer.block(f"for (int {iterator} = 0; {iterator} < {count}; ++{iterator})"))
        self.writer.line(f"const {self._declared(loop)} = {self._value(loop, point)};")
        name = self.context.printer.name(loop.loop.iterator)
        self.writer.line(f"if ({name} >= {last}) break;")

    def _single_iteration_exit(self, loop: TiledLoop, tile: Tile) -> str:
        """The last line of a loop to which the distributed tiles may leave one iteration, on
        devices. With the count as a constant, the compiler sees that no loop is left, and can
        vectorise over workers.
        """
        if (
            AxisKind.WORKER not in self.context.bound
            or not loop.launch_bounds
            or tile.position > 0
            or len(loop.tiles) == 1
        ):
            return ""
        return f"if ({self.numbers.count(loop, tile)} == 1) break;"

    def _as_written(self, loop: TiledLoop, tile: Tile) -> None:
        """The user's loop, for one dynamic tile whose bounds are known here only."""
        printer, source = self.context.printer, loop.loop
        declared = self._declared(loop)
        source = with_declared_bounds(self.writer, printer, self.numbers, source, declared)
        self._unroll(loop, tile)
        self.stack.enter_context(self.writer.block(loop_head(printer, source, declared)))
        self._body_hints(loop, tile)

    def _declared(self, loop: TiledLoop) -> str:
        return self.context.printer.type(loop.loop.iterator.element, self.context.printer.name(loop.loop.iterator))

    def _body_hints(self, loop: TiledLoop, tile: Tile) -> None:
        """Print the hints for the loop that was opened last."""
        for line in self._hints(loop, tile).inside:
            self.writer.line(line)

    def _hints(self, loop: TiledLoop, tile: Tile) -> LoopHints:
        if loop.loop.index != self._order()[-1].loop or self.numbers.stride(loop, tile) != "1":
            return LoopHints()
        return loop_hints(self.context.printer.dialect, loop.loop.iterator, loop.loop.step, self.nest.body)

    def _unroll(self, loop: TiledLoop, tile: Tile) -> None:
        for line in self._hints(loop, tile).before:
            self.writer.line(line)
        directive = loop.loop.directive
        if directive is not None and directive.unroll is not None:
            compiler = "" if self.context.printer.dialect.device else "GCC "
            self.writer.line(f"#pragma {compiler}unroll {directive.unroll}")

    def _value(self, loop: TiledLoop, point: str) -> str:
        """The iterator's value at iteration `point`: lower + step * point."""
        lower, step = self.numbers.lower(loop), self.numbers.step(loop)
        if point in ("", "0"):
            return lower
        inner = f"({point})" if " " in point and not point.startswith(self.minimum) else point
        if step == "1":
            return point if lower == "0" else f"{lower} + {point}"
        if step == "-1":
            return f"-{inner}" if lower == "0" else f"{lower} - {inner}"
        scaled = f"{step} * {inner}"
        return scaled if lower == "0" else f"{lower} + {scaled}"


def _is_plain(loop: TiledLoop) -> bool:
    return len(loop.tiles) == 1 and loop.tiles[0].kind is TileKind.DYNAMIC


def counts_in_iterations(loop: TiledLoop) -> bool:
    """Whether the loop counts iterations: its iterator may overflow one stride past the end."""
    type_ = loop.loop.iterator.element
    if not isinstance(type_, ScalarType) or type_.bits < 32:
        return True
    return loop.loop.decreasing and not type_.signed


def _product(left: str, right: str) -> str:
    if left == "1" or right == "1":
        return right if left == "1" else left
    return f"{left} * {right}"


def _advance(iterator: str, stride: str, step: str = "1") -> str:
    if stride == "1" and step in ("1", "-1"):
        return f"{'++' if step == '1' else '--'}{iterator}"
    if step.startswith("-"):
        return f"{iterator} -= {_product(step[1:], stride)}"
    return f"{iterator} += {_product(step, stride)}"
