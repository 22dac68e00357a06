"""Array tiles in shared memory that workers copy by 16-byte vectors: which, and their spelling.

A vector is `count` neighbours in a row. All vectors of a tile are aligned if the array is, its rows
are, and the tile is in its rows. The program tests that once for each tile, since sections and the
caller's memory begin anywhere. This module decides where the test is worth it.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.dialect import Dialect
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.printer import Flat
from tilepragma.ir.expressions import Access, DataObject
from tilepragma.ir.loop_tree import Axis, Loop, Staged, StagedSide, TileNest
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ScalarType

#: Bytes of a vector.
WIDE_BYTES = 16
_COMPONENTS = "xyzw"


@dataclass(frozen=True)
class Vector:
    """`count` elements, 16 bytes together: a type of both targets, with the same component names.
    `together`: the rows of the copy are whole vectors apart, if the workers' dimensions of the tile
    are, so that whole vectors are stored.
    """

    type: str
    count: int
    together: bool

    @property
    def components(self) -> str:
        """`xyzw`, or `xy`."""
        return _COMPONENTS[: self.count]


def begins_of_loops(nest: TileNest) -> dict[DataObject, int]:
    """The literals that loops of a nest, or tiles of loops inside, begin with."""
    begins: dict[DataObject, int] = {}
    for loop in (*(loop.loop for loop in nest.loops), *(node for node in walk(nest.body) if isinstance(node, Loop))):
        literal = literal_value(loop.lower)
        if literal is None and isinstance(loop.lower, Access):
            literal = begins.get(loop.lower.object)
        if literal is not None:
            begins[loop.iterator] = literal
    return begins


def vector_of(
    staged: Staged, flat: Flat, begins: Mapping[DataObject, int], dialect: Dialect, ahead: bool
) -> Vector | None:
    """The vectors of an array tile whose tiles mostly begin with one; None: no vectors. None where
    rows are shorter than a vector, or where alignment is impossible or not provable. Numbers of
    workers are assumed to be multiples of the vector's length. Copies `ahead` have none, since
    their components would have to wait.
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
    return Vector(f"{dict(dialect.vector_names).get(name, name)}{count}", count, together)


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
