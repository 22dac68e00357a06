"""Array tiles in shared memory: their sizes, their cooperative copies, and the accesses to them.

The program's text decides. With constant numbers of workers, the compiler sees whether the tiles
fit, and drops dead code. With numbers as arguments, the program declares a pool for the array
tiles, and the kernel tests whether they fit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.convergent_nests import Ends, Moved, inner_ends
from tilepragma.codegen.dialect import Dialect
from tilepragma.codegen.launch_numbers import Numbers
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.manifest import axis_name
from tilepragma.codegen.numbering import used_dimensions
from tilepragma.codegen.printer import Flat, Printer
from tilepragma.codegen.staged_tile import StagedTile
from tilepragma.codegen.tile_copies import TileCopies
from tilepragma.codegen.vector_copies import WIDE_BYTES, begins_of_loops, vector_of
from tilepragma.codegen.writer import Writer
from tilepragma.ir.directives import AxisKind, TileKind
from tilepragma.ir.expressions import (
    Access,
    Binary,
    DataObject,
    Expression,
    access_to,
    local_scalar,
)
from tilepragma.ir.loop_tree import Axis, Block, Stage, StagedSide, TileNest
from tilepragma.ir.loop_tree_text import subscripts_text
from tilepragma.ir.polynomial import Polynomial, expression, number, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.types import INT, LONG, Type
from tilepragma.plan.kernel_plan import Launch
from tilepragma.plan.summary import copies_ahead, staged_arrays
from tilepragma.poly.reference_spans import Values, settled_values, written_out

_WORD = 8
#: The 32-bit registers in which a worker holds elements of the next tile.
_MOST_HELD = 16
#: Sizes of elements in bytes that CUDA copies without a register.
_ASYNC_SIZES = (4, 8)


@dataclass(frozen=True)
class StagedMacros:
    """Macros of an entry point.

    `words` of shared memory that the array tiles take (with the value as text); `fits`: whether a
    gang has as many; `pool`: how many words are declared.

    For double buffering: `twice`: whether the array tiles fit twice. `held`: whether a worker holds
    its elements in registers until their tile is computed, since the `cost`, in 32-bit registers,
    is at most `most`. `each`: how many elements a worker copies of each array tile, with the value.
    `async_sizes`: the element sizes in bytes that the device copies asynchronously.
    """

    words: str
    value: str
    fits: str
    pool: str
    twice: str = ""
    held: str = ""
    each: tuple[tuple[str, str], ...] = ()
    cost: str = ""
    most: int = _MOST_HELD
    async_sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class StagingPrinter:
    """Prints the array tiles of one launch. `printer` prints the launch's arrays."""

    launch: Launch
    dialect: Dialect
    numbers: Numbers
    printer: Printer

    @cached_property
    def tiles(self) -> tuple[StagedTile, ...]:
        """The array tiles, in textual order."""
        begins, seen = begins_of_loops(self._nest), Counter[DataObject]()
        tiles = []
        for array in staged_arrays(self.launch):
            seen[array.object] += 1
            flat = self.printer.objects.flat[array.object]
            vector = vector_of(array, flat, begins, self.dialect, copies_ahead(self.launch))
            tiles.append(StagedTile(array, seen[array.object], vector, self.numbers, self.printer))
        return tuple(tiles)

    @property
    def _nest(self) -> TileNest:
        assert self.launch.staged is not None, "asked for staged launches only"
        (nest,) = self.launch.staged.statements
        assert isinstance(nest, TileNest), "a staged form is one nest"
        return nest

    def _staged(self, stage: Stage) -> list[StagedTile]:
        return [tile for tile in self.tiles if tile.staged in stage.arrays]

    def macros(self) -> StagedMacros:
        """The macros defined before the entry point."""
        name = self.launch.name.upper()
        value = " + ".join(map(self._words, self.tiles))
        plain = StagedMacros(f"{name}_STAGED_WORDS", value, f"{name}_STAGED", f"{name}_POOL_WORDS")
        if not copies_ahead(self.launch):
            return plain
        sizes = [tile.bytes for tile in self.tiles if tile.bytes in _ASYNC_SIZES]
        sizes += [WIDE_BYTES] if self._has_vectors else []
        costs = [(self._each_macro(tile), tile.bytes // 4) for tile in self.tiles]
        return replace(
            plain,
            twice=f"{name}_TWICE",
            held=f"{name}_HELD",
            each=tuple((self._each_macro(tile), self._each(tile)) for tile in self.tiles),
            cost=" + ".join(count if size < 2 else f"{size} * {count}" for count, size in costs),
            async_sizes=tuple(sizes) if self.dialect.has_async_copies else (),
        )

    def flats(self) -> dict[DataObject, Flat]:
        """The layout of the copies, for accesses by one index."""
        return {tile.copy: Flat(()) for tile in self.tiles}

    def body(self) -> Block:
        """The body of the launch's staged variant, reading the copies."""
        nest = self._nest
        tiles = {(tile.object, text): tile for tile in self.tiles for text in tile.staged.reads}
        values, offsets = settled_values(nest.body), self._offsets(nest)

        def change(access: Access) -> Access:
            tile = tiles.get((access.object, subscripts_text(access.subscripts)))
            if tile is None:
                return access
            index = self._index(tile, access, values, offsets)
            return Access(tile.copy, (index,), access.path, access.type, access.range)

        # A nest's loops keep their identity, since their numbers depend on it.
        return Block((replace(nest, body=with_accesses(nest.body, change)),))

    def _offsets(self, nest: TileNest) -> dict[DataObject, tuple[Polynomial, Polynomial]]:
        """A worker's distances from the first and last iterations of each tile iterator."""
        offsets: dict[DataObject, tuple[Polynomial, Polynomial]] = {}
        for tiled in nest.loops:
            workers = any(tile.kind is TileKind.WORKER for tile in tiled.tiles)
            place = "worker" if tiled.points == 1 else "place"
            worker = _atom(self.numbers.name(tiled, place), INT) if workers else number(0)
            length = _atom(self.numbers.name(tiled, "last"), LONG) - _atom(self.numbers.name(tiled, "first"), LONG)
            offsets[tiled.loop.iterator] = (worker, worker - length)
        for term in (term for tile in self.tiles for side in tile.staged.sides for term in side.terms):
            iterator = term.iterator
            if iterator not in offsets:
                position = of_atom(access_to(iterator))
                ends = [_atom(name, iterator.element) for name in inner_ends(self.numbers, iterator)]
                offsets[iterator] = (position - ends[0], position - ends[1])
        return offsets

    def _index(
        self, tile: StagedTile, access: Access, values: Values, offsets: dict[DataObject, tuple[Polynomial, Polynomial]]
    ) -> Expression:
        """The element's row-major index in the array tile: its subscripts less the origin."""
        total: Expression | None = None
        for dimension, (subscript, side) in enumerate(zip(access.subscripts, tile.staged.sides, strict=True)):
            value = written_out(polynomial(subscript), values)
            assert value is not None, "subscripts are sums"
            value = value - polynomial(side.least)
            for term in side.terms:
                factor = number(term.coefficient)
                offset = offsets[term.iterator][0 if term.coefficient > 0 else 1]
                value = value - factor * of_atom(access_to(term.iterator)) + factor * offset
            # Array tiles are small, so an int holds an index.
            place = expression(value, INT)
            if total is None:
                total = place
                continue
            pitch = tile.size(dimension) if dimension < tile.rank - 1 else tile.pitch
            total = Binary("+", Binary("*", total, local_scalar(pitch, INT), INT), place, INT)
        assert total is not None, "arrays have dimensions"
        return total

    def declare(self, writer: Writer) -> None:
        """Declare the pool, at the head of the entry point."""
        aligned = f" __attribute__((aligned({WIDE_BYTES})))" if self._has_vectors else ""
        writer.line(f"{self.dialect.local_space}{self.dialect.wide} {self._pool()}[{self.macros().pool}]{aligned};")

    def start(self, writer: Writer) -> None:
        """Declare the array tiles' places in the pool, and their sizes."""
        if not copies_ahead(self.launch):
            self._point(writer, [tile.name for tile in self.tiles])
        for tile in self.tiles:
            for dimension, side in enumerate(tile.staged.sides):
                writer.line(f"const int {tile.size(dimension)} = {self._length(side)};")
            if tile.staged.odd is not None:
                writer.line(f"const int {tile.pitch} = {self._last_size(tile)};")
        axes = used_dimensions(self.launch, AxisKind.WORKER)
        index = ""
        for axis in reversed(axes):
            worker_index = self.numbers.fresh(axis_name(axis))
            around = f"({index})" if " + " in index else index
            index = f"{around} * {self.numbers.axis_count(axis)} + {worker_index}" if index else worker_index
        writer.line(f"const int {self.numbers.fresh('worker')} = {index};")
        writer.line(
            f"const int {self.numbers.fresh('workers')} = {' * '.join(self.numbers.axis_count(axis) for axis in axes)};"
        )

    def _point(self, writer: Writer, names: list[str], beyond: str = "") -> None:
        """Set the pointers to the array tiles in the pool, `beyond` so many words."""
        offsets = [beyond] if beyond else []
        space = self.dialect.pointed_local_space
        for tile, name in zip(self.tiles, names, strict=True):
            place = " + ".join([self._pool(), *offsets])
            pointer = self.printer.type(tile.object.element, "*")
            declared = self.printer.type(tile.object.element, f"*const {name}")
            inner = place if not offsets else f"({place})"
            writer.line(f"{space}{declared} = ({space}{pointer}){inner};")
            offsets.append(self._words(tile))

    def stage(self, writer: Writer, stage: Stage, ends: Ends, some: str) -> None:
        """The copies of one stage; consecutive workers take consecutive elements."""
        writer.line("/* What the gang's tile reads, copied by all of its workers. */")
        self._begins(writer, stage, ends, lambda least: least)
        with writer.block(f"if ({some})"):
            for tile in self._staged(stage):
                self._spans(writer, tile, ends)
                TileCopies(writer, self.dialect, tile).copy(tile.name)

    def start_ahead(self, writer: Writer, step: str) -> str:
        """Start double buffering: one half of the pool is read, the other filled; how far ahead."""
        writer.line(f"int {self._half()} = 0;")
        return f"({self.macros().twice} ? {step} : 0)"

    def copy_ahead(self, writer: Writer, stage: Stage, ends: Ends, some: str, moved: Moved) -> None:
        """Copy a tile into the other half, or into registers for it; else into the only half."""
        macros, half = self.macros(), self._half()
        self._point(writer, [tile.name for tile in self.tiles], half)
        other = self.numbers.fresh("other")
        writer.line(f"const int {other} = {macros.twice} ? {macros.words} - {half} : {half};")
        self._point(writer, [tile.next for tile in self.tiles], other)
        for tile in self._staged(stage):
            register = self.printer.type(tile.object.element, tile.held)
            writer.line(f"{register}[{macros.held} ? {self._each_macro(tile)} : 1];")
        self._begins(writer, stage, ends, moved)
        with writer.block(f"if ({some})"):
            for tile in self._staged(stage):
                self._spans(writer, tile, ends)
                copies = TileCopies(writer, self.dialect, tile, macros.async_sizes, ahead=True)
                with writer.block(f"if ({macros.held})"):
                    with copies.held(self._each_macro(tile)) as (each, places):
                        writer.line(f"if ({tile.tests(places)}) {tile.held}[{each}] = {tile.source(places)};")
                    writer.otherwise()
                    copies.copy(tile.next)
        with writer.block(f"if (!{macros.twice})"):
            self._meet(writer)

    def finish_ahead(self, writer: Writer, stage: Stage, ends: Ends, some: str) -> None:
        """Store what registers hold in the other half, which the next tile reads."""
        macros, half = self.macros(), self._half()
        with writer.block(f"if ({macros.held} && {some})"):
            for tile in self._staged(stage):
                self._spans(writer, tile, ends)
                with TileCopies(writer, self.dialect, tile).held(self._each_macro(tile)) as (each, places):
                    target = f"{tile.next}[{tile.index(places)}]"
                    writer.line(f"if ({tile.tests(places)}) {target} = {tile.held}[{each}];")
        self._meet(writer)
        writer.line(f"{half} = {macros.twice} ? {macros.words} - {half} : {half};")

    def _meet(self, writer: Writer) -> None:
        if self.dialect.has_async_copies:
            writer.line("tilek_wait_for_copies();")
        writer.line(self.dialect.barrier)

    def _begins(self, writer: Writer, stage: Stage, ends: Ends, moved: Moved) -> None:
        for tile in self._staged(stage):
            for dimension, side in enumerate(tile.staged.sides):
                lower = self._least(side, ends, moved)
                writer.line(f"const {self.dialect.index} {tile.lower(dimension)} = {lower};")

    def _spans(self, writer: Writer, tile: StagedTile, ends: Ends) -> None:
        for dimension, side in enumerate(tile.staged.sides):
            writer.line(f"const int {tile.span(dimension)} = {self._span(side, ends)};")

    def _least(self, side: StagedSide, ends: Ends, moved: Moved) -> str:
        """The least index of a dimension in this tile."""
        text = ""
        for term in side.terms:
            end = ends[term.iterator][0 if term.coefficient > 0 else 1]
            size = abs(term.coefficient)
            scaled = (
                _operand(end)
                if size == 1 and term.coefficient < 0
                else end
                if size == 1
                else f"{size} * {_operand(end)}"
            )
            text = _sum(text, scaled, negative=term.coefficient < 0)
        literal = literal_value(side.least)
        if literal is None:
            return _sum(text, self.printer.expression(moved(side.least), 12), negative=False)
        return _sum(text, str(abs(literal)), negative=literal < 0) if literal or not text else text

    def _span(self, side: StagedSide, ends: Ends) -> str:
        """The elements of a dimension in this tile: sum of |c| (last - first) + one iteration's."""
        text = ""
        for term in side.terms:
            first, last = ends[term.iterator]
            size = abs(term.coefficient)
            difference = f"{last} - {_operand(first)}"
            text = _sum(text, difference if size == 1 else f"{size} * ({difference})", negative=False)
        return _sum(text, str(side.width + 1), negative=False)

    def _length(self, side: StagedSide) -> str:
        """`worker0_count + 2`: the elements of a dimension in a full tile."""
        number = side.width + 1
        terms = []
        for term in side.terms:
            size = abs(term.coefficient)
            number -= size
            if isinstance(term.extent, Axis):
                count, points = self.numbers.axis_count(term.extent), size * term.points
                terms.append(count if points == 1 else f"{points} * {count}")
            else:
                number += size * term.extent
        if number or not terms:
            return " + ".join([*terms, str(number)]).replace("+ -", "- ")
        return " + ".join(terms)

    def _last_size(self, tile: StagedTile) -> str:
        text = self._length(tile.staged.sides[-1])
        if tile.staged.odd is None:
            return text
        if text.isdigit():
            return str(int(text) + (int(text) % 2 != tile.staged.odd))
        return f"({text}) | 1" if tile.staged.odd else f"({text}) + ({text}) % 2"

    def _words(self, tile: StagedTile) -> str:
        """The words of the pool that an array tile takes, rounded up to its vectors."""
        sizes = [self._length(side) for side in tile.staged.sides[:-1]] + [self._last_size(tile)]
        product, size = " * ".join(map(_operand, sizes)), tile.bytes
        if self._has_vectors:
            return f"({product} * {size} + {WIDE_BYTES - 1}) / {WIDE_BYTES} * {WIDE_BYTES // _WORD}"
        return product if size == _WORD else f"({product} * {size} + {_WORD - 1}) / {_WORD}"

    def _each(self, tile: StagedTile) -> str:
        """The most elements that a worker copies."""
        axes = used_dimensions(self.launch, AxisKind.WORKER)
        workers = " * ".join(self.numbers.axis_count(axis) for axis in axes)
        product = " * ".join(_operand(self._length(side)) for side in tile.staged.sides)
        return f"({product} + {workers} - 1) / ({workers})"

    def _each_macro(self, tile: StagedTile) -> str:
        return f"{self.launch.name}_{tile.called('each')}".upper()

    @property
    def _has_vectors(self) -> bool:
        return any(tile.vector is not None for tile in self.tiles)

    def _pool(self) -> str:
        return self.numbers.fresh("pool")

    def _half(self) -> str:
        return self.numbers.fresh("present")


def _atom(name: str, type_: Type) -> Polynomial:
    return of_atom(local_scalar(name, type_))


def _sum(left: str, right: str, *, negative: bool) -> str:
    if not left:
        return f"-{right}" if negative else right
    return f"{left} {'-' if negative else '+'} {right}"


def _operand(text: str) -> str:
    return f"({text})" if " " in text else text
