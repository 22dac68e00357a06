"""Loops in which a gang's workers copy an array tile: whole vectors first, then elements.

int A_vectors = …the array, its rows and the tile begin at multiples of 16 bytes, and the tile's
rows are whole… ? A_size1 / 4 : 0; const int A_single = A_size1 - 4 * A_vectors;
for (at …) …at0, at1 of a vector…  if (…in the tile…) …16 bytes…
for (at …) …at0, at1 behind the vectors…  if (…in the tile…) …an element…

The two loops copy each element once: a row is A_vectors vectors and A_single elements. A vector
lies inside the tile or outside, since the tile's rows are whole vectors or as long as the array
tile's. So proofs about array tiles hold for both loops, and they read only elements of array tiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.dialect import Dialect
from tilepragma.codegen.staged_tile import StagedTile
from tilepragma.codegen.vector_copies import WIDE_BYTES, Vector
from tilepragma.codegen.writer import Writer


@dataclass(frozen=True)
class TileCopies:
    """Prints the loops over an array tile. `async_sizes`: bytes that copy asynchronously."""

    writer: Writer
    dialect: Dialect
    tile: StagedTile
    async_sizes: tuple[int, ...] = ()
    ahead: bool = False

    def copy(self, target: str) -> None:
        """Copy the tile's elements to `target`, a pointer to the array tile."""
        tile, vector = self.tile, self.tile.vector
        if vector is None:
            self._elements(target, tile.sizes, "")
            return
        rows, length, span = tile.sizes[:-1], tile.sizes[-1], tile.span(tile.rank - 1)
        whole = f"({span} % {vector.count} == 0 || {span} == {length})"
        self.writer.line(f"/* The vectors of {WIDE_BYTES} bytes in a row of the tile, and what is left. */")
        # No constant: compilers would warn of divisions by 0 in a loop that does not run.
        self.writer.line(f"int {tile.vectors} = {tile.condition(vector)} && {whole} ? {length} / {vector.count} : 0;")
        passed = f"{vector.count} * {tile.vectors}"
        self.writer.line(f"const int {tile.single} = {length} - {passed};")
        self._vectors(target, vector, [*rows, tile.vectors])
        self._elements(target, [*rows, tile.single], passed)

    @contextmanager
    def held(self, most: str) -> Iterator[tuple[str, list[str]]]:
        """An unrolled loop over `most` elements; yields the number and the coordinates of each."""
        number, each = self._fresh("at"), self._fresh("each")
        self.writer.line(self.dialect.unroll)
        with self.writer.block(f"for (int {each} = 0; {each} < {most}; ++{each})"):
            self.writer.line(f"const int {number} = {self._fresh('worker')} + {each} * {self._fresh('workers')};")
            yield each, self.tile.places(self.writer, self.tile.sizes)

    def _elements(self, target: str, sizes: list[str], passed: str) -> None:
        """The elements of rows after `passed` ones."""
        with self._each(sizes):
            places = self.tile.places(self.writer, sizes, lambda place: f"{passed} + {place}" if passed else place)
            copied = self._copied(f"{target}[{self.tile.index(places)}]", self.tile.source(places), self.tile.bytes)
            self.writer.line(f"if ({self.tile.tests(places)}) {copied};")

    def _vectors(self, target: str, vector: Vector, sizes: list[str]) -> None:
        """Whole vectors where the rows of the copy are aligned; else their components."""
        tile, writer = self.tile, self.writer
        with self._each(sizes):
            places = tile.places(writer, sizes, lambda place: f"{place} * {vector.count}")
            index = tile.index(places)
            source = f"*(const {self.dialect.global_space}{vector.type} *)&{tile.source(places)}"
            if vector.together:
                whole = f"*({self.dialect.pointed_local_space}{vector.type} *)&{target}[{index}]"
                writer.line(f"if ({tile.tests(places)}) {self._copied(whole, source, WIDE_BYTES)};")
                return
            value = self._fresh("value")
            with writer.block(f"if ({tile.tests(places)})"):
                writer.line(f"const {vector.type} {value} = {source};")
                for place, component in enumerate(vector.components):
                    writer.line(f"{target}[{index}{f' + {place}' if place else ''}] = {value}.{component};")

    def _copied(self, to: str, source: str, size: int) -> str:
        is_async = self.ahead and size in self.async_sizes
        return f"TILEK_COPY_{size}({to}, {source})" if is_async else f"{to} = {source}"

    @contextmanager
    def _each(self, sizes: list[str]) -> Iterator[None]:
        """A loop over a worker's elements of an array tile; neighbours take neighbours."""
        number, worker, workers = self._fresh("at"), self._fresh("worker"), self._fresh("workers")
        with self.writer.block(f"for (int {number} = {worker}; {number} < {' * '.join(sizes)}; {number} += {workers})"):
            yield

    def _fresh(self, name: str) -> str:
        return self.tile.numbers.fresh(name)
