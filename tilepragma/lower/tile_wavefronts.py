"""Wavefronts of tiles of symbolic sizes: w = the sum of t_k over the carrying rows (thesis (3.17)).

Each constraint a . phi + c >= 0 of the instances holds for some point of each tile with points, so

    sum of a_k s_k t_k + sum over a_k > 0 of a_k (s_k - 1) + c >= 0

holds for the tile's numbers t. On a wavefront the last carrying row's number is w minus the others.
After substitution, constraints on two rows bound each other number by w, with products of sizes as
coefficients. The last row is usually the longest, so that the bounds of the others leave a small
box. With two rows and a convex image, no tile without points remains.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Expression
from tilepragma.ir.polynomial import Polynomial, maximum, minimum, number, polynomial
from tilepragma.lower.loop_names import ScheduledStatement, Symbols
from tilepragma.lower.tile_bounds import Range, TileRow, convex_images, convex_rows, tile_range
from tilepragma.poly.isl_ast import helper, short_expression
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit


@dataclass(frozen=True)
class Wavefronts:
    """The wavefronts of a band's tiles: the tile numbers at the places `carrying` add up to w.

    The number of the last carrying row, at `derived`, is w minus the others. Bounds of tile numbers
    are over-approximations that may include tiles without points.
    """

    statements: tuple[ScheduledStatement, ...]
    rows: tuple[TileRow, ...]
    carrying: tuple[int, ...]
    symbols: Symbols
    context: isl.Set | None = None

    def range(self) -> Range | None:
        """All wavefronts w; None without instances. Raises OperationLimitError."""
        lower, upper = number(0), number(0)
        for place in self.carrying:
            tiles = self._tiles(place)
            if tiles is None:
                return None
            lower, upper = lower + tiles[0], upper + tiles[1]
        lowers, uppers = [lower], [upper]
        self._bound_by_sums(lowers, uppers)
        return Range(short_expression(maximum(lowers)), short_expression(minimum(uppers)))

    def _bound_by_sums(self, lower: list[Polynomial], upper: list[Polynomial]) -> None:
        """Add bounds of w from constraints a . (phi_1 + ... + phi_m) + c >= 0, for tiles of size s:

        s w <= phi_1 + ... + phi_m <= s w + m (s - 1). For diamond tiles the sum is time, which the
        single rows do not bound tightly. Raises OperationLimitError.
        """
        sizes = {self.symbols.parameters[self.rows[place].size] for place in self.carrying}
        if len(sizes) != 1 or len(self.carrying) == 1:
            return
        levels = tuple(self.rows[place].level for place in self.carrying)
        size, count = self._size(self.derived), number(len(levels))
        with operation_limit(self._isl_context(), DEFAULT_LIMIT, "finding the wavefronts of tiles"):
            pieces = convex_images(self.statements, levels, self.context)
            for piece in pieces if len(pieces) == 1 else ():
                for row in convex_rows(piece, self.symbols):
                    factor = row.coefficients[0]
                    if any(coefficient != factor for coefficient in row.coefficients):
                        continue
                    divisor = number(abs(factor)) * size
                    if factor > 0:
                        within = row.rest + number(factor) * count * (size - number(1))
                        lower.append(helper("tilek_ceiling_quotient", -within, divisor))
                    else:
                        upper.append(helper("tilek_floor_quotient", row.rest, divisor))

    def tile_range(self, place: int, wavefront: Expression) -> Range | None:
        """The tile numbers of the row at `place`, not `derived`, on a wavefront, for any other
        rows. Raises OperationLimitError.
        """
        place_tiles = self._tiles(place)
        if place_tiles is None or place not in self.carrying:
            return None if place_tiles is None else _as_range(*place_tiles)
        *others, derived = self.carrying
        rest_lower, rest_upper = number(0), number(0)
        for carrying in others:
            bounds = self._tiles(carrying)
            if carrying != place and bounds is not None:
                rest_lower, rest_upper = rest_lower + bounds[0], rest_upper + bounds[1]
        wave = polynomial(wavefront)
        lower, upper = [place_tiles[0]], [place_tiles[1]]
        whole = self._tiles(derived)
        if whole is not None:
            lower.append(wave - rest_upper - whole[1])
            upper.append(wave - rest_lower - whole[0])
        with operation_limit(self._isl_context(), DEFAULT_LIMIT, "finding the tiles of a wavefront"):
            pieces = convex_images(self.statements, (self.rows[derived].level, self.rows[place].level), self.context)
            for piece in pieces if len(pieces) == 1 else ():
                for constraint in self._constraints(piece, derived, place):
                    rest = wave - (rest_lower if constraint.derived > 0 else rest_upper)
                    constraint.bound(rest, self._size(derived), self._size(place), lower, upper)
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
        """The tile numbers of one row, on all wavefronts."""
        range_ = tile_range(self.statements, self.rows[place:], 0, self.symbols, self.context)
        return None if range_ is None else (polynomial(range_.lower), polynomial(range_.upper))

    def _constraints(self, piece: isl.BasicSet, derived: int, place: int) -> Iterator[_Constraint]:
        """The constraints of a set { [phi_derived, phi_place] }, dimensions in level order."""
        swapped = self.rows[derived].level > self.rows[place].level
        for row in convex_rows(piece, self.symbols):
            first, second = row.coefficients
            yield _Constraint(second, first, row.rest) if swapped else _Constraint(first, second, row.rest)


@dataclass(frozen=True)
class _Constraint:
    """derived * phi_d + placed * phi_p + rest >= 0"""

    derived: int
    placed: int
    rest: Polynomial

    def bound(
        self,
        wave: Polynomial,
        derived_size: Polynomial,
        placed_size: Polynomial,
        lower: list[Polynomial],
        upper: list[Polynomial],
    ) -> None:
        """Add bounds of t_p, where t_d + t_p is at most `wave` (`derived` > 0) or at least (< 0).

        placed s_p t_p + derived s_d (wave - t_p) + (offsets within tiles) + rest >= 0; gives no
        bound where the signs of t_p's coefficients differ, before sizes are known.
        """
        if self.derived * self.placed >= 0:
            return
        within = self.rest
        for factor, size in ((self.derived, derived_size), (self.placed, placed_size)):
            if factor > 0:
                within = within + number(factor) * (size - number(1))
        within = within + number(self.derived) * derived_size * wave
        divisor = number(abs(self.placed)) * placed_size + number(abs(self.derived)) * derived_size
        if self.derived < 0:
            lower.append(helper("tilek_ceiling_quotient", -within, divisor))
        else:
            upper.append(helper("tilek_floor_quotient", within, divisor))


def _as_range(lower: Polynomial, upper: Polynomial) -> Range:
    return Range(short_expression(lower), short_expression(upper))
