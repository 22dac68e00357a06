"""New loops over rows of a schedule and over tiles of them: names, bounds, tile sizes, and the points below."""

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
    from tilepragma.lower.band_ast import BandCode, Restrictions
    from tilepragma.lower.context import KnownFacts
    from tilepragma.lower.tile_bounds import Range
    from tilepragma.lower.tile_wavefronts import Wavefronts
    from tilepragma.poly.bands import OuterLoop, Part
    from tilepragma.poly.concurrent_start import ConcurrentStart
    from tilepragma.poly.intra_tile_schedule import IntraTileSchedule, Order
    from tilepragma.poly.register_bands import RegisterRows
    from tilepragma.poly.schedule import StatementSchedule


#: Numbers that a sum of type INDEX may have.
_SHORT = 1 << 24


class UnboundedRowError(Exception):
    """A row has no least or no greatest value that the host could evaluate."""


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
    """The tile sizes of a plan, shared by what host and devices run: one for each row of each part that has tiles."""

    names: Names
    found: dict[tuple[int, int], TileSize] = field(default_factory=dict)

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
        """The symbol for a row's tile size; the first that asks says what it is by default, and `unit` and `processor` (TileSize)."""
        if (part, level) not in self.found:
            self.found[part, level] = TileSize(self.names.scalar(f"{base}_size"), host, device, unit, processor)
        return self.found[part, level].object


@dataclass(frozen=True)
class PlannedBand:
    """A part, its number among the plan's, and the order of the points of its tiles.

    `concurrent`: how its tiles begin together, if they do; `part` is then the one with such rows.
    """

    part: Part
    number: int
    points: IntraTileSchedule
    concurrent: ConcurrentStart | None = None

    @property
    def found(self) -> Part:
        """The part with Algorithm 4.1's own rows."""
        return self.part if self.concurrent is None else self.concurrent.skewed

    @property
    def pair(self) -> tuple[int, ...]:
        """The levels of the two rows whose tiles of one sum begin together; none where there are no such rows."""
        return () if self.concurrent is None else self.concurrent.pair

    @cached_property
    def registers(self) -> dict[str, RegisterRows]:
        """By the names of the deepest statements: the rows of the register tiles that one has where it runs alone, if it has any."""
        from tilepragma.poly.register_bands import register_rows

        part = self.part
        deepest = max(each.statement.depth for each in part.statements)
        found = {
            each.statement.name: register_rows(each, part.outer, part.band)
            for each in part.statements
            if each.statement.depth == deepest
        }
        return {name: rows for name, rows in found.items() if rows is not None}


@dataclass
class BandLoops:
    """Makes the loops for one kind of target; `next_index` numbers them, `vectors` are the host's."""

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
        inside: Restrictions,
        known: KnownFacts | None = None,
    ) -> Bounds:
        """The least and greatest value of a row inside a tile of which something may be `known`.
        Raises UnboundedRowError, OperationLimitError.
        """
        return bounds_of(self.code.row_range(statements, level, inside, known))

    def tile_range(
        self, statements: tuple[StatementSchedule, ...], level: int, size: DataObject, inside: Restrictions
    ) -> Bounds:
        """The numbers of a row's tiles inside a tile of other rows. Raises UnboundedRowError, OperationLimitError."""
        return bounds_of(self.code.tile_range(statements, level, access_to(size), inside))

    def wavefronts(
        self, statements: tuple[StatementSchedule, ...], sizes: Mapping[int, DataObject], inside: Restrictions
    ) -> Wavefronts:
        """The wavefronts of tiles of rows, by their levels, inside a tile of other rows."""
        return self.code.wavefronts(statements, {level: access_to(size) for level, size in sizes.items()}, inside)

    def loop(self, iterator: DataObject, lower: Polynomial, upper: Polynomial, body: Iterable[Statement] = ()) -> Loop:
        """`for (long iterator = lower; iterator <= upper; ++iterator)`"""
        self.next_index += 1
        return counted_loop(self.next_index - 1, iterator, lower, upper, body)

    def points(self, part: Part, order: Order, restrictions: Restrictions, known: KnownFacts) -> tuple[Statement, ...]:
        """Loops over the points of the part that the restrictions leave; what is `known` is not asked. Raises OperationLimitError."""
        taken = frozenset(self.names.taken)
        scanned = self.code.points(part, order, restrictions, self.next_index, taken, known)
        self.next_index = scanned.next_index or self.next_index
        return scanned.block.statements


def counted_loop(
    index: int, iterator: DataObject, lower: Polynomial, upper: Polynomial, body: Iterable[Statement] = ()
) -> Loop:
    """`for (long iterator = lower; iterator <= upper; ++iterator)`, or of the iterator's type, the loop of this index."""
    first, last = _of_type(iterator, lower), _of_type(iterator, upper)
    return Loop(index, iterator, True, first, "<=", last, integer(1), False, Block(tuple(body)), None)


def declared(object_: DataObject, number: Polynomial) -> Declaration:
    """`const long object_ = number;`, or of the object's type."""
    return Declaration((Declarator(object_, _of_type(object_, number)),))


def short_or_long(*values: Polynomial) -> ScalarType:
    """INDEX where all atoms are of that type and numbers are small, so that sums of a few of them are; else LONG."""
    small = all(abs(factor) < _SHORT for value in values for _, factor in value.terms)
    short = small and all(getattr(atom, "type", None) == INDEX for value in values for atom in value.atoms)
    return INDEX if short else LONG


def _of_type(object_: DataObject, value: Polynomial) -> Expression:
    return expression(value, short_or_long(value) if object_.element == INDEX else LONG)


def base_name(statements: tuple[StatementSchedule, ...], level: int) -> str:
    """The iterators that the row of the deepest statement is made of, joined."""
    deepest = max(statements, key=lambda each: each.statement.depth)
    pairs = zip(deepest.statement.iterators, deepest.rows[level].coefficients, strict=True)
    return "_".join(iterator for iterator, factor in pairs if factor) or "row"


@dataclass(frozen=True)
class Around:
    """The host's loops around, outermost first: their rows at the values of their iterators, and what their bounds say."""

    rows: Restrictions
    known: KnownFacts

    def inside(self, loops: BandLoops, row: OuterLoop, iterator: DataObject) -> Around:
        """The same with one more loop: over `row`, by `iterator`. Raises OperationLimitError."""
        from tilepragma.lower.band_ast import Restriction

        own = Restriction(row.level, access_to(iterator))
        within = loops.code.known_sum(row.statements, (row.level,), self.rows, own)
        return Around((*self.rows, own), self.known.also(within))


def bounds_of(found: Range | None) -> Bounds:
    """A range as polynomials. Raises UnboundedRowError where there is none."""
    if found is None:
        raise UnboundedRowError
    return Bounds(polynomial(found.lower), polynomial(found.upper))
