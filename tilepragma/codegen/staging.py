"""Boxes of arrays in memory of a gang: what they take of it, the copies that all workers make together, and the accesses to them.

All of it is in the program's text: with the numbers of workers as constants the compiler sees whether the boxes fit, and drops what does
not run; with numbers as arguments a pool is declared that the boxes lie in, and the kernel asks whether they fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilepragma.codegen.constants import literal_value
from tilepragma.codegen.dialect import Dialect
from tilepragma.codegen.launches import used_dimensions
from tilepragma.codegen.manifest import axis_name
from tilepragma.codegen.numbers import Numbers
from tilepragma.codegen.printer import Flat, Printer
from tilepragma.codegen.uniform_nests import Ends, inner_ends
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
from tilepragma.ir.polynomial import Polynomial, expression, number, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.types import INT, LONG, ScalarType, Type
from tilepragma.plan.kernel_plan import Launch
from tilepragma.plan.staging import staged_arrays
from tilepragma.plan.staging_references import Values, settled_values, written_out

_WORD = 8


@dataclass(frozen=True)
class StagedMacros:
    """Preprocessor names of an entry point: `words` of memory that the boxes take (with its value as text), `fits`, whether that is less than
    a gang has, and `pool`, how many words are declared.
    """

    words: str
    value: str
    fits: str
    pool: str


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
        return StagedMacros(f"{name}_STAGED_WORDS", value, f"{name}_STAGED", f"{name}_POOL_WORDS")

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
            own = _atom(self.numbers.name(tiled, "worker"), INT) if workers else number(0)
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
        offsets: list[str] = []
        for one in self.arrays:
            place = " + ".join([self._pool(), *offsets])
            pointer = self.printer.type(one.object.element, "*")
            declared = self.printer.type(one.object.element, f"*const {self._name(one)}")
            inner = place if not offsets else f"({place})"
            space = self.dialect.local_space if self.dialect.name == "opencl" else ""
            writer.line(f"{space}{declared} = ({space}{pointer}){inner};")
            for dimension, side in enumerate(one.sides):
                writer.line(f"const int {self._size(one, dimension)} = {self._length(side)};")
            if one.odd:
                writer.line(f"const int {self._pitch(one)} = {self._last_size(one)};")
            offsets.append(self._words(one))
        axes = used_dimensions(self.launch, AxisKind.WORKER)
        index = ""
        for axis in reversed(axes):
            own = self.numbers.fresh(axis_name(axis))
            around = f"({index})" if " + " in index else index
            index = f"{around} * {self.numbers.axis_count(axis)} + {own}" if index else own
        writer.line(f"const int {self._worker()} = {index};")
        writer.line(f"const int {self._workers()} = {' * '.join(self.numbers.axis_count(axis) for axis in axes)};")

    def stage(self, writer: Writer, stage: Stage, ends: Ends, some: str) -> None:
        """The copies of one stage; consecutive workers take consecutive elements."""
        writer.line("/* What the gang's tile reads, copied by all of its workers. */")
        for one in stage.arrays:
            for dimension, side in enumerate(one.sides):
                lower = self._least(side, ends)
                writer.line(f"const {self.dialect.index} {self._lower(one, dimension)} = {lower};")
        with writer.block(f"if ({some})"):
            for one in stage.arrays:
                self._copy_in(writer, one, ends)

    def _copy_in(self, writer: Writer, one: Staged, ends: Ends) -> None:
        rank = one.object.rank
        spans = [self._called(one, f"span{dimension}") for dimension in range(rank)]
        for side, span in zip(one.sides, spans, strict=True):
            writer.line(f"const int {span} = {self._span(side, ends)};")
        at = self.numbers.fresh("at")
        places = [self.numbers.fresh(f"at{dimension}") for dimension in range(rank)]
        sizes = [self._size(one, dimension) for dimension in range(rank)]
        head = f"for (int {at} = {self._worker()}; {at} < {' * '.join(sizes)}; {at} += {self._workers()})"
        with writer.block(head):
            for dimension, place in enumerate(places):
                inner = sizes[dimension + 1 :]
                value = (
                    at if not inner else f"{at} / {inner[0]}" if len(inner) == 1 else f"{at} / ({' * '.join(inner)})"
                )
                if dimension > 0:
                    value = f"{value} % {sizes[dimension]}"
                writer.line(f"const int {place} = {value};")
            index = places[0]
            for dimension in range(1, rank):
                pitch = self._pitch(one) if one.odd and dimension == rank - 1 else sizes[dimension]
                index = (
                    f"({index}) * {pitch} + {places[dimension]}"
                    if " " in index
                    else f"{index} * {pitch} + {places[dimension]}"
                )
            tests = " && ".join(f"{place} < {span}" for place, span in zip(places, spans, strict=True))
            tests += "".join(f" && {test}" for test in _in_user_array(one, places, spans))
            subscripts = tuple(
                Binary("+", local_scalar(self._lower(one, dimension), LONG), local_scalar(place, LONG), LONG)
                for dimension, place in enumerate(places)
            )
            source = self.printer.expression(Access(one.object, subscripts, (), one.object.element))
            writer.line(f"if ({tests}) {self._name(one)}[{index}] = {source};")

    def _least(self, side: StagedSide, ends: Ends) -> str:
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
            return _sum(text, self.printer.expression(side.least, 12), negative=False)
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
                count = self.numbers.axis_count(term.extent)
                terms.append(count if size == 1 else f"{size} * {count}")
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
        element = one.object.element
        assert isinstance(element, ScalarType), "boxes are of numbers"
        sizes = [self._length(side) for side in one.sides[:-1]] + [self._last_size(one)]
        product = " * ".join(size if " " not in size else f"({size})" for size in sizes)
        each = element.bits // 8
        return product if each == _WORD else f"({product} * {each} + {_WORD - 1}) / {_WORD}"

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

    def _lower(self, one: Staged, dimension: int) -> str:
        return self._called(one, f"staged{dimension}")

    def _size(self, one: Staged, dimension: int) -> str:
        return self._called(one, f"size{dimension}")

    def _pitch(self, one: Staged) -> str:
        return self._called(one, "pitch")

    def _pool(self) -> str:
        return self.numbers.fresh("pool")

    def _worker(self) -> str:
        return self.numbers.fresh("worker")

    def _workers(self) -> str:
        return self.numbers.fresh("workers")


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
