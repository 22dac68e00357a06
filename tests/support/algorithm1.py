"""Algorithm 1 in Python: the count and stride of every tile of a loop. `runtime/launch/tile.c` is the
same in C.

The rule, in iterations (N of them), for tiles in declaration order:

* A *static* tile has its argument as count; a *thread*, *gang* or *worker* tile has its axis's
  count. These are exact.
* The *dynamic* tile, and each *size* tile before it, is a *filling* tile. A filling tile's
  enclosing extent is the S of the nearest size tile before it, or N without such a tile. Its count
  is ceil(enclosing extent / (its own stride * product of the counts of the static and distributed
  tiles between that size tile, or the start, and it)).
* A *size* tile after the dynamic tile is as long as its S: its count is ceil(S / its own stride),
  and the dynamic tile sees S tiles as one extent. So `dynamic, size 32` is `dynamic, static 32`,
  and `size 32, dynamic` is blocks of 32 iterations, as many as N needs.
* The stride of a tile is the product of the counts of all tiles after it (1 for the last). So the
  innermost tile's count comes first. Where the static counts inside a size tile do not divide S,
  its stride is S rounded up to a multiple of their product.
* Without a dynamic tile, the rule assumes one at the end, whose count must be at most 1.

The tile map (sum of tile iterators, each running over 0, stride, …, (count - 1) * stride) is a
mixed-radix number, hence a bijection onto 0 … product of counts - 1, which contains 0 … N - 1; the
guard `< N` leaves exactly the iterations. It is superfluous (`exact`) where the product of counts
is N. Invalid: N < 0, an argument < 1, two dynamic tiles, no dynamic tile and product of counts < N,
a product of counts beyond INT64_MAX, and a stride beyond it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import TileKind
from tilepragma.user_tiles.chain_checks import INT64_MAX


class TilingError(ValueError):
    """The tiles cannot divide the loop; the message is a clause for the middle of a sentence."""


@dataclass(frozen=True)
class TileNumbers:
    """One tile, in iterations: it takes the values 0, stride, 2 stride, … (`count` of them)."""

    count: int
    stride: int


@dataclass(frozen=True)
class Tiling:
    """The tiles of a loop; `exact` where all combinations of tile iterators are iterations."""

    tiles: tuple[TileNumbers, ...]
    exact: bool


def tile_numbers(trip: int, kinds: Sequence[TileKind], arguments: Sequence[int]) -> Tiling:
    """Algorithm 1: counts and strides of tiles in declaration order, by the rule above.

    `arguments` holds the count of static and distributed tiles, the extent of size tiles; entries
    of dynamic tiles are ignored. Raises TilingError where the rule calls the tiles invalid.
    """
    _check(trip, kinds, arguments)
    closed = TileKind.DYNAMIC in kinds
    all_kinds = [*kinds] if closed else [*kinds, TileKind.DYNAMIC]
    counts = _counts(trip, all_kinds, [*arguments, 0])
    tiles, stride = [], 1
    for count in reversed(counts):
        tiles.append(TileNumbers(count, stride))
        stride *= max(count, 1)
        if stride > INT64_MAX:
            raise TilingError("the product of the tile counts is beyond 64 bits")
    tiles.reverse()
    if not closed and tiles.pop().count > 1:
        raise TilingError(f"the tile counts cover fewer than the {trip} iterations, and there is no dynamic tile")
    product = 1
    for tile in tiles:
        product *= tile.count
    return Tiling(tuple(tiles), product == trip)


def _check(trip: int, kinds: Sequence[TileKind], arguments: Sequence[int]) -> None:
    if not 0 <= trip <= INT64_MAX:
        raise TilingError("the loop does not end")
    if sum(kind is TileKind.DYNAMIC for kind in kinds) > 1:
        raise TilingError("two of its tiles are dynamic")
    for kind, argument in zip(kinds, arguments, strict=True):
        if kind is not TileKind.DYNAMIC and argument < 1:
            raise TilingError(
                f"a tile's {'extent' if kind is TileKind.SIZE else 'count'} is {argument}, which is less than 1"
            )


def _counts(trip: int, kinds: Sequence[TileKind], arguments: Sequence[int]) -> list[int]:
    """Counts by the module's rule; `kinds` holds exactly one dynamic tile."""
    dynamic = kinds.index(TileKind.DYNAMIC)
    counts = [0] * len(kinds)
    stride = 1
    for place in range(len(kinds) - 1, -1, -1):
        if place > dynamic:
            is_size = kinds[place] is TileKind.SIZE
            counts[place] = -(-arguments[place] // stride) if is_size else arguments[place]
        elif kinds[place] in (TileKind.SIZE, TileKind.DYNAMIC):
            extent, between = _enclosing(trip, kinds, arguments, place)
            counts[place] = -(-extent // (stride * between))
        else:
            counts[place] = arguments[place]
        stride *= max(counts[place], 1)
    return counts


def _enclosing(trip: int, kinds: Sequence[TileKind], arguments: Sequence[int], place: int) -> tuple[int, int]:
    """The extent that the filling tile at `place` fills, and the product of the counts between."""
    between = 1
    for outer in range(place - 1, -1, -1):
        if kinds[outer] is TileKind.SIZE:
            return arguments[outer], between
        between *= arguments[outer]
    return trip, between
