"""Balanced chunking: a launch changes the default tile size where threads would otherwise get
different numbers of rows.

Threads take blocks of rows in turn. With blocks of 96 rows, two threads get 288 and 212 of 500
rows. The launch takes the size for which the busiest thread has least work: its rows, and a fixed
cost for each of its blocks. Where one block would hold all rows, and these are known to be much
work, each thread gets a part of them.

Tiles of wavefronts form columns, in which each tile waits for the tile before. At most as many
threads work as there are columns, and all wait for the thread that has most. With 3 time steps a
tile, 5 steps make columns of 3 and 2; with 2 steps a tile, they take 0.83 of the time on two
threads.

runtime/launch/balanced_chunking.c has the same rules; a test holds both equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import TileKind
from tilepragma.ir.evaluation import Evaluation
from tilepragma.ir.expressions import Access, Call, Callee, Expression, Scope, integer
from tilepragma.ir.loop_tree import TiledLoop
from tilepragma.ir.traversal import mentions, walk
from tilepragma.ir.types import LONG
from tilepragma.plan.kernel_plan import (
    HostLoop,
    KernelPlan,
    Launch,
    OperationCount,
    Step,
    TileSize,
    all_steps,
    launches_in,
)
from tilepragma.plan.shared_constants import (
    BLOCK_COST,
    COLUMN_COST,
    COLUMNS_EACH,
    FEW_ROWS,
    LEAST_OPERATIONS,
    MOST_TIMES,
    OTHER_COST,
    OTHER_TIMES,
)

#: For more rows the cost overflows 64 bits.
_MOST_ROWS = (2**63 - 1) // 2**24
_DISTRIBUTED = (TileKind.DYNAMIC, TileKind.THREAD)


@dataclass(frozen=True)
class EvenParts:
    """Blocks (or `columns`) of the rows from `lower` to `upper`, expressions over the plan's
    scalars; the plan's size number `place` is their extent, a multiple of `unit`. `once`: the
    launch runs once a call, so that all operations of the kernel are the launch's.
    """

    place: int
    lower: Expression
    upper: Expression
    unit: int
    columns: bool
    once: bool = False

    def size(self, usual: int, scalars: Mapping[str, int], threads: int, counts: tuple[OperationCount, ...]) -> int:
        """The size in place of the `usual` on `threads` threads. Raises UncountableError."""
        evaluation = Evaluation(scalars)
        rows = int(evaluation.value(self.lower)), int(evaluation.value(self.upper))
        if self.columns:
            return even_columns(usual, rows[1], self.unit, threads)
        return even_blocks(usual, rows, self.unit, threads, _operations(counts, evaluation) if self.once else 0.0)


def _operations(counts: tuple[OperationCount, ...], evaluation: Evaluation) -> float:
    """The operations, multiplied in the emitted call's order. Raises UncountableError."""
    total = 0.0
    for count in counts:
        product = float(count.count)
        for loop in count.loops:
            product *= int(evaluation.trips(loop))
        total += product
    return total


def even_parts(steps: tuple[Step, ...], sizes: tuple[TileSize, ...]) -> Iterator[EvenParts]:
    """The sizes that launches of these steps change, with the rows that they distribute; none where
    the order of rounded sums follows the tiles, which the number of threads must not change.
    """
    launches = launches_in(steps)
    if any(reduction.rounds for launch in launches for reduction in launch.reductions):
        return
    loops = (step for step in all_steps(steps) if isinstance(step, HostLoop))
    waves = [loop.loop.upper for loop in loops if any(isinstance(s, Launch) and s.pipelined for s in loop.steps)]
    for place, size in enumerate(sizes):
        if size.unit < 1:
            continue
        blocks = [loop for launch in launches for loop in launch.loops if mentions(loop.loop.upper, size.object)]
        if len(blocks) != 1 or tuple(tile.kind for tile in blocks[0].tiles) != _DISTRIBUTED:
            continue
        rows = _rows(blocks[0], size)
        last = {dividend for upper in waves for node in walk(upper) for dividend in divided(node, size)}
        if rows is not None:
            once = any(isinstance(step, Launch) and blocks[0] in step.loops for step in steps)
            yield EvenParts(place, *rows, size.unit, columns=False, once=once)
        elif len(last) == 1 and _known(last):
            yield EvenParts(place, integer(0), last.pop(), size.unit, columns=True)


def divided(node: object, size: TileSize) -> tuple[Expression, ...]:
    """The dividend, if the node is a quotient by the size."""
    match node:
        case Call("tilek_floor_quotient", Callee.HELPER, (dividend, Access(object=divisor))) if divisor == size.object:
            return (dividend,)
    return ()


def _known(roots: Iterable[Expression]) -> bool:
    """Whether the launch can evaluate these: they mention no iterator of the host, and no size."""
    accesses = (node for root in roots for node in walk(root) if isinstance(node, Access))
    return all(access.object.scope is not Scope.LOCAL for access in accesses)


def _rows(blocks: TiledLoop, size: TileSize) -> tuple[Expression, Expression] | None:
    """The blocks' least and greatest row; None where bounds are no plain quotients."""
    loop = blocks.loop
    upper = divided(loop.upper, size)
    lower = (integer(0),) if loop.lower == integer(0, LONG) or loop.lower == integer(0) else divided(loop.lower, size)
    if loop.comparison != "<=" or not upper or not lower or not _known((*lower, *upper)):
        return None
    return lower[0], upper[0]


def even_blocks(usual: int, rows: tuple[int, int], unit: int, threads: int, operations: float = 0.0) -> int:
    """The size, in place of the `usual`, of blocks of `rows` (least and greatest) on `threads`
    threads.

    Blocks begin at row 0. The usual size stays where the first blocks are empty, and where one
    block holds all rows, unless the `operations` are worth several threads.
    """
    lower, upper = rows
    if unit < 1 or not 0 <= lower <= upper or lower >= usual or not _can_be_even(min(usual, upper), upper, threads):
        return usual
    count, best = upper + 1, usual
    part, most = BLOCK_COST, max(MOST_TIMES * usual, FEW_ROWS)
    if operations <= 0:
        part, most = OTHER_COST, OTHER_TIMES * usual
    if upper < usual:
        parts = min(threads, int(operations / LEAST_OPERATIONS))
        return usual if parts < 2 else min(usual, _rounded_up(-(-count // parts), unit))
    size = _rounded_up(min(-(-count // threads), -(-usual // OTHER_TIMES)), unit)
    while size <= most:
        if _blocks_cost(usual, size, count, threads, part) < _blocks_cost(usual, best, count, threads, part):
            best = size
        size += unit
    return best


def _rounded_up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def _can_be_even(usual: int, upper: int, threads: int) -> bool:
    return 2 <= threads < 2**16 and usual < 2**20 and usual <= upper < _MOST_ROWS


def _blocks_cost(usual: int, size: int, count: int, threads: int, part: int) -> int:
    """`part` times the busiest thread's rows, plus `usual` rows for each of its blocks."""
    blocks = -(-count // size)
    busiest = -(-blocks // threads)
    rows = busiest * size
    if (blocks - 1) % threads == 0:
        rows -= blocks * size - count  # the busiest thread has the last, partial block
    return part * rows + busiest * usual


def even_columns(usual: int, upper: int, unit: int, threads: int) -> int:
    """The width, in place of the `usual`, of columns of rows 0 to `upper`.

    For each number of columns from 1 to a few a thread, the narrowest width that makes no more
    columns.
    """
    if unit < 1 or upper < 0 or not _can_be_even(min(usual, upper), upper, threads):
        return usual
    count, best = upper + 1, usual
    for columns in range(1, COLUMNS_EACH * threads + 1):
        widest = -(-count // columns)
        size = _rounded_up(widest, unit)
        if size < usual and _columns_cost(usual, size, count, threads) < _columns_cost(usual, best, count, threads):
            best = size
    return best


def _columns_cost(usual: int, size: int, count: int, threads: int) -> int:
    """The cost of the threads' share of rows, or of one column, plus that of all columns."""
    return COLUMN_COST * max(min(size, count) * threads, count) + usual * -(-count // size)


def with_even_sizes(
    plan: KernelPlan, sizes: tuple[int, ...], scalars: Mapping[str, int], threads: int
) -> tuple[int, ...]:
    """The sizes that a launch on so many threads takes where TILEK_SIZES is unset: sizes that equal
    the default become balanced.

    Raises UncountableError where the scalars do not determine the number of rows.
    """
    balanced = list(sizes)
    for part in even_parts(plan.host_steps, plan.sizes):
        usual = plan.sizes[part.place].host
        if balanced[part.place] == usual:
            balanced[part.place] = part.size(usual, scalars, threads, plan.operations)
    return tuple(balanced)
