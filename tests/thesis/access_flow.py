"""Value-based dependences between exact accesses, by isl's data flow analysis.

    flow      write -> the reads that see its value
    anti      read  -> the next write to what it read
    output    write -> the next write to the same place

each as { S[i] -> T[i'] } for a pair of accesses, between different instances. Their transitive
closure orders all that memory-based dependences order.
"""

from __future__ import annotations

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.program_model import DependenceKind, ProgramDependence, ProgramStatement
from tilepragma.poly.schedule import original_schedule


@dataclass(frozen=True)
class AccessDependence(ProgramDependence):
    """One between two references: `source_access` and `target_access` index the accesses of the two statements."""

    source_access: int
    target_access: int


@dataclass(frozen=True)
class _Reference:
    """Access number `index` of a statement; `tagged` = { [S[i] -> index[]] -> A[x] }, `when` = { [S[i] -> index[]] -> [t] }."""

    statement: str
    index: int
    array: str
    write: bool
    tagged: isl.Map
    when: isl.Map


def value_based_dependences(statements: tuple[ProgramStatement, ...]) -> tuple[AccessDependence, ...]:
    """All flow, anti and output dependences of statements in the order of the text, one for each pair of accesses."""
    references = _references(statements)
    found: list[AccessDependence] = []
    for array in dict.fromkeys(each.array for each in references):
        same = [each for each in references if each.array == array]
        writes = [each for each in same if each.write]
        reads = [each for each in same if not each.write]
        if writes:
            found += _between(DependenceKind.FLOW, array, writes, reads, writes)
            for read in reads:
                found += _between(DependenceKind.ANTI, array, [read], writes, writes)
            found += _between(DependenceKind.OUTPUT, array, writes, writes, writes)
    return tuple(found)


def _references(statements: tuple[ProgramStatement, ...]) -> list[_Reference]:
    order = original_schedule(statements)
    result = []
    for each in statements:
        for index, access in enumerate(each.accesses):
            tag = isl.Space.alloc(each.domain.get_ctx(), 0, 0, 0).range().set_tuple_name(isl.dim_type.set, f"a{index}")
            tagged = isl.Map.from_domain_and_range(each.domain, isl.Set.universe(tag)).domain_map()
            result.append(
                _Reference(
                    each.name,
                    index,
                    access.array,
                    access.write,
                    tagged.apply_range(access.relation),
                    tagged.apply_range(order.of(each.name).map),
                )
            )
    return result


def _between(
    kind: DependenceKind, array: str, sources: list[_Reference], sinks: list[_Reference], kills: list[_Reference]
) -> list[AccessDependence]:
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
    found = []
    for piece in _maps(flow):
        source, source_index = _ends(piece, isl.dim_type.in_)
        target, target_index = _ends(piece, isl.dim_type.out)
        relation = piece.domain_factor_domain().range_factor_domain().coalesce()
        found.append(AccessDependence(kind, array, source, target, relation, source_index, target_index))
    return sorted(found, key=lambda each: (each.source, each.target, each.source_access, each.target_access))


def _ends(piece: isl.Map, side: isl.dim_type) -> tuple[str, int]:
    space = piece.get_space()
    wrapped = (space.domain() if side == isl.dim_type.in_ else space.range()).unwrap()
    return wrapped.get_tuple_name(isl.dim_type.in_), int(wrapped.get_tuple_name(isl.dim_type.out)[1:])


def _union(maps: list[isl.Map]) -> isl.UnionMap:
    result = isl.UnionMap.from_map(maps[0])
    for each in maps[1:]:
        result = result.union(isl.UnionMap.from_map(each))
    return result


def _maps(union: isl.UnionMap) -> list[isl.Map]:
    found: list[isl.Map] = []
    union.foreach_map(found.append)
    return found
