"""Boxes of arrays in memory of a gang: what they take of it, the copies that all workers make
together, and the accesses to them.

All of it is in the program's text: with the numbers of workers as constants the compiler sees
whether the boxes fit, and drops what does not run; with numbers as arguments a pool is declared
that the boxes lie in, and the kernel asks whether they fit.
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
from tilepragma.codegen.staged_tile import StagedBox
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
from tilepragma.ir.thread_points import points_of
from tilepragma.ir.types import INT, LONG, Type
from tilepragma.plan.kernel_plan import Launch
from tilepragma.plan.summary import copies_ahead, staged_arrays
from tilepragma.poly.reference_spans import Values, settled_values, written_out

_WORD = 8
#: Registers of 32 bits in which a worker holds what it has read of the next tile.
_MOST_HELD = 16
#: Sizes of elements in bytes that CUDA copies without a register.
_ASYNC_SIZES = (4, 8)


@dataclass(frozen=True)
class StagedMacros:
    """Preprocessor names of an entry point: `words` of memory that the boxes take (with its value
    as text), `fits`, whether that is less than a gang has, and `pool`, how many words are declared.

    Of copies ahead `twice`, whether the boxes fit two times; `held`, whether a worker holds what it
    copies in registers until its tile is computed: where the `cost` of that, in registers of 32
    bits, is `most` at most; `each`, how many elements it copies of each box, with the value;
    `async_sizes`, the sizes of elements in bytes that the device may copy by itself.
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
    """Prints the boxes of one launch. `printer` is that of the launch's own arrays."""

    launch: Launch
    dialect: Dialect
    numbers: Numbers
    printer: Printer

    @cached_property
    def boxes(self) -> tuple[StagedBox, ...]:
        """The boxes, in textual order."""
        begins, seen = begins_of_loops(self._nest), Counter[DataObject]()
        found = []
        for array in staged_arrays(self.launch):
            seen[array.object] += 1
            flat = self.printer.objects.flat[array.object]
            vector = vector_of(array, flat, begins, self.dialect, copies_ahead(self.launch))
            found.append(StagedBox(array, seen[array.object], vector, self.numbers, self.printer))
        return tuple(found)

    @property
    def _nest(self) -> TileNest:
        assert self.launch.staged is not None, "asked for staged launches only"
        (nest,) = self.launch.staged.statements
        assert isinstance(nest, TileNest), "a staged form is one nest"
        return nest

    def _staged(self, stage: Stage) -> list[StagedBox]:
        return [box for box in self.boxes if box.staged in stage.arrays]

    def macros(self) -> StagedMacros:
        """What is defined before the entry point."""
        name = self.launch.name.upper()
        value = " + ".join(map(self._words, self.boxes))
        plain = StagedMacros(f"{name}_STAGED_WORDS", value, f"{name}_STAGED", f"{name}_POOL_WORDS")
        if not copies_ahead(self.launch):
            return plain
        sizes = [box.bytes for box in self.boxes if box.bytes in _ASYNC_SIZES]
        sizes += [WIDE_BYTES] if self._has_vectors else []
        costs = [(self._each_macro(box), box.bytes // 4) for box in self.boxes]
        return replace(
            plain,
            twice=f"{name}_TWICE",
            held=f"{name}_HELD",
            each=tuple((self._each_macro(box), self._each(box)) for box in self.boxes),
            cost=" + ".join(each if size < 2 else f"{size} * {each}" for each, size in costs),
            async_sizes=tuple(sizes) if self.dialect.name == "cuda" else (),
        )

    def flats(self) -> dict[DataObject, Flat]:
        """How the copies are reached: by an index into the box."""
        return {box.copy: Flat(()) for box in self.boxes}

    def body(self) -> Block:
        """The launch's staged form, reading the copies."""
        nest = self._nest
        boxes = {(box.object, text): box for box in self.boxes for text in box.staged.reads}
        known, offsets = settled_values(nest.body), self._offsets(nest)

        def change(access: Access) -> Access:
            box = boxes.get((access.object, subscripts_text(access.subscripts)))
            if box is None:
                return access
            index = self._index(box, access, known, offsets)
            return Access(box.copy, (index,), access.path, access.type, access.range)

        # The loops of a nest keep their identity, which their numbers hang on.
        return Block((replace(nest, body=with_accesses(nest.body, change)),))

    def _offsets(self, nest: TileNest) -> dict[DataObject, tuple[Polynomial, Polynomial]]:
        """Of the iterators of tiles, how far a worker is from the tile's first iteration, and from its last one, in small numbers."""
        found: dict[DataObject, tuple[Polynomial, Polynomial]] = {}
        for tiled in nest.loops:
            workers = any(tile.kind is TileKind.WORKER for tile in tiled.tiles)
            place = "worker" if points_of(tiled) == 1 else "place"
            own = _atom(self.numbers.name(tiled, place), INT) if workers else number(0)
            length = _atom(self.numbers.name(tiled, "last"), LONG) - _atom(self.numbers.name(tiled, "first"), LONG)
            found[tiled.loop.iterator] = (own, own - length)
        for term in (term for box in self.boxes for side in box.staged.sides for term in side.terms):
            iterator = term.iterator
            if iterator not in found:
                here = of_atom(access_to(iterator))
                ends = [_atom(name, iterator.element) for name in inner_ends(self.numbers, iterator)]
                found[iterator] = (here - ends[0], here - ends[1])
        return found

    def _index(
        self, box: StagedBox, access: Access, known: Values, offsets: dict[DataObject, tuple[Polynomial, Polynomial]]
    ) -> Expression:
        """Where in the box the element lies: what the subscripts are beyond the box's begin, row-major."""
        total: Expression | None = None
        for dimension, (subscript, side) in enumerate(zip(access.subscripts, box.staged.sides, strict=True)):
            value = written_out(polynomial(subscript), known)
            assert value is not None, "subscripts of boxes are sums"
            value = value - polynomial(side.least)
            for term in side.terms:
                factor = number(term.coefficient)
                passed = offsets[term.iterator][0 if term.coefficient > 0 else 1]
                value = value - factor * of_atom(access_to(term.iterator)) + factor * passed
            # Places in a box are few: an int holds them.
            place = expression(value, INT)
            if total is None:
                total = place
                continue
            pitch = box.size(dimension) if dimension < box.rank - 1 else box.pitch
            total = Binary("+", Binary("*", total, local_scalar(pitch, INT), INT), place, INT)
        assert total is not None, "arrays have dimensions"
        return total

    def declare(self, writer: Writer) -> None:
        """The pool, at the head of the entry point."""
        aligned = f" __attribute__((aligned({WIDE_BYTES})))" if self._has_vectors else ""
        writer.line(f"{self.dialect.local_space}{self.dialect.wide} {self._pool()}[{self.macros().pool}]{aligned};")

    def start(self, writer: Writer) -> None:
        """Where the boxes lie in the pool, and their sizes."""
        if not copies_ahead(self.launch):
            self._point(writer, [box.name for box in self.boxes])
        for box in self.boxes:
            for dimension, side in enumerate(box.staged.sides):
                writer.line(f"const int {box.size(dimension)} = {self._length(side)};")
            if box.staged.odd is not None:
                writer.line(f"const int {box.pitch} = {self._last_size(box)};")
        axes = used_dimensions(self.launch, AxisKind.WORKER)
        index = ""
        for axis in reversed(axes):
            own = self.numbers.fresh(axis_name(axis))
            around = f"({index})" if " + " in index else index
            index = f"{around} * {self.numbers.axis_count(axis)} + {own}" if index else own
        writer.line(f"const int {self.numbers.fresh('worker')} = {index};")
        writer.line(
            f"const int {self.numbers.fresh('workers')} = {' * '.join(self.numbers.axis_count(axis) for axis in axes)};"
        )

    def _point(self, writer: Writer, names: list[str], beyond: str = "") -> None:
        """Pointers to the boxes in the pool, `beyond` so many words."""
        offsets = [beyond] if beyond else []
        space = self.dialect.pointed_local_space
        for box, name in zip(self.boxes, names, strict=True):
            place = " + ".join([self._pool(), *offsets])
            pointer = self.printer.type(box.object.element, "*")
            declared = self.printer.type(box.object.element, f"*const {name}")
            inner = place if not offsets else f"({place})"
            writer.line(f"{space}{declared} = ({space}{pointer}){inner};")
            offsets.append(self._words(box))

    def stage(self, writer: Writer, stage: Stage, ends: Ends, some: str) -> None:
        """The copies of one stage; consecutive workers take consecutive elements."""
        writer.line("/* What the gang's tile reads, copied by all of its workers. */")
        self._begins(writer, stage, ends, lambda least: least)
        with writer.block(f"if ({some})"):
            for box in self._staged(stage):
                self._spans(writer, box, ends)
                TileCopies(writer, self.dialect, box).copy(box.name)

    def start_ahead(self, writer: Writer, step: str) -> str:
        """One of the halves of the pool is computed from, the other copied to; how far ahead tiles are copied."""
        writer.line(f"int {self._half()} = 0;")
        return f"({self.macros().twice} ? {step} : 0)"

    def copy_ahead(self, writer: Writer, stage: Stage, ends: Ends, some: str, moved: Moved) -> None:
        """The copies of a tile into the other half, or into registers for it; into the one half where there is but one."""
        macros, half = self.macros(), self._half()
        self._point(writer, [box.name for box in self.boxes], half)
        other = self.numbers.fresh("other")
        writer.line(f"const int {other} = {macros.twice} ? {macros.words} - {half} : {half};")
        self._point(writer, [box.next for box in self.boxes], other)
        for box in self._staged(stage):
            held = self.printer.type(box.object.element, box.held)
            writer.line(f"{held}[{macros.held} ? {self._each_macro(box)} : 1];")
        self._begins(writer, stage, ends, moved)
        with writer.block(f"if ({some})"):
            for box in self._staged(stage):
                self._spans(writer, box, ends)
                copies = TileCopies(writer, self.dialect, box, macros.async_sizes, ahead=True)
                with writer.block(f"if ({macros.held})"):
                    with copies.held(self._each_macro(box)) as (each, places):
                        writer.line(f"if ({box.tests(places)}) {box.held}[{each}] = {box.source(places)};")
                    writer.otherwise()
                    copies.copy(box.next)
        with writer.block(f"if (!{macros.twice})"):
            self._meet(writer)

    def finish_ahead(self, writer: Writer, stage: Stage, ends: Ends, some: str) -> None:
        """What registers hold goes to the other half, which is the next to compute from."""
        macros, half = self.macros(), self._half()
        with writer.block(f"if ({macros.held} && {some})"):
            for box in self._staged(stage):
                self._spans(writer, box, ends)
                with TileCopies(writer, self.dialect, box).held(self._each_macro(box)) as (each, places):
                    target = f"{box.next}[{box.index(places)}]"
                    writer.line(f"if ({box.tests(places)}) {target} = {box.held}[{each}];")
        self._meet(writer)
        writer.line(f"{half} = {macros.twice} ? {macros.words} - {half} : {half};")

    def _meet(self, writer: Writer) -> None:
        if self.dialect.name == "cuda":
            writer.line("tilek_wait_for_copies();")
        writer.line(self.dialect.barrier)

    def _begins(self, writer: Writer, stage: Stage, ends: Ends, moved: Moved) -> None:
        for box in self._staged(stage):
            for dimension, side in enumerate(box.staged.sides):
                lower = self._least(side, ends, moved)
                writer.line(f"const {self.dialect.index} {box.lower(dimension)} = {lower};")

    def _spans(self, writer: Writer, box: StagedBox, ends: Ends) -> None:
        for dimension, side in enumerate(box.staged.sides):
            writer.line(f"const int {box.span(dimension)} = {self._span(side, ends)};")

    def _least(self, side: StagedSide, ends: Ends, moved: Moved) -> str:
        """The least index of a side in this tile."""
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
        known = literal_value(side.least)
        if known is None:
            return _sum(text, self.printer.expression(moved(side.least), 12), negative=False)
        return _sum(text, str(abs(known)), negative=known < 0) if known or not text else text

    def _span(self, side: StagedSide, ends: Ends) -> str:
        """The elements of a side in this tile: sum of |c| (last - first), and those of one iteration."""
        text = ""
        for term in side.terms:
            first, last = ends[term.iterator]
            size = abs(term.coefficient)
            difference = f"{last} - {_operand(first)}"
            text = _sum(text, difference if size == 1 else f"{size} * ({difference})", negative=False)
        return _sum(text, str(side.width + 1), negative=False)

    def _length(self, side: StagedSide) -> str:
        """`worker0_count + 2`: the elements of a side in a full tile."""
        number = side.width + 1
        terms = []
        for term in side.terms:
            size = abs(term.coefficient)
            number -= size
            if isinstance(term.extent, Axis):
                count, each = self.numbers.axis_count(term.extent), size * term.points
                terms.append(count if each == 1 else f"{each} * {count}")
            else:
                number += size * term.extent
        if number or not terms:
            return " + ".join([*terms, str(number)]).replace("+ -", "- ")
        return " + ".join(terms)

    def _last_size(self, box: StagedBox) -> str:
        text = self._length(box.staged.sides[-1])
        if box.staged.odd is None:
            return text
        if text.isdigit():
            return str(int(text) + (int(text) % 2 != box.staged.odd))
        return f"({text}) | 1" if box.staged.odd else f"({text}) + ({text}) % 2"

    def _words(self, box: StagedBox) -> str:
        """How many words of the pool a box takes: whole vectors where there are any."""
        sizes = [self._length(side) for side in box.staged.sides[:-1]] + [self._last_size(box)]
        product, each = " * ".join(map(_operand, sizes)), box.bytes
        if self._has_vectors:
            return f"({product} * {each} + {WIDE_BYTES - 1}) / {WIDE_BYTES} * {WIDE_BYTES // _WORD}"
        return product if each == _WORD else f"({product} * {each} + {_WORD - 1}) / {_WORD}"

    def _each(self, box: StagedBox) -> str:
        """How many elements a worker copies at most."""
        axes = used_dimensions(self.launch, AxisKind.WORKER)
        workers = " * ".join(self.numbers.axis_count(axis) for axis in axes)
        product = " * ".join(_operand(self._length(side)) for side in box.staged.sides)
        return f"({product} + {workers} - 1) / ({workers})"

    def _each_macro(self, box: StagedBox) -> str:
        return f"{self.launch.name}_{box.called('each')}".upper()

    @property
    def _has_vectors(self) -> bool:
        return any(box.vector is not None for box in self.boxes)

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
