"""What is dealt to threads in even parts: the default size is changed at launch where threads would
otherwise have different numbers of rows.

Blocks of rows are dealt in turn. With blocks of 96 rows two threads have 288 and 212 of 500. The
size that is taken instead is the one of which the busiest thread has least to do, its rows and what
each of its blocks costs besides. Where one block would hold all rows, and these are known to be
much work, each thread has a part of them.

Tiles of wavefronts are in columns, in which each tile waits for the one before: no more threads can
be at work than there are columns, and all wait for the one that has most. With 3 time steps a tile
5 steps are columns of 3 and 2; with 2 a tile they take 0.83 of the time on two threads.

runtime/launch/balanced_chunking.c has the same rules, word for word; a test holds both equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import TileKind
from tilepragma.ir.evaluation import Evaluation
from tilepragma.ir.expressions import Access, Call, Callee, Expression, Scope, integer
from tilepragma.ir.loop_tree import TiledLoop
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import LONG
from tilepragma.plan.kernel_plan import (
    HostLoop,
    KernelPlan,
    Launch,
    OperationCount,
    Step,
    TileSize,
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
from tilepragma.plan.summary import all_steps

#: Of more rows the cost has no 64 bits.
_MOST_ROWS = (2**63 - 1) // 2**24
_DEALT = (TileKind.DYNAMIC, TileKind.THREAD)


@dataclass(frozen=True)
class EvenParts:
    """Blocks, or `columns`, of the size at `place` among a plan's cover the rows from `lower` to
    `upper`, expressions over its scalars; a size is a multiple of `unit`. `once`: the launch runs
    once in a call, so that the operations of the kernel are its own.
    """

    place: int
    lower: Expression
    upper: Expression
    unit: int
    columns: bool
    once: bool = False

    def size(self, usual: int, scalars: Mapping[str, int], threads: int, counts: tuple[OperationCount, ...]) -> int:
        """What a launch on so many threads takes in place of the `usual` size; `counts` are the kernel's. Raises UncountableError."""
        known = Evaluation(scalars)
        rows = int(known.value(self.lower)), int(known.value(self.upper))
        if self.columns:
            return even_columns(usual, rows[1], self.unit, threads)
        return even_blocks(usual, rows, self.unit, threads, _operations(counts, known) if self.once else 0.0)


def _operations(counts: tuple[OperationCount, ...], known: Evaluation) -> float:
    """As the call of a kernel has them, in its order of multiplications. Raises UncountableError."""
    total = 0.0
    for count in counts:
        product = float(count.count)
        for loop in count.loops:
            product *= int(known.trips(loop))
        total += product
    return total


def even_parts(steps: tuple[Step, ...], sizes: tuple[TileSize, ...]) -> Iterator[EvenParts]:
    """The sizes that launches of these steps change, with the rows that they deal out; none where
    sums are rounded in an order that follows the tiles, which no number of threads may change.
    """
    launches = launches_in(steps)
    if any(reduction.rounds for launch in launches for reduction in launch.reductions):
        return
    waves = [step.loop.upper for step in all_steps(steps) if isinstance(step, HostLoop) and _goes_through_waves(step)]
    for place, size in enumerate(sizes):
        if size.unit < 1:
            continue
        blocks = [loop for launch in launches for loop in launch.loops if _mentions((loop.loop.upper,), size)]
        if len(blocks) != 1 or tuple(tile.kind for tile in blocks[0].tiles) != _DEALT:
            continue
        rows = _rows(blocks[0], size)
        last = {one for upper in waves for node in walk(upper) for one in divided(node, size)}
        if rows is not None:
            once = any(isinstance(step, Launch) and blocks[0] in step.loops for step in steps)
            yield EvenParts(place, *rows, size.unit, columns=False, once=once)
        elif len(last) == 1 and _known(last):
            yield EvenParts(place, integer(0), last.pop(), size.unit, columns=True)


def _goes_through_waves(loop: HostLoop) -> bool:
    return any(isinstance(step, Launch) and step.pipelined for step in loop.steps)


def divided(node: object, size: TileSize) -> tuple[Expression, ...]:
    """What the node is the quotient of by the size, if it is one."""
    match node:
        case Call("tilek_floor_quotient", Callee.HELPER, (dividend, Access(object=divisor))) if divisor == size.object:
            return (dividend,)
    return ()


def _known(roots: Iterable[Expression]) -> bool:
    """Whether the launch knows these: they mention no iterator of the host, and no size."""
    return not any(
        isinstance(node, Access) and node.object.scope is Scope.LOCAL for root in roots for node in walk(root)
    )


def _rows(blocks: TiledLoop, size: TileSize) -> tuple[Expression, Expression] | None:
    """The least and greatest row of blocks; None where they are not simply the quotients by the size of what the launch knows."""
    loop = blocks.loop
    upper = divided(loop.upper, size)
    lower = (integer(0),) if loop.lower == integer(0, LONG) or loop.lower == integer(0) else divided(loop.lower, size)
    if loop.comparison != "<=" or not upper or not lower or not _known((*lower, *upper)):
        return None
    return lower[0], upper[0]


def even_blocks(usual: int, rows: tuple[int, int], unit: int, threads: int, operations: float = 0.0) -> int:
    """The size of blocks of the rows between these two (both included), dealt to so many threads,
    in place of the `usual` one.

    Rows begin with 0 at the begin of a block. The usual size stays where the first blocks are
    empty, and where one block holds all rows, unless so many `operations` are worth several
    threads.
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
    """`part` times the rows of the busiest thread, the first one, and its blocks, each as much as `usual` rows."""
    blocks = -(-count // size)
    own = -(-blocks // threads)
    rows = own * size
    if (blocks - 1) % threads == 0:
        rows -= blocks * size - count  # the last block, which may be short, is its own
    return part * rows + own * usual


def even_columns(usual: int, upper: int, unit: int, threads: int) -> int:
    """The width of columns of the rows up to that one in place of the `usual` one.

    Of each number of columns from the least on, while there are no more than threads and a few, the
    narrowest that makes no more.
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
    """COLUMN_COST times the threads' share of the rows, or a column, which one of them is at work on at a time; and the columns; for all threads."""
    return COLUMN_COST * max(min(size, count) * threads, count) + usual * -(-count // size)


def with_even_sizes(
    plan: KernelPlan, sizes: tuple[int, ...], scalars: Mapping[str, int], threads: int
) -> tuple[int, ...]:
    """What a launch on so many threads takes for these sizes, where TILEK_SIZES says nothing: those
    that are the default become even.

    Raises UncountableError where the scalars do not say how many rows there are.
    """
    found = list(sizes)
    for part in even_parts(plan.host_steps, plan.sizes):
        usual = plan.sizes[part.place].host
        if found[part.place] == usual:
            found[part.place] = part.size(usual, scalars, threads, plan.operations)
    return tuple(found)


def _mentions(roots: Iterable[Expression], size: TileSize) -> bool:
    return any(isinstance(node, Access) and node.object == size.object for root in roots for node in walk(root))
