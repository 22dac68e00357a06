"""Proofs that a region that keeps some values elsewhere computes what the original computes.

The two are the same text but for the storage that some accesses name, and for added copies B[b] =
C[c].

Array expansion and renaming. Let

    { R[i] -> W[j] }   map the read R[i] to the write whose value it reads

in both, composed through its copies in the changed region. Then each read must see the same value,
and each element that is live afterwards must have the same last writer. The subscripts of new
storage do not matter; the values there do.

Layouts have one place an element. Copies B[k] = A[x] stand before, and A[x] = B[k] after everything
else. Let

    phi = { B[k] -> A[x] }   the elements that the copies before bring to places

be injective, with no element in two places. Then each access of the changed region must touch the
place of the element that the original touches:

    { R[i] -> B[k] } . phi  =  { R[i] -> A[x] }

so that places always hold the values of their elements. Copies back must copy places to their
elements, and all that was written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.expressions import Access, Assignment, DataObject, Scope, Storage
from tilepragma.ir.loop_tree import ExpressionStatement, Statement
from tilepragma.ir.traversal import walk
from tilepragma.poly.dependences import Dependence
from tilepragma.poly.footprints import shadows
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.scop import AccessKind, Reference, Scop, ScopStatement
from tilepragma.poly.value_flow import ArrayFlow, Site, UnknownFlowError, array_flow, maps_of, union_of_maps
from tilepragma.verify.instances import same_tree

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True)
class Version:
    """Statements in sequence, and their SCoP. Versions that are compared share isl's context."""

    statements: tuple[Statement, ...]
    scop: Scop


@dataclass(frozen=True)
class StorageMap:
    """The changed version's additions: `instead` maps each new object to the array whose values it
    holds, `copies` are the added statements (by identity), `dead` the arrays not read after the
    region.
    """

    instead: Mapping[DataObject, DataObject]
    copies: tuple[Statement, ...]
    dead: frozenset[DataObject] = frozenset()


@dataclass(frozen=True)
class Copy:
    """B[b] = C[c]: `target` writes, `source` reads."""

    target: Site
    source: Site


#: A statement of the original and that of the changed version in its place.
Twins = tuple[ScopStatement, ScopStatement]


def storage_fault(original: Version, changed: Version, storage: StorageMap) -> str | None:
    """Why the two are not proven to compute the same, a clause; None where they are."""
    fault = partial(_value_fault, original.scop, changed.scop, storage)
    return _compared(original, changed, storage, original.scop, "proving that values are kept elsewhere", fault)


def layout_fault(original: Version, changed: Version, storage: StorageMap, touching: Scop | None = None) -> str | None:
    """Why the two are not proven to compute the same, a clause; None where they are. `touching` has
    statements that surely touch what copies may touch; the original's by default.
    """
    fault = partial(_layout_fault, original.scop, changed, storage)
    return _compared(original, changed, storage, touching or original.scop, "proving that arrays lie elsewhere", fault)


def _compared(
    original: Version,
    changed: Version,
    storage: StorageMap,
    touching: Scop,
    what: str,
    fault: Callable[[list[Copy], list[Twins]], str | None],
) -> str | None:
    """The fault of two versions whose texts are alike but for copies of what `touching` touches,
    given these and the statements with their twins; or that isl gives up.
    """
    added = frozenset(id(node) for copy in storage.copies for node in walk(copy))

    def decide(new: Any, old: Any) -> bool | None:
        if new is old:
            return True
        if isinstance(new, tuple) and isinstance(old, tuple):
            kept = tuple(part for part in new if id(part) not in added)
            return None if len(kept) == len(new) else same_tree(kept, old, decide)
        if isinstance(new, Access) and isinstance(old, Access) and new.object in storage.instead:
            named = storage.instead[new.object]
            moved = replace(new, object=named, subscripts=old.subscripts)
            return named.element == new.object.element and moved == old
        return bool(new == old) if isinstance(old, (DataObject, SourceRange)) else None

    if not same_tree(changed.statements, original.statements, decide):
        return "the text differs in more than storage"
    statements = [statement for statement in changed.scop.statements if id(statement.node) not in added]
    if len(statements) != len(original.scop.statements):
        return "statements are missing"
    twins = list(zip(original.scop.statements, statements, strict=True))
    copies = [_copy(statement) for statement in changed.scop.statements if id(statement.node) in added]
    try:
        with operation_limit(changed.scop.context, DEFAULT_LIMIT, what):
            if not all(_are_twins(*pair, storage.instead) for pair in twins):
                return "a statement runs at other times, or touches other things"
            known = [copy for copy in copies if copy is not None]
            if len(known) < len(copies):
                return "what is added is more than a copy"
            if not all(_is_touched(site, touching) for copy in known for site in (copy.source, copy.target)):
                return "a copy touches elements that the region does not, which need not be there"
            return fault(known, twins)
    except (OperationLimitError, UnknownFlowError) as unknown:
        return str(unknown).rstrip(".")


def moved_dependences(
    original: Scop, dependences: Sequence[Dependence], changed: Scop, instead: Mapping[DataObject, DataObject]
) -> tuple[Dependence, ...] | None:
    """The dependences of statements on moved arrays for which `layout_fault` is None: those of the
    original, since accesses share a place where they shared an element. None for other statements.
    """
    pairs = list(zip(original.statements, changed.statements, strict=False))
    if len(original.statements) != len(changed.statements) or not all(_are_twins(*pair, instead) for pair in pairs):
        return None
    statements = {statement.name: twin for statement, twin in pairs if statement.name == twin.name}
    references = {id(old): new for pair in pairs for old, new in zip(*(part.references for part in pair), strict=True)}
    if len(statements) < len(pairs):
        return None
    return tuple(
        replace(
            dependence,
            source_statement=statements[dependence.source_statement.name],
            sink_statement=statements[dependence.sink_statement.name],
            source=references[id(dependence.source)],
            sink=references[id(dependence.sink)],
        )
        for dependence in dependences
    )


def _are_twins(statement: ScopStatement, twin: ScopStatement, instead: Mapping[DataObject, DataObject]) -> bool:
    """Whether two statements run at the same times, and access corresponding objects."""
    same_times = twin.domain.set_tuple_name(statement.name).is_equal(statement.domain)
    if not same_times or len(statement.references) != len(twin.references):
        return False
    pairs = zip(statement.references, twin.references, strict=True)
    return all(old.kind is new.kind and old.object == instead.get(new.object, new.object) for old, new in pairs)


def _copy(statement: ScopStatement) -> Copy | None:
    """An added statement; None where it does not copy a single element."""
    node, sites = statement.node, [Site(statement, place) for place in range(len(statement.references))]
    if not isinstance(node, ExpressionStatement) or not isinstance(node.expression, Assignment) or len(sites) != 2:
        return None
    source, target = sites
    kinds = (source.reference.kind, target.reference.kind)
    plain = node.expression.operator == "=" and isinstance(node.expression.value, Access)
    alike = source.reference.object.element == target.reference.object.element
    return Copy(target, source) if plain and alike and kinds == (AccessKind.READ, AccessKind.MUST_WRITE) else None


def _is_touched(site: Site, original: Scop) -> bool:
    """Whether { A[a] : the copy's reference touches it } is part of what the original surely
    touches, or of its hull where an array has all of the hull; true for new arrays.
    """
    object_ = site.reference.object
    if object_.scope is Scope.TEMPORARY:
        return True
    references = [reference for _, reference in original.accesses_to(object_) if reference.exact]
    touched = [reference.relation.range() for reference in references if reference.kind is not AccessKind.MAY_WRITE]
    copied = site.reference.relation.range()
    # Rows in a contiguous user array may end in a shorter last row.
    whole = object_.storage is Storage.CONTIGUOUS and object_.rows_in is None and object_ not in original.layouts
    if touched and whole and not site.reference.writes:
        return bool(copied.is_subset(shadows(touched)))
    return bool(touched) and copied.is_subset(reduce(isl.Set.union, touched))


# -- array expansion and renaming


def _value_fault(
    original: Scop, changed: Scop, storage: StorageMap, copies: list[Copy], twins: list[Twins]
) -> str | None:
    names: dict[str, str] = {}
    for old, twin in twins:
        names |= {f"{twin.name}_{place}": f"{old.name}_{place}" for place in range(len(old.references))}
    arrays = frozenset(storage.instead.values())
    touched = arrays | frozenset(storage.instead)
    if any(site.reference.object not in touched for copy in copies for site in (copy.source, copy.target)):
        return "a copy touches other arrays"
    expected = array_flow(original, arrays)
    seen, initial, last = _through_copies(array_flow(changed, touched), copies, names)
    if not seen.is_equal(expected.sources) or not initial.is_equal(expected.initial):
        return "a read would see another value"
    if not _of(last, arrays - storage.dead).is_equal(_of(expected.last, arrays - storage.dead)):
        return "an array would end with other values"
    return None


def _through_copies(flow: ArrayFlow, copies: Sequence[Copy], names: Mapping[str, str]) -> list[isl.UnionMap]:
    """{ R[i] -> W[j] }, { R[i] -> A[a] } and { A[a] -> W[j] } by original names, and through
    copies: { R -> W } . { W[c] -> R'[c] : copy c } . { R' -> W' }
    """
    through = isl.UnionMap("{ }", context=flow.sites[0].statement.domain.get_ctx())
    for copy in copies:
        domain = copy.target.statement.domain
        same = isl.Map.identity(domain.get_space().map_from_set()).intersect_domain(domain)
        same = same.set_tuple_name(_IN, copy.target.name).set_tuple_name(_OUT, copy.source.name)
        through = through.union(isl.UnionMap.from_map(same))
    seen, initial, last = flow.sources, flow.initial, flow.last
    for _ in copies:
        copied = seen.intersect_range(through.domain()).apply_range(through)
        seen = seen.subtract_range(through.domain()).union(copied.apply_range(flow.sources))
        initial = initial.union(copied.apply_range(flow.initial))
        copied = last.intersect_range(through.domain()).apply_range(through)
        last = last.subtract_range(through.domain()).union(copied.apply_range(flow.sources))
    if not (seen.range().union(last.range())).intersect(through.domain()).is_empty():
        raise UnknownFlowError("copies are copied again and again")
    readers = through.range()
    seen, initial = seen.subtract_domain(readers), initial.subtract_domain(readers)
    return [_renamed(relation, names) for relation in (seen, initial, last)]


def _renamed(relation: isl.UnionMap, names: Mapping[str, str]) -> isl.UnionMap:
    def renamed(map_: isl.Map) -> isl.Map:
        source, sink = (map_.get_tuple_name(side) for side in (_IN, _OUT))
        return map_.set_tuple_name(_IN, names.get(source, source)).set_tuple_name(_OUT, names.get(sink, sink))

    return union_of_maps(relation.get_ctx(), map(renamed, maps_of(relation)))


def _of(relation: isl.UnionMap, arrays: Collection[DataObject]) -> isl.UnionMap:
    """The part { A[a] -> W[j] } of these arrays A."""
    names = {array.name for array in arrays}
    return union_of_maps(relation.get_ctx(), (map_ for map_ in maps_of(relation) if map_.get_tuple_name(_IN) in names))


# -- layouts


def _layout_fault(
    original: Scop, changed: Version, storage: StorageMap, copies: list[Copy], twins: list[Twins]
) -> str | None:
    before = [copy for copy in copies if copy.target.reference.object in storage.instead]
    after = [copy for copy in copies if copy.source.reference.object in storage.instead]
    if len(before) + len(after) != len(copies) or not all(_is_of_its_array(copy, storage) for copy in copies):
        return "a copy touches other arrays"
    if not _surround(changed, storage, before):
        return "copies do not stand before and behind all else"
    places = {
        new: _united([_moved(fill) for fill in before if fill.target.reference.object == new])
        for new in storage.instead
    }
    misplaced = _misplaced(places, storage) or _misplaced_access(twins, places, storage)
    return misplaced or _lost(original, after, places, storage)


def _is_of_its_array(copy: Copy, storage: StorageMap) -> bool:
    """Whether it copies between a new object and its original, and is exact."""
    source, target = copy.source.reference, copy.target.reference
    pair = (target.object, source.object) if target.object in storage.instead else (source.object, target.object)
    return storage.instead.get(pair[0]) == pair[1] and source.exact and target.exact


def _surround(changed: Version, storage: StorageMap, before: Sequence[Copy]) -> bool:
    """Whether the added statements are the first ones, which fill new objects, or last."""
    marks = {id(copy) for copy in storage.copies}
    first = {id(copy.target.statement.node) for copy in before}
    kinds = []
    for statement in changed.statements:
        if id(statement) not in marks:
            kinds.append(1)
        else:
            inside = {id(node) for node in walk(statement)}
            brings = {leaf for leaf in _leaves(changed, inside) if leaf in first}
            kinds.append(0 if brings == _leaves(changed, inside) else 2 if not brings else 3)
    return kinds == sorted(kinds) and 3 not in kinds and kinds.count(0) + kinds.count(2) == len(marks)


def _leaves(changed: Version, inside: set[int]) -> set[int]:
    """The identities of the SCoP's statements among those nodes."""
    return {id(statement.node) for statement in changed.scop.statements if id(statement.node) in inside}


def _moved(copy: Copy) -> isl.Map:
    """{ B[k] -> A[x] } of a copy B[k] = A[x], or A[x] = B[k]"""
    return copy.target.reference.relation.reverse().apply_range(copy.source.reference.relation)


def _united(relations: Sequence[isl.Map]) -> isl.Map | None:
    return reduce(isl.Map.union, relations).coalesce() if relations else None


def _misplaced(places: Mapping[DataObject, isl.Map | None], storage: StorageMap) -> str | None:
    """Whether some element has two places, or a place two elements."""
    taken: dict[DataObject, isl.Set] = {}
    for new, phi in places.items():
        if phi is None:
            return f"nothing is copied to '{new.name}'"
        if not phi.is_single_valued() or not phi.is_injective():
            return f"a place in '{new.name}' is not that of one element"
        elements, old = phi.range(), storage.instead[new]
        if old in taken and not taken[old].is_disjoint(elements):
            return f"an element of '{old.host}' has two places"
        taken[old] = taken[old].union(elements) if old in taken else elements
    return None


def _misplaced_access(
    twins: list[Twins], places: Mapping[DataObject, isl.Map | None], storage: StorageMap
) -> str | None:
    """Whether an access touches another place than that of its element."""
    moved_arrays = frozenset(storage.instead.values())
    for old, twin in twins:
        for reference, moved in zip(old.references, twin.references, strict=True):
            if reference.object in moved_arrays and not _is_at_its_place(reference, moved, places.get(moved.object)):
                return f"an access to '{reference.object.host}' does not touch the place of its element"
    return None


def _is_at_its_place(reference: Reference, moved: Reference, phi: isl.Map | None) -> bool:
    if phi is None or not reference.exact or not moved.exact or reference.member != moved.member:
        return False
    name = reference.relation.get_tuple_name(_IN)
    return bool(moved.relation.apply_range(phi).set_tuple_name(_IN, name).is_equal(reference.relation))


def _lost(
    original: Scop, after: Sequence[Copy], places: Mapping[DataObject, isl.Map | None], storage: StorageMap
) -> str | None:
    """Whether a written element does not return, or returns to another element."""
    for copy in after:
        phi = places[copy.source.reference.object]
        if phi is None or not _moved(copy).reverse().is_subset(phi):
            return "a copy brings a value to another element"
    for old in dict.fromkeys(old for old in storage.instead.values() if old not in storage.dead):
        back = [copy.target.reference.relation.range() for copy in after if copy.target.reference.object == old]
        wanted = [reference.relation.range() for _, reference in original.accesses_to(old) if reference.writes]
        if wanted and not (back and reduce(isl.Set.union, wanted).is_subset(reduce(isl.Set.union, back))):
            return f"'{old.host}' would end with other values"
    return None
