"""Boxes of arrays in memory of a gang that workers copy 16 bytes at a time: which, and how the
vectors are spelled.

A vector is `count` neighbours in a row of the box. All vectors of a tile begin at multiples of 16
bytes where the array does, its rows do, and the tile does in its rows: the program itself asks that
once for a tile, since sections and the caller's memory begin anywhere. Here is decided where it is
worth asking.
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
#: Begins of CUDA's vector types where they are not the elements' own names.
_CUDA_NAMES = {"unsigned int": "uint", "long long": "longlong", "unsigned long long": "ulonglong"}


@dataclass(frozen=True)
class Vector:
    """`count` elements of 16 bytes together: a type of both targets, whose components have the same
    names. `together`: rows of the copy are whole vectors apart, if those of the tile's sides that
    workers have are, so that vectors are stored as such, not by components.
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
    found: dict[DataObject, int] = {}
    for loop in (*(loop.loop for loop in nest.loops), *(node for node in walk(nest.body) if isinstance(node, Loop))):
        known = literal_value(loop.lower)
        if known is None and isinstance(loop.lower, Access):
            known = found.get(loop.lower.object)
        if known is not None:
            found[loop.iterator] = known
    return found


def vector_of(
    one: Staged, flat: Flat, begins: Mapping[DataObject, int], dialect: Dialect, ahead: bool
) -> Vector | None:
    """The vectors of a box whose tiles mostly begin with one: None where rows are shorter, or where
    vectors are never, or not to be seen, at multiples of 16 bytes. Numbers of workers are taken for
    multiples of a vector's. Components of what is copied `ahead` would have to be waited for.
    """
    element, side = one.object.element, one.sides[-1]
    # Vectors at the first and the last element that is read would have to be taken apart.
    if not isinstance(element, ScalarType) or element.bits not in (32, 64) or one.before or one.after:
        return None
    count, pitch = 8 * WIDE_BYTES // element.bits, flat.lengths[-1] if flat.lengths else ""
    if pitch.isdigit() and int(pitch) % count != 0:
        return None
    by_workers = any(isinstance(term.extent, Axis) for term in side.terms)
    length = side.width + 1 - sum(abs(term.coefficient) for term in side.terms)
    length += sum(abs(term.coefficient) * term.extent for term in side.terms if isinstance(term.extent, int))
    together = length % count == 0 and one.odd is None
    if (length < count and not by_workers) or (ahead and not together) or not _begins_with_vector(side, begins, count):
        return None
    name = dialect.scalar(element)
    return Vector(f"{_CUDA_NAMES.get(name, name) if dialect.name == 'cuda' else name}{count}", count, together)


def _begins_with_vector(side: StagedSide, begins: Mapping[DataObject, int], count: int) -> bool:
    """Whether the first tile begins at a multiple of `count`, and the others whole vectors behind it."""
    least = literal_value(side.least)
    if least is None:
        return False
    for term in side.terms:
        begin = begins.get(term.iterator)
        # The least index of a term that counts down is that of its last iteration, which borders
        # cut off anywhere.
        if begin is None or term.coefficient < 0:
            return False
        if not isinstance(term.extent, Axis) and term.coefficient * term.extent % count != 0:
            return False
        least += term.coefficient * begin
    return least % count == 0
