"""Array expansion and anti-dependence renaming (thesis Algorithm 4.2), where they free loops.

    for (i) { t[..] = ..; .. = t[..]; }
        ->  for (i) { t_of_i[i][..] = ..; .. = t_of_i[i][..]; } t[..] = t_of_i[last][..];
    for (i) A[i] = f(A[i + 1]);  ->  for (x) A_old[x] = A[x]; for (i) A[i] = f(A_old[i + 1]);

All statements keep their order; the strategies then find more parallelism.

*Expansion*: a private copy for each iteration where no value flows between iterations through an
array. A web is a set of references between which values flow:   W[j] and R[i] with { R[i] -> W[j] }
not empty. A web may have a copy for each iteration of its k outermost loops where

    { R[i] -> W[j] } is a subset of { R[i] -> W[j] : i_1 = j_1, ..., i_k = j_k }

and every read in it reads a value of its writes. All dependences that those loops carry over the
web are then false, and expansion removes them.

*Renaming*: reads of old values go to a copy, so that no write waits for them. It applies where a
loop carries only anti dependences { R[i] -> W[j] }, and no source R reads a value written within
the same execution of the loop. A copy made right before the loop then holds all that R reads, and
no iteration waits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.expressions import Access, DataObject, Scope, Storage, access_to
from tilepragma.ir.loop_tree import Block, Loop, Statement
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import with_blocks
from tilepragma.ir.types import LONG
from tilepragma.poly.dependences import Carried, DependenceKind, alike_at_first
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.scop import Scop, common_loops
from tilepragma.poly.value_flow import ArrayFlow, Site, UnknownFlowError, array_flow, maps_of
from tilepragma.schedule.candidate import Region
from tilepragma.schedule.macro_statements import written_scalars
from tilepragma.storage.new_arrays import ExpandedKernel, NewArray, NewArrays, UnwritableError, is_dead, not_named

MOST_RANK = 8
"""TILEK_MAX_RANK"""

Flows = Mapping[DataObject, ArrayFlow]


@dataclass(frozen=True)
class Expansion:
    """The references `sites` of one object get a copy of it for each iteration of `loops`
    (outermost first). Renaming makes the copy right before the loop `before`, for reads alone.

    `cells`: { [i, a] : an instance of the references in iteration i of the loops touches A[a] }.
    """

    sites: tuple[Site, ...]
    loops: tuple[Loop, ...]
    cells: isl.Set
    before: Loop | None = None

    @property
    def object(self) -> DataObject:
        """The object whose values the copy holds."""
        return self.sites[0].reference.object


def with_array_expansion(region: Region) -> ExpandedKernel | None:
    """The region with arrays expanded or renamed where that frees some loop; else None."""
    try:
        candidates = _candidates(region)
        if not candidates:
            return None
        scop, dependences = region.scop, region.dependences
        with operation_limit(scop.context, DEFAULT_LIMIT, "looking for false dependences"):
            flows = _flows(scop, candidates)
            carried = Carried(scop, dependences)
            expanded = _expansions(carried, flows, _most_loops(region))
            renamed = _renamings(carried, flows, expanded)
        return _expanded_kernel(region, flows, (*expanded, *renamed))
    except OperationLimitError:
        return None


def with_expanded_scalars(region: Region) -> ExpandedKernel | None:
    """The region with scalars expanded that tie the statements of loop bodies together; else None.
    They are expanded over all possible loops, whatever else these carry.

    for (j) { s = ..; for (k) s += ..; .. = s; }
        ->  for (j) { s_of_j[j] = ..; for (k) s_of_j[j] += ..; .. = s_of_j[j]; }
    """
    written = not_named(region, written_scalars(region))
    candidates = tuple(scalar for scalar in written if scalar.name not in region.live_out)
    if not candidates:
        return None
    try:
        with operation_limit(region.scop.context, DEFAULT_LIMIT, "looking for the values of scalars"):
            flows = _flows(region.scop, candidates)
            webs = (web for flow in flows.values() for web in _webs(flow))
            wanted = ((sites, loops) for sites, loops in webs if 0 < len(loops) <= _most_loops(region))
            expanded = tuple(Expansion(sites, loops, _cells(sites, loops)) for sites, loops in wanted)
        return _expanded_kernel(region, flows, expanded)
    except OperationLimitError:
        return None


def _candidates(region: Region) -> tuple[DataObject, ...]:
    """Written arrays with a false dependence, but for those that functions use or clauses name."""
    false = {dependence.source.object for dependence in region.dependences if dependence.sink.writes}
    shared = (object_ for object_ in not_named(region, region.kernel.objects) if object_.scope is not Scope.LOCAL)
    arrays = (object_ for object_ in shared if object_ in false and object_.storage is not Storage.SCALAR)
    layouts = region.scop.layouts
    return tuple(object_ for object_ in arrays if object_.rank < MOST_RANK and object_ not in layouts)


def _most_loops(region: Region) -> int:
    """The most loops for which a new array has dimensions: the region's greatest rank."""
    layouts = region.scop.layouts
    ranks = (max(object_.rank, 1 + len(layouts.get(object_, ()))) for object_ in region.kernel.objects)
    return min(max(ranks), MOST_RANK)


def _flows(scop: Scop, candidates: tuple[DataObject, ...]) -> Flows:
    flows = {}
    for candidate in candidates:
        try:
            flows[candidate] = array_flow(scop, (candidate,))
        except UnknownFlowError:
            continue
    return flows


# -- expansion

Web = tuple[tuple[Site, ...], tuple[Loop, ...]]
"""references between which values flow, but not across iterations of the loops"""


def _expansions(carried: Carried, flows: Flows, rank: int) -> tuple[Expansion, ...]:
    """The expansions that free some loop of all dependences among the statements concerned.

    No array gets more dimensions than `rank`, or than one more than it has.
    """
    webs = [(sites, loops) for flow in flows.values() for sites, loops in _webs(flow) if loops]
    free: dict[int, bool] = {}
    expanded = []
    for sites, loops in webs:
        object_ = sites[0].reference.object
        statements = {site.statement.name for site in sites}
        chosen: list[Loop] = []
        for loop in loops:
            if not any(dependence.source.object == object_ for dependence in carried.by(loop, statements)):
                continue
            if loop.index not in free:
                free[loop.index] = _is_free(loop, webs, carried)
            if free[loop.index]:
                chosen.append(loop)
        outermost = tuple(chosen[: max(1, rank - object_.rank)])
        if outermost:
            expanded.append(Expansion(sites, outermost, _cells(sites, outermost)))
    return tuple(expanded)


def _is_free(loop: Loop, webs: Collection[Web], carried: Carried) -> bool:
    """Whether expansion removes all that the loop carries among the statements of its webs."""
    sites_in_loop = [site for sites, loops in webs if _has(loops, loop) for site in sites]
    expandable = {(site.statement.name, site.reference.range) for site in sites_in_loop}
    statements = {site.statement.name for site in sites_in_loop}
    return all(
        (dependence.source_statement.name, dependence.source.range) in expandable
        and (dependence.sink_statement.name, dependence.sink.range) in expandable
        for dependence in carried.by(loop, statements)
    )


def _has(loops: Iterable[Loop], loop: Loop) -> bool:
    return any(each.index == loop.index for each in loops)


def _webs(flow: ArrayFlow) -> Iterator[Web]:
    """The webs that read only their own writes, with the loops over which they may expand."""
    groups: list[set[Site]] = []
    by_name = {site.name: site for site in flow.sites}

    def join(sites: set[Site]) -> None:
        meeting = [group for group in groups if group & sites]
        groups[:] = [group for group in groups if not group & sites]
        groups.append(sites.union(*meeting))

    by_range: dict[SourceRange, set[Site]] = {}
    for site in flow.sites:
        by_range.setdefault(site.reference.range, set()).add(site)
    for together in by_range.values():
        join(together)
    pairs = []
    for read in flow.reads:
        for source in flow.of(flow.sources, read):
            pairs.append((read, source))
            join({read, by_name[source.get_tuple_name(isl.dim_type.out)]})
    exposed = {read for read in flow.reads if any(True for _ in flow.of(flow.initial, read))}
    for group in groups:
        if group & exposed or len({site.reference.object for site in group}) != 1:
            continue
        sites = tuple(site for site in flow.sites if site in group)
        loops = common_loops(site.statement for site in sites)
        for read, relation in pairs:
            if read in group:
                loops = loops[: _steady(relation, len(loops))]
        yield sites, loops


def _steady(relation: isl.Map, most: int) -> int:
    """The greatest k up to `most` for which { R[i] -> W[j] } has i_1 = j_1, ..., i_k = j_k."""
    for place in range(most):
        if not relation.is_subset(relation.equate(isl.dim_type.in_, place, isl.dim_type.out, place)):
            return place
    return most


def _cells(sites: Iterable[Site], loops: Collection[Loop]) -> isl.Set:
    """{ [i, a] : R[.., i, ..] -> A[a] for a reference R }, i being the iterators of the loops."""
    touched = (_projected(site.reference.relation, isl.dim_type.in_, site, loops) for site in sites)
    return reduce(isl.Set.union, [relation.wrap().flatten() for relation in touched]).coalesce()


def _projected(relation: isl.Map, kind: isl.dim_type, site: Site, loops: Collection[Loop]) -> isl.Map:
    """The relation with the site's iterators of `loops` only."""
    for place, loop in reversed(list(enumerate(site.statement.loops))):
        if not _has(loops, loop):
            relation = relation.project_out(kind, place, 1)
    return relation.reset_tuple_id(kind)


def _last_cells(expansion: Expansion, flow: ArrayFlow) -> isl.Set | None:
    """{ [i, a] : the expansion writes A[a] last, in iteration i of its loops }; None if empty."""
    sites = {site.name: site for site in expansion.sites}
    parts = []
    for last in maps_of(flow.last):
        site = sites.get(last.get_tuple_name(isl.dim_type.out))
        if site is not None:
            kept = _projected(last, isl.dim_type.out, site, expansion.loops)
            parts.append(kept.reset_tuple_id(isl.dim_type.in_).reverse().wrap().flatten())
    result = reduce(isl.Set.union, parts) if parts else None
    return None if result is None or result.is_empty() else result.coalesce()


# -- renaming


def _renamings(carried: Carried, flows: Flows, expanded: Collection[Expansion]) -> tuple[Expansion, ...]:
    """The copies that free some outermost loop of all its dependences."""
    done: dict[int, bool] = {}
    renamings: list[Expansion] = []
    for statement in carried.scop.statements:
        for place, loop in enumerate(statement.loops):
            if loop.index not in done:
                copies = _copies(loop, statement.loops[:place], carried, flows, expanded)
                done[loop.index] = copies is not None
                renamings += copies or ()
            if done[loop.index]:
                break
    return tuple(renamings)


def _copies(
    loop: Loop, around: tuple[Loop, ...], carried: Carried, flows: Flows, expanded: Collection[Expansion]
) -> tuple[Expansion, ...] | None:
    """The copies that free the loop of dependences, if it has any; None where they do not help."""
    under = carried.statements_under(loop)
    wanted: dict[DataObject, None] = {}
    for dependence in carried.by(loop, under):
        object_ = dependence.source.object
        if any(_has(expansion.loops, loop) for expansion in expanded if expansion.object == object_):
            continue
        if dependence.kind is not DependenceKind.ANTI or object_ not in flows:
            return None
        site = next(candidate for candidate in flows[object_].sites if candidate.reference is dependence.source)
        if not _is_old(site, loop, len(around), flows[object_]):
            return None
        wanted[object_] = None
    copies = []
    for object_ in wanted:
        if any(expansion.object == object_ for expansion in expanded):
            return None
        sites = _redirected(object_, loop, around, carried, flows[object_])
        if sites is None:
            return None
        copies.append(Expansion(sites, around, _cells(sites, around), loop))
    return tuple(copies)


def _is_old(site: Site, loop: Loop, around: int, flow: ArrayFlow) -> bool:
    """Whether { R[i] -> W[j] : i_1 = j_1, ..., i_around = j_around, W under the loop } is empty."""
    writes = {write.name: write for write in flow.writes}
    for relation in flow.of(flow.sources, site):
        if not _has(writes[relation.get_tuple_name(isl.dim_type.out)].statement.loops, loop):
            continue
        if not alike_at_first(relation, around).is_empty():
            return False
    return True


def _redirected(
    object_: DataObject, loop: Loop, around: tuple[Loop, ...], carried: Carried, flow: ArrayFlow
) -> tuple[Site, ...] | None:
    """The reads of old values that the loop's dependences start from; None if one is inexact."""
    under = carried.statements_under(loop)
    nests = (statement.loops for statement in carried.scop.statements if statement.name in under)
    inner = {inner_loop.index: inner_loop for loops in nests for inner_loop in loops[len(around) :]}
    every = (dependence for inner_loop in inner.values() for dependence in carried.by(inner_loop, under))
    anti = (dependence.source for dependence in every if dependence.kind is DependenceKind.ANTI)
    sources = {id(source) for source in anti if source.object == object_}
    reads = (site for site in flow.reads if id(site.reference) in sources)
    sites = tuple(site for site in reads if _is_old(site, loop, len(around), flow))
    texts = {site.reference.range for site in sites}
    shared = [site for site in flow.sites if site.reference.range in texts and site not in sites]
    return None if shared or not all(site.reference.exact for site in sites) else sites


# -- the kernel


def _expanded_kernel(region: Region, flows: Flows, expansions: tuple[Expansion, ...]) -> ExpandedKernel | None:
    """The region with all expansions that C can express; None without any."""
    new = NewArrays(region)
    dead = frozenset(object_ for object_ in flows if is_dead(region, object_))
    places: dict[tuple[DataObject, SourceRange], Callable[[Access], Access]] = {}
    instead: dict[DataObject, DataObject] = {}
    before: dict[int, list[Statement]] = {}
    after: list[Statement] = []
    notes: list[str] = []
    for expansion in expansions:
        object_ = expansion.object
        try:
            array, change = _new_array(new, expansion)
            if expansion.before is not None:
                before.setdefault(expansion.before.index, []).extend(_old_values(new, expansion, change))
            elif object_ not in dead:
                after += _last_values(new, expansion, change, flows[object_])
        except UnwritableError:
            continue
        instead[array.object] = object_
        places |= {(object_, site.reference.range): change for site in expansion.sites}
        notes.append(_note(expansion, array.object))
    if not instead or any(place is NOWHERE for _, place in places):
        return None

    def redirected(access: Access) -> Access:
        redirect = places.get((access.object, access.range))
        return access if redirect is None else redirect(access)

    body = _with_copies(with_accesses(region.kernel.body, redirected), before)
    body = replace(body, statements=(*body.statements, *after))
    copies = (*(statement for copies_before in before.values() for statement in copies_before), *after)
    kernel = replace(region.kernel, body=body, objects=(*region.kernel.objects, *instead))
    repeats = any(expansion.before is not None and expansion.loops for expansion in expansions)
    return ExpandedKernel(kernel, instead, copies, dead, repeats, tuple(notes))


def _new_array(new: NewArrays, expansion: Expansion) -> tuple[NewArray, Callable[[Access], Access]]:
    """The new array, and the new form of an access. Raises UnwritableError.

    Expanded accesses use the iterators of the loops; a renamed array serves one iteration of them.
    """
    object_, loops = expansion.object, expansion.loops
    if expansion.before is not None:
        array = new.array(object_, "old", expansion.cells, len(loops))
        return array, lambda access: array.element(access, access.subscripts)
    array = new.array(object_, "_".join(["of", *(loop.iterator.name for loop in loops)]), expansion.cells)
    iterators = [access_to(loop.iterator) for loop in loops]
    return array, lambda access: array.element(access, (*iterators, *access.subscripts))


def _old_values(new: NewArrays, renaming: Expansion, change: Callable[[Access], Access]) -> tuple[Statement, ...]:
    """for (x) A_old[x] = A[x];"""
    object_ = renaming.object
    iterators = new.iterators(object_, range(object_.rank))
    source = Access(object_, tuple(map(access_to, iterators)), (), object_.element)
    return new.copy(renaming.cells, iterators, change(source), source, renaming.loops)


def _last_values(
    new: NewArrays, expansion: Expansion, change: Callable[[Access], Access], flow: ArrayFlow
) -> tuple[Statement, ...]:
    """for (x) A[x] = A_of_i[i(x)][x], i(x) being the iteration that wrote A[x] last."""
    cells = _last_cells(expansion, flow)
    if cells is None:
        return ()
    object_ = expansion.object
    extra = new.iterators(object_, (loop.iterator.name for loop in expansion.loops))
    iterators = new.iterators(object_, range(object_.rank))
    target = Access(object_, tuple(map(access_to, iterators)), (), object_.element)
    instead = {loop.iterator: value for loop, value in zip(expansion.loops, extra, strict=True)}

    def counted(access: Access) -> Access:
        iterator = instead.get(access.object)
        return access if iterator is None else replace(access, object=iterator, type=LONG)

    return new.copy(cells, (*extra, *iterators), target, with_accesses(change(target), counted))


def _with_copies(body: Block, before: Mapping[int, list[Statement]]) -> Block:
    """The block with the statements of `before` inserted before the loops with these indices."""
    statements: list[Statement] = []
    for statement in body.statements:
        if isinstance(statement, Loop):
            statements += before.get(statement.index, ())
        if isinstance(statement, Block):
            statements.append(_with_copies(statement, before))
        else:
            statements.append(with_blocks(statement, lambda block: _with_copies(block, before)))
    return replace(body, statements=tuple(statements))


def _note(expansion: Expansion, array: DataObject) -> str:
    object_ = expansion.object
    if expansion.before is not None:
        return (
            f"anti-dependence renaming (Algorithm 4.2): old values of '{object_.host}' are read from '{array.name}', "
            f"a copy made before the loop over {expansion.before.iterator.host}, so that no write waits for a read"
        )
    loops = " and ".join(loop.iterator.host for loop in expansion.loops)
    what = "scalar" if object_.storage is Storage.SCALAR else "array"
    return (
        f"{what} expansion: '{object_.host}' has a copy for each iteration of {loops}, '{array.name}', "
        "since no value flows from one iteration to another"
    )
