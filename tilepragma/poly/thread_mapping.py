"""Thread mapping: Algorithm 1 of ICS'08 for rows of a schedule, which chooses the parallel row for
neighbouring workers.

Its loop over subsets G of the accesses is unnecessary for few legal placements: each row satisfies
the adjacency constraints for one greatest G, so that this compares the rows by the transactions of
their accesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilepragma.poly.adjacency import pattern, worker_step
from tilepragma.poly.schedule import StatementSchedule

Cost = tuple[int, ...]


def by_transactions(
    statements: Sequence[StatementSchedule], levels: Iterable[int], fixed: Iterable[int], private: frozenset[str]
) -> tuple[int, ...]:
    """The levels, last the one along which workers' accesses take the fewest transactions; a stable
    sort.

    `fixed`: the levels that stay between neighbouring workers, except the one in question.
    `private` objects are not in global memory.
    """
    kept = tuple(fixed)
    return tuple(sorted(levels, key=lambda level: transactions(statements, level, kept, private), reverse=True))


def transactions(
    statements: Sequence[StatementSchedule], level: int, fixed: Sequence[int], private: frozenset[str]
) -> Cost:
    """Transactions of 32 workers, of the deepest statements first, which run most often."""
    counted = [0] * (1 + max((each.statement.depth for each in statements), default=0))
    for each in statements:
        others = tuple(row for place in fixed if place != level and not (row := each.rows[place]).scalar)
        step = worker_step(each.statement, others, each.rows[level])
        for access in each.statement.accesses:
            if access.array not in private:
                counted[each.statement.depth] += pattern(access.relation, step).transactions
    return tuple(reversed(counted))
