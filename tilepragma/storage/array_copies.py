"""Copied arrays for reordered sweeps: de-interleaved by colours, or lifted by a dimension.

*De-interleaving*: arrays split by residues, so that the elements that a strided nest accesses are
contiguous.

    for (t) { for (i) u[2*i + 1] = f(u[2*i], u[2*i + 2]); for (i) u[2*i + 2] = …; }
        ->  for (x) u_0[x] = u[2*x];  for (x) u_1[x] = u[2*x + 1];
            for (t) { for (i) u_1[i] = f(u_0[i], u_0[i + 1]); for (i) u_0[i + 1] = …; }
            for (x) u[2*x] = u_0[x];  for (x) u[2*x + 1] = u_1[x];

Strides neither vectorise on cores nor coalesce on devices.

*Dimension lifting*: sweeps by subdomains on arrays where the same place of all subdomains of a row
is contiguous.

    for (s) { … u[i][P*s + p] = f(u[i][P*s + p - 1]); … }
        ->  for (x) u_lanes[i][x % P][x / P] = u[i][x];
            for (s) { … u_lanes[i][p % P][p / P + s] = f(u_lanes[…][(p - 1) / P + s]); … }
            for (x) u[i][x] = u_lanes[i][x % P][x / P];

Points of one subdomain depend on each other. The same place of different subdomains does not, and
is then contiguous: lanes of a vector on cores (schedule/vector_interchange.py), neighbouring
workers on devices.

The copies stand around a loop that reuses the elements many times, which pays for them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access, Binary, DataObject, Expression, Storage, access_to, integer
from tilepragma.ir.loop_tree import Loop, Statement
from tilepragma.ir.polynomial import Polynomial, by_term, expression, number, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.lower.copy_loops import CellSet
from tilepragma.normalise.delinearisation import typed_sum
from tilepragma.plan.sor_mesh import one_sweep
from tilepragma.poly.extraction import extract_scop
from tilepragma.poly.footprints import shadows
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.scop import AccessKind, Scop
from tilepragma.schedule.candidate import Region
from tilepragma.schedule.sor_redblack import asks_for_colours
from tilepragma.storage.new_arrays import ExpandedKernel, NewArray, NewArrays, UnwritableError, is_dead, not_named
from tilepragma.user_tiles.chain_checks import literal_trip

#: Rounds of a loop that pay for the copies before and after it.
_LEAST_SWEEPS = 4


def with_array_copies(region: Region) -> ExpandedKernel | None:
    """Colour sweeps on de-interleaved, subdomain sweeps on lifted arrays; None for others."""
    if asks_for_colours(region.kernel):
        return with_deinterleaved_arrays(region)
    return with_lifted_arrays(region) if region.ordered else None


@dataclass(frozen=True)
class _Part:
    """The part of `object` that one new array holds, whose name is the object's and `ending`.

    `cells(written)` are its elements that the region touches (or writes). `users` maps iterators
    over them to subscripts of the object. Loops that copy run along rows of the object: if
    `turned`, over the new array's last two dimensions in the other order.
    """

    object: DataObject
    ending: str
    cells: Callable[[bool], CellSet | None]
    users: Callable[[Sequence[Polynomial]], Iterable[Polynomial]]
    turned: bool = False


Arrays = Mapping[tuple[DataObject, str], NewArray]
"""the new arrays by object and ending"""


def _with_moved_arrays(
    region: Region,
    parts: Iterable[_Part],
    change: Callable[[Access, Arrays], Access],
    note: Callable[[DataObject, list[str]], str],
    touching: Scop | None = None,
) -> ExpandedKernel:
    """The region with its accesses changed to the parts' arrays, and copies before and after.
    Raises UnwritableError, OperationLimitError.
    """
    new = NewArrays(region)
    arrays: dict[tuple[DataObject, str], NewArray] = {}
    before: list[Statement] = []
    after: list[Statement] = []
    for part in parts:
        object_, key = part.object, (part.object, part.ending)
        for written in (False, True) if object_ in region.written and not is_dead(region, object_) else (False,):
            cells = part.cells(written)
            if cells is None:
                continue
            if key not in arrays:
                arrays[key] = new.array(object_, part.ending, cells)
            iterators = new.iterators(object_, range(arrays[key].object.rank))
            values = [of_atom(access_to(iterator)) for iterator in iterators]
            user_element = Access(object_, tuple(map(expression, part.users(values))), (), object_.element)
            places = (*values[:-2], values[-1], values[-2]) if part.turned else values
            new_element = arrays[key].element(user_element, tuple(map(expression, places)))
            cells = _turned(cells) if part.turned else cells
            if written:
                after += new.copy(cells, iterators, user_element, new_element)
            else:
                before += new.copy(cells, iterators, new_element, user_element)
    body = with_accesses(region.kernel.body, lambda access: change(access, arrays))
    body = replace(body, statements=(*before, *body.statements, *after))
    instead = {array.object: object_ for (object_, _), array in arrays.items()}
    kernel = replace(region.kernel, body=body, objects=(*region.kernel.objects, *instead))
    dead = frozenset(old for old in instead.values() if is_dead(region, old))
    notes = tuple(
        note(object_, [array.name for array, old in instead.items() if old == object_])
        for object_ in dict.fromkeys(instead.values())
    )
    return ExpandedKernel(kernel, instead, (*before, *after), dead, False, notes, True, touching)


def _turned(cells: CellSet) -> CellSet:
    """{ [i, q, r] : [i, r, q] in cells }"""
    rows = "".join(f"i{place}, " for place in range(cells.dim(isl.dim_type.set) - 2))
    return cells.apply(isl.Map(f"{{ [{rows}r, q] -> [{rows}q, r] }}", context=cells.get_ctx()))


def _accessed(scop: Scop, object_: DataObject, *, written: bool) -> list[CellSet]:
    """The elements of each reference that touches (or writes) the array; empty where inexact."""
    references = [use for statement in scop.statements for use in statement.references if use.object == object_]
    if any(use.kind is AccessKind.MAY_WRITE or not use.exact for use in references):
        return []
    return [use.relation.range() for use in references if use.writes or not written]


def _joined(cells: Sequence[CellSet], *, boxed: bool) -> CellSet:
    """The union, or its box."""
    return shadows(cells) if boxed else reduce(isl.Set.union, cells).coalesce()


# -- de-interleaving

Modulus = tuple[int, ...]


def with_deinterleaved_arrays(region: Region) -> ExpandedKernel | None:
    """The region with arrays de-interleaved that a loop reuses by residues; None without any."""
    (loop, *rest) = region.statements or (None,)
    splits = _splits(region) if isinstance(loop, Loop) and not rest and _reuses_arrays(loop) else {}
    if not splits:
        return None

    def note(object_: DataObject, names: list[str]) -> str:
        steps = " and ".join(dict.fromkeys(str(step) for step in splits[object_] if step > 1))
        return (
            f"de-interleaving: '{object_.host}' is stored as {', '.join(map(repr, names))} while the loops run, "
            f"so that loops in steps of {steps} access contiguous elements"
        )

    def change(access: Access, arrays: Arrays) -> Access:
        """Element m k + p of the object is element k of its array for the residue p."""
        modulus = splits.get(access.object)
        if modulus is None:
            return access
        values = [polynomial(subscript) for subscript in access.subscripts]
        residues = tuple(value.constant_term % step for value, step in zip(values, modulus, strict=True))
        array = arrays.get((access.object, _ending(residues)))
        if array is None:
            raise UnwritableError
        pairs = zip(values, residues, modulus, strict=True)
        return array.element(access, [_quotient(value - number(residue), step) for value, residue, step in pairs])

    try:
        with operation_limit(region.scop.context, DEFAULT_LIMIT, "looking for the elements of each residue"):
            return _with_moved_arrays(region, _residue_parts(region.scop, splits), change, note)
    except (OperationLimitError, UnwritableError):
        return None


def _reuses_arrays(loop: Loop) -> bool:
    """Whether the loop accesses the arrays many times, unless its bounds say otherwise."""
    trip = literal_trip(loop)
    return (trip is None or trip >= _LEAST_SWEEPS) and any(loops_in(loop.body))


def _splits(region: Region) -> dict[DataObject, Modulus]:
    """The arrays to split, with the modulus of each dimension, 1 where it stays whole."""
    iterators = {loop.iterator for loop in loops_in(region.kernel.body)}
    body = list(walk(region.kernel.body))
    splits = {}
    for object_ in not_named(region, region.kernel.objects):
        if object_.storage is not Storage.CONTIGUOUS or object_ in region.scop.layouts:
            continue
        accesses = [node for node in body if isinstance(node, Access) and node.object == object_]
        steps = [[_step(subscript, iterators) for subscript in access.subscripts] for access in accesses]
        if any(len(step) < object_.rank or None in step for step in steps):
            continue
        # The only step of a dimension; 1 where there are several, or none.
        different = [{step for step in column if step} for column in zip(*steps, strict=True)]
        modulus = tuple(column.pop() if len(column) == 1 else 1 for column in different)
        if any(step > 1 for step in modulus):
            splits[object_] = modulus
    return splits


def _step(subscript: Expression, iterators: set[DataObject]) -> int | None:
    """A subscript's step an iteration, 0 if fixed; None where it has another form."""
    varying = [(product, factor) for product, factor in polynomial(subscript).terms if product]
    if not varying:
        return 0
    ((atom, *factors), factor) = varying[0]
    is_step = len(varying) == 1 and not factors and factor >= 1
    return factor if is_step and isinstance(atom, Access) and atom.object in iterators else None


def _residue_parts(scop: Scop, splits: Mapping[DataObject, Modulus]) -> Iterator[_Part]:
    """A part of each array for each residue p of its modulus m: its element k is m k + p."""
    for object_, modulus in splits.items():
        for residues in itertools.product(*map(range, modulus)):
            pairs = tuple(zip(modulus, residues, strict=True))

            def users(values: Sequence[Polynomial], pairs: tuple[tuple[int, int], ...] = pairs) -> list[Polynomial]:
                every = zip(values, pairs, strict=True)
                return [value * number(step) + number(residue) for value, (step, residue) in every]

            yield _Part(object_, _ending(residues), partial(_residue_cells, scop, object_, pairs), users)


def _ending(residues: Sequence[int]) -> str:
    return "_".join(map(str, residues))


def _residue_cells(scop: Scop, object_: DataObject, pairs: Sequence[tuple[int, int]], written: bool) -> CellSet | None:
    """{ [k] : some reference touches A[m k + p] }, or its box; None where inexact or empty."""
    parts = []
    for accessed in _accessed(scop, object_, written=written):
        elements = ", ".join(f"x{place}" for place in range(len(pairs)))
        places = ", ".join(f"k{place}" for place in range(len(pairs)))
        same = " and ".join(f"x{place} = {step} k{place} + {residue}" for place, (step, residue) in enumerate(pairs))
        split = isl.Map(f"{{ [{elements}] -> [{places}] : {same} }}", context=accessed.get_ctx())
        part = accessed.reset_tuple_id().apply(split.align_params(accessed.get_space()))
        parts += [] if part.is_empty() else [part]
    return _joined(parts, boxed=not written and object_.rows_in is None) if parts else None


def _quotient(value: Polynomial, step: int) -> Expression:
    """C for value / step, where step divides all factors."""
    if step == 1:
        return expression(value)
    quotient = by_term(value, ((), step))
    iterator = next((product[0] for product, _ in value.terms if product), None)
    return typed_sum(quotient, iterator.object) if isinstance(iterator, Access) else expression(quotient)


# -- dimension lifting


@dataclass(frozen=True)
class _Column:
    """The last subscript of an access: `first` in the first subdomain, and `step` (plus or minus a
    subdomain's side) further in each next one, which `iterator` counts.
    """

    first: Polynomial
    iterator: DataObject
    step: int


def with_lifted_arrays(region: Region) -> ExpandedKernel | None:
    """The subdomain sweeps with arrays lifted that they cross by subdomains; else None."""
    clause = region.kernel.directive.sor
    if clause is None or len(region.statements) != 1 or not region.kernel.original_sweeps:
        return None
    side = clause.subdomain
    columns = _columns(region, side)
    if not columns:
        return None

    def note(object_: DataObject, names: list[str]) -> str:
        return (
            f"dimension-lifted layout: '{object_.host}' is stored as '{names[0]}' while the loops run, with the same "
            "place of all subdomains of a row contiguous, so that vector lanes compute them side by side"
        )

    def change(access: Access, arrays: Arrays) -> Access:
        """Column first + step * s is place first % P of lane first / P, s lanes further."""
        if access.object not in columns:
            return access
        column = columns[access.object][access.subscripts]
        first, type_ = typed_sum(column.first, column.iterator), column.iterator.element
        place = Binary("%", first, integer(side), type_)
        lane = Binary("/", first, integer(side), type_)
        moved = Binary("+" if column.step > 0 else "-", lane, access_to(column.iterator), type_)
        return arrays[access.object, "lanes"].element(access, (*access.subscripts[:-1], place, moved))

    def users(values: Sequence[Polynomial]) -> Sequence[Polynomial]:
        *rows, lane, place = values
        return (*rows, lane * number(side) + place)

    try:
        with operation_limit(region.scop.context, DEFAULT_LIMIT, "looking for the elements of rows"):
            touching = _as_written(region)
            cells = ((object_, partial(_lane_cells, touching, object_, side)) for object_ in columns)
            parts = (_Part(object_, "lanes", cells_of, users, turned=True) for object_, cells_of in cells)
            return _with_moved_arrays(region, parts, change, note, touching)
    except (OperationLimitError, UnwritableError):
        return None


def _columns(region: Region, side: int) -> dict[DataObject, dict[tuple[Expression, ...], _Column]]:
    """The arrays to lift, each with the column of each of its accesses by subscripts."""
    iterators = [loop.iterator for loop in loops_in(region.kernel.body)]
    body = list(walk(region.kernel.body))
    arrays = {}
    for object_ in not_named(region, region.kernel.objects):
        if object_.storage is not Storage.CONTIGUOUS or object_.rank < 2 or object_ in region.scop.layouts:
            continue
        accesses = {node.subscripts: node for node in body if isinstance(node, Access) and node.object == object_}
        columns = {subscripts: _column(access, iterators, side) for subscripts, access in accesses.items()}
        known = {subscripts: column for subscripts, column in columns.items() if column is not None}
        if known and len(known) == len(columns):
            arrays[object_] = known
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
    (group,) = region.statements
    around, kernel = region.kernel.original_sweeps[0], region.kernel
    body = (replace(around, declares_iterator=True, body=one_sweep(kernel, group)),)
    return extract_scop(body, kernel.functions, region.written, context=region.scop.context)


def _lane_cells(scop: Scop, object_: DataObject, side: int, written: bool) -> CellSet:
    """{ [i, r, q] : A[i, P q + r] is touched (or `written`), 0 <= r < P }, boxed if rows are alike:
    those in a contiguous array of the user's may end in a shorter last row. Raises UnwritableError.
    """
    parts = [part for part in _accessed(scop, object_, written=written) if not part.is_empty()]
    if not parts:
        raise UnwritableError
    cells = _joined(parts, boxed=object_.rows_in is None)
    rows = "".join(f"i{place}, " for place in range(cells.dim(isl.dim_type.set) - 1))
    lanes = f"{{ [{rows}x] -> [{rows}r, q] : x = {side} * q + r and 0 <= r < {side} }}"
    return cells.reset_tuple_id().apply(isl.Map(lanes, context=cells.get_ctx()).align_params(cells.get_space()))
