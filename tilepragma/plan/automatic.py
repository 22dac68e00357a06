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
    """The answer that is taken, if any, and a clause on each that was not; `reason` is the first of these without the strategy's name."""

    taken: Automatic | None
    rejected: tuple[str, ...]
    reason: str | None = None


def choose(region: Region, objection: Objection, strategies: tuple[Strategy, ...] = STRATEGIES) -> Choice:
    """Try the strategies one after another; what `objection` has a clause on is not taken."""
    meeting = rows_that_meet(region.kernel)
    if meeting is not None:
        return Choice(None, (meeting,), meeting)
    rejected: list[str] = []
    reason: str | None = None
    second_best: Automatic | None = None
    for strategy in strategies:
        answer = strategy(region)
        if isinstance(answer, Refusal):
            rejected.append(answer.reason)
            reason = reason or answer.reason
            continue
        rejected += answer.notes
        against = objection(answer)
        if against is None:
            depths = answer.depths
            if is_settled(answer):
                return Choice(answer, tuple(rejected), reason)
            against = f"what must run on one core is {_deep(depths.sequential)}, what could run in parallel {_deep(depths.parallel)}"
            if second_best is None and _gains(answer):
                second_best = answer
        rejected.append(f"{answer.strategy}: {against}")
        reason = reason or next(iter(answer.notes), against)
    return Choice(second_best, tuple(rejected), reason)


def is_settled(answer: Automatic | None) -> bool:
    """Whether no other answer is looked for: nothing is left in order that has as many loops as what runs in parallel."""
    return answer is not None and answer.depths.sequential < answer.depths.parallel


def is_better(one: Automatic | None, other: Automatic | None) -> bool:
    """Whether an answer that needs storage of its own is worth it against one that does not: less in order; then, no wavefronts of tiles;
    then, more loops in one launch.
    """
    return one is not None and (other is None or _merits(one) > _merits(other))


def _merits(answer: Automatic) -> tuple[int, ...]:
    depths = answer.depths
    in_order = 0 if depths.sequential < depths.parallel else -depths.sequential
    return in_order, -len(answer.sizes), depths.launched, depths.parallel


def _deep(loops: int) -> str:
    return "no loop" if loops == 0 else "1 loop deep" if loops == 1 else f"{loops} loops deep"


def _gains(answer: Automatic) -> bool:
    """A launch for a single loop's work, with as much left sequential, costs more than it saves."""
    return answer.depths.launched > 1 and answer.depths.parallel >= answer.depths.sequential
