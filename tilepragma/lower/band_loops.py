"""Loops over band members and their tiles: names, bounds, tile sizes, and the points below.

    [o_l, s_l, ...] -> { S[i] : o_l <= phi_S^l(i) < o_l + s_l for the restricted levels l }

Origins and sizes are parameters: so these sets are affine, although an origin s_l t_l is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.directives import TileClause, TileKind, VectorRegisters
from tilepragma.ir.expressions import Call, Callee, DataObject, Expression, access_to, integer
from tilepragma.ir.fresh_names import Names
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, Loop, Statement
from tilepragma.ir.polynomial import Polynomial, expression, number, of_atom
from tilepragma.ir.types import INDEX, LONG, ScalarType
from tilepragma.lower import tile_bounds
from tilepragma.lower.ast_generation import GeneratedLoops, ScheduledStatement, Symbols, generate_loops
from tilepragma.plan.kernel_plan import TileSize
from tilepragma.plan.space_time import Hyperplane, Meanings
from tilepragma.poly.bands import Band
from tilepragma.poly.dependences import Dependence
from tilepragma.poly.extents import Bounds
from tilepragma.poly.intra_tile_schedule import IntraTileSchedule, Order
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit
from tilepragma.poly.register_bands import RegisterRows, register_rows
from tilepragma.poly.schedule import StatementSchedule, affine_map
from tilepragma.poly.scop import Scop
from tilepragma.poly.wavefronts import ConcurrentStart

Schedules = tuple[StatementSchedule, ...]

#: The greatest number in a sum of type INDEX.
_SHORT = 1 << 24


class UnboundedRowError(Exception):
    """A band member has no bound that the host could evaluate."""


def term(object_: DataObject) -> Polynomial:
    """The object as a polynomial."""
    return of_atom(access_to(object_))


def total(values: Iterable[Polynomial]) -> Polynomial:
    """The sum of the values."""
    return sum(values, number(0))


def floor_quotient(dividend: Polynomial, divisor: Expression) -> Polynomial:
    """floor(dividend / divisor), for a positive divisor."""
    if dividend == number(0):
        return dividend
    return of_atom(Call("tilek_floor_quotient", Callee.HELPER, (expression(dividend), divisor), LONG))


def clauses(*kinds: TileKind, dimension: int = 0) -> tuple[TileClause, ...]:
    """Tiles of one loop, outermost first."""
    return tuple(TileClause(kind, None, None, dimension, NOWHERE) for kind in kinds)


@dataclass(frozen=True)
class TileConstraint:
    """origin <= phi^level < origin + size; phi^level = origin without `size`. Both are integers."""

    level: int
    origin: Expression
    size: Expression | None = None

    @property
    def parameter(self) -> str:
        """isl's parameter for the origin; no user's identifier begins like it."""
        return f"tilek_value{self.level}" if self.size is None else tile_bounds.origin_of(self.level)


TileConstraints = tuple[TileConstraint, ...]


@dataclass(frozen=True)
class EnclosingTile:
    """The tile around. `rows` are its rows, and those at the iterators of host loops around;
    `known` are facts on both, { : facts } over isl's parameters for them. The tiles at the levels
    `bounded` lie in the range of tiles with points, whatever the other rows.
    """

    rows: TileConstraints
    known: isl.Set
    bounded: frozenset[int] = frozenset()

    def within(self, row: TileConstraint, fact: isl.Set) -> EnclosingTile:
        """The tile with one more row, of which a `fact` is known."""
        return replace(self, rows=(*self.rows, row), known=self.known.intersect(fact))


@dataclass(frozen=True)
class PlannedBand:
    """A band, its number in the plan, and its intra-tile schedule.

    `concurrent`: the concurrent start of its tiles, if any; `part` then has the skewed rows.
    """

    part: Band
    number: int
    points: IntraTileSchedule
    concurrent: ConcurrentStart | None = None

    @property
    def before_skewing(self) -> Band:
        """The part with the rows of Algorithm 4.1."""
        return self.part if self.concurrent is None else self.concurrent.skewed

    @property
    def pair(self) -> tuple[int, ...]:
        """The levels of the two members with concurrent start of tiles of one sum, if any."""
        return () if self.concurrent is None else self.concurrent.pair

    @cached_property
    def registers(self) -> dict[str, RegisterRows]:
        """Register-tile rows of the deepest statements, by name, for where one runs alone."""
        part = self.part
        deepest = max(each.statement.depth for each in part.statements)
        rows_of = {
            each.statement.name: register_rows(each, part.outer, part.band)
            for each in part.statements
            if each.statement.depth == deepest
        }
        return {name: rows for name, rows in rows_of.items() if rows is not None}


@dataclass
class BandLoops:
    """Makes loops over bands of a Scop, which keep these `dependences`, for one kind of target.
    New loops get the next of the `numbers`. `sizes` are the tile sizes of the plan by band and
    level, which both kinds of target share, as they do isl's loops in `generated`; `vectors` the
    host's. `meanings` are those of its loops.
    """

    scop: Scop
    dependences: tuple[Dependence, ...]
    names: Names
    device: bool
    numbers: Iterator[int]
    vectors: VectorRegisters
    sizes: dict[tuple[int, int], TileSize] = field(default_factory=dict)
    meanings: Meanings = field(default_factory=Meanings)
    generated: GeneratedLoops = field(default_factory=dict)

    def size_of(
        self,
        part: int,
        level: int,
        base: str,
        host: int,
        device: int,
        unit: int = 0,
        processor: tuple[tuple[int | None, int], ...] = (),
    ) -> DataObject:
        """The symbol of a band member's tile size; the first call decides its defaults."""
        if (part, level) not in self.sizes:
            self.sizes[part, level] = TileSize(self.names.scalar(f"{base}_size"), host, device, unit, processor)
        return self.sizes[part, level].object

    # -- loops

    def loop(self, iterator: DataObject, lower: Polynomial, upper: Polynomial, body: Iterable[Statement] = ()) -> Loop:
        """`for (long iterator = lower; iterator <= upper; ++iterator)`"""
        return counted_loop(next(self.numbers), iterator, lower, upper, body)

    def points(self, part: Band, order: Order, tile: EnclosingTile) -> tuple[Statement, ...]:
        """Loops over the band's points in the tile, in an order that keeps dependences. No loop
        tests what is known of the tile. Raises OperationLimitError.
        """
        ordered = tuple(
            replace(
                inside,
                times=affine_map(each.statement, order[each.statement.name]).intersect_domain(inside.times.domain()),
            )
            for each, inside in zip(part.statements, self.inside(part.statements, tile.rows), strict=True)
        )
        symbols = self.symbols(tile.rows, frozenset(self.names.taken))
        return generate_loops(ordered, symbols, self.numbers, self.facts(tile), self.generated).statements

    # -- bounds

    def row_range(
        self, statements: Schedules, level: int, inside: TileConstraints, known: isl.Set | None = None
    ) -> Bounds:
        """The least and greatest value of a band member inside a tile, by `known`. Raises
        UnboundedRowError, OperationLimitError.
        """
        facts = None if known is None else self.facts(EnclosingTile(inside, known))
        return _bounded(tile_bounds.row_range(self.inside(statements, inside), level, self.symbols(inside), facts))

    def tile_range(self, statements: Schedules, level: int, size: DataObject, inside: TileConstraints) -> Bounds:
        """The tile numbers in an outer tile. Raises UnboundedRowError, OperationLimitError."""
        symbols = self._with_sizes({level: size}, inside)
        return _bounded(tile_bounds.tile_range(self.inside(statements, inside), level, symbols))

    def wavefronts(
        self, statements: Schedules, sizes: Mapping[int, DataObject], wavefront: DataObject, inside: TileConstraints
    ) -> tuple[Bounds, tuple[Bounds, ...]]:
        """The wavefronts of tiles of these sizes, by level, in an outer tile, and the tile numbers
        of all rows but the last on a `wavefront`. Raises UnboundedRowError, OperationLimitError.
        """
        scheduled, levels = self.inside(statements, inside), tuple(sizes)
        symbols = self._with_sizes(sizes, inside)
        every = tile_bounds.wavefront_range(scheduled, levels, symbols)
        tiles = tile_bounds.wavefront_tiles(scheduled, levels, term(wavefront), symbols)
        if tiles is None:
            raise UnboundedRowError
        return _bounded(every), tiles

    def has_points(self, statements: Schedules, tile: EnclosingTile) -> tuple[Expression | None, isl.Set]:
        """A condition that is false for tiles without points, None for no condition, and what is
        known where it holds. It does not test what is known of the tile. Raises
        OperationLimitError.
        """
        inside = self.inside(statements, tuple(each for each in tile.rows if each.size is None))
        levels = _sized(tile.rows)
        bounded = tuple(level for level in levels if level in tile.bounded)
        condition = tile_bounds.has_points(inside, levels, self.symbols(tile.rows), tile.known, bounded)
        with operation_limit(self.scop.context, DEFAULT_LIMIT, "finding the tiles that have points"):
            return condition, tile.known.intersect(tile_bounds.with_points(inside, levels))

    # -- facts

    @property
    def outermost(self) -> EnclosingTile:
        """No tile, outside all generated loops, where nothing is known."""
        return EnclosingTile((), tile_bounds.nothing_known(self.scop.context))

    def known_sum(self, statements: Schedules, levels: Iterable[int], outside: TileConstraints, value: str) -> isl.Set:
        """Facts of a parameter between sums of least and greatest. Raises OperationLimitError."""
        with operation_limit(self.scop.context, DEFAULT_LIMIT, "finding what is known of a loop"):
            return tile_bounds.known_of_sum(self.inside(statements, outside), levels, value)

    def known_tile(self, statements: Schedules, outside: TileConstraints, level: int) -> isl.Set:
        """Facts of a tile's origin and size from its `tile_range`. Raises OperationLimitError."""
        with operation_limit(self.scop.context, DEFAULT_LIMIT, "finding what is known of a tile"):
            return tile_bounds.known_of_tile(self.inside(statements, outside), level)

    def known_in_tiles(self, tiles: TileConstraints, value: str) -> isl.Set:
        """Facts of a parameter between the sums of the first and the last points of the tiles."""
        return tile_bounds.known_in_tiles(self.scop.context, _sized(tiles), value)

    def at_row(self, statements: Schedules, tile: EnclosingTile, row: TileConstraint) -> EnclosingTile:
        """The tile inside a loop whose iterator is the value or origin of one more row. Raises
        OperationLimitError.
        """
        return tile.within(row, self.known_sum(statements, (row.level,), tile.rows, row.parameter))

    def facts(self, tile: EnclosingTile) -> isl.Set:
        """What is known of the tile, and that sizes are positive."""
        return tile_bounds.sizes_are_positive(self.scop.context, _sized(tile.rows)).intersect(tile.known)

    # -- statements

    def means(
        self, iterator: DataObject, statements: Schedules, sizes: Mapping[int, DataObject | None], blocks: int = 1
    ) -> None:
        """In these statements the iterator is the sum of the tile numbers of band members, by their
        levels, for tiles of `blocks` times these sizes; of their values where these are None.
        """
        for each in statements:
            hyperplanes = []
            for level, size in sizes.items():
                row = each.user_rows[level]
                iterators = (loop.iterator for loop in each.statement.loops)
                factors = tuple(pair for pair in zip(iterators, row.coefficients, strict=True) if pair[1])
                tile = None if size is None else expression(number(blocks) * term(size))
                hyperplanes.append(Hyperplane(factors, integer(row.constant), tile))
            for part in each.statement.parts or (each.statement,):
                self.meanings.add(iterator, (part.range,), *hyperplanes, iterators=part.iterators)

    def inside(self, statements: Schedules, constraints: TileConstraints) -> tuple[ScheduledStatement, ...]:
        """{ S[i] -> [phi(i) for all rows] } of the points that satisfy the constraints."""
        scheduled = tuple(
            ScheduledStatement(each.statement, each.map.intersect_domain(each.statement.domain)) for each in statements
        )
        fixed = {each.level: each.parameter for each in constraints if each.size is None}
        return tile_bounds.points_of_tile(tile_bounds.at_values(scheduled, fixed), _sized(constraints))

    def symbols(self, constraints: TileConstraints, taken: frozenset[str] = frozenset()) -> Symbols:
        """The expressions for isl's parameters inside the constraints; no new iterator has a name
        in `taken`.
        """
        parameters = dict(self.scop.parameters)
        for each in constraints:
            parameters[each.parameter] = each.origin
            if each.size is not None:
                parameters[tile_bounds.size_of(each.level)] = each.size
        return Symbols(parameters, taken)

    def _with_sizes(self, sizes: Mapping[int, DataObject], inside: TileConstraints) -> Symbols:
        symbols = self.symbols(inside)
        tiles = {tile_bounds.size_of(level): access_to(size) for level, size in sizes.items()}
        return replace(symbols, parameters={**symbols.parameters, **tiles})


def _sized(constraints: TileConstraints) -> tuple[int, ...]:
    """The levels of the constraints with sizes."""
    return tuple(each.level for each in constraints if each.size is not None)


def _bounded(span: Bounds | None) -> Bounds:
    if span is None:
        raise UnboundedRowError
    return span


def counted_loop(
    index: int, iterator: DataObject, lower: Polynomial, upper: Polynomial, body: Iterable[Statement] = ()
) -> Loop:
    """`for (long iterator = lower; iterator <= upper; ++iterator)`, or in the iterator's type."""
    first, last = _of_type(iterator, lower), _of_type(iterator, upper)
    return Loop(index, iterator, True, first, "<=", last, integer(1), False, Block(tuple(body)), None)


def mapped_nest(
    iterators: Iterable[DataObject],
    spans: Iterable[Bounds],
    body: Iterable[Statement],
    numbers: Iterator[int],
    tiles: dict[int, tuple[TileClause, ...]],
    *kinds: TileKind,
) -> tuple[Statement, ...]:
    """Loops around `body`, outermost first, mapped to these kinds in `tiles`; the innermost is
    dimension 0.
    """
    inner = tuple(body)
    for dimension, (iterator, span) in enumerate(reversed(list(zip(iterators, spans, strict=True)))):
        loop = counted_loop(next(numbers), iterator, span.low, span.high, inner)
        tiles[loop.index] = clauses(*kinds, dimension=dimension)
        inner = (loop,)
    return inner


def declared(object_: DataObject, number: Polynomial) -> Declaration:
    """`const long object_ = number;`, or of the object's type."""
    return Declaration((Declarator(object_, _of_type(object_, number)),))


def short_or_long(*values: Polynomial) -> ScalarType:
    """INDEX where all atoms have that type and small factors, so that sums fit; else LONG."""
    small = all(abs(factor) < _SHORT for value in values for _, factor in value.terms)
    short = small and all(getattr(atom, "type", None) == INDEX for value in values for atom in value.atoms)
    return INDEX if short else LONG


def _of_type(object_: DataObject, value: Polynomial) -> Expression:
    return expression(value, short_or_long(value) if object_.element == INDEX else LONG)


def base_name(statements: Schedules, level: int) -> str:
    """The iterators in the row of the deepest statement, joined."""
    deepest = max(statements, key=lambda each: each.statement.depth)
    pairs = zip(deepest.statement.iterators, deepest.rows[level].coefficients, strict=True)
    return "_".join(iterator for iterator, factor in pairs if factor) or "row"
