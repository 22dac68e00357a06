"""A region on new arrays: the arrays, the loops that copy to and from them, and the proof.

New arrays have Scope.TEMPORARY. verify/storage.py proves independently that
the region computes the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import function_uses, implied_objects
from tilepragma.ir.expressions import Access, Assignment, Binary, DataObject, Expression, Scope, Storage
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import Kernel, Loop, Statement
from tilepragma.ir.polynomial import Polynomial, expression, maximum, number
from tilepragma.ir.traversal import named_in_clauses
from tilepragma.ir.types import LONG
from tilepragma.lower.copy_loops import CellSet, copy_loops
from tilepragma.poly.extraction import extract_scop
from tilepragma.poly.footprints import bounding_box
from tilepragma.poly.operation_limit import OperationLimitError
from tilepragma.poly.scop import Scop
from tilepragma.schedule.candidate import Region
from tilepragma.verify.storage import StorageMap, Version, layout_fault, storage_fault


@dataclass(frozen=True)
class ExpandedKernel:
    """`kernel` computes what the region does, on new arrays.

    `instead`: for each new array, the array whose values it holds. `copies` are the added
    statements; a loop `repeats` them if they are inside it. `dead` are the arrays that are not read
    after the region. `notes` say what was done and why, a clause each. `everywhere`: each element
    of the old arrays has one new place throughout. `touching`: a SCoP whose statements surely touch
    what the copies may touch, where the region's has too many statements to tell.
    """

    kernel: Kernel
    instead: Mapping[DataObject, DataObject]
    copies: tuple[Statement, ...]
    dead: frozenset[DataObject]
    repeats: bool
    notes: tuple[str, ...]
    everywhere: bool = False
    touching: Scop | None = None


class UnwritableError(Exception):
    """C cannot express the extents of a new array, or the places of its values, at launch."""


@dataclass(frozen=True)
class NewArray:
    """A new array, and for each dimension the offset to subtract from subscripts (None: 0)."""

    object: DataObject
    offsets: tuple[Polynomial | None, ...]

    def element(self, access: Access, subscripts: Sequence[Expression]) -> Access:
        """The element with these subscripts, offsets not yet subtracted, in place of an access."""
        shifted = tuple(
            subscript if low is None else Binary("-", subscript, expression(low), LONG)
            for subscript, low in zip(subscripts, self.offsets, strict=True)
        )
        return replace(access, object=self.object, subscripts=shifted)


class NewArrays:
    """Makes the new arrays of a region, and the loops that copy."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.names = Names(set(names_in(region.kernel)))
        self._numbers = region.loop_numbers()

    def array(self, object_: DataObject, ending: str, cells: CellSet, around: int = 0) -> NewArray:
        """A new array for another's values at { [x] : [o, x] in cells }, o being the iterators of
        `around` loops. Raises UnwritableError.
        """
        name = self.names.unique(f"{object_.name}_{ending}")
        on_host = host_evaluable(self.region.written)
        box = bounding_box(self.region.scop, cells, around)
        if box is None or not all(on_host(expression(end)) for side, _ in box for end in (side.low, side.high)):
            raise UnwritableError
        ends = (side.high + number(1) - (side.low if negative else number(0)) for side, negative in box)
        # C has no arrays of length 0.
        lengths = tuple(expression(maximum((end, number(1)))) for end in ends)
        array = DataObject(
            name, name, object_.element, Storage.CONTIGUOUS, Scope.TEMPORARY, lengths, range=object_.range
        )
        return NewArray(array, tuple(side.low if negative else None for side, negative in box))

    def iterators(self, object_: DataObject, endings: Iterable[object]) -> tuple[DataObject, ...]:
        """New iterators for the loops of a copy."""
        return tuple(self.names.scalar(f"{object_.name}_{ending}") for ending in endings)

    def copy(
        self,
        cells: CellSet,
        iterators: Sequence[DataObject],
        target: Access,
        source: Access,
        around: tuple[Loop, ...] = (),
    ) -> tuple[Statement, ...]:
        """`for (x) target = source;` for { [o, x] } in cells, x being the iterators, o those of the
        loops around. Raises OperationLimitError.
        """
        # No block around the loops: it would make one simple nest.
        assignment = Assignment("=", target, source, target.object.element)
        return copy_loops(self.region.scop, cells, iterators, assignment, around, self._numbers).statements


def proven_scop(region: Region, expansion: ExpandedKernel, statements: tuple[Statement, ...]) -> Scop | None:
    """The SCoP of an expanded kernel, if it is proven to compute what the region does."""
    kernel = expansion.kernel
    try:
        scop = extract_scop(statements, kernel.functions, written_objects(kernel), context=region.scop.context)
    except OperationLimitError:
        return None
    original, changed = Version(region.statements, region.scop), Version(statements, scop)
    mapping = StorageMap(expansion.instead, expansion.copies, expansion.dead)
    if expansion.everywhere:
        fault = layout_fault(original, changed, mapping, expansion.touching)
    else:
        fault = storage_fault(original, changed, mapping)
    return scop if fault is None else None


def not_named(region: Region, objects: Iterable[DataObject]) -> Iterator[DataObject]:
    """The objects that neither a function uses nor a clause names."""
    named = named_in_clauses(region.kernel.directive, region.kernel.body)
    called = {use.object for use in function_uses(region.kernel.functions)} | implied_objects(region.kernel.body)
    return (object_ for object_ in objects if object_ not in called and object_.host not in named)


def is_dead(region: Region, object_: DataObject) -> bool:
    """Whether no code can read it after the region."""
    is_inside = object_.scope is Scope.REGION or object_.storage is Storage.SCALAR
    return is_inside or object_.name in region.kernel.dead_arrays
