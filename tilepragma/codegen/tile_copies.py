"""The loops in which all workers of a gang copy a box together: 16 bytes at a time what the tile
has in whole vectors, elements one at a time.

int A_vectors = …the array, its rows and the tile begin at multiples of 16 bytes, and the tile's
rows are whole… ? A_size1 / 4 : 0; const int A_single = A_size1 - 4 * A_vectors;
for (at …) …at0, at1 of a vector…  if (…in the tile…) …16 bytes…
for (at …) …at0, at1 behind the vectors…  if (…in the tile…) …an element…

The two loops copy what one over the elements would, each element once: a row is A_vectors vectors
and A_single elements, and of a vector the tile has all or nothing, its rows being whole vectors or
as long as the box's. So what is proven of boxes holds of both, and nothing is read but elements of
boxes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.dialect import Dialect
from tilepragma.codegen.staged_tile import StagedBox
from tilepragma.codegen.vector_copies import WIDE_BYTES, Vector
from tilepragma.codegen.writer import Writer


@dataclass(frozen=True)
class TileCopies:
    """Prints the loops over a box. `async_sizes` are the bytes that the device may copy by itself where copies are made ahead."""

    writer: Writer
    dialect: Dialect
    box: StagedBox
    async_sizes: tuple[int, ...] = ()
    ahead: bool = False

    def copy(self, target: str) -> None:
        """The copies of what the tile has to the box that pointer `target` points to."""
        box, vector = self.box, self.box.vector
        if vector is None:
            self._elements(target, box.sizes, "")
            return
        rows, length, span = box.sizes[:-1], box.sizes[-1], box.span(box.rank - 1)
        whole = f"({span} % {vector.count} == 0 || {span} == {length})"
        self.writer.line(f"/* The vectors of {WIDE_BYTES} bytes in a row of the tile, and what is left. */")
        # No constant, since compilers would warn of divisions by 0 in a loop that is not entered.
        self.writer.line(f"int {box.vectors} = {box.condition(vector)} && {whole} ? {length} / {vector.count} : 0;")
        passed = f"{vector.count} * {box.vectors}"
        self.writer.line(f"const int {box.single} = {length} - {passed};")
        self._vectors(target, vector, [*rows, box.vectors])
        self._elements(target, [*rows, box.single], passed)

    @contextmanager
    def held(self, most: str) -> Iterator[tuple[str, list[str]]]:
        """A loop over the elements that compilers unroll: `most` of them, each with its number and its places."""
        at, each = self._fresh("at"), self._fresh("each")
        self.writer.line(self.dialect.unroll)
        with self.writer.block(f"for (int {each} = 0; {each} < {most}; ++{each})"):
            self.writer.line(f"const int {at} = {self._fresh('worker')} + {each} * {self._fresh('workers')};")
            yield each, self.box.places(self.writer, self.box.sizes)

    def _elements(self, target: str, sizes: list[str], passed: str) -> None:
        """Elements of rows behind those that are `passed`."""
        with self._each(sizes):
            places = self.box.places(self.writer, sizes, lambda place: f"{passed} + {place}" if passed else place)
            copied = self._copied(f"{target}[{self.box.index(places)}]", self.box.source(places), self.box.bytes)
            self.writer.line(f"if ({self.box.tests(places)}) {copied};")

    def _vectors(self, target: str, vector: Vector, sizes: list[str]) -> None:
        """Vectors, to where rows of the copy are whole vectors apart; else their components."""
        box, writer = self.box, self.writer
        with self._each(sizes):
            places = box.places(writer, sizes, lambda place: f"{place} * {vector.count}")
            index = box.index(places)
            source = f"*(const {self.dialect.global_space}{vector.type} *)&{box.source(places)}"
            if vector.together:
                whole = f"*({self.dialect.pointed_local_space}{vector.type} *)&{target}[{index}]"
                writer.line(f"if ({box.tests(places)}) {self._copied(whole, source, WIDE_BYTES)};")
                return
            value = self._fresh("value")
            with writer.block(f"if ({box.tests(places)})"):
                writer.line(f"const {vector.type} {value} = {source};")
                for place, component in enumerate(vector.components):
                    writer.line(f"{target}[{index}{f' + {place}' if place else ''}] = {value}.{component};")

    def _copied(self, to: str, source: str, size: int) -> str:
        is_async = self.ahead and size in self.async_sizes
        return f"TILEK_COPY_{size}({to}, {source})" if is_async else f"{to} = {source}"

    @contextmanager
    def _each(self, sizes: list[str]) -> Iterator[None]:
        """A loop over what a worker copies of a box of these sizes; consecutive workers take what is consecutive."""
        at, worker, workers = self._fresh("at"), self._fresh("worker"), self._fresh("workers")
        with self.writer.block(f"for (int {at} = {worker}; {at} < {' * '.join(sizes)}; {at} += {workers})"):
            yield

    def _fresh(self, name: str) -> str:
        return self.box.numbers.fresh(name)
