"""Wavefronts of tiles whose sizes are symbols: w = the sum of t_k over the carrying rows (thesis
(3.17)).

Each constraint a . phi + c >= 0 of the instances holds for some point of every tile that has
points, so that

    sum of a_k s_k t_k + sum over a_k > 0 of a_k (s_k - 1) + c >= 0

holds for its numbers t. On a wavefront the last carrying row's number is w minus the others'; put
in its place, constraints on two rows bound every other number by w, with products of sizes as
coefficients. The last row is usually the longest: what bounds leave of the others is a small box.
Two rows leave no tile without points, where the instances' image is convex.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Expression
from tilepragma.ir.polynomial import Polynomial, maximum, minimum, number, polynomial
from tilepragma.lower.loop_names import ScannedStatement, Symbols
from tilepragma.lower.tile_bounds import Range, TileRow, convex_images, convex_rows, tile_range
from tilepragma.poly.ast_expressions import helper, short_expression
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit


@dataclass(frozen=True)
class Wavefronts:
    """The wavefronts of a band's tiles: `carrying` are the places of the rows whose tile numbers
    are summed, one at least.

    The number of the row at `derived`, the last carrying one, is w minus those of the other
    carrying rows. Bounds of tile numbers are over-approximated; what they have too much of are
    tiles without points.
    """

    statements: tuple[ScannedStatement, ...]
    rows: tuple[TileRow, ...]
    carrying: tuple[int, ...]
    symbols: Symbols
    context: isl.Set | None = None

    def range(self) -> Range | None:
        """All wavefronts w; None where there is no instance. Raises OperationLimitError."""
        lower, upper = number(0), number(0)
        for place in self.carrying:
            own = self._tiles(place)
            if own is None:
                return None
            lower, upper = lower + own[0], upper + own[1]
        lowers, uppers = [lower], [upper]
        self._bound_by_sums(lowers, uppers)
        return Range(short_expression(maximum(lowers)), short_expression(minimum(uppers)))

    def _bound_by_sums(self, lower: list[Polynomial], upper: list[Polynomial]) -> None:
        """Add what constraints a . (phi_1 + ... + phi_m) + c >= 0 say of w, where all carrying rows
        have tiles of one size s:

        s w <= phi_1 + ... + phi_m <= s w + m (s - 1). Of diamond tiles the sum is time, and the
        rows alone bound nothing near it. Raises OperationLimitError.
        """
        sizes = {self.symbols.parameters[self.rows[place].size] for place in self.carrying}
        if len(sizes) != 1 or len(self.carrying) == 1:
            return
        levels = tuple(self.rows[place].level for place in self.carrying)
        size, more = self._size(self.derived), number(len(levels))
        with operation_limit(self._isl_context(), DEFAULT_LIMIT, "finding the wavefronts of tiles"):
            pieces = convex_images(self.statements, levels, self.context)
            for piece in pieces if len(pieces) == 1 else ():
                for row in convex_rows(piece, self.symbols):
                    factor = row.coefficients[0]
                    if any(coefficient != factor for coefficient in row.coefficients):
                        continue
                    divisor = number(abs(factor)) * size
                    if factor > 0:
                        within = row.rest + number(factor) * more * (size - number(1))
                        lower.append(helper("tilek_ceiling_quotient", -within, divisor))
                    else:
                        upper.append(helper("tilek_floor_quotient", row.rest, divisor))

    def tile_range(self, place: int, wavefront: Expression) -> Range | None:
        """The tile numbers of the row at `place` on one wavefront, whatever the other rows' are.

        `place` is not `derived`, whose number is given by the others'. Raises OperationLimitError.
        """
        own = self._tiles(place)
        if own is None or place not in self.carrying:
            return None if own is None else _as_range(*own)
        *others, derived = self.carrying
        rest_lower, rest_upper = number(0), number(0)
        for other in others:
            bounds = self._tiles(other)
            if other != place and bounds is not None:
                rest_lower, rest_upper = rest_lower + bounds[0], rest_upper + bounds[1]
        wave = polynomial(wavefront)
        lower, upper = [own[0]], [own[1]]
        whole = self._tiles(derived)
        if whole is not None:
            lower.append(wave - rest_upper - whole[1])
            upper.append(wave - rest_lower - whole[0])
        with operation_limit(self._isl_context(), DEFAULT_LIMIT, "finding the tiles of a wavefront"):
            pieces = convex_images(self.statements, (self.rows[derived].level, self.rows[place].level), self.context)
            for piece in pieces if len(pieces) == 1 else ():
                for found in self._constraints(piece, derived, place):
                    rest = wave - (rest_lower if found.derived > 0 else rest_upper)
                    found.bound(rest, self._size(derived), self._size(place), lower, upper)
        return _as_range(maximum(lower), minimum(upper))

    @property
    def derived(self) -> int:
        """The place of the row whose number the wavefront and the other rows' numbers give."""
        return self.carrying[-1]

    def _isl_context(self) -> isl.Context:
        return self.statements[0].times.get_ctx()

    def _size(self, place: int) -> Polynomial:
        return polynomial(self.symbols.parameters[self.rows[place].size])

    def _tiles(self, place: int) -> tuple[Polynomial, Polynomial] | None:
        """The tile numbers of one row, on any wavefront."""
        found = tile_range(self.statements, self.rows[place:], 0, self.symbols, self.context)
        return None if found is None else (polynomial(found.lower), polynomial(found.upper))

    def _constraints(self, piece: isl.BasicSet, derived: int, place: int) -> Iterator[_Constraint]:
        """The constraints of a set { [phi_derived, phi_place] }, its dimensions in the order of the rows' levels."""
        swapped = self.rows[derived].level > self.rows[place].level
        for row in convex_rows(piece, self.symbols):
            first, second = row.coefficients
            yield _Constraint(second, first, row.rest) if swapped else _Constraint(first, second, row.rest)


@dataclass(frozen=True)
class _Constraint:
    """derived * phi_d + own * phi_p + rest >= 0"""

    derived: int
    own: int
    rest: Polynomial

    def bound(
        self,
        wave: Polynomial,
        derived_size: Polynomial,
        own_size: Polynomial,
        lower: list[Polynomial],
        upper: list[Polynomial],
    ) -> None:
        """Add what it says of t_p, where t_d + t_p is at most `wave` (if `derived` > 0) or at least
        (if `derived` < 0).

        own s_p t_p + derived s_d (wave - t_p) + (what lies within tiles) + rest >= 0; where the
        signs of the coefficients of t_p differ nothing is known before the sizes are.
        """
        if self.derived * self.own >= 0:
            return
        within = self.rest
        for factor, size in ((self.derived, derived_size), (self.own, own_size)):
            if factor > 0:
                within = within + number(factor) * (size - number(1))
        within = within + number(self.derived) * derived_size * wave
        divisor = number(abs(self.own)) * own_size + number(abs(self.derived)) * derived_size
        if self.derived < 0:
            lower.append(helper("tilek_ceiling_quotient", -within, divisor))
        else:
            upper.append(helper("tilek_floor_quotient", within, divisor))


def _as_range(lower: Polynomial, upper: Polynomial) -> Range:
    return Range(short_expression(lower), short_expression(upper))
