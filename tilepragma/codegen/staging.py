"""Boxes of arrays in memory of a gang: what they take of it, the copies that all workers make together, and the accesses to them.

All of it is in the program's text: with the numbers of workers as constants the compiler sees whether the boxes fit, and drops what does
not run; with numbers as arguments a pool is declared that the boxes lie in, and the kernel asks whether they fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tilepragma.codegen.constants import literal_value
from tilepragma.codegen.dialect import Dialect
from tilepragma.codegen.launches import used_dimensions
from tilepragma.codegen.manifest import axis_name
from tilepragma.codegen.numbers import Numbers
from tilepragma.codegen.printer import Flat, Printer
from tilepragma.codegen.uniform_nests import Ends, Moved, inner_ends
from tilepragma.codegen.writer import Writer
from tilepragma.ir.directives import AxisKind, TileKind
from tilepragma.ir.dump import subscripts_text
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
from tilepragma.ir.looptree import Axis, Block, Stage, Staged, StagedSide, TileNest
from tilepragma.ir.points import points_of
from tilepragma.ir.polynomial import Polynomial, expression, number, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.types import INT, LONG, ScalarType, Type
from tilepragma.plan.kernel_plan import Launch
from tilepragma.plan.staging import copies_ahead, staged_arrays
from tilepragma.plan.staging_references import Values, settled_values, written_out

_WORD = 8
#: Registers of 32 bits in which a worker holds what it has read of the next tile.
_MOST_HELD = 16
#: Sizes of elements in bytes that CUDA copies without a register.
_ASYNC_SIZES = (4, 8)


@dataclass(frozen=True)
class StagedMacros:
    """Preprocessor names of an entry point: `words` of memory that the boxes take (with its value as text), `fits`, whether that is less than
    a gang has, and `pool`, how many words are declared.

    Of copies ahead `twice`, whether the boxes fit two times; `held`, whether a worker holds what it copies in registers until its tile is computed:
    where the `cost` of that, in registers of 32 bits, is `most` at most; `each`, how many elements it copies of each box, with the value;
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

    @property
    def arrays(self) -> tuple[Staged, ...]:
        """The boxes, in textual order."""
        return staged_arrays(self.launch)

    def macros(self) -> StagedMacros:
        """What is defined before the entry point."""
        name = self.launch.name.upper()
        value = " + ".join(self._words(one) for one in self.arrays)
        plain = StagedMacros(f"{name}_STAGED_WORDS", value, f"{name}_STAGED", f"{name}_POOL_WORDS")
        if not copies_ahead(self.launch):
            return plain
        cuda = self.dialect.name == "cuda"
        costs = [(self._each_macro(one), _bytes(one) // 4) for one in self.arrays]
        return replace(
            plain,
            twice=f"{name}_TWICE",
            held=f"{name}_HELD",
            each=tuple((self._each_macro(one), self._each(one)) for one in self.arrays),
            cost=" + ".join(each if size < 2 else f"{size} * {each}" for each, size in costs),
            async_sizes=tuple(size for size in map(_bytes, self.arrays) if cuda and size in _ASYNC_SIZES),
        )

    def flats(self) -> dict[DataObject, Flat]:
        """How the copies are reached: by an index into the box."""
        return {self._copy(one): Flat(()) for one in self.arrays}

    def body(self) -> Block:
        """The launch's staged form, reading the copies."""
        assert self.launch.staged is not None, "asked for staged launches only"
        (nest,) = self.launch.staged.statements
        assert isinstance(nest, TileNest), "a staged form is one nest"
        boxes = {(one.object, text): one for one in self.arrays for text in one.reads}
        known, offsets = settled_values(nest.body), self._offsets(nest)

        def change(access: Access) -> Access:
            one = boxes.get((access.object, subscripts_text(access.subscripts)))
            if one is None:
                return access
            index = self._index(one, access, known, offsets)
            return Access(self._copy(one), (index,), access.path, access.type, access.range)

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
        for term in (term for one in self.arrays for side in one.sides for term in side.terms):
            iterator = term.iterator
            if iterator not in found:
                here = of_atom(access_to(iterator))
                ends = [_atom(name, iterator.element) for name in inner_ends(self.numbers, iterator)]
                found[iterator] = (here - ends[0], here - ends[1])
        return found

    def _index(
        self, one: Staged, access: Access, known: Values, offsets: dict[DataObject, tuple[Polynomial, Polynomial]]
    ) -> Expression:
        """Where in the box the element lies: what the subscripts are beyond the box's begin, row-major."""
        total: Expression | None = None
        for dimension, (subscript, side) in enumerate(zip(access.subscripts, one.sides, strict=True)):
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
            pitch = self._pitch(one) if one.odd and dimension == one.object.rank - 1 else self._size(one, dimension)
            total = Binary("+", Binary("*", total, local_scalar(pitch, INT), INT), place, INT)
        assert total is not None, "arrays have dimensions"
        return total

    def declare(self, writer: Writer) -> None:
        """The pool, at the head of the entry point."""
        writer.line(f"{self.dialect.local_space}{self.dialect.wide} {self._pool()}[{self.macros().pool}];")

    def start(self, writer: Writer) -> None:
        """Where the boxes lie in the pool, and their sizes."""
        if not copies_ahead(self.launch):
            self._point(writer, self._name)
        for one in self.arrays:
            for dimension, side in enumerate(one.sides):
                writer.line(f"const int {self._size(one, dimension)} = {self._length(side)};")
            if one.odd:
                writer.line(f"const int {self._pitch(one)} = {self._last_size(one)};")
        axes = used_dimensions(self.launch, AxisKind.WORKER)
        index = ""
        for axis in reversed(axes):
            own = self.numbers.fresh(axis_name(axis))
            around = f"({index})" if " + " in index else index
            index = f"{around} * {self.numbers.axis_count(axis)} + {own}" if index else own
        writer.line(f"const int {self._worker()} = {index};")
        writer.line(f"const int {self._workers()} = {' * '.join(self.numbers.axis_count(axis) for axis in axes)};")

    def _point(self, writer: Writer, name: Callable[[Staged], str], beyond: str = "") -> None:
        """Pointers to the boxes in the pool, `beyond` so many words."""
        offsets = [beyond] if beyond else []
        space = self.dialect.local_space if self.dialect.name == "opencl" else ""
        for one in self.arrays:
            place = " + ".join([self._pool(), *offsets])
            pointer = self.printer.type(one.object.element, "*")
            declared = self.printer.type(one.object.element, f"*const {name(one)}")
            inner = place if not offsets else f"({place})"
            writer.line(f"{space}{declared} = ({space}{pointer}){inner};")
            offsets.append(self._words(one))

    def stage(self, writer: Writer, stage: Stage, ends: Ends, some: str) -> None:
        """The copies of one stage; consecutive workers take consecutive elements."""
        writer.line("/* What the gang's tile reads, copied by all of its workers. */")
        self._begins(writer, stage, ends, lambda least: least)
        with writer.block(f"if ({some})"):
            for one in stage.arrays:
                self._spans(writer, one, ends)
                with writer.block(self._each_element(one)):
                    index, tests, source = self._element(writer, one)
                    writer.line(f"if ({tests}) {self._name(one)}[{index}] = {source};")

    def start_ahead(self, writer: Writer, step: str) -> str:
        """One of the halves of the pool is computed from, the other copied to; how far ahead tiles are copied."""
        writer.line(f"int {self._half()} = 0;")
        return f"({self.macros().twice} ? {step} : 0)"

    def copy_ahead(self, writer: Writer, stage: Stage, ends: Ends, some: str, moved: Moved) -> None:
        """The copies of a tile into the other half, or into registers for it; into the one half where there is but one."""
        macros, half = self.macros(), self._half()
        self._point(writer, self._name, half)
        other = self.numbers.fresh("other")
        writer.line(f"const int {other} = {macros.twice} ? {macros.words} - {half} : {half};")
        self._point(writer, self._next, other)
        for one in stage.arrays:
            held = self.printer.type(one.object.element, self._held(one))
            writer.line(f"{held}[{macros.held} ? {self._each_macro(one)} : 1];")
        self._begins(writer, stage, ends, moved)
        with writer.block(f"if ({some})"):
            for one in stage.arrays:
                self._spans(writer, one, ends)
                writer.line(f"if ({macros.held}) {{")
                writer.depth += 1
                with self._each_held(writer, one) as each:
                    index, tests, source = self._element(writer, one)
                    writer.line(f"if ({tests}) {self._held(one)}[{each}] = {source};")
                writer.depth -= 1
                writer.line("} else {")
                writer.depth += 1
                with writer.block(self._each_element(one)):
                    index, tests, source = self._element(writer, one)
                    target, size = f"{self._next(one)}[{index}]", _bytes(one)
                    is_async = size in macros.async_sizes
                    copy = f"TILEK_COPY_{size}({target}, {source})" if is_async else f"{target} = {source}"
                    writer.line(f"if ({tests}) {copy};")
                writer.depth -= 1
                writer.line("}")
        with writer.block(f"if (!{macros.twice})"):
            self._meet(writer)

    def finish_ahead(self, writer: Writer, stage: Stage, ends: Ends, some: str) -> None:
        """What registers hold goes to the other half, which is the next to compute from."""
        macros, half = self.macros(), self._half()
        with writer.block(f"if ({macros.held} && {some})"):
            for one in stage.arrays:
                self._spans(writer, one, ends)
                with self._each_held(writer, one) as each:
                    index, tests, _ = self._element(writer, one)
                    writer.line(f"if ({tests}) {self._next(one)}[{index}] = {self._held(one)}[{each}];")
        self._meet(writer)
        writer.line(f"{half} = {macros.twice} ? {macros.words} - {half} : {half};")

    def _meet(self, writer: Writer) -> None:
        if self.dialect.name == "cuda":
            writer.line("tilek_wait_for_copies();")
        writer.line(self.dialect.barrier)

    def _begins(self, writer: Writer, stage: Stage, ends: Ends, moved: Moved) -> None:
        for one in stage.arrays:
            for dimension, side in enumerate(one.sides):
                lower = self._least(side, ends, moved)
                writer.line(f"const {self.dialect.index} {self._lower(one, dimension)} = {lower};")

    def _spans(self, writer: Writer, one: Staged, ends: Ends) -> None:
        for dimension, side in enumerate(one.sides):
            writer.line(f"const int {self._span_name(one, dimension)} = {self._span(side, ends)};")

    def _each_element(self, one: Staged) -> str:
        """The head of the loop over the elements that a worker copies."""
        at = self.numbers.fresh("at")
        return f"for (int {at} = {self._worker()}; {at} < {self._elements(one)}; {at} += {self._workers()})"

    @contextmanager
    def _each_held(self, writer: Writer, one: Staged) -> Iterator[str]:
        """A loop over the same elements that compilers unroll, with their number."""
        at, each = self.numbers.fresh("at"), self.numbers.fresh("each")
        writer.line(self.dialect.unroll)
        with writer.block(f"for (int {each} = 0; {each} < {self._each_macro(one)}; ++{each})"):
            writer.line(f"const int {at} = {self._worker()} + {each} * {self._workers()};")
            yield each

    def _elements(self, one: Staged) -> str:
        return " * ".join(self._size(one, dimension) for dimension in range(one.object.rank))

    def _element(self, writer: Writer, one: Staged) -> tuple[str, str, str]:
        """Where element `at` lies in the box, tests of whether the tile has it, and the access to it in the array."""
        rank = one.object.rank
        spans = [self._span_name(one, dimension) for dimension in range(rank)]
        at = self.numbers.fresh("at")
        places = [self.numbers.fresh(f"at{dimension}") for dimension in range(rank)]
        sizes = [self._size(one, dimension) for dimension in range(rank)]
        for dimension, place in enumerate(places):
            inner = sizes[dimension + 1 :]
            value = at if not inner else f"{at} / {inner[0]}" if len(inner) == 1 else f"{at} / ({' * '.join(inner)})"
            if dimension > 0:
                value = f"{value} % {sizes[dimension]}"
            writer.line(f"const int {place} = {value};")
        index = places[0]
        for dimension in range(1, rank):
            pitch = self._pitch(one) if one.odd and dimension == rank - 1 else sizes[dimension]
            index = f"({index})" if " " in index else index
            index = f"{index} * {pitch} + {places[dimension]}"
        tests = " && ".join(f"{place} < {span}" for place, span in zip(places, spans, strict=True))
        tests += "".join(f" && {test}" for test in _in_user_array(one, places, spans))
        subscripts = tuple(
            Binary("+", local_scalar(self._lower(one, dimension), LONG), local_scalar(place, LONG), LONG)
            for dimension, place in enumerate(places)
        )
        return index, tests, self.printer.expression(Access(one.object, subscripts, (), one.object.element))

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

    def _last_size(self, one: Staged) -> str:
        text = self._length(one.sides[-1])
        if not one.odd:
            return text
        return str(int(text) | 1) if text.isdigit() else f"({text}) | 1"

    def _words(self, one: Staged) -> str:
        """How many words of the pool a box takes."""
        sizes = [self._length(side) for side in one.sides[:-1]] + [self._last_size(one)]
        product, each = " * ".join(map(_operand, sizes)), _bytes(one)
        return product if each == _WORD else f"({product} * {each} + {_WORD - 1}) / {_WORD}"

    def _each(self, one: Staged) -> str:
        """How many elements a worker copies at most."""
        axes = used_dimensions(self.launch, AxisKind.WORKER)
        workers = " * ".join(self.numbers.axis_count(axis) for axis in axes)
        product = " * ".join(_operand(self._length(side)) for side in one.sides)
        return f"({product} + {workers} - 1) / ({workers})"

    def _each_macro(self, one: Staged) -> str:
        return f"{self.launch.name}_{self._called(one, 'each')}".upper()

    def _copy(self, one: Staged) -> DataObject:
        name = self._name(one)
        return DataObject(name, name, one.object.element, Storage.CONTIGUOUS, Scope.LOCAL, (None,))

    def _name(self, one: Staged) -> str:
        return self._called(one, "staged")

    def _called(self, one: Staged, what: str) -> str:
        """`A_staged`; of further boxes of an array `A_2_staged`."""
        mine = [other for other in self.arrays if other.object == one.object]
        number_ = mine.index(one) + 1
        return self.numbers.fresh(
            f"{one.object.name}_{what}" if number_ == 1 else f"{one.object.name}_{number_}_{what}"
        )

    def _next(self, one: Staged) -> str:
        return self._called(one, "next")

    def _held(self, one: Staged) -> str:
        return self._called(one, "held")

    def _span_name(self, one: Staged, dimension: int) -> str:
        return self._called(one, f"span{dimension}")

    def _lower(self, one: Staged, dimension: int) -> str:
        return self._called(one, f"staged{dimension}")

    def _size(self, one: Staged, dimension: int) -> str:
        return self._called(one, f"size{dimension}")

    def _pitch(self, one: Staged) -> str:
        return self._called(one, "pitch")

    def _pool(self) -> str:
        return self.numbers.fresh("pool")

    def _half(self) -> str:
        return self.numbers.fresh("present")

    def _worker(self) -> str:
        return self.numbers.fresh("worker")

    def _workers(self) -> str:
        return self.numbers.fresh("workers")


def _bytes(one: Staged) -> int:
    """The size of an element."""
    element = one.object.element
    assert isinstance(element, ScalarType), "boxes are of numbers"
    return element.bits // 8


def _in_user_array(one: Staged, places: list[str], spans: list[str]) -> Iterator[str]:
    """Tests that an element of the box lies between the first and the last that is read, where there are others."""
    ends = [f"{span} - {by + 1}" for span, by in zip(spans, one.after, strict=True)] if one.after else []
    for relation, limits in ((">", [str(by) for by in one.before]), ("<", ends)):
        if not limits:
            continue
        test = f"{places[-1]} {relation}= {limits[-1]}"
        for place, limit in list(zip(places, limits, strict=True))[-2::-1]:
            inner = f"({test})" if "||" in test else test
            test = f"{place} {relation} {limit} || ({place} == {limit} && {inner})"
        yield f"({test})"


def _atom(name: str, type_: Type) -> Polynomial:
    return of_atom(local_scalar(name, type_))


def _sum(left: str, right: str, *, negative: bool) -> str:
    if not left:
        return f"-{right}" if negative else right
    return f"{left} {'-' if negative else '+'} {right}"


def _operand(text: str) -> str:
    return f"({text})" if " " in text else text
