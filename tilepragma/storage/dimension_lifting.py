"""Sweeps by subdomains on arrays in which the same place of all subdomains of a row lies one behind
the other.

    for (s) { … u[i][P*s + p] = f(u[i][P*s + p - 1]); … }
        ->  for (x) u_lanes[i][x % P][x / P] = u[i][x];
            for (s) { … u_lanes[i][p % P][p / P + s] = f(u_lanes[i][(p - 1) % P][(p - 1) / P + s]); … }
            for (x) u[i][x] = u_lanes[i][x % P][x / P];

Points of one subdomain wait for each other; those of different ones at the same place do not, and
are then neighbours in memory: lanes of a vector on cores (schedule/vector_interchange.py),
neighbouring workers on devices. It is done around the loop over groups of sweeps, which comes back
to the elements again and again and pays for the copies. That the region computes the same is proven
by verify/layouts.py, whatever was meant here.
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
    not_named,
    shifted,
)

if TYPE_CHECKING:
    from tilepragma.poly.scop import Scop


def with_lifted_arrays(region: Region) -> ExpandedKernel | None:
    """The region of sweeps by subdomains with all arrays in lanes whose rows every access goes through by subdomains; None where there are none."""
    from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit

    clause = region.kernel.directive.sor
    if clause is None or len(region.statements) != 1 or not region.kernel.original_sweeps:
        return None
    found = _accesses(region, clause.subdomain)
    if not found:
        return None
    try:
        with operation_limit(region.scop.context, DEFAULT_LIMIT, "looking for the elements of rows"):
            return _Lanes(region, clause.subdomain, found, _as_written(region)).kernel()
    except (OperationLimitError, UnwritableError):
        return None


@dataclass(frozen=True)
class _Column:
    """The last subscript of an access: `first` in the first subdomain, and `step` (the side of a
    subdomain, or less that) further in the next, which `iterator` counts.
    """

    first: Polynomial
    iterator: DataObject
    step: int


def _accesses(region: Region, side: int) -> dict[DataObject, dict[tuple[Expression, ...], _Column]]:
    """The arrays in lanes, each with what the subscripts of its accesses are."""
    iterators = [loop.iterator for loop in loops_in(region.kernel.body)]
    body = list(walk(region.kernel.body))
    found = {}
    for object_ in not_named(region, region.kernel.objects):
        if object_.storage is not Storage.CONTIGUOUS or object_.rank < 2 or object_ in region.scop.layouts:
            continue
        own: dict[tuple[Expression, ...], _Column] = {}
        for node in body:
            if isinstance(node, Access) and node.object == object_ and node.subscripts not in own:
                column = _column(node, iterators, side)
                if column is None:
                    own.clear()
                    break
                own[node.subscripts] = column
        if own:
            found[object_] = own
    return found


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
    """One sweep after the other over the whole mesh, as the user wrote it. Raises OperationLimitError."""
    from tilepragma.poly.extraction import extract_scop

    (group,) = region.statements
    around, kernel = region.kernel.original_sweeps[0], region.kernel
    body = (replace(around, declares_iterator=True, body=one_sweep(kernel, group)),)
    return extract_scop(body, kernel.functions, region.written, context=region.scop.context)


@dataclass
class _Lanes:
    region: Region
    side: int
    found: dict[DataObject, dict[tuple[Expression, ...], _Column]]
    touching: Scop
    names: Names = field(init=False)
    next_index: int = field(init=False)
    places: dict[DataObject, tuple[DataObject, tuple[Polynomial | None, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names = Names(set(names_in(self.region.kernel)))
        self.next_index = self.region.first_index

    def kernel(self) -> ExpandedKernel:
        """The region with copies before and behind. Raises UnwritableError."""
        before: list[Statement] = []
        after: list[Statement] = []
        for object_ in self.found:
            before += self._copies(object_, written=False)
            if object_ in self.region.written and not is_dead(self.region, object_):
                after += self._copies(object_, written=True)
        kernel = self.region.kernel
        body = with_accesses(kernel.body, self._changed)
        own = {new: object_ for object_, (new, _) in self.places.items()}
        return ExpandedKernel(
            replace(
                kernel,
                body=replace(body, statements=(*before, *body.statements, *after)),
                objects=(*kernel.objects, *own),
            ),
            own,
            (*before, *after),
            frozenset(one for one in self.found if is_dead(self.region, one)),
            False,
            tuple(self._notes()),
            everywhere=True,
            touching=self.touching,
        )

    def _copies(self, object_: DataObject, *, written: bool) -> tuple[Statement, ...]:
        """for (i, q, r) u_lanes[i][r][q] = u[i][P q + r], or the other way for what the region has `written`. Raises UnwritableError."""
        from tilepragma.lower.copy_loops import copy_loops, iterator
        from tilepragma.storage.lifting_maps import in_order_of_rows, lane_cells

        cells = lane_cells(self.touching, object_, self.side, written=written)
        if cells is None:
            raise UnwritableError
        if object_ not in self.places:
            name = self.names.scalar(f"{object_.name}_lanes").name
            self.places[object_] = array_of_cells(self.region, object_, name, cells)
        own, lowers = self.places[object_]
        iterators = [iterator(self.names.scalar(f"{object_.name}_{place}").name) for place in range(own.rank)]
        values = [of_atom(access_to(iterator)) for iterator in iterators]
        *rows, lane, place = values
        column = lane * number(self.side) + place
        held = Access(own, shifted(tuple(map(expression, (*rows, place, lane))), lowers), (), own.element)
        users = Access(object_, tuple(map(expression, (*rows, column))), (), own.element)
        target, source = (users, held) if written else (held, users)
        assignment = Assignment("=", target, source, own.element)
        made = copy_loops(self.region.scop, in_order_of_rows(cells), iterators, assignment, (), self.next_index)
        self.next_index = made.next_index
        return made.block.statements

    def _changed(self, access: Access) -> Expression:
        """The access to the array in lanes: its column first + step * s has place first % P of lane first / P, s lanes further."""
        columns = self.found.get(access.object)
        if columns is None:
            return access
        own, lowers = self.places[access.object]
        column = columns[access.subscripts]
        first = typed_sum(column.first, column.iterator)
        type_ = column.iterator.element
        place = Binary("%", first, integer(self.side), type_)
        lane = Binary("/", first, integer(self.side), type_)
        moved = Binary("+" if column.step > 0 else "-", lane, access_to(column.iterator), type_)
        return replace(access, object=own, subscripts=shifted((*access.subscripts[:-1], place, moved), lowers))

    def _notes(self) -> Iterator[str]:
        for object_, (new, _) in self.places.items():
            yield (
                f"lanes: '{object_.host}' is kept as '{new.name}' while the loops run, the same place of all subdomains of a row one behind the "
                "other, so that they are computed side by side"
            )
