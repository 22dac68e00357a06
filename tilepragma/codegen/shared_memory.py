"""Array tiles and scratchpads in shared memory: their sizes, their copies, the accesses to them.

The program's text decides. With constant numbers of workers, or constant tile sizes, the compiler
sees whether the arrays fit, and drops dead code. With numbers as arguments, the program declares a
pool for the arrays, and the kernel tests whether they fit.

A gang's workers copy an array tile together, along its rows:

if (…the tile is full; it, the array and its rows begin at multiples of 16 bytes…) {
    for (turn …) …16 bytes…
} else {
    for (turn …) if (…the tile has this row…) for (…A_lanes workers side by side…) …an element…
}

Both copy each element of the tile once, and nothing else, so that proofs about array tiles hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.dialect import Dialect
from tilepragma.codegen.launch_parameters import LaunchParameters, used_dimensions
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.printer import Flat, Printer
from tilepragma.codegen.writer import Writer
from tilepragma.ir.directives import AxisKind, TileKind
from tilepragma.ir.expressions import Access, Binary, DataObject, Expression, Scope, Storage, access_to, local_scalar
from tilepragma.ir.loop_tree import Axis, Block, Loop, Stage, Staged, StagedSide, TileNest
from tilepragma.ir.loop_tree_text import subscripts_text
from tilepragma.ir.polynomial import Polynomial, expression, number, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INT, LONG, ScalarType, Type
from tilepragma.plan.array_bytes import VECTOR_BYTES, element_bytes
from tilepragma.plan.kernel_plan import Launch
from tilepragma.plan.summary import copies_ahead, staged_arrays
from tilepragma.poly.reference_spans import Values, settled_values, written_out

_WORD = 8
#: The 32-bit registers in which a worker holds elements of the next tile, and where it computes
#: several points, which take registers too.
_MOST_HELD, _MOST_HELD_WITH_POINTS = 32, 16
#: Sizes of elements in bytes that CUDA copies without a register.
_ASYNC_SIZES = (4, 8)

#: The first and the last value of an iterator in the gang's tile, as text.
Ends = dict[DataObject, tuple[str, str]]
#: An expression as it is in another tile.
Moved = Callable[[Expression], Expression]


def named_ends(numbers: LaunchParameters, prefix: str) -> tuple[str, str]:
    """The names of the first and the last value of the iterator `prefix` in a tile."""
    return numbers.fresh(f"{prefix}_first"), numbers.fresh(f"{prefix}_last")


@dataclass(frozen=True)
class Points:
    """Macros for a worker's points of a loop: their `count`, which is the launch's `number` in
    specialised programs, else `most`; and the `group`, of value `together`: how many are
    neighbours.
    """

    count: str
    number: str
    most: int
    group: str
    together: str


class _Pool:
    """The arrays of a staged launch in shared memory, which `printer` and `numbers` print.

    Macros of the entry point, as the template needs them: `words` of shared memory that the arrays
    take (with the value as text); `fits`: whether a gang has as many; `pool`: how many words are
    declared.

    For double buffering: `twice`: whether the arrays fit twice. `held`: whether a worker holds its
    elements in registers until their tile is computed, since the `cost`, in 32-bit registers, is at
    most `most`. `slots`: how many elements a worker copies of each array, with the value.
    `async_sizes`: the element sizes in bytes that the device copies asynchronously.

    `points`: one for each loop of which a worker has several iterations. `readers`: the program's
    functions that read neighbouring points, each as name, type of an element, vector type without
    length, and the most elements of a vector.
    """

    twice = held = cost = ""
    slots: tuple[tuple[str, str], ...] = ()
    points: tuple[Points, ...] = ()
    readers: tuple[tuple[str, str, str, int], ...] = ()
    most = _MOST_HELD
    async_sizes: tuple[int, ...] = ()

    def __init__(
        self, launch: Launch, numbers: LaunchParameters, printer: Printer, sizes: list[str], alignment: str
    ) -> None:
        """`sizes` are the words of each array."""
        self.launch, self.numbers, self.printer = launch, numbers, printer
        self.sizes, self.alignment = sizes, alignment
        self.value = " + ".join(sizes)
        name = launch.name.upper()
        self.words, self.fits, self.pool = f"{name}_STAGED_WORDS", f"{name}_STAGED", f"{name}_POOL_WORDS"

    def declare(self, writer: Writer) -> None:
        """Declare the pool, at the head of the entry point."""
        dialect, name = self.printer.dialect, self.numbers.fresh("pool")
        writer.line(f"{dialect.local_space}{dialect.wide} {name}[{self.pool}]{self.alignment};")

    def pointers(self, names: Sequence[tuple[str, Type]], beyond: str = "") -> Iterator[str]:
        """Pointers to the arrays, which follow each other in the pool, `beyond` words on."""
        space = self.printer.dialect.pointed_local_space
        offsets = [self.numbers.fresh("pool"), *([beyond] if beyond else [])]
        for (name, element), size in zip(names, self.sizes, strict=True):
            place = offsets[0] if len(offsets) == 1 else f"({' + '.join(offsets)})"
            pointer = self.printer.type(element, "*")
            yield f"{space}{self.printer.type(element, f'*const {name}')} = ({space}{pointer}){place};"
            offsets.append(size)


class ScratchpadPool(_Pool):
    """The `staged_scratchpads` of a launch, whose lengths are sums of tile sizes."""

    def __init__(self, launch: Launch, numbers: LaunchParameters, printer: Printer) -> None:
        self.lengths = {
            pad.object: [printer.expression(length, 1) for length in pad.object.lengths if length is not None]
            for pad in launch.staged_scratchpads
        }
        sizes = [_words(lengths, element_bytes(object_), _WORD) for object_, lengths in self.lengths.items()]
        super().__init__(launch, numbers, printer, sizes, "")

    def body(self) -> Block:
        """The body of the launch's staged variant."""
        assert self.launch.staged is not None, "asked for staged launches only"
        return self.launch.staged

    def flats(self) -> dict[DataObject, Flat]:
        """The layout of each scratchpad, for accesses by one index."""
        return {object_: Flat(tuple(self._row_lengths(object_))) for object_ in self.lengths}

    def start(self, writer: Writer) -> None:
        """Declare the scratchpads' pointers into the pool, and the lengths of their rows."""
        names = [(self.printer.name(object_), object_.element) for object_ in self.lengths]
        for pointer, (object_, lengths) in zip(self.pointers(names), self.lengths.items(), strict=True):
            writer.line(pointer)
            for name, length in zip(self._row_lengths(object_), lengths[1:], strict=True):
                writer.line(f"const int {name} = {length};")

    def _row_lengths(self, object_: DataObject) -> list[str]:
        return [self.numbers.fresh(f"{object_.name}_length{dimension}") for dimension in range(1, object_.rank)]


class StagingPrinter(_Pool):
    """The array tiles of a staged launch, in textual order, and their copies."""

    def __init__(self, launch: Launch, numbers: LaunchParameters, printer: Printer) -> None:
        assert launch.staged is not None, "asked for staged launches only"
        (nest,) = launch.staged.statements
        assert isinstance(nest, TileNest), "a staged form is one nest"
        self.nest, self.is_ahead = nest, copies_ahead(launch)
        begins, seen = _begins_of_loops(nest), Counter[DataObject]()
        arrays = staged_arrays(launch)
        # Workers read vectors of their points where copies go ahead. Elsewhere neighbouring workers
        # access neighbouring elements.
        most = max((element_bytes(array.object) for array in arrays), default=0) if self.is_ahead else 0
        several = {tiled.loop.iterator: tiled for tiled in nest.loops if tiled.points > 1}
        #: The points of a worker by iterator, if more than 1.
        self.points_of = {
            iterator: _points(f"{launch.name}_{tiled.symbol}".upper(), numbers.points(tiled), tiled.points, most)
            for iterator, tiled in several.items()
        }
        self.points = tuple(self.points_of.values())
        self.most = _MOST_HELD_WITH_POINTS if self.points else _MOST_HELD
        counts = {iterator: points.count for iterator, points in self.points_of.items()}
        self.tiles: list[StagedTile] = []
        for array in arrays:
            seen[array.object] += 1
            vector = _vector_of(array, printer.flat[array.object], begins, printer.dialect)
            self.tiles.append(StagedTile(array, seen[array.object], vector, counts, numbers, printer))
        self.readers = tuple(tile.reader for tile in self.tiles if self.is_ahead and tile.has_vectors_of_points)
        has_vectors = bool(self.points) or any(tile.vector is not None for tile in self.tiles)
        unit = VECTOR_BYTES if has_vectors else _WORD
        sizes = [_words(tile.stored_lengths, tile.bytes, unit) for tile in self.tiles]
        aligned = f" __attribute__((aligned({VECTOR_BYTES})))" if has_vectors else ""
        super().__init__(launch, numbers, printer, sizes, aligned)
        if not self.is_ahead:
            return
        name = launch.name.upper()
        self.twice, self.held = f"{name}_TWICE", f"{name}_HELD"
        workers = numbers.total(used_dimensions(launch, AxisKind.WORKER))
        macros = [self._slots(tile) for tile in self.tiles]
        pairs = zip(macros, self.tiles, strict=True)
        self.slots = tuple((macro, tile.slots_of(workers)) for macro, tile in pairs)
        costs = zip(macros, (tile.bytes // 4 for tile in self.tiles), strict=True)
        self.cost = " + ".join(macro if size < 2 else f"{size} * {macro}" for macro, size in costs)
        if printer.dialect.has_async_copies:
            elements = [tile.bytes for tile in self.tiles if tile.bytes in _ASYNC_SIZES]
            wide = any(tile.vector is not None and tile.vector.together for tile in self.tiles)
            self.async_sizes = (*elements, *([VECTOR_BYTES] if wide else []))

    def _slots(self, tile: StagedTile) -> str:
        """The macro for the most elements that a worker copies."""
        return f"{self.launch.name}_{tile.slots}".upper()

    def _staged(self, stage: Stage) -> list[StagedTile]:
        return [tile for tile in self.tiles if tile.staged in stage.arrays]

    def tile_of(self, copy: DataObject) -> StagedTile | None:
        """The array tile of which an object is the copy."""
        return next((tile for tile in self.tiles if tile.copy == copy), None)

    def flats(self) -> dict[DataObject, Flat]:
        """The layout of the copies, for accesses by one index."""
        return {tile.copy: Flat(()) for tile in self.tiles}

    def body(self) -> Block:
        """The body of the launch's staged variant, reading the copies."""
        nest = self.nest
        tiles = {(tile.object, text): tile for tile in self.tiles for text in tile.staged.reads}
        values, offsets = settled_values(nest.body), self._offsets()

        def change(access: Access) -> Access:
            tile = tiles.get((access.object, subscripts_text(access.subscripts)))
            if tile is None:
                return access
            index = self._index(tile, access, values, offsets)
            return Access(tile.copy, (index,), access.path, access.type, access.range)

        # A nest's loops keep their identity, since their numbers depend on it.
        return Block((replace(nest, body=with_accesses(nest.body, change)),))

    def _offsets(self) -> dict[DataObject, tuple[Polynomial, Polynomial]]:
        """A worker's distances from the first and last iterations of each tile iterator."""
        offsets: dict[DataObject, tuple[Polynomial, Polynomial]] = {}
        for tiled in self.nest.loops:
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
        for dimension in tile.order:
            side = tile.staged.sides[dimension]
            value = written_out(polynomial(access.subscripts[dimension]), values)
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
            pitch = tile.pitch if dimension == tile.order[-1] else tile.sizes[dimension]
            total = Binary("+", Binary("*", total, local_scalar(pitch, INT), INT), place, INT)
        assert total is not None, "arrays have dimensions"
        return total

    def start(self, writer: Writer) -> None:
        """Declare the array tiles' places in the pool, and their sizes."""
        if not self.is_ahead:
            self._point(writer, [tile.name for tile in self.tiles])
        for tile in self.tiles:
            for size, length in zip(tile.sizes, tile.lengths, strict=True):
                writer.line(f"const int {size} = {length};")
            if tile.pitch not in tile.sizes:
                writer.line(f"const int {tile.pitch} = {tile.stored_lengths[-1]};")
        axes, workers = used_dimensions(self.launch, AxisKind.WORKER), self.numbers.fresh("workers")
        writer.line(f"const int {self.numbers.fresh('worker')} = {self.numbers.linear_index(axes)};")
        writer.line(f"const int {workers} = {self.numbers.total(axes)};")
        for tile in self.tiles:
            length = tile.sizes[-1]
            if len(tile.sizes) > 1:
                other = f"{workers} % 32 == 0 ? 32 : {workers}"
                writer.line(f"const int {tile.lanes} = {workers} % {length} == 0 ? {length} : {other};")
            if tile.vector is not None:
                # No constant that may be 0: compilers would warn of divisions that are never made.
                writer.line(f"const int {tile.vectors} = tilek_maximum(1, {length} / {tile.vector.count});")

    def _point(self, writer: Writer, names: list[str], beyond: str = "") -> None:
        """Set the pointers to the array tiles in the pool, `beyond` words on."""
        typed = [(name, tile.object.element) for name, tile in zip(names, self.tiles, strict=True)]
        for pointer in self.pointers(typed, beyond):
            writer.line(pointer)

    def stage(self, writer: Writer, stage: Stage, ends: Ends, nonempty: str) -> None:
        """The copies of the tile that is computed next; consecutive workers take consecutive
        elements. `ends` are those of the iterators of the copied tile. `nonempty` is the condition
        that the tile has an iteration, empty where it is known to hold.
        """
        writer.line("/* What the gang's tile reads, copied by all of its workers. */")
        tiles = self._staged(stage)
        for tile in tiles:
            tile.print_lowers(writer, ends, lambda least: least)
        with writer.block(f"if ({nonempty})") if nonempty else nullcontext():
            for tile in tiles:
                tile.print_spans(writer, ends)
                tile.print_copy(writer, tile.name)

    def start_ahead(self, writer: Writer, step: str) -> str:
        """Start double buffering: one half of the pool is read, the other filled. Gives how far
        ahead copies are: `step`, or nothing.
        """
        writer.line(f"int {self.numbers.fresh('present')} = 0;")
        return f"({self.twice} ? {step} : 0)"

    def copy_ahead(self, writer: Writer, stage: Stage, ends: Ends, nonempty: str, moved: Moved) -> None:
        """Copy a tile into the other half, or into registers for it; else into the only half, with
        a barrier. `moved` maps expressions of iterators around to that tile.
        """
        half, other, tiles = self.numbers.fresh("present"), self.numbers.fresh("other"), self._staged(stage)
        self._point(writer, [tile.name for tile in self.tiles], half)
        writer.line(f"const int {other} = {self.twice} ? {self.words} - {half} : {half};")
        self._point(writer, [tile.next for tile in self.tiles], other)
        for tile in tiles:
            register = self.printer.type(tile.object.element, tile.held)
            writer.line(f"{register}[{self.held} ? {self._slots(tile)} : 1];")
        for tile in tiles:
            tile.print_lowers(writer, ends, moved)
            tile.print_spans(writer, ends)
            tile.print_whole(writer)
        with writer.block(f"if ({nonempty})"):
            for tile in tiles:
                tile.print_first(writer)
                with writer.block(f"if ({self.held})"):
                    tile.print_loads(writer, self._slots(tile))
                    writer.otherwise()
                    together = tile.vector is None or tile.vector.together
                    tile.print_copy(writer, tile.next, self.async_sizes, "" if together else self.twice)
        with writer.block(f"if (!{self.twice})"):
            self._meet(writer)

    def finish_ahead(self, writer: Writer, stage: Stage, nonempty: str) -> None:
        """After the tile is computed, store what registers hold in the half that is read next."""
        half = self.numbers.fresh("present")
        with writer.block(f"if ({self.held} && {nonempty})"):
            for tile in self._staged(stage):
                tile.print_stores(writer, self._slots(tile))
        self._meet(writer)
        writer.line(f"{half} = {self.twice} ? {self.words} - {half} : {half};")

    def _meet(self, writer: Writer) -> None:
        if self.printer.dialect.has_async_copies:
            writer.line("tilek_wait_for_copies();")
        writer.line(self.printer.dialect.barrier)


class StagedTile:
    """`staged` is array tile `ordinal` of its array, with the names of what the program has for it.
    `vector`: how workers copy it where its tiles lie at multiples of 16 bytes. `printer` prints the
    launch's arrays.
    """

    def __init__(
        self,
        staged: Staged,
        ordinal: int,
        vector: Vector | None,
        points: Mapping[DataObject, str],
        numbers: LaunchParameters,
        printer: Printer,
    ) -> None:
        self.staged, self.vector, self.numbers, self.printer = staged, vector, numbers, printer
        self.points = points
        self.object, element = staged.object, staged.object.element
        self.bytes = element_bytes(staged.object)
        dimensions = range(self.object.rank)

        def called(what: str) -> str:
            """`A_staged`; for further tiles of an array, `A_2_staged`."""
            name = self.object.name
            return numbers.fresh(f"{name}_{what}" if ordinal == 1 else f"{name}_{ordinal}_{what}")

        #: Pointers to the copy that is read, and to the one that double buffering fills; the
        #: worker's registers for the latter, and how many these are.
        self.name, self.next, self.held, self.slots = map(called, ("staged", "next", "held", "slots"))
        #: A pointer to the tile's first element in the array; what points read of the tile.
        self.first, self.read = called("first"), called("points")
        #: The elements of each dimension in a full tile, with the values; those in the tile that is
        #: copied; the least index of each in that tile.
        self.sizes = [called(f"size{dimension}") for dimension in dimensions]
        self.lengths = list(map(self._length, staged.sides))
        self.spans = [called(f"span{dimension}") for dimension in dimensions]
        self.lowers = [called(f"staged{dimension}") for dimension in dimensions]
        #: The dimensions as the copy has them, and the distance between its rows.
        self.order = [*(place for place in dimensions if place != staged.inner), staged.inner]
        self.turned = staged.inner != self.object.rank - 1
        self.pitch = called("pitch") if staged.odd is not None or self.turned else self.sizes[-1]
        #: Whether a tile that is copied ahead is copied by vectors.
        self.whole = called("whole")
        #: How many vectors a row of a full tile has.
        self.vectors = called("vectors")
        #: How many workers copy a row together.
        self.lanes = called("lanes")
        #: The object that accesses to the copy mention.
        self.copy = DataObject(self.name, self.name, element, Storage.CONTIGUOUS, Scope.LOCAL, (None,))

    def _length(self, side: StagedSide) -> str:
        """`worker0_count + 2`: the elements of a dimension in a full tile."""
        number = side.width + 1
        terms = []
        for term in side.terms:
            size = abs(term.coefficient)
            number -= size
            if isinstance(term.extent, Axis):
                factors = [str(size)] if size > 1 else []
                factors += [self.points[term.iterator]] if term.points > 1 else []
                terms.append(" * ".join([*factors, self.numbers.axis_count(term.extent)]))
            else:
                number += size * term.extent
        if number or not terms:
            return " + ".join([*terms, str(number)]).replace("+ -", "- ")
        return " + ".join(terms)

    @property
    def stored_lengths(self) -> list[str]:
        """The elements of each dimension in the copy, with the padding of its rows."""
        *outer, text = (self.lengths[dimension] for dimension in self.order)
        odd = self.staged.odd
        if self.turned:
            text = f"{text} + {max(1, VECTOR_BYTES // self.bytes)}"
        elif odd is not None and text.isdigit():
            text = str(int(text) + (int(text) % 2 != odd))
        elif odd is not None:
            text = f"({text}) | 1" if odd else f"({text}) + ({text}) % 2"
        return [*outer, text]

    @property
    def has_vectors_of_points(self) -> bool:
        """Whether neighbouring points of a worker are aligned vectors of the copy."""
        side = self.staged.sides[self.staged.inner]
        alone = len(side.terms) == 1 and side.terms[0].coefficient == 1 and side.width == 0
        whole = self.turned or self.staged.odd is None
        return alone and whole and side.terms[0].points > 1 and self.bytes in _ASYNC_SIZES

    @property
    def reader(self) -> tuple[str, str, str, int]:
        """The program's function that reads vectors of points (`_Pool.readers`)."""
        element, dialect = self.object.element, self.printer.dialect
        assert isinstance(element, ScalarType), "array tiles are of numbers"
        name = dialect.scalar(element)
        vector = dialect.vector_names.get(name, name)
        return f"tilek_read_{name.replace(' ', '_')}", name, vector, VECTOR_BYTES // self.bytes

    def slots_of(self, workers: str) -> str:
        """How many elements each of the workers holds, in whole vectors if there are any."""
        product = " * ".join(map(_operand, self.lengths))
        if self.vector is None:
            return f"({product} + {workers} - 1) / ({workers})"
        share = f"{self.vector.count} * {workers}"
        return f"({product} + {share} - 1) / ({share}) * {self.vector.count}"

    def print_lowers(self, writer: Writer, ends: Ends, moved: Moved) -> None:
        """Declare the least index of each dimension in this tile."""
        for lower, side in zip(self.lowers, self.staged.sides, strict=True):
            writer.line(f"const {self.printer.dialect.index} {lower} = {self._least(side, ends, moved)};")

    def _least(self, side: StagedSide, ends: Ends, moved: Moved) -> str:
        text = ""
        for term in side.terms:
            end = ends[term.iterator][0 if term.coefficient > 0 else 1]
            size = abs(term.coefficient)
            if size > 1:
                end = f"{size} * {_operand(end)}"
            elif term.coefficient < 0:
                end = _operand(end)
            text = _sum(text, end, negative=term.coefficient < 0)
        literal = literal_value(side.least)
        if literal is None:
            return _sum(text, self.printer.expression(moved(side.least), 12), negative=False)
        return _sum(text, str(abs(literal)), negative=literal < 0) if literal or not text else text

    def print_spans(self, writer: Writer, ends: Ends) -> None:
        """Declare the elements of each dimension in this tile."""
        for span, side in zip(self.spans, self.staged.sides, strict=True):
            writer.line(f"const int {span} = {_span(side, ends)};")

    def print_copy(self, writer: Writer, target: str, async_sizes: tuple[int, ...] = (), unless: str = "") -> None:
        """Copy the tile's elements to `target`, a pointer to the array tile. Workers go along its
        rows. `async_sizes`: bytes that copy asynchronously. No vectors where `unless` holds.
        """
        if self.vector is None or self.turned:
            self._print_elements(writer, target, async_sizes)
            return
        *rows, length = self.sizes
        vectors, worker, workers = self.vectors, *map(self.numbers.fresh, ("worker", "workers"))
        count = " * ".join([*rows, vectors])
        tests = [f"{span} == {size}" for span, size in zip(self.spans, self.sizes, strict=True)]
        tests += [f"{length} % {self.vector.count} == 0", f"{workers} % {vectors} == 0", f"{count} % {workers} == 0"]
        tests += [self._aligned(self.vector), *([f"!{unless}"] if unless else [])]
        writer.line(f"/* A full tile as vectors of {VECTOR_BYTES} bytes, where it begins with one in memory. */")
        with writer.block(f"if ({' && '.join(tests)})"):
            writer.line(self.printer.dialect.unroll)
            turn = self.numbers.fresh("turn")
            with writer.block(f"for (int {turn} = 0; {turn} < {count} / {workers}; ++{turn})"):
                row = f"(unsigned){worker} / {vectors} + {turn} * ({workers} / {vectors})"
                indices = self._rows(writer, row)
                place = f"(unsigned){worker} % {vectors} * {self.vector.count}"
                writer.line(f"const int {self._index(self.object.rank - 1)} = {place};")
                self._print_vector(writer, target, self.vector, indices, async_sizes)
            writer.otherwise()
            self._print_elements(writer, target, async_sizes)

    def print_whole(self, writer: Writer) -> None:
        """Declare whether workers load vectors of the tile into registers."""
        if self.vector is None:
            return
        count, span, length = self.vector.count, self.spans[-1], self.sizes[-1]
        rows = f"{length} % {count} == 0 && {self._aligned(self.vector)}"
        writer.line(f"const int {self.whole} = {rows} && ({span} % {count} == 0 || {span} == {length});")

    def print_first(self, writer: Writer) -> None:
        """Point to the tile's first element: a worker's elements are equally far in each tile."""
        pointer = self.printer.type(self.object.element, f"*const {self.first}")
        space = self.printer.dialect.global_space
        writer.line(f"const {space}{pointer} = &{self.source(['0'] * len(self.sizes))};")

    def _from_first(self, indices: list[str]) -> str:
        text = indices[0]
        for length, index in zip(self.printer.flat[self.object].lengths, indices[1:], strict=True):
            text = f"{_operand(text)} * {length} + {index}"
        return f"{self.first}[{text}]"

    def print_loads(self, writer: Writer, slots: str) -> None:
        """Load a worker's elements of the tile into its registers."""
        with self._in_vectors(writer) as vector:
            if vector is not None:
                with self._each_held(writer, slots, vector.count) as (slot, indices):
                    value, space = self.numbers.fresh("value"), self.printer.dialect.global_space
                    with writer.block(f"if ({self._is_loaded(indices, slots)})"):
                        source = f"*(const {space}{vector.type} *)&{self._from_first(indices)}"
                        writer.line(f"const {vector.type} {value} = {source};")
                        for place, component in enumerate("xyzw"[: vector.count]):
                            writer.line(f"{self.held}[{_plus(slot, place)}] = {value}.{component};")
                writer.otherwise()
            with self._each_held(writer, slots) as (slot, indices):
                test = self._is_loaded(indices, slots)
                writer.line(f"if ({test}) {self.held}[{slot}] = {self._from_first(indices)};")

    def print_stores(self, writer: Writer, slots: str) -> None:
        """Store them in the copy that is read next."""
        with self._in_vectors(writer) as vector:
            if vector is not None:
                with self._each_held(writer, slots, vector.count) as (slot, indices):
                    held = [f"{self.held}[{_plus(slot, place)}]" for place in range(vector.count)]
                    # What was not loaded is not stored: GPGPU-Sim refuses registers without values.
                    test = self._is_loaded(indices, slots) if vector.together else self._is_in_copy(indices, slots)
                    with writer.block(f"if ({test})"):
                        self._print_store(writer, vector, held, indices)
                writer.otherwise()
            with self._each_held(writer, slots) as (slot, indices):
                writer.line(
                    f"if ({self._is_in_copy(indices, slots)}) {self.next}[{self.index(indices)}] = {self.held}[{slot}];"
                )

    def _print_store(self, writer: Writer, vector: Vector, held: Sequence[str], indices: list[str]) -> None:
        """Store registers that were loaded together, as a vector if neighbours stay neighbours."""
        space, place = self.printer.dialect.pointed_local_space, f"{self.next}[{self.index(indices)}]"
        if vector.together:
            value = self.numbers.fresh("value")
            writer.line(f"const {vector.type} {value} = {{{', '.join(held)}}};")
            writer.line(f"*({space}{vector.type} *)&{place} = {value};")
            return
        first = self.numbers.fresh("first_element")
        pointer = self.printer.type(self.object.element, f"*const {first}")
        writer.line(f"{space}{pointer} = &{place};")
        inner = self.order[self.order.index(self.object.rank - 1) + 1 :]
        factors = [self.pitch if dimension == inner[-1] else self.sizes[dimension] for dimension in inner]
        for distance, element in enumerate(held):
            product = [*([str(distance)] if distance != 1 or not factors else []), *(factors if distance else [])]
            writer.line(f"{first}[{' * '.join(product)}] = {element};")

    def _is_in_copy(self, indices: list[str], slots: str) -> str:
        """Whether a worker's element lies in the copy, as all do if workers have equally many."""
        return f"{self._have_as_many(slots)} || {indices[0]} < {self.sizes[0]}"

    def _is_loaded(self, indices: list[str], slots: str) -> str:
        """Whether the tile has a worker's element: a full one has if workers have equally many."""
        if self.staged.before or self.staged.after:
            return self.tests(indices)
        full = " && ".join(f"{span} == {size}" for span, size in zip(self.spans, self.sizes, strict=True))
        return f"({self._have_as_many(slots)} && {full}) || ({self.tests(indices)})"

    def _have_as_many(self, slots: str) -> str:
        return f"{slots} * {self.numbers.fresh('workers')} == {' * '.join(self.sizes)}"

    @contextmanager
    def _in_vectors(self, writer: Writer) -> Iterator[Vector | None]:
        """A branch for tiles that are copied by vectors, if any; the caller begins the other."""
        if self.vector is None:
            yield None
            return
        with writer.block(f"if ({self.whole})"):
            yield self.vector

    def _print_elements(self, writer: Writer, target: str, async_sizes: tuple[int, ...]) -> None:
        """Copy the elements that the tile has, each row by a group of workers."""
        lanes, worker, workers = self.lanes, *map(self.numbers.fresh, ("worker", "workers"))
        outer, last = self.sizes[:-1], self._index(self.object.rank - 1)
        indices = [self._index(dimension) for dimension in range(self.object.rank)]
        with ExitStack() as stack:
            start, step, end = worker, f"{last} += {workers}", ""
            if outer:
                turn, rows = self.numbers.fresh("turn"), f"({workers} / {lanes})"
                count = f"({' * '.join(outer)} + {rows} - 1) / {rows}"
                # By four only: the guards of 16 turns would take 16 registers.
                writer.line("#pragma unroll 4")
                stack.enter_context(writer.block(f"for (int {turn} = 0; {turn} < {count}; ++{turn})"))
                self._rows(writer, f"(unsigned){worker} / {lanes} + {turn} * {rows}")
                pairs = zip(indices[:-1], self.spans[:-1], strict=True)
                stack.enter_context(writer.block(f"if ({' && '.join(f'{index} < {span}' for index, span in pairs)})"))
                start, step = f"(unsigned){worker} % {lanes}", f"{last} += {lanes}"
                end = f"if ({lanes} == {self.sizes[-1]}) break;"
            head = f"for (int {last} = {start}; {last} < {self.spans[-1]}; {step})"
            stack.enter_context(writer.block(head, end))
            copied = _copied(f"{target}[{self.index(indices)}]", self.source(indices), self.bytes, async_sizes)
            tests = " && ".join(_in_user_array(self.staged, indices, self.spans))
            writer.line(f"if ({tests}) {copied};" if tests else f"{copied};")

    def _index(self, dimension: int) -> str:
        return self.numbers.fresh(f"index{dimension}")

    def _rows(self, writer: Writer, row: str) -> list[str]:
        """Declare the indices of row number `row`, all but the last; gives all names."""
        *outer, _ = self.sizes
        for dimension in range(len(outer)):
            inner = outer[dimension + 1 :]
            value = f"({row}) / {' / '.join(inner)}" if inner else f"({row})" if dimension else row
            writer.line(f"const int {self._index(dimension)} = {value}{f' % {outer[dimension]}' if dimension else ''};")
        return [self._index(dimension) for dimension in range(self.object.rank)]

    def _print_vector(
        self, writer: Writer, target: str, vector: Vector, indices: list[str], async_sizes: tuple[int, ...]
    ) -> None:
        """A whole vector where the rows of the copy are aligned; else its components."""
        dialect, index = self.printer.dialect, self.index(indices)
        source = f"*(const {dialect.global_space}{vector.type} *)&{self.source(indices)}"
        if vector.together:
            whole = f"*({dialect.pointed_local_space}{vector.type} *)&{target}[{index}]"
            writer.line(f"{_copied(whole, source, VECTOR_BYTES, async_sizes)};")
            return
        value = self.numbers.fresh("value")
        writer.line(f"const {vector.type} {value} = {source};")
        for place, component in enumerate("xyzw"[: vector.count]):
            writer.line(f"{target}[{index}{f' + {place}' if place else ''}] = {value}.{component};")

    @contextmanager
    def _each_held(self, writer: Writer, slots: str, count: int = 1) -> Iterator[tuple[str, list[str]]]:
        """An unrolled loop over a worker's registers, by `count`; yields number and indices."""
        slot, distance, workers = map(self.numbers.fresh, ("slot", "distance", "workers"))
        writer.line(self.printer.dialect.unroll)
        advance, number_, sizes = f"++{slot}", slot, self.sizes
        if count > 1:
            advance, number_ = f"{slot} += {count}", f"{slot} / {count}"
            sizes = [*self.sizes[:-1], self.vectors]
        with writer.block(f"for (int {slot} = 0; {slot} < {slots}; {advance})"):
            writer.line(f"const int {distance} = {number_} * {workers};")
            yield slot, self._indices(writer, sizes, count)

    def _indices(self, writer: Writer, sizes: list[str], count: int) -> list[str]:
        """Declare the indices of element worker + distance of the tile, the last one in elements
        where `sizes` end with vectors of `count`; gives their names.
        """
        worker, distance = self.numbers.fresh("worker"), self.numbers.fresh("distance")
        indices = [self._index(dimension) for dimension in range(len(sizes))]
        for dimension, index in enumerate(indices):
            inner = sizes[dimension + 1 :]
            if not inner:
                value = f"{worker} + {distance}"
                if dimension > 0:
                    value = f"tilek_remainder({worker}, {distance}, {sizes[dimension]})"
                elif count > 1:
                    value = f"({value})"
                value += f" * {count}" if count > 1 else ""
            else:
                value = f"tilek_quotient({worker}, {distance}, {' * '.join(inner)})"
                value += f" % {sizes[dimension]}" if dimension > 0 else ""
            writer.line(f"const int {index} = {value};")
        return indices

    def index(self, indices: list[str]) -> str:
        """The position of an element in the copy, counted in elements."""
        first, *others = self.order
        text = indices[first]
        for dimension in others:
            pitch = self.pitch if dimension == others[-1] else self.sizes[dimension]
            text = f"{_operand(text)} * {pitch} + {indices[dimension]}"
        return text

    def source(self, indices: list[str]) -> str:
        """The access to an element in the array."""
        subscripts = tuple(
            Binary("+", local_scalar(lower, LONG), local_scalar(index, LONG), LONG)
            for lower, index in zip(self.lowers, indices, strict=True)
        )
        return self.printer.expression(Access(self.object, subscripts, (), self.object.element))

    def _aligned(self, vector: Vector) -> str:
        """Whether the tile's vectors are 16-byte aligned in the array."""
        flat = self.printer.flat[self.object]
        rows = [length for length in flat.lengths[-1:] if not length.isdigit()]
        lowers = filter(None, (flat.lowers[-1] if flat.lowers else None, flat.origin))
        begin = " - ".join((self.lowers[-1], *lowers))
        begin = f"({begin})" if " - " in begin else begin
        tests = [f"{row} % {vector.count} == 0" for row in (*rows, begin)]
        return " && ".join([*tests, f"(size_t){self.printer.name(self.object)} % {VECTOR_BYTES} == 0"])

    def tests(self, indices: list[str]) -> str:
        """Whether the tile has an element."""
        tests = [f"{index} < {span}" for index, span in zip(indices, self.spans, strict=True)]
        return " && ".join([*tests, *_in_user_array(self.staged, indices, self.spans)])


def _span(side: StagedSide, ends: Ends) -> str:
    """The elements of a dimension in this tile: sum of |c| (last - first) + one iteration's."""
    text = ""
    for term in side.terms:
        first, last = ends[term.iterator]
        size = abs(term.coefficient)
        difference = f"{last} - {_operand(first)}"
        text = _sum(text, difference if size == 1 else f"{size} * ({difference})", negative=False)
    return _sum(text, str(side.width + 1), negative=False)


def _copied(to: str, source: str, size: int, async_sizes: tuple[int, ...]) -> str:
    return f"TILEK_COPY_{size}({to}, {source})" if size in async_sizes else f"{to} = {source}"


def _in_user_array(staged: Staged, indices: list[str], spans: list[str]) -> Iterator[str]:
    """Tests that an element is between the first and last read, if the tile has others."""
    ends = [f"{span} - {by + 1}" for span, by in zip(spans, staged.after, strict=True)] if staged.after else []
    for relation, limits in ((">", [str(by) for by in staged.before]), ("<", ends)):
        if not limits:
            continue
        test = f"{indices[-1]} {relation}= {limits[-1]}"
        for index, limit in list(zip(indices, limits, strict=True))[-2::-1]:
            inner = f"({test})" if "||" in test else test
            test = f"{index} {relation} {limit} || ({index} == {limit} && {inner})"
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


def _vector_of(staged: Staged, flat: Flat, begins: Mapping[DataObject, int], dialect: Dialect) -> Vector | None:
    """The vectors of an array tile whose tiles mostly begin with one; None: no vectors.

    All vectors of a tile are aligned if the array is, its rows are, and the tile is in its rows.
    The program tests that once for each tile, since sections and the caller's memory begin
    anywhere. The test is worth it unless rows are shorter than a vector, or alignment is impossible
    or not provable. Numbers of workers are assumed to be multiples of the vector's length.
    """
    element, side = staged.object.element, staged.sides[-1]
    # Vectors at the first and the last element that is read would have to be split.
    if not isinstance(element, ScalarType) or element.bits not in (32, 64) or staged.before or staged.after:
        return None
    count, pitch = 8 * VECTOR_BYTES // element.bits, flat.lengths[-1] if flat.lengths else ""
    if pitch.isdigit() and int(pitch) % count != 0:
        return None
    length = side.width + 1 - sum(abs(term.coefficient) for term in side.terms)
    length += sum(abs(term.coefficient) * term.extent for term in side.terms if isinstance(term.extent, int))
    turned = staged.inner != len(staged.sides) - 1
    if length % count != 0 or not _begins_with_vector(side, begins, count):
        return None
    name = dialect.scalar(element)
    return Vector(f"{dialect.vector_names.get(name, name)}{count}", count, staged.odd is None and not turned)


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


def _points(name: str, number_: str, most: int, widest: int) -> Points:
    """The points of a loop, of which neighbours fill a vector of elements of `widest` bytes."""
    count, together = f"{name}_POINTS", "1"
    if widest in _ASYNC_SIZES:
        together = f"({count} % 2 == 0 ? 2 : 1)"
        together = f"({count} % 4 == 0 ? 4 : {together[1:]}" if widest == 4 else together
    return Points(count, number_, most, f"{name}_GROUP", together)


def _plus(text: str, place: int) -> str:
    return f"{text} + {place}" if place else text


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
