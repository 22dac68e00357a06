"""Loops over band members and their tiles: names, bounds, tile sizes, and the points below."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.directives import TileClause, TileKind, VectorRegisters
from tilepragma.ir.expressions import (
    Call,
    Callee,
    DataObject,
    Expression,
    access_to,
    integer,
)
from tilepragma.ir.fresh_names import Names
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, Loop, Statement
from tilepragma.ir.polynomial import Polynomial, expression, number, of_atom, polynomial
from tilepragma.ir.types import INDEX, LONG, ScalarType
from tilepragma.plan.kernel_plan import TileSize

if TYPE_CHECKING:
    from tilepragma.lower.band_ast import BandCode, TileConstraints
    from tilepragma.lower.context import KnownFacts
    from tilepragma.lower.tile_bounds import Range
    from tilepragma.lower.tile_wavefronts import Wavefronts
    from tilepragma.poly.bands import Band, OuterLoop
    from tilepragma.poly.intra_tile_schedule import IntraTileSchedule, Order
    from tilepragma.poly.register_bands import RegisterRows
    from tilepragma.poly.schedule import StatementSchedule
    from tilepragma.poly.wavefronts import ConcurrentStart


#: The greatest number in a sum of type INDEX.
_SHORT = 1 << 24


class UnboundedRowError(Exception):
    """A band member has no bound that the host could evaluate."""


@dataclass(frozen=True)
class Bounds:
    """lower, ..., upper; empty where lower > upper."""

    lower: Polynomial
    upper: Polynomial


def term(object_: DataObject) -> Polynomial:
    """The object as a polynomial."""
    return of_atom(access_to(object_))


def total(values: Iterable[Polynomial]) -> Polynomial:
    """The sum of the values."""
    result = number(0)
    for each in values:
        result = result + each
    return result


def floor_quotient(dividend: Polynomial, divisor: Expression) -> Polynomial:
    """floor(dividend / divisor), for a positive divisor."""
    if dividend == number(0):
        return dividend
    return of_atom(Call("tilek_floor_quotient", Callee.HELPER, (expression(dividend), divisor), LONG))


def clauses(*kinds: TileKind, dimension: int = 0) -> tuple[TileClause, ...]:
    """Tiles of one loop, outermost first."""
    return tuple(TileClause(kind, None, None, dimension, NOWHERE) for kind in kinds)


@dataclass
class TileSizes:
    """The tile sizes of a plan, for hosts and devices: one for each tiled member of each band."""

    names: Names
    sizes: dict[tuple[int, int], TileSize] = field(default_factory=dict)

    def of(
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
        from tilepragma.poly.register_bands import register_rows

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
    """Makes loops for one kind of target, numbered from `next_index`; `vectors`: the host's."""

    code: BandCode
    names: Names
    sizes: TileSizes
    device: bool
    next_index: int
    vectors: VectorRegisters

    def row_range(
        self,
        statements: tuple[StatementSchedule, ...],
        level: int,
        inside: TileConstraints,
        known: KnownFacts | None = None,
    ) -> Bounds:
        """The least and greatest value of a band member inside a tile, by `known`. Raises
        UnboundedRowError, OperationLimitError.
        """
        return bounds_of(self.code.row_range(statements, level, inside, known))

    def tile_range(
        self, statements: tuple[StatementSchedule, ...], level: int, size: DataObject, inside: TileConstraints
    ) -> Bounds:
        """The tile numbers in an outer tile. Raises UnboundedRowError, OperationLimitError."""
        return bounds_of(self.code.tile_range(statements, level, access_to(size), inside))

    def wavefronts(
        self, statements: tuple[StatementSchedule, ...], sizes: Mapping[int, DataObject], inside: TileConstraints
    ) -> Wavefronts:
        """The wavefronts of tiles, by level, in an outer tile."""
        return self.code.wavefronts(statements, {level: access_to(size) for level, size in sizes.items()}, inside)

    def loop(self, iterator: DataObject, lower: Polynomial, upper: Polynomial, body: Iterable[Statement] = ()) -> Loop:
        """`for (long iterator = lower; iterator <= upper; ++iterator)`"""
        self.next_index += 1
        return counted_loop(self.next_index - 1, iterator, lower, upper, body)

    def points(
        self, part: Band, order: Order, constraints: TileConstraints, known: KnownFacts
    ) -> tuple[Statement, ...]:
        """Loops over the band's points under the constraints. Raises OperationLimitError."""
        taken = frozenset(self.names.taken)
        generated = self.code.points(part, order, constraints, self.next_index, taken, known)
        self.next_index = generated.next_index or self.next_index
        return generated.block.statements


def counted_loop(
    index: int, iterator: DataObject, lower: Polynomial, upper: Polynomial, body: Iterable[Statement] = ()
) -> Loop:
    """`for (long iterator = lower; iterator <= upper; ++iterator)`, or in the iterator's type."""
    first, last = _of_type(iterator, lower), _of_type(iterator, upper)
    return Loop(index, iterator, True, first, "<=", last, integer(1), False, Block(tuple(body)), None)


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


def base_name(statements: tuple[StatementSchedule, ...], level: int) -> str:
    """The iterators in the row of the deepest statement, joined."""
    deepest = max(statements, key=lambda each: each.statement.depth)
    pairs = zip(deepest.statement.iterators, deepest.rows[level].coefficients, strict=True)
    return "_".join(iterator for iterator, factor in pairs if factor) or "row"


@dataclass(frozen=True)
class Around:
    """The host loops around, outermost first: rows at their iterators, and known facts."""

    rows: TileConstraints
    known: KnownFacts

    def inside(self, loops: BandLoops, row: OuterLoop, iterator: DataObject) -> Around:
        """The same with an inner loop over `row`, by `iterator`. Raises OperationLimitError."""
        from tilepragma.lower.band_ast import TileConstraint

        constraint = TileConstraint(row.level, access_to(iterator))
        within = loops.code.known_sum(row.statements, (row.level,), self.rows, constraint)
        return Around((*self.rows, constraint), self.known.also(within))


def bounds_of(range_: Range | None) -> Bounds:
    """A range as polynomials. Raises UnboundedRowError without a range."""
    if range_ is None:
        raise UnboundedRowError
    return Bounds(polynomial(range_.lower), polynomial(range_.upper))
