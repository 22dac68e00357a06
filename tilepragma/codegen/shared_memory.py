"""Array tiles and scratchpads in shared memory: their sizes, their copies, the accesses to them.

The program's text decides. With constant numbers of workers, or constant tile sizes, the compiler
sees whether the arrays fit, and drops dead code. With numbers as arguments, the program declares a
pool for the arrays, and the kernel tests whether they fit.

A gang's workers copy an array tile together: whole vectors first, then elements.

int A_vectors = …the array, its rows and the tile begin at multiples of 16 bytes, and the tile's
rows are whole… ? A_size1 / 4 : 0; const int A_single = A_size1 - 4 * A_vectors;
for (at …) …at0, at1 of a vector…  if (…in the tile…) …16 bytes…
for (at …) …at0, at1 behind the vectors…  if (…in the tile…) …an element…

The two loops copy each element once: a row is A_vectors vectors and A_single elements. A vector
lies inside the tile or outside, since the tile's rows are whole vectors or as long as the array
tile's. So proofs about array tiles hold for both loops, and they read only elements of array tiles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.dialect import Dialect
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.numbering import Numbers, used_dimensions
from tilepragma.codegen.printer import Flat, Printer
from tilepragma.codegen.writer import Writer
from tilepragma.ir.directives import AxisKind, TileKind
from tilepragma.ir.expressions import (
    Access,
    Binary,
    DataObject,
    Expression,
    Scope,
    Storage,
    access_to,
    local_scalar,
)
from tilepragma.ir.loop_tree import Axis, Block, Loop, Scratchpad, Stage, Staged, StagedSide, TileNest
from tilepragma.ir.loop_tree_text import subscripts_text
from tilepragma.ir.polynomial import Polynomial, expression, number, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INT, LONG, ScalarType, Type
from tilepragma.plan.kernel_plan import Launch
from tilepragma.plan.summary import copies_ahead, staged_arrays
from tilepragma.poly.reference_spans import Values, settled_values, written_out

_WORD = 8
#: Bytes of a vector.
WIDE_BYTES = 16
#: The 32-bit registers in which a worker holds elements of the next tile.
_MOST_HELD = 16
#: Sizes of elements in bytes that CUDA copies without a register.
_ASYNC_SIZES = (4, 8)

#: The first and the last value of an iterator in the gang's tile, as text.
Ends = dict[DataObject, tuple[str, str]]
#: An expression as it is in another tile.
Moved = Callable[[Expression], Expression]


def named_ends(numbers: Numbers, prefix: str) -> tuple[str, str]:
    """The names of the first and the last value of the iterator `prefix` in a tile."""
    return numbers.fresh(f"{prefix}_first"), numbers.fresh(f"{prefix}_last")


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


def _pool_macros(launch: Launch, words: Iterable[str]) -> StagedMacros:
    name = launch.name.upper()
    return StagedMacros(f"{name}_STAGED_WORDS", " + ".join(words), f"{name}_STAGED", f"{name}_POOL_WORDS")


def _pointer(printer: Printer, element: Type, name: str, offsets: Sequence[str]) -> str:
    """The declaration of a pointer into shared memory, at the sum of the pool and `offsets`."""
    space = printer.dialect.pointed_local_space
    place = " + ".join(offsets) if len(offsets) == 1 else f"({' + '.join(offsets)})"
    return f"{space}{printer.type(element, f'*const {name}')} = ({space}{printer.type(element, '*')}){place};"


@dataclass(frozen=True)
class StagingPrinter:
    """Prints the array tiles of one launch. `printer` prints the launch's arrays."""

    launch: Launch
    numbers: Numbers
    printer: Printer

    @cached_property
    def tiles(self) -> tuple[StagedTile, ...]:
        """The array tiles, in textual order."""
        begins, seen = _begins_of_loops(self._nest), Counter[DataObject]()
        tiles = []
        for array in staged_arrays(self.launch):
            seen[array.object] += 1
            flat = self.printer.objects.flat[array.object]
            vector = _vector_of(array, flat, begins, self.printer.dialect, copies_ahead(self.launch))
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

    @cached_property
    def macros(self) -> StagedMacros:
        """The macros defined before the entry point."""
        name = self.launch.name.upper()
        plain = _pool_macros(self.launch, map(self._words, self.tiles))
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
            async_sizes=tuple(sizes) if self.printer.dialect.has_async_copies else (),
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
                ends = [_atom(name, iterator.element) for name in named_ends(self.numbers, iterator.name)]
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
            pitch = tile.sizes[dimension] if dimension < len(tile.sizes) - 1 else tile.pitch
            total = Binary("+", Binary("*", total, local_scalar(pitch, INT), INT), place, INT)
        assert total is not None, "arrays have dimensions"
        return total

    def declare(self, writer: Writer) -> None:
        """Declare the pool, at the head of the entry point."""
        aligned = f" __attribute__((aligned({WIDE_BYTES})))" if self._has_vectors else ""
        dialect = self.printer.dialect
        writer.line(f"{dialect.local_space}{dialect.wide} {self._pool()}[{self.macros.pool}]{aligned};")

    def start(self, writer: Writer) -> None:
        """Declare the array tiles' places in the pool, and their sizes."""
        if not copies_ahead(self.launch):
            self._point(writer, [tile.name for tile in self.tiles])
        for tile in self.tiles:
            for size, side in zip(tile.sizes, tile.staged.sides, strict=True):
                writer.line(f"const int {size} = {self._length(side)};")
            if tile.staged.odd is not None:
                writer.line(f"const int {tile.pitch} = {self._last_size(tile)};")
        axes = used_dimensions(self.launch, AxisKind.WORKER)
        writer.line(f"const int {self.numbers.fresh('worker')} = {self.numbers.linear_index(axes)};")
        writer.line(f"const int {self.numbers.fresh('workers')} = {self.numbers.total(axes)};")

    def _point(self, writer: Writer, names: list[str], beyond: str = "") -> None:
        """Set the pointers to the array tiles in the pool, `beyond` so many words."""
        offsets = [self._pool(), *([beyond] if beyond else [])]
        for tile, name in zip(self.tiles, names, strict=True):
            writer.line(_pointer(self.printer, tile.object.element, name, offsets))
            offsets.append(self._words(tile))

    def stage(self, writer: Writer, stage: Stage, ends: Ends, some: str) -> None:
        """The copies of one stage; consecutive workers take consecutive elements."""
        writer.line("/* What the gang's tile reads, copied by all of its workers. */")
        self._begins(writer, stage, ends, lambda least: least)
        with writer.block(f"if ({some})"):
            for tile in self._staged(stage):
                self._spans(writer, tile, ends)
                tile.print_copy(writer, tile.name)

    def start_ahead(self, writer: Writer, step: str) -> str:
        """Start double buffering: one half of the pool is read, the other filled; how far ahead."""
        writer.line(f"int {self._half()} = 0;")
        return f"({self.macros.twice} ? {step} : 0)"

    def copy_ahead(self, writer: Writer, stage: Stage, ends: Ends, some: str, moved: Moved) -> None:
        """Copy a tile into the other half, or into registers for it; else into the only half."""
        macros, half = self.macros, self._half()
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
                with writer.block(f"if ({macros.held})"):
                    with tile.each_held(writer, self._each_macro(tile)) as (each, places):
                        writer.line(f"if ({tile.tests(places)}) {tile.held}[{each}] = {tile.source(places)};")
                    writer.otherwise()
                    tile.print_copy(writer, tile.next, macros.async_sizes)
        with writer.block(f"if (!{macros.twice})"):
            self._meet(writer)

    def finish_ahead(self, writer: Writer, stage: Stage, ends: Ends, some: str) -> None:
        """Store what registers hold in the other half, which the next tile reads."""
        macros, half = self.macros, self._half()
        with writer.block(f"if ({macros.held} && {some})"):
            for tile in self._staged(stage):
                self._spans(writer, tile, ends)
                with tile.each_held(writer, self._each_macro(tile)) as (each, places):
                    target = f"{tile.next}[{tile.index(places)}]"
                    writer.line(f"if ({tile.tests(places)}) {target} = {tile.held}[{each}];")
        self._meet(writer)
        writer.line(f"{half} = {macros.twice} ? {macros.words} - {half} : {half};")

    def _meet(self, writer: Writer) -> None:
        if self.printer.dialect.has_async_copies:
            writer.line("tilek_wait_for_copies();")
        writer.line(self.printer.dialect.barrier)

    def _begins(self, writer: Writer, stage: Stage, ends: Ends, moved: Moved) -> None:
        for tile in self._staged(stage):
            for lower, side in zip(tile.lowers, tile.staged.sides, strict=True):
                least = self._least(side, ends, moved)
                writer.line(f"const {self.printer.dialect.index} {lower} = {least};")

    def _spans(self, writer: Writer, tile: StagedTile, ends: Ends) -> None:
        for span, side in zip(tile.spans, tile.staged.sides, strict=True):
            writer.line(f"const int {span} = {self._span(side, ends)};")

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
        sizes = [*map(self._length, tile.staged.sides[:-1]), self._last_size(tile)]
        return _words(sizes, tile.bytes, WIDE_BYTES if self._has_vectors else _WORD)

    def _each(self, tile: StagedTile) -> str:
        """The most elements that a worker copies."""
        workers = self.numbers.total(used_dimensions(self.launch, AxisKind.WORKER))
        product = " * ".join(_operand(self._length(side)) for side in tile.staged.sides)
        return f"({product} + {workers} - 1) / ({workers})"

    def _each_macro(self, tile: StagedTile) -> str:
        return f"{self.launch.name}_{tile.each}".upper()

    @property
    def _has_vectors(self) -> bool:
        return any(tile.vector is not None for tile in self.tiles)

    def _pool(self) -> str:
        return self.numbers.fresh("pool")

    def _half(self) -> str:
        return self.numbers.fresh("present")


@dataclass(frozen=True)
class ScratchpadPool:
    """Prints the scratchpads of one staged launch (`Launch.staged_scratchpads`), whose lengths are
    sums of tile sizes. `printer` prints the launch's arrays.
    """

    launch: Launch
    numbers: Numbers
    printer: Printer

    @cached_property
    def macros(self) -> StagedMacros:
        """The macros defined before the entry point."""
        return _pool_macros(self.launch, map(self._words, self.launch.staged_scratchpads))

    def body(self) -> Block:
        """The body of the launch's staged variant."""
        assert self.launch.staged is not None, "asked for staged launches only"
        return self.launch.staged

    def flats(self) -> dict[DataObject, Flat]:
        """The layout of each scratchpad, for accesses by one index."""
        return {
            scratchpad.object: Flat(
                tuple(self._length(scratchpad, place) for place in range(1, scratchpad.object.rank))
            )
            for scratchpad in self.launch.staged_scratchpads
        }

    def declare(self, writer: Writer) -> None:
        """Declare the pool, at the head of the entry point."""
        writer.line(f"{self.printer.dialect.local_space}{self.printer.dialect.wide} {self._pool}[{self.macros.pool}];")

    def start(self, writer: Writer) -> None:
        """Declare the scratchpads' pointers into the pool, and the lengths of their rows."""
        offsets = [self._pool]
        for scratchpad in self.launch.staged_scratchpads:
            object_ = scratchpad.object
            writer.line(_pointer(self.printer, object_.element, self.printer.name(object_), offsets))
            for dimension in range(1, object_.rank):
                writer.line(f"const int {self._length(scratchpad, dimension)} = {self._text(scratchpad, dimension)};")
            offsets.append(self._words(scratchpad))

    @property
    def _pool(self) -> str:
        return self.numbers.fresh("pool")

    def _length(self, scratchpad: Scratchpad, dimension: int) -> str:
        return self.numbers.fresh(f"{scratchpad.object.name}_length{dimension}")

    def _text(self, scratchpad: Scratchpad, dimension: int) -> str:
        length = scratchpad.object.lengths[dimension]
        assert length is not None, "scratchpads have lengths"
        return self.printer.expression(length, 1)

    def _words(self, scratchpad: Scratchpad) -> str:
        """How many words of the pool a scratchpad takes."""
        element = scratchpad.object.element
        assert isinstance(element, ScalarType), "scratchpads are of numbers"
        sides = [self._text(scratchpad, dimension) for dimension in range(scratchpad.object.rank)]
        return _words(sides, element.bits // 8, _WORD)


class StagedTile:
    """`staged` is array tile `ordinal` of its array, with the names of what the program has for it.
    `vector`: how workers copy it where its tiles lie at multiples of 16 bytes. `printer` prints the
    launch's arrays.
    """

    def __init__(self, staged: Staged, ordinal: int, vector: Vector | None, numbers: Numbers, printer: Printer) -> None:
        self.staged, self.vector, self.numbers, self.printer = staged, vector, numbers, printer
        self.object, element = staged.object, staged.object.element
        assert isinstance(element, ScalarType), "tiles are of numbers"
        self.bytes = element.bits // 8
        dimensions = range(self.object.rank)

        def called(what: str) -> str:
            """`A_staged`; for further tiles of an array, `A_2_staged`."""
            name = self.object.name
            return numbers.fresh(f"{name}_{what}" if ordinal == 1 else f"{name}_{ordinal}_{what}")

        #: Pointers to the copy that is read, and to the one that double buffering fills; the
        #: worker's registers for the latter, and how many these are.
        self.name, self.next, self.held, self.each = map(called, ("staged", "next", "held", "each"))
        #: The elements of each dimension in a full tile, and in the tile that is copied; the least
        #: index of each in that tile.
        self.sizes = [called(f"size{dimension}") for dimension in dimensions]
        self.spans = [called(f"span{dimension}") for dimension in dimensions]
        self.lowers = [called(f"staged{dimension}") for dimension in dimensions]
        #: The distance between rows of the copy.
        self.pitch = called("pitch") if staged.odd is not None else self.sizes[-1]
        #: How many vectors of a row are copied whole, and how many elements one at a time.
        self.vectors, self.single = called("vectors"), called("single")
        #: The object that accesses to the copy mention.
        self.copy = DataObject(self.name, self.name, element, Storage.CONTIGUOUS, Scope.LOCAL, (None,))

    def print_copy(self, writer: Writer, target: str, async_sizes: tuple[int, ...] = ()) -> None:
        """Copy the tile's elements to `target`, a pointer to the array tile. `async_sizes`: bytes
        that copy asynchronously.
        """
        if self.vector is None:
            self._print_elements(writer, target, self.sizes, "", async_sizes)
            return
        *rows, length = self.sizes
        count, span = self.vector.count, self.spans[-1]
        whole = f"({span} % {count} == 0 || {span} == {length})"
        writer.line(f"/* The vectors of {WIDE_BYTES} bytes in a row of the tile, and what is left. */")
        # No constant: compilers would warn of divisions by 0 in a loop that does not run.
        writer.line(f"int {self.vectors} = {self._aligned(self.vector)} && {whole} ? {length} / {count} : 0;")
        passed = f"{count} * {self.vectors}"
        writer.line(f"const int {self.single} = {length} - {passed};")
        self._print_vectors(writer, target, self.vector, [*rows, self.vectors], async_sizes)
        self._print_elements(writer, target, [*rows, self.single], passed, async_sizes)

    def _print_elements(
        self, writer: Writer, target: str, sizes: list[str], passed: str, async_sizes: tuple[int, ...]
    ) -> None:
        """The elements of rows after `passed` ones."""
        with self._each_element(writer, sizes):
            places = self._places(writer, sizes, lambda place: f"{passed} + {place}" if passed else place)
            copied = _copied(f"{target}[{self.index(places)}]", self.source(places), self.bytes, async_sizes)
            writer.line(f"if ({self.tests(places)}) {copied};")

    def _print_vectors(
        self, writer: Writer, target: str, vector: Vector, sizes: list[str], async_sizes: tuple[int, ...]
    ) -> None:
        """Whole vectors where the rows of the copy are aligned; else their components."""
        dialect = self.printer.dialect
        with self._each_element(writer, sizes):
            places = self._places(writer, sizes, lambda place: f"{place} * {vector.count}")
            index = self.index(places)
            source = f"*(const {dialect.global_space}{vector.type} *)&{self.source(places)}"
            if vector.together:
                whole = f"*({dialect.pointed_local_space}{vector.type} *)&{target}[{index}]"
                writer.line(f"if ({self.tests(places)}) {_copied(whole, source, WIDE_BYTES, async_sizes)};")
                return
            value = self.numbers.fresh("value")
            with writer.block(f"if ({self.tests(places)})"):
                writer.line(f"const {vector.type} {value} = {source};")
                for place, component in enumerate("xyzw"[: vector.count]):
                    writer.line(f"{target}[{index}{f' + {place}' if place else ''}] = {value}.{component};")

    @contextmanager
    def _each_element(self, writer: Writer, sizes: list[str]) -> Iterator[None]:
        """A loop over a worker's elements of an array tile; neighbours take neighbours."""
        number, worker, workers = map(self.numbers.fresh, ("at", "worker", "workers"))
        with writer.block(f"for (int {number} = {worker}; {number} < {' * '.join(sizes)}; {number} += {workers})"):
            yield

    @contextmanager
    def each_held(self, writer: Writer, most: str) -> Iterator[tuple[str, list[str]]]:
        """An unrolled loop over `most` elements; yields the number and the coordinates of each."""
        number, each, worker, workers = map(self.numbers.fresh, ("at", "each", "worker", "workers"))
        writer.line(self.printer.dialect.unroll)
        with writer.block(f"for (int {each} = 0; {each} < {most}; ++{each})"):
            writer.line(f"const int {number} = {worker} + {each} * {workers};")
            yield each, self._places(writer, self.sizes)

    def _places(self, writer: Writer, sizes: list[str], in_row: Callable[[str], str] = str) -> list[str]:
        """Declare the coordinates of element `at` of so many, `in_row` in its row; their names."""
        number = self.numbers.fresh("at")
        places = [self.numbers.fresh(f"at{dimension}") for dimension in range(len(sizes))]
        for dimension, place in enumerate(places):
            inner = sizes[dimension + 1 :]
            product = inner[0] if len(inner) == 1 else f"({' * '.join(inner)})"
            value = f"{number} / {product}" if inner else number
            if dimension > 0:
                value = f"{value} % {sizes[dimension]}"
            writer.line(f"const int {place} = {value if inner else in_row(value)};")
        return places

    def index(self, places: list[str]) -> str:
        """The index of an element in the copy."""
        index = places[0]
        for pitch, place in zip([*self.sizes[1:-1], self.pitch], places[1:], strict=False):
            index = f"({index})" if " " in index else index
            index = f"{index} * {pitch} + {place}"
        return index

    def source(self, places: list[str]) -> str:
        """The access to an element in the array."""
        subscripts = tuple(
            Binary("+", local_scalar(lower, LONG), local_scalar(place, LONG), LONG)
            for lower, place in zip(self.lowers, places, strict=True)
        )
        return self.printer.expression(Access(self.object, subscripts, (), self.object.element))

    def _aligned(self, vector: Vector) -> str:
        """Whether the tile's vectors are 16-byte aligned in the array, and in a `together` copy."""
        flat = self.printer.objects.flat[self.object]
        rows = [self.sizes[-1]] if vector.together else []
        if flat.lengths and not flat.lengths[-1].isdigit():
            rows.append(flat.lengths[-1])
        lowers = filter(None, (flat.lowers[-1] if flat.lowers else None, flat.origin))
        begin = " - ".join((self.lowers[-1], *lowers))
        begin = f"({begin})" if " - " in begin else begin
        tests = [f"{row} % {vector.count} == 0" for row in (*rows, begin)]
        return " && ".join([*tests, f"(size_t){self.printer.name(self.object)} % {WIDE_BYTES} == 0"])

    def tests(self, places: list[str]) -> str:
        """Whether the tile has an element."""
        tests = [f"{place} < {span}" for place, span in zip(places, self.spans, strict=True)]
        return " && ".join([*tests, *_in_user_array(self.staged, places, self.spans)])


def _copied(to: str, source: str, size: int, async_sizes: tuple[int, ...]) -> str:
    return f"TILEK_COPY_{size}({to}, {source})" if size in async_sizes else f"{to} = {source}"


def _in_user_array(staged: Staged, places: list[str], spans: list[str]) -> Iterator[str]:
    """Tests that an element lies between the first and last read, where the tile has others."""
    ends = [f"{span} - {by + 1}" for span, by in zip(spans, staged.after, strict=True)] if staged.after else []
    for relation, limits in ((">", [str(by) for by in staged.before]), ("<", ends)):
        if not limits:
            continue
        test = f"{places[-1]} {relation}= {limits[-1]}"
        for place, limit in list(zip(places, limits, strict=True))[-2::-1]:
            inner = f"({test})" if "||" in test else test
            test = f"{place} {relation} {limit} || ({place} == {limit} && {inner})"
        yield f"({test})"


@dataclass(frozen=True)
class Vector:
    """`count` neighbours in a row of an array tile, which workers copy as 16 bytes. `type` is one
    of both targets, with the same component names. `together`: the rows of the copy are whole
    vectors apart, if the workers' dimensions of the tile are, so that whole vectors are stored.
    """

    type: str
    count: int
    together: bool


def _begins_of_loops(nest: TileNest) -> dict[DataObject, int]:
    """The literals that loops of a nest, or tiles of loops inside, begin with."""
    begins: dict[DataObject, int] = {}
    for loop in (*(loop.loop for loop in nest.loops), *(node for node in walk(nest.body) if isinstance(node, Loop))):
        literal = literal_value(loop.lower)
        if literal is None and isinstance(loop.lower, Access):
            literal = begins.get(loop.lower.object)
        if literal is not None:
            begins[loop.iterator] = literal
    return begins


def _vector_of(
    staged: Staged, flat: Flat, begins: Mapping[DataObject, int], dialect: Dialect, ahead: bool
) -> Vector | None:
    """The vectors of an array tile whose tiles mostly begin with one; None: no vectors.

    All vectors of a tile are aligned if the array is, its rows are, and the tile is in its rows.
    The program tests that once for each tile, since sections and the caller's memory begin
    anywhere. The test is worth it unless rows are shorter than a vector, or alignment is impossible
    or not provable. Numbers of workers are assumed to be multiples of the vector's length. Copies
    `ahead` have no vectors whose components would have to wait.
    """
    element, side = staged.object.element, staged.sides[-1]
    # Vectors at the first and the last element that is read would have to be split.
    if not isinstance(element, ScalarType) or element.bits not in (32, 64) or staged.before or staged.after:
        return None
    count, pitch = 8 * WIDE_BYTES // element.bits, flat.lengths[-1] if flat.lengths else ""
    if pitch.isdigit() and int(pitch) % count != 0:
        return None
    by_workers = any(isinstance(term.extent, Axis) for term in side.terms)
    length = side.width + 1 - sum(abs(term.coefficient) for term in side.terms)
    length += sum(abs(term.coefficient) * term.extent for term in side.terms if isinstance(term.extent, int))
    together = length % count == 0 and staged.odd is None
    if (length < count and not by_workers) or (ahead and not together) or not _begins_with_vector(side, begins, count):
        return None
    name = dialect.scalar(element)
    return Vector(f"{dialect.vector_names.get(name, name)}{count}", count, together)


def _begins_with_vector(side: StagedSide, begins: Mapping[DataObject, int], count: int) -> bool:
    """Whether the first tile begins at a multiple of `count`, the others whole vectors later."""
    least = literal_value(side.least)
    if least is None:
        return False
    for term in side.terms:
        begin = begins.get(term.iterator)
        # A term that counts down is least in its last iteration, which borders cut anywhere.
        if begin is None or term.coefficient < 0:
            return False
        if not isinstance(term.extent, Axis) and term.coefficient * term.extent % count != 0:
            return False
        least += term.coefficient * begin
    return least % count == 0


def _words(sizes: Sequence[str], element: int, unit: int) -> str:
    """The words of an array, in multiples of `unit` bytes."""
    product = " * ".join(map(_operand, sizes))
    if element == unit == _WORD:
        return product
    whole = f"({product} * {element} + {unit - 1}) / {unit}"
    return whole if unit == _WORD else f"{whole} * {unit // _WORD}"


def _atom(name: str, type_: Type) -> Polynomial:
    return of_atom(local_scalar(name, type_))


def _sum(left: str, right: str, *, negative: bool) -> str:
    if not left:
        return f"-{right}" if negative else right
    return f"{left} {'-' if negative else '+'} {right}"


def _operand(text: str) -> str:
    return f"({text})" if " " in text else text
