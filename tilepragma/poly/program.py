"""From a Scop and its dependences to what Algorithm 4.1 reasons about.

It wants iterators that grow in the order of execution: those of decreasing loops are negated,

    { S[i_1, ..., i_n] -> S[+-i_1, ..., +-i_n] },

in domains, accesses and dependences alike, and back again in the schedules that are found.
"""

from __future__ import annotations

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.types import ScalarType
from tilepragma.poly import dependences as found_dependences
from tilepragma.poly.program_model import ProgramAccess, ProgramDependence, ProgramStatement
from tilepragma.poly.schedule import Row, affine_map, unit
from tilepragma.poly.scop import Scop, ScopStatement


@dataclass(frozen=True)
class Program:
    """`statements` and `dependences` of a Scop, by the names that it gives.

    `reversals`: for each of its statements { S[i] -> S[i'] }, its iterators to those used here. It
    is its own inverse.
    """

    statements: tuple[ProgramStatement, ...]
    dependences: tuple[ProgramDependence, ...]
    reversals: dict[str, isl.Map]

    def in_the_scop(self, name: str, times: isl.Map) -> isl.Map:
        """{ S[i] -> [t] } with the Scop's iterators, of a schedule { S[i'] -> [t] } found here."""
        return self.reversals[name].apply_range(times)


def program_of(scop: Scop, dependences: tuple[found_dependences.Dependence, ...]) -> Program:
    """The Scop for Algorithm 4.1, with some of its dependences, such as the value-based ones."""
    reversals = {each.name: _reversal(each) for each in scop.statements}
    mixed = _mixed_objects(scop)
    statements = tuple(_statement(each, reversals[each.name], mixed) for each in scop.statements)
    return Program(statements, tuple(_dependence(each, reversals) for each in dependences), reversals)


def _reversal(statement: ScopStatement) -> isl.Map:
    depth = len(statement.loops)
    rows = tuple(
        Row(tuple((-1 if loop.decreasing else 1) * value for value in unit(depth, index)), 0, 0)
        for index, loop in enumerate(statement.loops)
    )
    return affine_map(_bare(statement), rows).set_tuple_name(isl.dim_type.out, statement.name)


def _bare(statement: ScopStatement) -> ProgramStatement:
    iterators = tuple(loop.iterator.name for loop in statement.loops)
    return ProgramStatement(statement.name, statement.domain, iterators, _position(statement))


def _position(statement: ScopStatement) -> tuple[int, ...]:
    """The constants c_0, ..., c_n of its schedule { S[i] -> [c_0, +-i_1, c_1, ..., +-i_n, c_n, 0,
    ...] }.
    """
    schedule = statement.schedule
    return tuple(
        int(schedule.plain_get_val_if_fixed(isl.dim_type.out, 2 * level).to_python())
        for level in range(len(statement.loops) + 1)
    )


def _mixed_objects(scop: Scop) -> frozenset[str]:
    """Objects of which some references mean one part and some another or all: their cells cannot be
    told apart here.
    """
    parts: dict[str, set[str | None]] = {}
    mixed: set[str] = set()
    for statement in scop.statements:
        for reference in statement.references:
            parts.setdefault(reference.object.name, set()).add(reference.member)
            if not reference.whole:
                mixed.add(reference.object.name)
    return frozenset(mixed | {name for name, members in parts.items() if len(members) > 1})


def _statement(statement: ScopStatement, reversal: isl.Map, mixed: frozenset[str]) -> ProgramStatement:
    bare = _bare(statement)
    accesses = tuple(
        ProgramAccess(
            each.object.name,
            each.relation.apply_domain(reversal),
            each.writes,
            each.exact and each.object.name not in mixed,
            isinstance(each.object.element, ScalarType) and each.object.element.is_floating,
        )
        for each in statement.references
    )
    return ProgramStatement(bare.name, statement.domain.apply(reversal), bare.iterators, bare.position, accesses)


def _dependence(each: found_dependences.Dependence, reversals: dict[str, isl.Map]) -> ProgramDependence:
    source, target = each.source_statement.name, each.sink_statement.name
    return ProgramDependence(
        each.kind,
        each.source.object.name,
        source,
        target,
        each.relation.apply_domain(reversals[source]).apply_range(reversals[target]),
    )
