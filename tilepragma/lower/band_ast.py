"""AST generation for a tile of a band: loops over its points, and the values of band members there.

    [o_l, s_l, ...] -> { S[i] : o_l <= phi_S^l(i) < o_l + s_l for the restricted levels l }

Origins and sizes are parameters: so these sets are affine, although an origin s_l t_l is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Expression
from tilepragma.lower.ast_generation import GeneratedLoops, generate_loops
from tilepragma.lower.context import KnownFacts, between_corners, in_rows
from tilepragma.lower.loop_names import ScheduledStatement, Symbols
from tilepragma.lower.tile_bounds import (
    Range,
    TileRow,
    at_values,
    has_points,
    points_of_tile,
    row_range,
    sizes_are_positive,
    tile_range,
    with_points,
)
from tilepragma.lower.tile_wavefronts import Wavefronts
from tilepragma.poly.bands import Band
from tilepragma.poly.dependences import Dependence
from tilepragma.poly.intra_tile_schedule import Order
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit
from tilepragma.poly.schedule import StatementSchedule, affine_map
from tilepragma.poly.scop import Scop


@dataclass(frozen=True)
class TileConstraint:
    """origin <= phi^level < origin + size; phi^level = origin without `size`. Both are integers."""

    level: int
    origin: Expression
    size: Expression | None = None

    @property
    def row(self) -> TileRow:
        """The names of isl's parameters; no user's identifier begins like them."""
        origin = "value" if self.size is None else "origin"
        return TileRow(self.level, f"tilek_{origin}{self.level}", f"tilek_size{self.level}")


TileConstraints = tuple[TileConstraint, ...]
Schedules = tuple[StatementSchedule, ...]


@dataclass(frozen=True)
class BandCode:
    """Generates loops over bands of a Scop, which keep these `dependences`."""

    scop: Scop
    dependences: tuple[Dependence, ...]

    def points(
        self,
        part: Band,
        order: Order,
        constraints: TileConstraints,
        first_index: int,
        taken: frozenset[str],
        known: KnownFacts,
    ) -> GeneratedLoops:
        """Loops over the band's points under the constraints, in an order that keeps dependences.

        No new iterator has a name in `taken`, and no loop tests what `known` says. Raises
        OperationLimitError.
        """
        ordered = tuple(
            replace(
                inside,
                times=affine_map(each.statement, order[each.statement.name]).intersect_domain(inside.times.domain()),
            )
            for each, inside in zip(part.statements, self.inside(part.statements, constraints), strict=True)
        )
        return generate_loops(ordered, self.symbols(constraints, taken), first_index, self.facts(constraints, known))

    def row_range(
        self, statements: Schedules, level: int, constraints: TileConstraints, known: KnownFacts | None = None
    ) -> Range | None:
        """The least and greatest value of a member in the tile. Raises OperationLimitError."""
        facts = None if known is None else self.facts(constraints, known)
        return row_range(self.inside(statements, constraints), level, self.symbols(constraints), facts)

    def tile_range(
        self, statements: Schedules, level: int, size: Expression, constraints: TileConstraints
    ) -> Range | None:
        """The numbers of tiles of this size in an outer tile. Raises OperationLimitError."""
        tile = TileConstraint(level, size, size)
        symbols = self.symbols((*constraints, tile))
        return tile_range(self.inside(statements, constraints), (tile.row,), 0, symbols)

    def wavefronts(
        self, statements: Schedules, sizes: Mapping[int, Expression], constraints: TileConstraints
    ) -> Wavefronts:
        """The wavefronts of tiles of these sizes, by level, in an outer tile."""
        tiles = tuple(TileConstraint(level, size, size) for level, size in sizes.items())
        symbols = self.symbols((*constraints, *tiles))
        inside = self.inside(statements, constraints)
        return Wavefronts(inside, tuple(each.row for each in tiles), tuple(range(len(tiles))), symbols)

    def has_points(
        self, statements: Schedules, constraints: TileConstraints, bounded: frozenset[int], known: KnownFacts
    ) -> tuple[Expression | None, KnownFacts]:
        """A condition that is false for tiles without points, None for no condition, and the facts
        that follow from it.

        It does not test `known`. The tiles at the levels `bounded` are in their `tile_range`.
        Raises OperationLimitError.
        """
        inside = self.inside(statements, tuple(each for each in constraints if each.size is None))
        rows = _tiles(constraints)
        within = tuple(row for row in rows if row.level in bounded)
        condition = has_points(inside, rows, self.symbols(constraints), known.facts, within)
        with operation_limit(self.scop.context, DEFAULT_LIMIT, "finding the tiles that have points"):
            return condition, known.also(KnownFacts(with_points(inside, rows)))

    @property
    def nothing_known(self) -> KnownFacts:
        """The facts outside all generated loops: none."""
        return KnownFacts(isl.Set.universe(isl.Space.params_alloc(self.scop.context, 0)))

    def known_sum(
        self, statements: Schedules, levels: Iterable[int], outside: TileConstraints, value: TileConstraint
    ) -> KnownFacts:
        """Facts of a `value` between sums of least and greatest. Raises OperationLimitError."""
        with operation_limit(self.scop.context, DEFAULT_LIMIT, "finding what is known of a loop"):
            return in_rows(self.inside(statements, outside), levels, value.row.origin)

    def facts(self, constraints: TileConstraints, known: KnownFacts) -> isl.Set:
        """`known`, and that sizes of tiles are positive."""
        return sizes_are_positive(self.scop.context, _tiles(constraints)).intersect(known.facts)

    def known_tile(self, statements: Schedules, outside: TileConstraints, tile: TileConstraint) -> KnownFacts:
        """Facts of a tile's origin and size from its `tile_range`. Raises OperationLimitError."""
        with operation_limit(self.scop.context, DEFAULT_LIMIT, "finding what is known of a tile"):
            points = with_points(self.inside(statements, outside), (tile.row,))
            origin = points.find_dim_by_name(isl.dim_type.param, tile.row.origin)
            if origin < 0:
                return self.nothing_known
            return KnownFacts(points.drop_constraints_not_involving_dims(isl.dim_type.param, origin, 1))

    def known_in_tiles(self, tiles: TileConstraints, value: TileConstraint) -> KnownFacts:
        """Facts of a `value` between the sums of the first and the last points of the tiles."""
        return between_corners(self.scop.context, _tiles(tiles), value.row.origin)

    def inside(self, statements: Schedules, constraints: TileConstraints) -> tuple[ScheduledStatement, ...]:
        """{ S[i] -> [phi(i) for all rows] } of the points that satisfy the constraints."""
        scheduled = tuple(
            ScheduledStatement(each.statement, each.map.intersect_domain(each.statement.domain)) for each in statements
        )
        fixed = {each.level: each.row.origin for each in constraints if each.size is None}
        return points_of_tile(at_values(scheduled, fixed), _tiles(constraints))

    def symbols(self, constraints: TileConstraints, taken: frozenset[str] = frozenset()) -> Symbols:
        """The expressions for isl's parameters inside the constraints."""
        parameters = dict(self.scop.parameters)
        for each in constraints:
            parameters[each.row.origin] = each.origin
            if each.size is not None:
                parameters[each.row.size] = each.size
        return Symbols(parameters, taken)


def _tiles(constraints: TileConstraints) -> tuple[TileRow, ...]:
    return tuple(each.row for each in constraints if each.size is not None)
