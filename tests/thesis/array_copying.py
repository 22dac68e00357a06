"""Array copying: reads of an array are redirected to a copy, so that a later write need not wait
for them.

    for j                                          for j
      for i                                          for x   C:  copy[x] = A[x]
        S:  A[i] = f(A[i], A[i + 1])       ->        for i   S:  A[i] = f(A[i], copy[i + 1])

thesis Figure 4.4, after Xue and Huang (ICPP 2005). The copy is made at the start of each iteration
of the loops that the anti dependence { S[j, i] -> S[j, i + 1] } does not leave. It may be made
wherever what those reads see was written before that iteration began.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from tests.support.stencil_programs import reference, schedule, scop_statement
from tests.thesis.access_flow import places
from tilepragma.poly.dependences import Dependence, DependenceKind
from tilepragma.poly.scop import ScopStatement


@dataclass(frozen=True)
class ArrayCopy:
    """`copy` receives `array` by the statement named `statement`, at the start of each iteration of
    `level` loops.

    `readers`: (statement, index of the access) of the reads that go to the copy. `cells` = {
    C[prefix, x] }: what is copied in each iteration, the domain of the statement. `once` = {
    array[x] }: cells read but never written here, copied once before all else ("A0[I+1] = A[I+1]").
    `buffers`: the copy is kept that many times, iteration j of the innermost of the loops using
    number j mod buffers.
    """

    array: str
    copy: str
    statement: str
    level: int
    readers: tuple[tuple[str, int], ...]
    cells: isl.Set
    once: isl.Set
    buffers: int


@dataclass(frozen=True)
class NotCopied:
    """A false dependence that array copying cannot remove, and a sentence why."""

    dependence: Dependence
    reason: str


@dataclass(frozen=True)
class _Place:
    """Where a copy is made: at the start of the body of the innermost of these loops (a prefix of positions)."""

    array: str
    loops: tuple[int, ...]


def refusal(
    dependence: Dependence, statements: Sequence[ScopStatement], dependences: Sequence[Dependence]
) -> str | None:
    """Why copying cannot remove it, a full sentence; None when it can."""
    if dependence.kind is not DependenceKind.ANTI:
        return f"The {dependence.kind.value} dependence on {dependence.source.object.name} is between two writes; a copy serves reads only."
    vague = next((each.name for each in statements if not all(access.exact for access in each.references)), None)
    if vague is not None:
        return f"Not all that {vague} reads and writes is known exactly."
    reader = dependence.source_statement
    if not dependence.source.relation.is_single_valued():
        return f"The read of {dependence.source.object.name} in {reader.name} is not one element."
    level = copy_level(dependence)
    for flow in dependences:
        if flow.kind is not DependenceKind.FLOW or flow.sink is not dependence.source:
            continue
        if flow.source_statement.shared_loops(reader) < level:
            continue
        if not _equal_in(flow.relation, level).is_empty():
            return f"{reader.name} reads what {flow.ends[0]} writes to {dependence.source.object.name} after the copy would be made."
    return None


def copy_level(dependence: Dependence) -> int:
    """How many shared outer loops have the same iteration in both ends: the loops that the dependence does not leave."""
    level = 0
    shared = dependence.source_statement.shared_loops(dependence.sink_statement)
    while level < shared and dependence.relation.is_subset(_equal_in(dependence.relation, level + 1)):
        level += 1
    return level


def _equal_in(relation: isl.Map, level: int) -> isl.Map:
    """relation and { s -> t : the first `level` iterators are equal }."""
    for index in range(level):
        relation = relation.equate(isl.dim_type.in_, index, isl.dim_type.out, index)
    return relation


def with_copies(
    statements: tuple[ScopStatement, ...], removed: Sequence[Dependence], buffers: int
) -> tuple[tuple[ScopStatement, ...], tuple[ArrayCopy, ...]]:
    """The statements with the anti dependences `removed` gone: each has been found copyable by
    `refusal`.

    Reads of one array under the same loops share one copy.
    """
    readers_of: dict[_Place, dict[tuple[str, int], None]] = {}
    for each in removed:
        place = _Place(each.source.object.name, each.source_statement.position[: copy_level(each)])
        readers_of.setdefault(place, {}).setdefault((each.ends[0], places(each)[0]))
    copies: list[ArrayCopy] = []
    result = statements
    for place, readers in readers_of.items():
        result, copy = _with_copy(result, place, tuple(readers), buffers, len(copies))
        copies.append(copy)
    return result, tuple(copies)


def _with_copy(
    statements: tuple[ScopStatement, ...],
    place: _Place,
    readers: tuple[tuple[str, int], ...],
    buffers: int,
    number: int,
) -> tuple[tuple[ScopStatement, ...], ArrayCopy]:
    by_name = {each.name: each for each in statements}
    level = len(place.loops)
    model = by_name[readers[0][0]]
    array_dims = model.references[readers[0][1]].relation.dim(isl.dim_type.out)
    name, copy = f"{model.name}_copy{number}", f"{place.array}_copy{number}"
    cells = [_cells_read(by_name[reader], index, level, name) for reader, index in readers]
    needed = _united(cells)
    written = _written(statements, place.array)
    inside = _cells_of(needed, level, array_dims, place.array)
    # The hull of what is needed is one simple nest; what it adds is written here too, so it may be
    # read.
    kept = needed.simple_hull().to_set().intersect(_lifted(written, level, array_dims, name)).coalesce()
    buffers = buffers if level else 1
    target = _copy_map(needed.get_space(), level, array_dims, copy, buffers)
    source = _cell_map(needed.get_space(), level, array_dims, place.array)
    accesses = (
        reference(copy, target.intersect_domain(kept), writes=True),
        reference(place.array, source.intersect_domain(kept), writes=False),
    )
    iterators = model.iterators[:level] + _cell_iterators(model, level, array_dims)
    made = scop_statement(name, kept, iterators, place.loops + (0,) * (array_dims + 1), accesses)
    moved = tuple(_moved(each, place.loops) for each in statements)
    changed = tuple(_redirected(each, readers, level, copy, buffers) for each in moved)
    description = ArrayCopy(place.array, copy, name, level, readers, kept, inside.subtract(written).coalesce(), buffers)
    first = next(index for index, each in enumerate(changed) if each.position[:level] == place.loops)
    return (*changed[:first], made, *changed[first:]), description


def _moved(statement: ScopStatement, loops: tuple[int, ...]) -> ScopStatement:
    """One place later in the body of the innermost of the loops, if it stands there."""
    level = len(loops)
    if statement.position[:level] != loops:
        return statement
    position = (*loops, statement.position[level] + 1, *statement.position[level + 1 :])
    times = schedule(statement.name, statement.iterators, position, statement.domain.get_ctx())
    return replace(statement, schedule=times)


def _redirected(
    statement: ScopStatement, readers: tuple[tuple[str, int], ...], level: int, copy: str, buffers: int
) -> ScopStatement:
    accesses = list(statement.references)
    for reader, index in readers:
        if reader == statement.name:
            old = accesses[index].relation
            pair = _prefix_map(old, level).flat_range_product(old)
            widened = pair.get_space().range()
            to_copy = _copy_map(widened, level, old.dim(isl.dim_type.out), copy, buffers)
            accesses[index] = reference(copy, pair.apply_range(to_copy), writes=False)
    return replace(statement, references=tuple(accesses))


def _prefix_map(relation: isl.Map, level: int) -> isl.Map:
    """{ S[i] -> [i1, ..., ip] } on the domain of a relation."""
    depth = relation.dim(isl.dim_type.in_)
    identity = relation.domain().identity().reset_tuple_id(isl.dim_type.out)
    return identity.project_out(isl.dim_type.out, level, depth - level)


def _cells_read(statement: ScopStatement, index: int, level: int, name: str) -> isl.Set:
    """{ C[i1, ..., ip, x] : an instance S[i1, ..., ip, ...] reads A[x] }."""
    relation = statement.references[index].relation.intersect_domain(statement.domain)
    return _prefix_map(relation, level).flat_range_product(relation).range().set_tuple_name(name)


def _written(statements: tuple[ScopStatement, ...], array: str) -> isl.Set:
    """{ A[x] } that any statement writes."""
    ranges = [
        access.relation.intersect_domain(each.domain).range()
        for each in statements
        for access in each.references
        if access.writes and access.object.name == array
    ]
    return _united(ranges)


def _united(sets: list[isl.Set]) -> isl.Set:
    result = sets[0]
    for each in sets[1:]:
        result = result.union(each)
    return result.coalesce()


def _cells_of(needed: isl.Set, level: int, array_dims: int, array: str) -> isl.Set:
    return needed.apply(_cell_map(needed.get_space(), level, array_dims, array))


def _lifted(written: isl.Set, level: int, array_dims: int, name: str) -> isl.Set:
    space = written.get_space().params().add_unnamed_tuple_ui(level + array_dims).set_tuple_name(isl.dim_type.set, name)
    return written.apply(_cell_map(space, level, array_dims, written.get_tuple_name()).reverse())


def _cell_map(space: isl.Space, level: int, array_dims: int, array: str) -> isl.Map:
    """{ C[i1, ..., ip, x] -> A[x] }."""
    identity = isl.Map.identity(space.map_from_set())
    return identity.project_out(isl.dim_type.out, 0, level).set_tuple_name(isl.dim_type.out, array)


def _copy_map(space: isl.Space, level: int, array_dims: int, copy: str, buffers: int) -> isl.Map:
    """{ C[i1, ..., ip, x] -> copy[ip mod buffers, x] }, or to copy[x] where one buffer is enough."""
    if buffers == 1:
        return _cell_map(space, level, array_dims, copy)
    last = isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), isl.dim_type.set, level - 1)
    number = isl.Map.from_aff(last.mod_val(isl.Val(buffers, context=space.get_ctx())))
    return number.flat_range_product(_cell_map(space, level, array_dims, copy)).set_tuple_name(isl.dim_type.out, copy)


def _cell_iterators(model: ScopStatement, level: int, array_dims: int) -> tuple[str, ...]:
    """The reader's own inner iterators where there are as many as subscripts, as in Figure 4.4, else x0, x1, ..."""
    inner = model.iterators[level:]
    return inner if len(inner) == array_dims else tuple(f"x{index}" for index in range(array_dims))
