"""An array tile of a launch, as its program names it: sizes, places, and the elements copied."""

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
class StagedTile:
    """`staged` is array tile `ordinal` of its array. `vector`: how workers copy it where its tiles
    lie at multiples of 16 bytes. `printer` prints the launch's arrays.
    """

    staged: Staged
    ordinal: int
    vector: Vector | None
    numbers: Numbers
    printer: Printer

    def called(self, what: str) -> str:
        """`A_staged`; for further tiles of an array, `A_2_staged`."""
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
        """The pointer to the copy that double buffering fills."""
        return self.called("next")

    @property
    def held(self) -> str:
        """The worker's registers for that copy."""
        return self.called("held")

    @property
    def vectors(self) -> str:
        """How many vectors of a row are copied whole."""
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
        """The layout of the array."""
        return self.printer.objects.flat[self.object]

    @property
    def bytes(self) -> int:
        """The size of an element."""
        assert isinstance(self.object.element, ScalarType), "tiles are of numbers"
        return self.object.element.bits // 8

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return self.object.rank

    def size(self, dimension: int) -> str:
        """The elements of a dimension in a full tile."""
        return self.called(f"size{dimension}")

    @property
    def sizes(self) -> list[str]:
        """The elements of all dimensions in a full tile."""
        return [self.size(dimension) for dimension in range(self.rank)]

    def span(self, dimension: int) -> str:
        """The elements of a dimension in the tile that is copied."""
        return self.called(f"span{dimension}")

    def lower(self, dimension: int) -> str:
        """The least index of a dimension in that tile."""
        return self.called(f"staged{dimension}")

    @property
    def pitch(self) -> str:
        """The distance between rows of the copy."""
        return self.called("pitch") if self.staged.odd is not None else self.size(self.rank - 1)

    def places(self, writer: Writer, sizes: list[str], in_row: Callable[[str], str] = lambda place: place) -> list[str]:
        """Declare the coordinates of element `at` of so many, `in_row` in its row; their names."""
        number = self.numbers.fresh("at")
        places = [self.numbers.fresh(f"at{dimension}") for dimension in range(self.rank)]
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
        """Whether the tile's vectors are 16-byte aligned in the array, and in a `together` copy."""
        last = self.rank - 1
        rows = [self.size(last)] if vector.together else []
        if self.flat.lengths and not self.flat.lengths[-1].isdigit():
            rows.append(self.flat.lengths[-1])
        lowers = filter(None, (self.flat.lowers[-1] if self.flat.lowers else None, self.flat.origin))
        begin = " - ".join((self.lower(last), *lowers))
        begin = f"({begin})" if " - " in begin else begin
        tests = [f"{row} % {vector.count} == 0" for row in (*rows, begin)]
        return " && ".join([*tests, f"(size_t){self.printer.name(self.object)} % {WIDE_BYTES} == 0"])

    def tests(self, places: list[str]) -> str:
        """Whether the tile has an element."""
        spans = [self.span(dimension) for dimension in range(self.rank)]
        tests = [f"{place} < {span}" for place, span in zip(places, spans, strict=True)]
        return " && ".join([*tests, *_in_user_array(self.staged, places, spans)])


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
