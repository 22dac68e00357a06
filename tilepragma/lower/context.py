"""What holds where generated loops and conditions stand around, so that no condition inside asks it
again.

    [o, s, p, ...] -> { : o <= p < o + s, least value of a row <= p, ... }

A fact is one that the text around says: the bounds of a loop whose iterator p is, a condition on
the tile. It says so of any values of the other parameters, those at which there is no instance too.
"""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.lower.loop_names import ScannedStatement
from tilepragma.lower.tile_bounds import TileRow, convex_images


@dataclass(frozen=True)
class KnownFacts:
    """{ : what holds }, over the parameters of restrictions and of the Scop."""

    facts: isl.Set

    def also(self, other: KnownFacts) -> KnownFacts:
        """Both hold."""
        return KnownFacts(self.facts.intersect(other.facts))


def between_corners(context: isl.Context, tiles: Iterable[TileRow], value: str) -> KnownFacts:
    """[o, s, p] -> { : sum of o_k <= p <= sum of (o_k + s_k - 1) }"""
    rows = tuple(tiles)
    names = [value, *(name for row in rows for name in (row.origin, row.size))]
    first = " + ".join(row.origin for row in rows)
    last = " + ".join(f"{row.origin} + {row.size} - 1" for row in rows)
    return KnownFacts(isl.Set(f"[{', '.join(names)}] -> {{ : {first} <= {value} <= {last} }}", context=context))


def in_rows(statements: tuple[ScannedStatement, ...], levels: Iterable[int], value: str) -> KnownFacts:
    """[p] -> { : sum of the least values of the rows at `levels` <= p <= sum of their greatest },
    as `row_range` has them.

    No fact where these values are no linear bounds.
    """
    rows = [_bounds(statements, level) for level in levels]
    context = statements[0].times.get_ctx()
    nothing = KnownFacts(isl.Set.universe(isl.Space.params_alloc(context, 0)))
    total: isl.Set | None = None
    for row in rows:
        if row is None:
            return nothing
        total = row if total is None else _sum(total, row)
    if total is None:
        return nothing
    place = total.dim(isl.dim_type.param)
    named = total.move_dims(isl.dim_type.param, place, isl.dim_type.set, 0, 1)
    return KnownFacts(named.set_dim_name(isl.dim_type.param, place, value).params())


def _bounds(statements: tuple[ScannedStatement, ...], level: int) -> isl.Set | None:
    """{ [t_level] } by its constraints on t_level alone; None where these are not those of one convex set."""
    images = convex_images(statements, (level,))
    if len(images) != 1:
        return None
    return _on_values(isl.Set.from_basic_set(images[0].remove_redundancies()))


def _sum(first: isl.Set, second: isl.Set) -> isl.Set:
    """{ [x + y] : x in first, y in second }, whether or not there are any."""
    pairs = first.flat_product(second)
    added = isl.Map("{ [x, y] -> [x + y] }", context=first.get_ctx())
    return _on_values(pairs.apply(added).remove_divs())


def _on_values(values: isl.Set) -> isl.Set:
    return values.drop_constraints_not_involving_dims(isl.dim_type.set, 0, 1)
