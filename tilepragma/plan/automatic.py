"""The automatic planner: its strategies, in the order in which they are tried, and which answer is taken.

The first answer is taken that leaves no launch sequential which has as many loops as the deepest parallel one; failing
that, the first that gains anything; failing that, the region runs as written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilepragma.plan.hyperplane_plan import hyperplanes
from tilepragma.plan.proof import rows_that_meet
from tilepragma.plan.strategy import Automatic, Refusal, Region, Strategy
from tilepragma.plan.structure import structure

#: Why an answer cannot become a plan, if it cannot.
Objection = Callable[[Automatic], str | None]

STRATEGIES: tuple[Strategy, ...] = (structure, hyperplanes)


@dataclass(frozen=True)
class Choice:
    """The answer that is taken, if any, and a clause on each that was not."""

    taken: Automatic | None
    rejected: tuple[str, ...]


def choose(region: Region, objection: Objection, strategies: tuple[Strategy, ...] = STRATEGIES) -> Choice:
    """Try the strategies one after another; what `objection` has a clause on is not taken."""
    meeting = rows_that_meet(region.kernel)
    if meeting is not None:
        return Choice(None, (meeting,))
    rejected: list[str] = []
    second_best: Automatic | None = None
    for strategy in strategies:
        answer = strategy(region)
        if isinstance(answer, Refusal):
            rejected.append(answer.reason)
            continue
        rejected += answer.notes
        against = objection(answer)
        if against is not None:
            rejected.append(f"{answer.strategy}: {against}")
            continue
        if answer.depths.sequential < answer.depths.parallel:
            return Choice(answer, tuple(rejected))
        rejected.append(
            f"{answer.strategy}: {answer.depths.sequential} nested loops would run on one core, {answer.depths.parallel} in parallel"
        )
        if second_best is None and _gains(answer):
            second_best = answer
    return Choice(second_best, tuple(rejected))


def _gains(answer: Automatic) -> bool:
    """A launch for a single loop's work, with as much left sequential, costs more than it saves."""
    return answer.depths.launched > 1 and answer.depths.parallel >= answer.depths.sequential
