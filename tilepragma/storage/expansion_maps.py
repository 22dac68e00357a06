"""Array expansion: a private copy for each iteration where no value flows between iterations
through an array.

A web is a set of references between which values flow:   W[j] and R[i] with { R[i] -> W[j] } not
empty. A web may have a copy for each iteration of its k outermost loops where

    { R[i] -> W[j] } is a subset of { R[i] -> W[j] : i_1 = j_1, ..., i_k = j_k }

and every read in it reads a value of its writes. All dependences that those loops carry over the
web are then false, and expansion removes them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.loop_tree import Loop
from tilepragma.poly.dependences import Carried
from tilepragma.poly.value_flow import ArrayFlow, Site


@dataclass(frozen=True)
class Expansion:
    """The references `sites` of `object` get one copy of the array for each iteration of `loops`
    (outermost first).

    `cells`: { [i, a] : an instance of the references in iteration i of the loops touches A[a] }.
    """

    object: DataObject
    sites: tuple[Site, ...]
    loops: tuple[Loop, ...]
    cells: isl.Set

    @property
    def ranges(self) -> frozenset[SourceRange]:
        """The references' places in the text."""
        return frozenset(site.reference.range for site in self.sites)


@dataclass(frozen=True)
class _Web:
    """References between which values flow, but not across iterations of `loops`."""

    object: DataObject
    sites: tuple[Site, ...]
    loops: tuple[Loop, ...]

    def has(self, loop: Loop) -> bool:
        return any(web_loop.index == loop.index for web_loop in self.loops)


def expansions(carried: Carried, flows: Iterable[ArrayFlow], rank: int) -> tuple[Expansion, ...]:
    """The expansions that free some loop of all dependences among the statements concerned.

    No array gets more dimensions than `rank`, or than one more than it has.
    """
    webs = [web for flow in flows for web in _webs(flow) if web.loops]
    free: dict[int, bool] = {}
    expanded = []
    for web in webs:
        statements = {site.statement.name for site in web.sites}
        chosen = []
        for loop in web.loops:
            if not any(dependence.source.object == web.object for dependence in carried.by(loop, statements)):
                continue
            if loop.index not in free:
                free[loop.index] = _is_free(loop, webs, carried)
            if free[loop.index]:
                chosen.append(loop)
        most = max(1, rank - web.object.rank)
        if chosen:
            expanded.append(Expansion(web.object, web.sites, tuple(chosen[:most]), _cells(web, chosen[:most])))
    return tuple(expanded)


def whole_expansions(flows: Iterable[ArrayFlow], rank: int) -> tuple[Expansion, ...]:
    """Expansions over all possible loops, at most `rank`, whatever else these carry."""
    webs = (web for flow in flows for web in _webs(flow))
    return tuple(
        Expansion(web.object, web.sites, web.loops, _cells(web, list(web.loops)))
        for web in webs
        if 0 < len(web.loops) <= rank
    )


def _is_free(loop: Loop, webs: Collection[_Web], carried: Carried) -> bool:
    """Whether expansion removes all that the loop carries among the statements of its webs."""
    having = [web for web in webs if web.has(loop)]
    expandable = {(site.statement.name, site.reference.range) for web in having for site in web.sites}
    statements = {site.statement.name for web in having for site in web.sites}
    return all(
        (dependence.source_statement.name, dependence.source.range) in expandable
        and (dependence.sink_statement.name, dependence.sink.range) in expandable
        for dependence in carried.by(loop, statements)
    )


def _webs(flow: ArrayFlow) -> list[_Web]:
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
            write = by_name[source.get_tuple_name(isl.dim_type.out)]
            pairs.append((read, write, source))
            join({read, write})
    exposed = {read for read in flow.reads if any(True for _ in flow.of(flow.initial, read))}
    webs = []
    for group in groups:
        if group & exposed or len({site.reference.object for site in group}) != 1:
            continue
        sites = tuple(site for site in flow.sites if site in group)
        loops = _shared_loops(sites)
        for read, _, relation in pairs:
            if read in group:
                loops = loops[: _steady(relation, len(loops))]
        webs.append(_Web(sites[0].reference.object, sites, loops))
    return webs


def _shared_loops(sites: tuple[Site, ...]) -> tuple[Loop, ...]:
    loops = sites[0].statement.loops
    for site in sites[1:]:
        same = 0
        for outer, loop in zip(loops, site.statement.loops, strict=False):
            if outer.index != loop.index:
                break
            same += 1
        loops = loops[:same]
    return loops


def _steady(relation: isl.Map, most: int) -> int:
    """The greatest k up to `most` for which { R[i] -> W[j] } has i_1 = j_1, ..., i_k = j_k."""
    for place in range(most):
        if not relation.is_subset(relation.equate(isl.dim_type.in_, place, isl.dim_type.out, place)):
            return place
    return most


def _cells(web: _Web, loops: list[Loop]) -> isl.Set:
    """{ [i, a] : R[.., i, ..] -> A[a] for a reference R of the web }"""
    result: isl.Set | None = None
    for site in web.sites:
        touched = kept_loops(site, loops).wrap().flatten()
        result = touched if result is None else result.union(touched)
    assert result is not None
    return result.coalesce()


def last_cells(expansion: Expansion, flow: ArrayFlow) -> isl.Set | None:
    """{ [i, a] : the expansion writes A[a] last, in iteration i of its loops }; None if empty."""
    sites = {site.name: site for site in expansion.sites}
    last_writes: list[isl.Map] = []
    flow.last.foreach_map(last_writes.append)
    result: isl.Set | None = None
    for last in last_writes:
        site = sites.get(last.get_tuple_name(isl.dim_type.out))
        if site is None:
            continue
        indices = {loop.index for loop in expansion.loops}
        for place, loop in reversed(list(enumerate(site.statement.loops))):
            if loop.index not in indices:
                last = last.project_out(isl.dim_type.out, place, 1)
        part = last.reset_tuple_id(isl.dim_type.out).reset_tuple_id(isl.dim_type.in_).reverse().wrap().flatten()
        result = part if result is None else result.union(part)
    return None if result is None or result.is_empty() else result.coalesce()


def kept_loops(site: Site, loops: Collection[Loop]) -> isl.Map:
    """{ [i] -> A[a] : R[.., i, ..] -> A[a] }, i being the iterators of `loops` alone."""
    relation = site.reference.relation
    indices = {loop.index for loop in loops}
    for place, loop in reversed(list(enumerate(site.statement.loops))):
        if loop.index not in indices:
            relation = relation.project_out(isl.dim_type.in_, place, 1)
    return relation.reset_tuple_id(isl.dim_type.in_)
