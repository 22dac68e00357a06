"""Which loop's iterations neighbouring workers take: Algorithm 1 of ICS'08 for the user's own
loops.

What may run at once is known before; the loop is taken along which the accesses of a warp need
fewest transactions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Kernel, Loop
from tilepragma.ir.polynomial import polynomial
from tilepragma.schedule.tree import counts_as_work

if TYPE_CHECKING:
    from tilepragma.poly.scop import Scop, ScopStatement


def private_names(scop: Scop) -> frozenset[str]:
    """Names of the objects that accesses reach without going to global memory."""
    return frozenset(
        reference.object.name for each in scop.statements for reference in each.references if not reference.is_global
    )


def worker_loop(loops: Sequence[Loop], statements: Iterable[ScopStatement]) -> Loop:
    """Of loops that run at once, outermost first, the one for neighbouring workers, by what these
    statements access; the innermost of those that are alike. Raises OperationLimitError.
    """
    if len(loops) == 1:
        return loops[0]
    inside = tuple(statements)
    return min(reversed(loops), key=lambda loop: _transactions(loop, inside))


def assumed_worker_loop(loops: Sequence[Loop], kernel: Kernel) -> Loop | None:
    """The same for loops that the user calls independent; None where there is no choice or nothing is known."""
    if len(loops) < 2:
        return None
    from tilepragma.poly.extraction import extract_scop
    from tilepragma.poly.operation_limit import OperationLimitError

    nest = loops[0]
    try:
        scop = extract_scop((nest,), kernel.functions, written_objects(kernel))
        return worker_loop(loops, scop.statements)
    except OperationLimitError:
        return None


def _transactions(loop: Loop, statements: Iterable[ScopStatement]) -> tuple[int, ...]:
    """Transactions of 32 workers along the loop, those of the deepest statements first: these run most often."""
    from tilepragma.poly.adjacency import pattern, step_by

    counted: Counter[int] = Counter()
    by = polynomial(loop.step).constant
    for each in statements:
        place = next((depth for depth, around in enumerate(each.loops) if around.index == loop.index), None)
        if place is None:
            continue
        direction = [0] * len(each.loops)
        direction[place] = by or 0
        step = step_by(each.domain, tuple(direction)) if by else None
        depth = sum(counts_as_work(loop) for loop in each.loops)
        counted[depth] += sum(
            pattern(reference.relation, step).transactions for reference in each.references if reference.is_global
        )
    return tuple(counted[depth] for depth in range(max(counted, default=0), -1, -1))
