"""Loops over the points of a part that some tile holds, for tiles of any origin and size.

    [o_l, s_l, ...] -> { S[i] -> [order of i] : o_l <= phi_S^l(i) < o_l + s_l for the restricted levels l }

Origins and sizes are parameters, so the sets are affine though o_l = s_l t_l is not (DESIGN: tile sizes are symbols).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from tilepragma.ir.expressions import Expression
from tilepragma.polyhedral.parallel_parts import Part
from tilepragma.polyhedral.program import Program
from tilepragma.polyhedral.scanning import Scanned, ScannedStatement, Symbols, scan
from tilepragma.polyhedral.schedule import Row, affine_map
from tilepragma.polyhedral.scop import Scop

Order = Mapping[str, tuple[Row, ...]]
"""For each statement the rows in whose lexicographic order its points run; as many for each."""


@dataclass(frozen=True)
class Restriction:
    """origin <= phi^level < origin + size; phi^level = origin where `size` is None. Both are of integer type."""

    level: int
    origin: Expression
    size: Expression | None = None


@dataclass(frozen=True)
class PartCode:
    """What loops over a part are made of: the Scop, its Program, and the names that new iterators must not have."""

    scop: Scop
    program: Program
    taken: frozenset[str]

    def points(
        self, part: Part, order: Order, restrictions: tuple[Restriction, ...], first_index: int
    ) -> Scanned:
        """Loops over the points of the part that satisfy the restrictions. Raises OperationLimitError."""
        parameters = dict(self.scop.parameters)
        for each in restrictions:
            parameters[_origin(each)] = each.origin
            if each.size is not None:
                parameters[_size(each)] = each.size
        statements = {each.name: each for each in self.scop.statements}
        scanned = []
        for found in part.statements:
            rows = affine_map(found.statement, found.rows).intersect_domain(found.statement.domain)
            inside = rows.intersect_range(_box(rows.range().get_space(), restrictions)).domain()
            times = affine_map(found.statement, order[found.statement.name]).intersect_domain(inside)
            name = found.statement.name
            scanned.append(ScannedStatement(statements[name], self.program.in_the_scop(name, times)))
        known = _positive_sizes(self.scop.context, restrictions)
        return scan(tuple(scanned), Symbols(parameters, self.taken), first_index, known)


def _origin(each: Restriction) -> str:
    return f"origin {each.level}"


def _size(each: Restriction) -> str:
    return f"size {each.level}"


def _box(space: isl.Space, restrictions: tuple[Restriction, ...]) -> isl.Set:
    """[o, s] -> { [e] : o_l <= e_l < o_l + s_l }"""
    result = isl.Set.universe(space)
    for each in restrictions:
        own = isl.Set.universe(isl.Space.set_alloc(space.get_ctx(), 2, space.dim(isl.dim_type.set)))
        own = own.set_dim_name(isl.dim_type.param, 0, _origin(each)).set_dim_name(isl.dim_type.param, 1, _size(each))
        local = isl.LocalSpace.from_space(own.get_space())
        value = isl.Aff.var_on_domain(local, isl.dim_type.set, each.level)
        origin = isl.Aff.var_on_domain(local, isl.dim_type.param, 0)
        size = isl.Aff.var_on_domain(local, isl.dim_type.param, 1)
        inside = value.eq_set(origin) if each.size is None else value.ge_set(origin) & value.lt_set(origin.add(size))
        if each.size is None:
            inside = inside.project_out(isl.dim_type.param, 1, 1)
        result = result & inside
    return result


def _positive_sizes(context: isl.Context, restrictions: tuple[Restriction, ...]) -> isl.Set:
    """[s] -> { : s_l >= 1 }"""
    result = isl.Set.universe(isl.Space.params_alloc(context, 0))
    for each in restrictions:
        if each.size is not None:
            own = isl.Set.universe(isl.Space.params_alloc(context, 1))
            own = own.set_dim_name(isl.dim_type.param, 0, _size(each))
            size = isl.Aff.var_on_domain(isl.LocalSpace.from_space(own.get_space()), isl.dim_type.param, 0)
            result = result & size.ge_set(size.set_coefficient_val(isl.dim_type.param, 0, 0).add_constant_val(1))
    return result
