"""The context of generated loops: facts from surrounding loops and conditions, which inner
conditions need not test.

    [o, s, p, ...] -> { : o <= p < o + s, least value of a row <= p, ... }

The text around implies each fact: the bounds of the loop over p, a condition on the tile. Facts
hold for all values of the other parameters, also where no instance runs.
"""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.lower.loop_names import ScheduledStatement
from tilepragma.lower.tile_bounds import TileRow, convex_images


@dataclass(frozen=True)
class KnownFacts:
    """{ : facts }, over the parameters of constraints and of the Scop."""

    facts: isl.Set

    def also(self, added: KnownFacts) -> KnownFacts:
        """These facts and others."""
        return KnownFacts(self.facts.intersect(added.facts))


def between_corners(context: isl.Context, tiles: Iterable[TileRow], value: str) -> KnownFacts:
    """[o, s, p] -> { : sum of o_k <= p <= sum of (o_k + s_k - 1) }"""
    rows = tuple(tiles)
    names = [value, *(name for row in rows for name in (row.origin, row.size))]
    first = " + ".join(row.origin for row in rows)
    last = " + ".join(f"{row.origin} + {row.size} - 1" for row in rows)
    return KnownFacts(isl.Set(f"[{', '.join(names)}] -> {{ : {first} <= {value} <= {last} }}", context=context))


def in_rows(statements: tuple[ScheduledStatement, ...], levels: Iterable[int], value: str) -> KnownFacts:
    """[p] -> { : sum of the least values of the rows at `levels` <= p <= sum of their greatest },
    as in `row_range`. No fact where the bounds are not linear.
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


def _bounds(statements: tuple[ScheduledStatement, ...], level: int) -> isl.Set | None:
    """{ [t_level] } by its constraints on t_level alone; None unless one convex set gives them."""
    images = convex_images(statements, (level,))
    if len(images) != 1:
        return None
    return _on_values(isl.Set.from_basic_set(images[0].remove_redundancies()))


def _sum(first: isl.Set, second: isl.Set) -> isl.Set:
    """{ [x + y] : x in first, y in second }, also where both are empty."""
    pairs = first.flat_product(second)
    added = isl.Map("{ [x, y] -> [x + y] }", context=first.get_ctx())
    return _on_values(pairs.apply(added).remove_divs())


def _on_values(values: isl.Set) -> isl.Set:
    return values.drop_constraints_not_involving_dims(isl.dim_type.set, 0, 1)
