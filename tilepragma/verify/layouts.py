"""Proof that a region on arrays with other layouts, one place an element, computes the same.

The two are the same text but for the storage that accesses name, and for copies B[k] = A[x] before
and A[x] = B[k] after everything else. Let

    phi = { B[k] -> A[x] }   the elements that the copies before bring to places

be injective, with no element in two places. Then each access of the changed region must touch the
place of the element that the original touches:

    { R[i] -> B[k] } . phi  =  { R[i] -> A[x] }

so that places always hold the values of their elements. Copies back must copy places to their
elements, and all that was written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl

from tilepragma.ir.expressions import DataObject
from tilepragma.ir.traversal import walk
from tilepragma.poly.dependences import Dependence
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.scop import Reference, Scop
from tilepragma.verify.storage import (
    Copy,
    StorageMap,
    Version,
    added_copies,
    added_nodes,
    is_touched,
    is_twin,
    same_text,
    without,
)


def layout_fault(original: Version, changed: Version, storage: StorageMap, touching: Scop | None = None) -> str | None:
    """Why the two are not proven to compute the same, a clause; None where they are. `touching` has
    statements that surely touch what copies may touch; the original's by default.
    """
    added = added_nodes(storage)
    if not same_text(without(original.statements, set()), without(changed.statements, added), storage.instead):
        return "the text differs in more than storage"
    try:
        with operation_limit(changed.scop.context, DEFAULT_LIMIT, "proving that arrays lie elsewhere"):
            return _fault(original, changed, storage, added, touching or original.scop)
    except OperationLimitError as unknown:
        return str(unknown).rstrip(".")


def moved_dependences(
    original: Scop, dependences: Sequence[Dependence], changed: Scop, instead: Mapping[DataObject, DataObject]
) -> tuple[Dependence, ...] | None:
    """The dependences of statements on moved arrays for which `layout_fault` is None: those of the
    original, since accesses share a place where they shared an element. None for other statements.
    """
    pairs = list(zip(original.statements, changed.statements, strict=False))
    if len(original.statements) != len(changed.statements) or not all(is_twin(*pair, instead) for pair in pairs):
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


def _fault(
    original: Version, changed: Version, storage: StorageMap, added: frozenset[int], touching: Scop
) -> str | None:
    added_statements = tuple(added_copies(changed.scop, added))
    copies = [copy for copy in added_statements if copy is not None]
    if len(copies) < len(added_statements):
        return "what is added is more than a copy"
    before = [copy for copy in copies if copy.target.reference.object in storage.instead]
    after = [copy for copy in copies if copy.source.reference.object in storage.instead]
    if len(before) + len(after) != len(copies) or not all(_is_of_its_array(copy, storage) for copy in copies):
        return "a copy touches other arrays"
    if not _surround(changed, storage, before):
        return "copies do not stand before and behind all else"
    if not all(is_touched(site, touching) for copy in copies for site in (copy.source, copy.target)):
        return "a copy touches elements that the region does not, which need not be there"
    places = {
        new: _united([_moved(fill) for fill in before if fill.target.reference.object == new])
        for new in storage.instead
    }
    return (
        _misplaced(places, storage)
        or _other_accesses(original.scop, changed.scop, places, storage, added)
        or _lost(original.scop, after, places, storage)
    )


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


def _other_accesses(
    original: Scop,
    changed: Scop,
    places: Mapping[DataObject, isl.Map | None],
    storage: StorageMap,
    added: frozenset[int],
) -> str | None:
    """Whether an access touches another place than that of its element."""
    twins = [statement for statement in changed.statements if id(statement.node) not in added]
    if len(twins) != len(original.statements):
        return "statements are missing"
    moved_arrays = frozenset(storage.instead.values())
    for old, twin in zip(original.statements, twins, strict=True):
        if not is_twin(old, twin, storage.instead):
            return "a statement runs at other times, or touches other things"
        for reference, moved in zip(old.references, twin.references, strict=True):
            if reference.object in moved_arrays and not _is_at_its_place(reference, moved, places.get(moved.object)):
                return f"an access to '{reference.object.host}' does not touch the place of its element"
    return None


def _is_at_its_place(reference: Reference, moved: Reference, phi: isl.Map | None) -> bool:
    if phi is None or not reference.exact or not moved.exact or reference.member != moved.member:
        return False
    name = reference.relation.get_tuple_name(isl.dim_type.in_)
    return bool(moved.relation.apply_range(phi).set_tuple_name(isl.dim_type.in_, name).is_equal(reference.relation))


def _lost(
    original: Scop, after: Sequence[Copy], places: Mapping[DataObject, isl.Map | None], storage: StorageMap
) -> str | None:
    """Whether a written element does not return, or returns to another element."""
    for copy in after:
        phi = places[copy.source.reference.object]
        if phi is None or not _moved(copy).reverse().is_subset(phi):
            return "a copy brings a value to another element"
    for old in dict.fromkeys(storage.instead.values()):
        if old in storage.dead:
            continue
        back = [copy.target.reference.relation.range() for copy in after if copy.target.reference.object == old]
        wanted = [
            reference.relation.range()
            for statement in original.statements
            for reference in statement.references
            if reference.object == old and reference.writes
        ]
        if wanted and not (back and reduce(isl.Set.union, wanted).is_subset(reduce(isl.Set.union, back))):
            return f"'{old.host}' would end with other values"
    return None
