"""Blocks of rows that are dealt to threads: the default size is changed at launch where threads would otherwise have different numbers of rows.

With blocks of 96 rows two threads have 288 and 212 of 500. The size that is taken instead is the one of which the busiest thread has least
to do, its rows and what each of its blocks costs besides. runtime/even_blocks.c has the same rule, word for word; a test holds both equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tilepragma.ir.directives import TileKind
from tilepragma.ir.expressions import Access, Call, Callee, Expression, IntegerLiteral, Scope, integer
from tilepragma.ir.looptree import TiledLoop
from tilepragma.ir.traversal import walk
from tilepragma.plan.evaluation import Evaluation
from tilepragma.plan.kernel_plan import KernelPlan, Step, TileSize, launches_in

#: A block costs as much as a twelfth of the default size's rows, since panels are packed for each: in products of 500 to 1500 a side on two cores 48
#: rows take 1.03 to 1.14 times as long as 96, and 240 take 0.93 to 1.
BLOCK_COST = 12
#: At most so many times the default size: what a block goes through must stay in the cache.
MOST_TIMES = 2
#: Of more rows the cost has no 64 bits.
_MOST_ROWS = (2**63 - 1) // (2 * BLOCK_COST)
_DEALT = (TileKind.DYNAMIC, TileKind.THREAD)


@dataclass(frozen=True)
class EvenBlocks:
    """Blocks of the size at `place` among a plan's cover the rows from `lower` to `upper`, expressions over its scalars, and are dealt to threads in
    turn; a size is a multiple of `unit`.
    """

    place: int
    lower: Expression
    upper: Expression
    unit: int


def even_blocks(steps: tuple[Step, ...], sizes: tuple[TileSize, ...]) -> Iterator[EvenBlocks]:
    """The sizes that launches of these steps change, with the rows that they deal out."""
    launches = launches_in(steps)
    for place, size in enumerate(sizes):
        if size.unit < 1:
            continue
        found = [loop for launch in launches for loop in launch.loops if _mentions((loop.loop.upper,), size)]
        if len(found) != 1 or tuple(tile.kind for tile in found[0].tiles) != _DEALT:
            continue
        rows = _rows(found[0], size)
        if rows is not None:
            yield EvenBlocks(place, *rows, size.unit)


def _rows(blocks: TiledLoop, size: TileSize) -> tuple[Expression, Expression] | None:
    """The least and greatest row of blocks; None where they are not simply the quotients by the size of what the launch knows."""
    loop = blocks.loop
    if loop.comparison != "<=":
        return None
    match loop.upper:
        case Call("tilek_floor_quotient", Callee.HELPER, (upper, Access(object=divisor))) if divisor == size.object:
            pass
        case _:
            return None
    least: Expression = integer(0)
    match loop.lower:
        case IntegerLiteral(0):
            pass
        case Call("tilek_floor_quotient", Callee.HELPER, (lower, Access(object=divisor))) if divisor == size.object:
            least = lower
        case _:
            return None
    known = [node.object for root in (least, upper) for node in walk(root) if isinstance(node, Access)]
    return None if any(one.scope is Scope.LOCAL for one in known) else (least, upper)


def even_size(usual: int, rows: tuple[int, int], unit: int, threads: int) -> int:
    """The size of blocks of the rows between these two (both included), dealt to so many threads, in place of the `usual` one.

    Rows begin with 0 at the begin of a block. The usual size stays where one block holds them all, or where the first blocks are empty.
    """
    lower, upper = rows
    if threads < 2 or unit < 1 or lower < 0 or lower >= usual or upper < usual or upper >= _MOST_ROWS:
        return usual
    count, best = upper + 1, usual
    fair = -(-count // threads)
    size = -(-min(fair, -(-usual // MOST_TIMES)) // unit) * unit
    while size <= usual * MOST_TIMES:
        if _cost(usual, size, count, threads) < _cost(usual, best, count, threads):
            best = size
        size += unit
    return best


def _cost(usual: int, size: int, count: int, threads: int) -> int:
    """What the first thread has to do, who has most: blocks 0, threads, 2 threads, ...; BLOCK_COST times its rows, and its blocks."""
    blocks = -(-count // size)
    own = -(-blocks // threads)
    rows = own * size
    if (blocks - 1) % threads == 0:
        rows -= blocks * size - count  # the last block, which may be short, is its own
    return BLOCK_COST * rows + own * usual


def with_even_sizes(
    plan: KernelPlan, sizes: tuple[int, ...], scalars: Mapping[str, int], threads: int
) -> tuple[int, ...]:
    """What a launch on so many threads takes for these sizes, where TILEK_SIZES says nothing: those that are the default become even.

    Raises UncountableError where the scalars do not say how many rows there are.
    """
    found = list(sizes)
    for one in even_blocks(plan.host_steps, plan.sizes):
        usual = plan.sizes[one.place].host
        if found[one.place] == usual:
            known = Evaluation(scalars)
            rows = int(known.value(one.lower)), int(known.value(one.upper))
            found[one.place] = even_size(usual, rows, one.unit, threads)
    return tuple(found)


def _mentions(roots: Iterable[Expression], size: TileSize) -> bool:
    return any(isinstance(node, Access) and node.object == size.object for root in roots for node in walk(root))
