"""A box of an array that a launch stages, as its program names it: its sizes, its elements' places, and the elements that they are copies of."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.launch_numbers import Numbers
from tilepragma.codegen.printer import Flat, Printer
from tilepragma.codegen.vector_copies import WIDE_BYTES, Vector
from tilepragma.codegen.writer import Writer
from tilepragma.ir.expressions import Access, Binary, DataObject, Scope, Storage, local_scalar
from tilepragma.ir.loop_tree import Staged
from tilepragma.ir.types import LONG, ScalarType


@dataclass(frozen=True)
class StagedBox:
    """`staged` is box `ordinal` of those of its array; `vector`, how workers copy it where its
    tiles lie at multiples of 16 bytes. `printer` is that of the launch's own arrays.
    """

    staged: Staged
    ordinal: int
    vector: Vector | None
    numbers: Numbers
    printer: Printer

    def called(self, what: str) -> str:
        """`A_staged`; of further boxes of an array `A_2_staged`."""
        name = self.object.name
        return self.numbers.fresh(f"{name}_{what}" if self.ordinal == 1 else f"{name}_{self.ordinal}_{what}")

    @property
    def object(self) -> DataObject:
        """The array."""
        return self.staged.object

    @property
    def name(self) -> str:
        """The pointer to the copy that is read."""
        return self.called("staged")

    @property
    def next(self) -> str:
        """The pointer to the copy that is made ahead."""
        return self.called("next")

    @property
    def held(self) -> str:
        """What a worker has in registers of that copy."""
        return self.called("held")

    @property
    def vectors(self) -> str:
        """How many vectors of a row are copied as such."""
        return self.called("vectors")

    @property
    def single(self) -> str:
        """How many elements of a row are copied one at a time."""
        return self.called("single")

    @property
    def copy(self) -> DataObject:
        """The object that accesses to the copy mention."""
        return DataObject(self.name, self.name, self.object.element, Storage.CONTIGUOUS, Scope.LOCAL, (None,))

    @property
    def flat(self) -> Flat:
        """How the array is reached."""
        return self.printer.objects.flat[self.object]

    @property
    def bytes(self) -> int:
        """The size of an element."""
        assert isinstance(self.object.element, ScalarType), "boxes are of numbers"
        return self.object.element.bits // 8

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return self.object.rank

    def size(self, dimension: int) -> str:
        """The elements of a side in a full tile."""
        return self.called(f"size{dimension}")

    @property
    def sizes(self) -> list[str]:
        """Those of all sides."""
        return [self.size(dimension) for dimension in range(self.rank)]

    def span(self, dimension: int) -> str:
        """The elements of a side in the tile that is copied."""
        return self.called(f"span{dimension}")

    def lower(self, dimension: int) -> str:
        """The least index of a side in that tile."""
        return self.called(f"staged{dimension}")

    @property
    def pitch(self) -> str:
        """How far rows of the copy are apart."""
        return self.called("pitch") if self.staged.odd is not None else self.size(self.rank - 1)

    def places(self, writer: Writer, sizes: list[str], in_row: Callable[[str], str] = lambda place: place) -> list[str]:
        """Declare where number `at` of so many lies in the box, `in_row` in its row; the names, a dimension each."""
        at = self.numbers.fresh("at")
        places = [self.numbers.fresh(f"at{dimension}") for dimension in range(self.rank)]
        for dimension, place in enumerate(places):
            inner = sizes[dimension + 1 :]
            value = at if not inner else f"{at} / {inner[0]}" if len(inner) == 1 else f"{at} / ({' * '.join(inner)})"
            if dimension > 0:
                value = f"{value} % {sizes[dimension]}"
            writer.line(f"const int {place} = {value if inner else in_row(value)};")
        return places

    def index(self, places: list[str]) -> str:
        """Where in the copy an element lies."""
        index = places[0]
        for dimension in range(1, self.rank):
            pitch = self.size(dimension) if dimension < self.rank - 1 else self.pitch
            index = f"({index})" if " " in index else index
            index = f"{index} * {pitch} + {places[dimension]}"
        return index

    def source(self, places: list[str]) -> str:
        """The access to an element in the array."""
        subscripts = tuple(
            Binary("+", local_scalar(self.lower(dimension), LONG), local_scalar(place, LONG), LONG)
            for dimension, place in enumerate(places)
        )
        return self.printer.expression(Access(self.object, subscripts, (), self.object.element))

    def condition(self, vector: Vector) -> str:
        """Whether vectors of the tile lie at multiples of 16 bytes: the array, its rows and the tile in them, and rows of the copy, if `together`."""
        last = self.rank - 1
        rows = [self.size(last)] if vector.together else []
        if self.flat.lengths and not self.flat.lengths[-1].isdigit():
            rows.append(self.flat.lengths[-1])
        taken_off = [one for one in (self.flat.lowers[-1] if self.flat.lowers else None, self.flat.origin) if one]
        begin = f"({' - '.join([self.lower(last), *taken_off])})" if taken_off else self.lower(last)
        tests = [f"{row} % {vector.count} == 0" for row in (*rows, begin)]
        return " && ".join([*tests, f"(size_t){self.printer.name(self.object)} % {WIDE_BYTES} == 0"])

    def tests(self, places: list[str]) -> str:
        """Whether the tile has an element."""
        spans = [self.span(dimension) for dimension in range(self.rank)]
        tests = [f"{place} < {span}" for place, span in zip(places, spans, strict=True)]
        return " && ".join([*tests, *_in_user_array(self.staged, places, spans)])


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
