"""Proof that a region whose arrays lie elsewhere while it runs, each element in one place, computes
what the original computes.

The two are the same text but for the storage that accesses name, and for copies B[k] = A[x] before
all else and A[x] = B[k] behind it. With

    phi = { B[k] -> A[x] }   what the copies before bring where

injective, and no element in two places, each access of the changed region touches the place of what
the original touches:

    { R[i] -> B[k] } . phi  =  { R[i] -> A[x] }

so that places have the values of their elements at all times. Copies back are of places to their
elements, and of all that was written.
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
    OwnStorage,
    Version,
    added_copies,
    added_nodes,
    is_touched,
    is_twin,
    same_text,
    without,
)


def layout_fault(original: Version, changed: Version, own: OwnStorage, touching: Scop | None = None) -> str | None:
    """Why the two are not proven to compute the same, a clause; None where they are. `touching` is
    of statements that surely touch what copies may touch: those of the original where none are
    given.
    """
    added = added_nodes(own)
    if not same_text(without(original.statements, set()), without(changed.statements, added), own.instead):
        return "the text differs in more than storage"
    try:
        with operation_limit(changed.scop.context, DEFAULT_LIMIT, "proving that arrays lie elsewhere"):
            return _fault(original, changed, own, added, touching or original.scop)
    except OperationLimitError as unknown:
        return str(unknown).rstrip(".")


def moved_dependences(
    original: Scop, dependences: Sequence[Dependence], changed: Scop, instead: Mapping[DataObject, DataObject]
) -> tuple[Dependence, ...] | None:
    """The dependences of statements whose arrays lie elsewhere, where `layout_fault` found nothing
    wrong with that: those of the original ones, as two accesses touch one place where they touched
    one element. None where they are not the same statements.
    """
    pairs = list(zip(original.statements, changed.statements, strict=False))
    if len(original.statements) != len(changed.statements) or not all(is_twin(*pair, instead) for pair in pairs):
        return None
    statements = {one.name: twin for one, twin in pairs if one.name == twin.name}
    references = {
        id(mine): theirs for one, twin in pairs for mine, theirs in zip(one.references, twin.references, strict=True)
    }
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


def _fault(original: Version, changed: Version, own: OwnStorage, added: frozenset[int], touching: Scop) -> str | None:
    found = tuple(added_copies(changed.scop, added))
    copies = [one for one in found if one is not None]
    if len(copies) < len(found):
        return "what is added is more than a copy"
    before = [copy for copy in copies if copy.target.reference.object in own.instead]
    after = [copy for copy in copies if copy.source.reference.object in own.instead]
    if len(before) + len(after) != len(copies) or not all(_is_of_its_array(copy, own) for copy in copies):
        return "a copy touches other arrays"
    if not _surround(changed, own, before):
        return "copies do not stand before and behind all else"
    if not all(is_touched(site, touching) for copy in copies for site in (copy.source, copy.target)):
        return "a copy touches elements that the region does not, which need not be there"
    places = {
        new: _united([_moved(one) for one in before if one.target.reference.object == new]) for new in own.instead
    }
    return (
        _misplaced(places, own)
        or _other_accesses(original.scop, changed.scop, places, own, added)
        or _lost(original.scop, after, places, own)
    )


def _is_of_its_array(copy: Copy, own: OwnStorage) -> bool:
    """Whether it goes between a new object and the one whose values that holds, and is exact."""
    source, target = copy.source.reference, copy.target.reference
    pair = (target.object, source.object) if target.object in own.instead else (source.object, target.object)
    return own.instead.get(pair[0]) == pair[1] and source.exact and target.exact


def _surround(changed: Version, own: OwnStorage, before: Sequence[Copy]) -> bool:
    """Whether the added statements are the first and the last of the region, those first that bring values to new objects."""
    marks = {id(copy) for copy in own.copies}
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
    """The identities of the Scop's statements among those nodes."""
    return {id(statement.node) for statement in changed.scop.statements if id(statement.node) in inside}


def _moved(copy: Copy) -> isl.Map:
    """{ B[k] -> A[x] } of a copy B[k] = A[x], or A[x] = B[k]"""
    return copy.target.reference.relation.reverse().apply_range(copy.source.reference.relation)


def _united(relations: Sequence[isl.Map]) -> isl.Map | None:
    return reduce(isl.Map.union, relations).coalesce() if relations else None


def _misplaced(places: Mapping[DataObject, isl.Map | None], own: OwnStorage) -> str | None:
    """Whether some element has two places, or a place two elements."""
    taken: dict[DataObject, isl.Set] = {}
    for new, phi in places.items():
        if phi is None:
            return f"nothing is copied to '{new.name}'"
        if not phi.is_single_valued() or not phi.is_injective():
            return f"a place in '{new.name}' is not that of one element"
        elements, old = phi.range(), own.instead[new]
        if old in taken and not taken[old].is_disjoint(elements):
            return f"an element of '{old.host}' has two places"
        taken[old] = taken[old].union(elements) if old in taken else elements
    return None


def _other_accesses(
    original: Scop, changed: Scop, places: Mapping[DataObject, isl.Map | None], own: OwnStorage, added: frozenset[int]
) -> str | None:
    """Whether an access touches another place than that of its element."""
    twins = [statement for statement in changed.statements if id(statement.node) not in added]
    if len(twins) != len(original.statements):
        return "statements are missing"
    kept = frozenset(own.instead.values())
    for one, twin in zip(original.statements, twins, strict=True):
        if not is_twin(one, twin, own.instead):
            return "a statement runs at other times, or touches other things"
        for mine, theirs in zip(one.references, twin.references, strict=True):
            if mine.object in kept and not _is_at_its_place(mine, theirs, places.get(theirs.object)):
                return f"an access to '{mine.object.host}' does not touch the place of its element"
    return None


def _is_at_its_place(mine: Reference, theirs: Reference, phi: isl.Map | None) -> bool:
    if phi is None or not mine.exact or not theirs.exact or mine.member != theirs.member:
        return False
    name = mine.relation.get_tuple_name(isl.dim_type.in_)
    return bool(theirs.relation.apply_range(phi).set_tuple_name(isl.dim_type.in_, name).is_equal(mine.relation))


def _lost(
    original: Scop, after: Sequence[Copy], places: Mapping[DataObject, isl.Map | None], own: OwnStorage
) -> str | None:
    """Whether something that was written does not come back, or comes back to another element."""
    for copy in after:
        phi = places[copy.source.reference.object]
        if phi is None or not _moved(copy).reverse().is_subset(phi):
            return "a copy brings a value to another element"
    for old in dict.fromkeys(own.instead.values()):
        if old in own.dead:
            continue
        back = [one.target.reference.relation.range() for one in after if one.target.reference.object == old]
        wanted = [
            reference.relation.range()
            for each in original.statements
            for reference in each.references
            if reference.object == old and reference.writes
        ]
        if wanted and not (back and reduce(isl.Set.union, wanted).is_subset(reduce(isl.Set.union, back))):
            return f"'{old.host}' would end with other values"
    return None
