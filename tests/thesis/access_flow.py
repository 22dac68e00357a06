"""Value-based dependences between exact accesses, by isl's data flow analysis.

    flow      write -> the reads that see its value
    anti      read  -> the next write to what it read
    output    write -> the next write to the same place

each as { S[i] -> T[i'] } for a pair of accesses, between different instances. Their transitive
closure orders all that memory-based dependences order.
"""

from __future__ import annotations

import islpy as isl

from tests.support.band_orders import of
from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.dependences import Dependence, DependenceKind
from tilepragma.poly.schedule import original_schedule
from tilepragma.poly.scop import ScopStatement


@dataclass(frozen=True)
class _Reference:
    """Reference number `index` of a statement; `tagged` = { [S[i] -> index[]] -> A[x] }, `when` = { [S[i] -> index[]] -> [t] }."""

    statement: ScopStatement
    index: int
    array: str
    write: bool
    tagged: isl.Map
    when: isl.Map


def value_based_dependences(statements: tuple[ScopStatement, ...]) -> tuple[Dependence, ...]:
    """All flow, anti and output dependences of statements in the order of the text, one for each pair of accesses."""
    references = _references(statements)
    dependences: list[Dependence] = []
    for array in dict.fromkeys(each.array for each in references):
        same = [each for each in references if each.array == array]
        writes = [each for each in same if each.write]
        reads = [each for each in same if not each.write]
        if writes:
            dependences += _between(DependenceKind.FLOW, writes, reads, writes)
            for read in reads:
                dependences += _between(DependenceKind.ANTI, [read], writes, writes)
            dependences += _between(DependenceKind.OUTPUT, writes, writes, writes)
    return tuple(dependences)


def _references(statements: tuple[ScopStatement, ...]) -> list[_Reference]:
    order = original_schedule(statements)
    result = []
    for each in statements:
        for index, access in enumerate(each.references):
            tag = isl.Space.alloc(each.domain.get_ctx(), 0, 0, 0).range().set_tuple_name(isl.dim_type.set, f"a{index}")
            tagged = isl.Map.from_domain_and_range(each.domain, isl.Set.universe(tag)).domain_map()
            result.append(
                _Reference(
                    each,
                    index,
                    access.object.name,
                    access.writes,
                    tagged.apply_range(access.relation),
                    tagged.apply_range(of(order, each.name).map),
                )
            )
    return result


def _between(
    kind: DependenceKind, sources: list[_Reference], sinks: list[_Reference], kills: list[_Reference]
) -> list[Dependence]:
    """The dependences from sources to the sinks that they reach with no kill between."""
    if not sources or not sinks:
        return []
    info = isl.UnionAccessInfo.from_sink(_union([each.tagged for each in sinks]))
    info = info.set_schedule_map(_union([each.when for each in {id(r): r for r in sources + sinks + kills}.values()]))
    if kind is DependenceKind.ANTI:
        info = info.set_may_source(_union([each.tagged for each in sources]))
        info = info.set_kill(_union([each.tagged for each in kills]))
    else:
        info = info.set_must_source(_union([each.tagged for each in sources]))
    flow = info.compute_flow().get_may_dependence()
    dependences: list[Dependence] = []
    for piece in _maps(flow):
        source, source_index = _end(piece, isl.dim_type.in_)
        sink, sink_index = _end(piece, isl.dim_type.out)
        relation = piece.domain_factor_domain().range_factor_domain().coalesce()
        distances = isl.Set("{ [] }", context=relation.get_ctx())
        first, second = (
            next(each.statement for each in references if each.statement.name == name)
            for references, name in ((sources, source), (sinks, sink))
        )
        references = first.references[source_index], second.references[sink_index]
        dependences.append(Dependence(kind, first, second, *references, relation, (), distances, True))
    return sorted(dependences, key=lambda each: (each.ends, places(each)))


def places(dependence: Dependence) -> tuple[int, int]:
    """The numbers of the two references in their statements."""
    ends = (
        (dependence.source_statement, dependence.source),
        (dependence.sink_statement, dependence.sink),
    )
    first, second = (
        next(place for place, each in enumerate(statement.references) if each is reference)
        for statement, reference in ends
    )
    return first, second


def _end(piece: isl.Map, side: isl.dim_type) -> tuple[str, int]:
    space = piece.get_space()
    wrapped = (space.domain() if side == isl.dim_type.in_ else space.range()).unwrap()
    return wrapped.get_tuple_name(isl.dim_type.in_), int(wrapped.get_tuple_name(isl.dim_type.out)[1:])


def _union(maps: list[isl.Map]) -> isl.UnionMap:
    result = isl.UnionMap.from_map(maps[0])
    for each in maps[1:]:
        result = result.union(isl.UnionMap.from_map(each))
    return result


def _maps(union: isl.UnionMap) -> list[isl.Map]:
    maps: list[isl.Map] = []
    union.foreach_map(maps.append)
    return maps
