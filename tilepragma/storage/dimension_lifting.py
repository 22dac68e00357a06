"""Dimension lifting: sweeps by subdomains on arrays where the same place of all subdomains of a row
is contiguous.

    for (s) { … u[i][P*s + p] = f(u[i][P*s + p - 1]); … }
        ->  for (x) u_lanes[i][x % P][x / P] = u[i][x];
            for (s) { … u_lanes[i][p % P][p / P + s] = f(u_lanes[…][(p - 1) / P + s]); … }
            for (x) u[i][x] = u_lanes[i][x % P][x / P];

Points of one subdomain depend on each other. The same place of different subdomains does not, and
is then contiguous: lanes of a vector on cores (schedule/vector_interchange.py), neighbouring
workers on devices. The copies stand around the loop over groups of sweeps, which reuses the
elements and pays for the copies. verify/layouts.py proves independently that the region computes
the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access, Assignment, Binary, DataObject, Expression, Storage, access_to, integer
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.loop_tree import Statement
from tilepragma.ir.polynomial import Polynomial, expression, number, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.normalise.delinearisation import typed_sum
from tilepragma.plan.sor_mesh import one_sweep
from tilepragma.schedule.strategy import Region
from tilepragma.storage.array_expansion import (
    ExpandedKernel,
    UnwritableError,
    array_of_cells,
    is_dead,
    moved_kernel,
    not_named,
    shifted,
)

if TYPE_CHECKING:
    from tilepragma.poly.scop import Scop


def with_lifted_arrays(region: Region) -> ExpandedKernel | None:
    """The subdomain sweeps with arrays lifted that they cross by subdomains; else None."""
    from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit

    clause = region.kernel.directive.sor
    if clause is None or len(region.statements) != 1 or not region.kernel.original_sweeps:
        return None
    columns = _accesses(region, clause.subdomain)
    if not columns:
        return None
    try:
        with operation_limit(region.scop.context, DEFAULT_LIMIT, "looking for the elements of rows"):
            return _Lifting(region, clause.subdomain, columns, _as_written(region)).kernel()
    except (OperationLimitError, UnwritableError):
        return None


@dataclass(frozen=True)
class _Column:
    """The last subscript of an access: `first` in the first subdomain, and `step` (plus or minus a
    subdomain's side) further in each next one, which `iterator` counts.
    """

    first: Polynomial
    iterator: DataObject
    step: int


def _accesses(region: Region, side: int) -> dict[DataObject, dict[tuple[Expression, ...], _Column]]:
    """The arrays to lift, each with the column of each of its accesses by subscripts."""
    iterators = [loop.iterator for loop in loops_in(region.kernel.body)]
    body = list(walk(region.kernel.body))
    arrays = {}
    for object_ in not_named(region, region.kernel.objects):
        if object_.storage is not Storage.CONTIGUOUS or object_.rank < 2 or object_ in region.scop.layouts:
            continue
        columns: dict[tuple[Expression, ...], _Column] = {}
        for node in body:
            if isinstance(node, Access) and node.object == object_ and node.subscripts not in columns:
                column = _column(node, iterators, side)
                if column is None:
                    columns.clear()
                    break
                columns[node.subscripts] = column
        if columns:
            arrays[object_] = columns
    return arrays


def _column(access: Access, iterators: list[DataObject], side: int) -> _Column | None:
    if len(access.subscripts) != access.object.rank or access.path:
        return None
    value = polynomial(access.subscripts[-1])
    for atom in value.atoms:
        parts = value.split(atom)
        if isinstance(atom, Access) and atom.object in iterators and parts is not None:
            step = parts[0].constant
            if step is not None and abs(step) == side:
                return _Column(parts[1], atom.object, step)
    return None


def _as_written(region: Region) -> Scop:
    """Sweep after sweep over the whole mesh, as the user wrote it. Raises OperationLimitError."""
    from tilepragma.poly.extraction import extract_scop

    (group,) = region.statements
    around, kernel = region.kernel.original_sweeps[0], region.kernel
    body = (replace(around, declares_iterator=True, body=one_sweep(kernel, group)),)
    return extract_scop(body, kernel.functions, region.written, context=region.scop.context)


@dataclass
class _Lifting:
    region: Region
    side: int
    columns: dict[DataObject, dict[tuple[Expression, ...], _Column]]
    touching: Scop
    names: Names = field(init=False)
    numbers: Iterator[int] = field(init=False)
    places: dict[DataObject, tuple[DataObject, tuple[Polynomial | None, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names = Names(set(names_in(self.region.kernel)))
        self.numbers = self.region.loop_numbers()

    def kernel(self) -> ExpandedKernel:
        """The region with copies before and after. Raises UnwritableError."""
        before: list[Statement] = []
        after: list[Statement] = []
        for object_ in self.columns:
            before += self._copies(object_, written=False)
            if object_ in self.region.written and not is_dead(self.region, object_):
                after += self._copies(object_, written=True)
        body = with_accesses(self.region.kernel.body, self._changed)
        lifted = {new: object_ for object_, (new, _) in self.places.items()}
        return moved_kernel(self.region, body, lifted, before, after, tuple(self._notes()), self.touching)

    def _copies(self, object_: DataObject, *, written: bool) -> tuple[Statement, ...]:
        """for (i, q, r) u_lanes[i][r][q] = u[i][P q + r]; the converse if `written`."""
        from tilepragma.lower.copy_loops import copy_loops, iterator
        from tilepragma.storage.lifting_maps import in_order_of_rows, lane_cells

        cells = lane_cells(self.touching, object_, self.side, written=written)
        if cells is None:
            raise UnwritableError
        if object_ not in self.places:
            name = self.names.scalar(f"{object_.name}_lanes").name
            self.places[object_] = array_of_cells(self.region, object_, name, cells)
        array, lowers = self.places[object_]
        iterators = [iterator(self.names.scalar(f"{object_.name}_{place}").name) for place in range(array.rank)]
        values = [of_atom(access_to(iterator)) for iterator in iterators]
        *rows, lane, place = values
        column = lane * number(self.side) + place
        held = Access(array, shifted(tuple(map(expression, (*rows, place, lane))), lowers), (), array.element)
        users = Access(object_, tuple(map(expression, (*rows, column))), (), array.element)
        target, source = (users, held) if written else (held, users)
        assignment = Assignment("=", target, source, array.element)
        loops = copy_loops(self.region.scop, in_order_of_rows(cells), iterators, assignment, (), self.numbers)
        return loops.statements

    def _changed(self, access: Access) -> Expression:
        """Column first + step * s is place first % P of lane first / P, s lanes further."""
        columns = self.columns.get(access.object)
        if columns is None:
            return access
        array, lowers = self.places[access.object]
        column = columns[access.subscripts]
        first = typed_sum(column.first, column.iterator)
        type_ = column.iterator.element
        place = Binary("%", first, integer(self.side), type_)
        lane = Binary("/", first, integer(self.side), type_)
        moved = Binary("+" if column.step > 0 else "-", lane, access_to(column.iterator), type_)
        return replace(access, object=array, subscripts=shifted((*access.subscripts[:-1], place, moved), lowers))

    def _notes(self) -> Iterator[str]:
        for object_, (new, _) in self.places.items():
            yield (
                f"lanes: '{object_.host}' is kept as '{new.name}' while the loops run, the same place of all "
                "subdomains of a row one behind the other, so that they are computed side by side"
            )
