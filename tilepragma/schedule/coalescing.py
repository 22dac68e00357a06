"""Choose the loop that neighbouring workers take (ICS'08, Algorithm 1, for the user's own loops).

The loops are known to be parallel. The choice is the loop along which the accesses of a warp need
the fewest memory transactions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Kernel, Loop
from tilepragma.ir.polynomial import polynomial
from tilepragma.poly.adjacency import pattern, step_by
from tilepragma.poly.extraction import extract_scop
from tilepragma.poly.operation_limit import OperationLimitError
from tilepragma.poly.scop import Scop, ScopStatement, place_of
from tilepragma.schedule.candidate import counts_as_work


def private_names(scop: Scop) -> frozenset[str]:
    """Names of the objects that accesses reach without global memory."""
    return frozenset(
        reference.object.name for each in scop.statements for reference in each.references if not reference.is_global
    )


def worker_loop(loops: Sequence[Loop], statements: Iterable[ScopStatement]) -> Loop:
    """The loop for neighbouring workers, by the accesses of these statements. `loops` are parallel,
    outermost first. Among equals the innermost wins. Raises OperationLimitError.
    """
    if len(loops) == 1:
        return loops[0]
    inside = tuple(statements)
    return min(reversed(loops), key=lambda loop: _transactions(loop, inside))


def assumed_worker_loop(loops: Sequence[Loop], kernel: Kernel) -> tuple[Loop | None, Scop | None]:
    """`worker_loop` for loops that the user calls independent, and their Scop; None if only one."""
    if len(loops) < 2:
        return None, None
    try:
        scop = extract_scop((loops[0],), kernel.functions, written_objects(kernel))
        return worker_loop(loops, scop.statements), scop
    except OperationLimitError:
        return None, None


def _transactions(loop: Loop, statements: Iterable[ScopStatement]) -> tuple[int, ...]:
    """Transactions of 32 workers along the loop, deepest statements first: these run most often."""
    counted: Counter[int] = Counter()
    by = polynomial(loop.step).constant
    for each in statements:
        place = place_of(loop.index, each.loops)
        if place is None:
            continue
        direction = [0] * len(each.loops)
        direction[place] = by or 0
        step = step_by(each.domain, tuple(direction)) if by else None
        depth = sum(counts_as_work(loop) for loop in each.loops)
        relations = (reference.relation for reference in each.references if reference.is_global)
        counted[depth] += sum(pattern(relation, step).transactions for relation in relations)
    return tuple(counted[depth] for depth in range(max(counted, default=0), -1, -1))
