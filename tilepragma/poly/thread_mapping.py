"""Algorithm 1 of ICS'08 for rows of a schedule: which of those that run at once neighbouring
workers should take.

Its loop over subsets G of the accesses is not needed where the legal placements are few: each row
satisfies the adjacency constraints for one greatest G, so that the rows themselves are weighed, by
the transactions that their accesses take.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilepragma.poly.adjacency import pattern, worker_step
from tilepragma.poly.schedule import StatementSchedule

Cost = tuple[int, ...]


def by_transactions(
    statements: Sequence[StatementSchedule], levels: Iterable[int], fixed: Iterable[int], private: frozenset[str]
) -> tuple[int, ...]:
    """The levels, the one last along which workers' accesses take fewest transactions; among equals
    the order stays.

    `fixed` are the levels of which all but the one in question stay between neighbouring workers.
    Objects named in `private` have no place in global memory.
    """
    kept = tuple(fixed)
    return tuple(sorted(levels, key=lambda level: transactions(statements, level, kept, private), reverse=True))


def transactions(
    statements: Sequence[StatementSchedule], level: int, fixed: Sequence[int], private: frozenset[str]
) -> Cost:
    """Transactions of 32 workers, those of the deepest statements first: these run most often."""
    counted = [0] * (1 + max((each.statement.depth for each in statements), default=0))
    for each in statements:
        others = tuple(row for at in fixed if at != level and not (row := each.rows[at]).scalar)
        step = worker_step(each.statement, others, each.rows[level])
        for access in each.statement.accesses:
            if access.array not in private:
                counted[each.statement.depth] += pattern(access.relation, step).transactions
    return tuple(reversed(counted))
