"""The loops in which all workers of a gang copy a box together: elements one at a time, or 16 bytes at a time where the tile lies so.

if (A_wide) {                                    /* the array, its rows and the tile begin at multiples of 16 bytes */
    for (at …) {
        …at0, at1 of a vector…
        if (…its ends lie in the tile…) …16 bytes…
        else …its elements, each where it lies in the tile…
    }
} else …elements…

Both loops copy the same elements: each is of one vector, and what a tile has of a row is an interval, so that it has all of a vector of which it has
both ends. So what is proven of boxes holds of either, and nothing is read but elements of boxes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tilepragma.codegen.dialect import Dialect
from tilepragma.codegen.staged_box import StagedBox
from tilepragma.codegen.wide_copies import WIDE_BYTES, Vector, known_length
from tilepragma.codegen.writer import Writer


@dataclass(frozen=True)
class BoxCopies:
    """Prints the loops over a box. `async_sizes` are the bytes that the device may copy by itself where copies are made ahead."""

    writer: Writer
    dialect: Dialect
    box: StagedBox
    async_sizes: tuple[int, ...] = ()
    ahead: bool = False

    def copy(self, target: str) -> None:
        """The copies of what the tile has to the box that pointer `target` points to."""
        vector = self.box.vector
        if vector is None:
            self._elements(target)
            return
        with self.writer.block(f"if ({self.box.wide})"):
            self._vectors(target, vector)
            self.writer.otherwise()
            self._elements(target)

    @contextmanager
    def held(self, most: str) -> Iterator[tuple[str, list[str]]]:
        """A loop over the elements that compilers unroll: `most` of them, each with its number and its places."""
        at, each = self._fresh("at"), self._fresh("each")
        self.writer.line("#pragma unroll")
        with self.writer.block(f"for (int {each} = 0; {each} < {most}; ++{each})"):
            self.writer.line(f"const int {at} = {self._fresh('worker')} + {each} * {self._fresh('workers')};")
            yield each, self.box.places(self.writer, self.box.sizes)

    def _elements(self, target: str) -> None:
        with self._each(self.box.sizes):
            self._element(target, self.box.places(self.writer, self.box.sizes))

    def _element(self, target: str, places: list[str]) -> None:
        copied = self._copied(f"{target}[{self.box.index(places)}]", self.box.source(places), self.box.bytes)
        self.writer.line(f"if ({self.box.tests(places)}) {copied};")

    def _copied(self, to: str, source: str, size: int) -> str:
        is_async = self.ahead and size in self.async_sizes
        return f"TILEK_COPY_{size}({to}, {source})" if is_async else f"{to} = {source}"

    def _vectors(self, target: str, vector: Vector) -> None:
        box, writer = self.box, self.writer
        sizes = [*box.sizes[:-1], box.vectors]
        with self._each(sizes):
            places = box.places(writer, sizes, vector.count)
            *rows, first = places
            with writer.block(f"if ({box.tests(places, [*rows, f'{first} + {vector.count - 1}'])})"):
                self._vector(target, vector, places)
                writer.otherwise()
                each, place = self._fresh("each"), self._fresh("place")
                writer.line("#pragma unroll")
                with writer.block(f"for (int {each} = 0; {each} < {vector.count}; ++{each})"):
                    writer.line(f"const int {place} = {first} + {each};")
                    self._element(target, [*rows, place])

    def _vector(self, target: str, vector: Vector, places: list[str]) -> None:
        """A vector to where rows of the copy are whole vectors apart, else its components."""
        box, writer = self.box, self.writer
        index, length = box.index(places), known_length(box.staged.sides[-1])
        source = f"*(const {self.dialect.global_space}{vector.type} *)&{box.source(places)}"
        whole = f"*({self.dialect.pointed_local_space}{vector.type} *)&{target}[{index}]"
        fits = not box.staged.odd and length is not None and length % vector.count == 0
        if fits or self.ahead:
            writer.line(f"{self._copied(whole, source, WIDE_BYTES)};")
            return
        value = self._fresh("value")
        writer.line(f"const {vector.type} {value} = {source};")
        apart = [
            f"{target}[{index}{f' + {place}' if place else ''}] = {value}.{component};"
            for place, component in enumerate(vector.components)
        ]
        if box.staged.odd or length is not None:
            for line in apart:
                writer.line(line)
            return
        with writer.block(f"if ({box.pitch} % {vector.count} == 0)"):
            writer.line(f"{whole} = {value};")
            writer.otherwise()
            for line in apart:
                writer.line(line)

    @contextmanager
    def _each(self, sizes: list[str]) -> Iterator[None]:
        """A loop over what a worker copies of a box of these sizes; consecutive workers take what is consecutive."""
        at, worker, workers = self._fresh("at"), self._fresh("worker"), self._fresh("workers")
        with self.writer.block(f"for (int {at} = {worker}; {at} < {' * '.join(sizes)}; {at} += {workers})"):
            yield

    def _fresh(self, name: str) -> str:
        return self.box.numbers.fresh(name)
