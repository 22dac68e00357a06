"""Anti-dependence renaming (thesis Algorithm 4.2): reads of old values go to a copy, so that no
write waits for them.

It applies where a loop carries only anti dependences { R[i] -> W[j] }, and no source R reads a
value written within the same execution of the loop. A copy made right before the loop then holds
all that R reads, and no iteration waits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.loop_tree import Loop
from tilepragma.poly.dependences import Carried, DependenceKind
from tilepragma.poly.value_flow import ArrayFlow, Site
from tilepragma.storage.expansion_maps import Expansion, kept_loops


@dataclass(frozen=True)
class Renaming:
    """The reads `sites` of `object` go to a copy made right before `loop`, in each iteration of
    `around`.

    `cells`: { [o, a] : in iteration o of the loops around, the copy needs A[a] }.
    """

    object: DataObject
    sites: tuple[Site, ...]
    loop: Loop
    around: tuple[Loop, ...]
    cells: isl.Set

    @property
    def ranges(self) -> frozenset[SourceRange]:
        """The references' places in the text."""
        return frozenset(site.reference.range for site in self.sites)


def old_values(carried: Carried, flows: Iterable[ArrayFlow], expanded: Collection[Expansion]) -> tuple[Renaming, ...]:
    """The copies that free some outermost loop of all its dependences."""
    by_object = {object_: flow for flow in flows for object_ in flow.objects}
    done: dict[int, bool] = {}
    renamings: list[Renaming] = []
    for statement in carried.scop.statements:
        for place, loop in enumerate(statement.loops):
            if loop.index not in done:
                copies = _copies(loop, statement.loops[:place], carried, by_object, expanded)
                done[loop.index] = copies is not None
                renamings += copies or ()
            if done[loop.index]:
                break
    return tuple(renamings)


def _copies(
    loop: Loop,
    around: tuple[Loop, ...],
    carried: Carried,
    by_object: Mapping[DataObject, ArrayFlow],
    expanded: Collection[Expansion],
) -> tuple[Renaming, ...] | None:
    """The copies that free the loop of dependences, if it has any; None where they do not help."""
    under = carried.statements_under(loop)
    wanted: dict[DataObject, None] = {}
    for dependence in carried.by(loop, under):
        object_ = dependence.source.object
        if _vanishes(object_, loop, expanded):
            continue
        if dependence.kind is not DependenceKind.ANTI or object_ not in by_object:
            return None
        site = next(candidate for candidate in by_object[object_].sites if candidate.reference is dependence.source)
        if not _is_old(site, loop, len(around), by_object[object_]):
            return None
        wanted[object_] = None
    copies = []
    for object_ in wanted:
        if any(expansion.object == object_ for expansion in expanded):
            return None
        sites = _redirected(object_, loop, around, carried, by_object[object_])
        if sites is None:
            return None
        copies.append(Renaming(object_, sites, loop, around, _cells(sites, around)))
    return tuple(copies)


def _vanishes(object_: DataObject, loop: Loop, expanded: Collection[Expansion]) -> bool:
    loops = (outer for expansion in expanded if expansion.object == object_ for outer in expansion.loops)
    return any(outer.index == loop.index for outer in loops)


def _is_old(site: Site, loop: Loop, around: int, flow: ArrayFlow) -> bool:
    """Whether { R[i] -> W[j] : i_1 = j_1, ..., i_around = j_around, W under the loop } is empty."""
    writes = {write.name: write for write in flow.writes}
    for relation in flow.of(flow.sources, site):
        write = writes[relation.get_tuple_name(isl.dim_type.out)]
        if not any(outer.index == loop.index for outer in write.statement.loops):
            continue
        for place in range(around):
            relation = relation.equate(isl.dim_type.in_, place, isl.dim_type.out, place)
        if not relation.is_empty():
            return False
    return True


def _redirected(
    object_: DataObject, loop: Loop, around: tuple[Loop, ...], carried: Carried, flow: ArrayFlow
) -> tuple[Site, ...] | None:
    """The reads of old values that the loop's dependences start from; None if one is inexact."""
    under = carried.statements_under(loop)
    inner = {
        inner_loop.index: inner_loop
        for statement in carried.scop.statements
        if statement.name in under
        for inner_loop in statement.loops[len(around) :]
    }
    sources = {
        id(dependence.source)
        for inner_loop in inner.values()
        for dependence in carried.by(inner_loop, under)
        if dependence.kind is DependenceKind.ANTI and dependence.source.object == object_
    }
    sites = tuple(
        site for site in flow.reads if id(site.reference) in sources and _is_old(site, loop, len(around), flow)
    )
    texts = {site.reference.range for site in sites}
    shared = [site for site in flow.sites if site.reference.range in texts and site not in sites]
    return None if shared or not all(site.reference.exact for site in sites) else sites


def _cells(sites: tuple[Site, ...], around: tuple[Loop, ...]) -> isl.Set:
    """{ [o, a] : R[o, ..] -> A[a] for a redirected read R }"""
    result = kept_loops(sites[0], around).wrap().flatten()
    for site in sites[1:]:
        result = result.union(kept_loops(site, around).wrap().flatten())
    return result.coalesce()
