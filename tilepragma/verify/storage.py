"""Proof that a region that stores some values elsewhere computes what the original computes.

The two are the same text but for the storage that some accesses name, and for added copies B[b] =
C[c]. Let

    { R[i] -> W[j] }   map the read R[i] to the write whose value it reads

in both, composed through its copies in the changed region. Then each read must see the same value,
and each element that is live afterwards must have the same last writer. The subscripts of new
storage do not matter; the values there do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.expressions import Access, Assignment, DataObject, Scope, Storage
from tilepragma.ir.loop_tree import ExpressionStatement, Statement
from tilepragma.ir.traversal import walk
from tilepragma.poly.footprints import shadows
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.scop import AccessKind, Scop, ScopStatement
from tilepragma.poly.value_flow import ArrayFlow, Site, UnknownFlowError, array_flow


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


def storage_fault(original: Version, changed: Version, storage: StorageMap) -> str | None:
    """Why the two are not proven to compute the same, a clause; None where they are."""
    added = added_nodes(storage)
    if not same_text(without(original.statements, set()), without(changed.statements, added), storage.instead):
        return "the text differs in more than storage"
    try:
        with operation_limit(changed.scop.context, DEFAULT_LIMIT, "proving that values are kept elsewhere"):
            return _value_fault(original.scop, changed.scop, storage, added)
    except (OperationLimitError, UnknownFlowError) as unknown:
        return str(unknown).rstrip(".")


def added_nodes(storage: StorageMap) -> frozenset[int]:
    """The identities of all nodes of the added statements."""
    return frozenset(id(node) for copy in storage.copies for node in walk(copy))


def without(node: Any, left_out: Collection[int]) -> Any:
    """The tree as tuples, without statements in `left_out`, ranges and directives."""
    if isinstance(node, tuple):
        return tuple(without(part, left_out) for part in node if id(part) not in left_out)
    if isinstance(node, (DataObject, SourceRange)) or not dataclasses.is_dataclass(node):
        return node
    fields = (field for field in dataclasses.fields(node) if field.compare)
    return (type(node), *(without(getattr(node, field.name), left_out) for field in fields))


def same_text(old: Any, new: Any, instead: Mapping[DataObject, DataObject]) -> bool:
    """Whether two trees of `without` differ only in the storage and subscripts of new objects."""
    if old == new:
        return True
    if not isinstance(old, tuple) or not isinstance(new, tuple) or len(old) != len(new):
        return False
    if old and old[0] is Access and new[0] is Access and new[1] in instead:
        original = instead[new[1]]
        return old[1] == original and original.element == new[1].element and old[3:] == new[3:]
    return all(same_text(part, twin, instead) for part, twin in zip(old, new, strict=True))


@dataclass(frozen=True)
class _Sources:
    """ArrayFlow's { R[i] -> W[j] }, { R[i] -> A[a] } and { A[a] -> W[j] }, by original names."""

    seen: isl.UnionMap
    initial: isl.UnionMap
    last: isl.UnionMap


def _value_fault(original: Scop, changed: Scop, storage: StorageMap, added: Collection[int]) -> str | None:
    found_copies = tuple(added_copies(changed, added))
    copies = [copy for copy in found_copies if copy is not None]
    twins = [statement for statement in changed.statements if id(statement.node) not in added]
    if len(twins) != len(original.statements):
        return "statements are missing"
    names: dict[str, str] = {}
    for old, twin in zip(original.statements, twins, strict=True):
        if not is_twin(old, twin, storage.instead):
            return "a statement runs at other times, or touches other things"
        names |= {f"{twin.name}_{place}": f"{old.name}_{place}" for place in range(len(old.references))}
    if len(copies) < len(found_copies):
        return "what is added is more than a copy"
    arrays = frozenset(storage.instead.values())
    touched = arrays | frozenset(storage.instead)
    if any(site.reference.object not in touched for copy in copies for site in (copy.source, copy.target)):
        return "a copy touches other arrays"
    if any(not is_touched(site, original) for copy in copies for site in (copy.source, copy.target)):
        return "a copy touches elements that the region does not, which need not be there"
    before = array_flow(original, arrays)
    expected = _Sources(before.sources, before.initial, before.last)
    actual = _through_copies(array_flow(changed, touched), copies, names)
    if not actual.seen.is_equal(expected.seen) or not actual.initial.is_equal(expected.initial):
        return "a read would see another value"
    if not _of(actual.last, arrays - storage.dead).is_equal(_of(expected.last, arrays - storage.dead)):
        return "an array would end with other values"
    return None


def is_twin(statement: ScopStatement, twin: ScopStatement, instead: Mapping[DataObject, DataObject]) -> bool:
    """Whether two statements run at the same times, and access corresponding objects."""
    if not twin.domain.set_tuple_name(statement.name).is_equal(statement.domain) or len(statement.references) != len(
        twin.references
    ):
        return False
    return all(
        reference.kind is moved.kind and reference.object == instead.get(moved.object, moved.object)
        for reference, moved in zip(statement.references, twin.references, strict=True)
    )


@dataclass(frozen=True)
class Copy:
    """B[b] = C[c]: `target` writes, `source` reads."""

    target: Site
    source: Site


def added_copies(changed: Scop, added: Collection[int]) -> Iterator[Copy | None]:
    """The added statements; None for one that does not copy a single element."""
    for statement in changed.statements:
        if id(statement.node) in added:
            yield _copy(statement, [Site(statement, place) for place in range(len(statement.references))])


def _copy(statement: ScopStatement, sites: list[Site]) -> Copy | None:
    node = statement.node
    if not isinstance(node, ExpressionStatement) or not isinstance(node.expression, Assignment) or len(sites) != 2:
        return None
    source, target = sites
    kinds = (source.reference.kind, target.reference.kind)
    plain = node.expression.operator == "=" and isinstance(node.expression.value, Access)
    alike = source.reference.object.element == target.reference.object.element
    return Copy(target, source) if plain and alike and kinds == (AccessKind.READ, AccessKind.MUST_WRITE) else None


def is_touched(site: Site, original: Scop) -> bool:
    """Whether { A[a] : the copy's reference touches it } is part of what the original surely
    touches, or of its hull where an array has all of the hull; true for new arrays.
    """
    object_ = site.reference.object
    if object_.scope is Scope.TEMPORARY:
        return True
    references = [
        reference
        for statement in original.statements
        for reference in statement.references
        if reference.object == object_ and reference.exact
    ]
    touched = [reference.relation.range() for reference in references if reference.kind is not AccessKind.MAY_WRITE]
    copied = site.reference.relation.range()
    # Rows in a contiguous user array may end in a shorter last row.
    whole = object_.storage is Storage.CONTIGUOUS and object_.rows_in is None and object_ not in original.layouts
    if touched and whole and not site.reference.writes:
        return bool(copied.is_subset(shadows(touched)))
    return bool(touched) and copied.is_subset(reduce(isl.Set.union, touched))


def _through_copies(flow: ArrayFlow, copies: Sequence[Copy], names: Mapping[str, str]) -> _Sources:
    """Flow through copies: { R -> W } . { W[c] -> R'[c] : copy c } . { R' -> W' }."""
    context = flow.sites[0].statement.domain.get_ctx()
    through = isl.UnionMap("{ }", context=context)
    for copy in copies:
        domain = copy.target.statement.domain
        same = isl.Map.identity(domain.get_space().map_from_set()).intersect_domain(domain)
        same = same.set_tuple_name(isl.dim_type.in_, copy.target.name).set_tuple_name(
            isl.dim_type.out, copy.source.name
        )
        through = through.union(isl.UnionMap.from_map(same))
    seen, initial, last = flow.sources, flow.initial, flow.last
    for _ in copies:
        copied = seen.intersect_range(through.domain()).apply_range(through)
        seen = seen.subtract_range(through.domain()).union(copied.apply_range(flow.sources))
        initial = initial.union(copied.apply_range(flow.initial))
        last = last.subtract_range(through.domain()).union(
            last.intersect_range(through.domain()).apply_range(through).apply_range(flow.sources)
        )
    if not (seen.range().union(last.range())).intersect(through.domain()).is_empty():
        raise UnknownFlowError("copies are copied again and again")
    readers = through.range()
    seen, initial = seen.subtract_domain(readers), initial.subtract_domain(readers)
    return _Sources(_renamed(seen, names), _renamed(initial, names), _renamed(last, names))


def _renamed(relation: isl.UnionMap, names: Mapping[str, str]) -> isl.UnionMap:
    result = isl.UnionMap("{ }", context=relation.get_ctx())
    for map_ in _maps(relation):
        for side in (isl.dim_type.in_, isl.dim_type.out):
            name = map_.get_tuple_name(side)
            map_ = map_.set_tuple_name(side, names.get(name, name))
        result = result.union(isl.UnionMap.from_map(map_))
    return result


def _of(relation: isl.UnionMap, arrays: Collection[DataObject]) -> isl.UnionMap:
    names = {array.name for array in arrays}
    result = isl.UnionMap("{ }", context=relation.get_ctx())
    for map_ in _maps(relation):
        if map_.get_tuple_name(isl.dim_type.in_) in names:
            result = result.union(isl.UnionMap.from_map(map_))
    return result


def _maps(relation: isl.UnionMap) -> Iterator[isl.Map]:
    maps: list[isl.Map] = []
    relation.foreach_map(maps.append)
    return iter(maps)
