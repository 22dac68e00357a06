"""The automatic planner: its strategies, in the order in which they are tried, and which answer is taken.

The first answer is taken that leaves no launch sequential which has as many loops as the deepest parallel one, unless a later
such answer has innermost loops that step through memory in fewer strides; failing that, the first that gains anything; failing that, the
region runs as written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

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
    search = _Search(objection)
    for strategy in strategies:
        search.look_at(strategy(region))
        if search.is_over:
            break
    return Choice(search.best or search.second_best, tuple(search.rejected), search.reason)


@dataclass
class _Search:
    """`best` leaves nothing sequential that is as deep as what is parallel; `second_best` gains something at least."""

    objection: Objection
    best: Automatic | None = None
    second_best: Automatic | None = None
    rejected: list[str] = field(default_factory=list)
    reason: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing could be better than what was found."""
        return self.best is not None and not 0 < _strides(self.best) < inf

    def look_at(self, answer: Automatic | Refusal) -> None:
        """Keep the answer if it is better than those before, and say why of the one that is not taken."""
        if isinstance(answer, Refusal):
            self._reject(answer.reason, answer.reason)
            return
        if self.best is not None and not _strides(answer) < _strides(self.best):
            return
        against = self.objection(answer)
        if against is None and is_settled(answer):
            if self.best is not None:
                self.rejected.append(
                    f"{self.best.strategy}: innermost loops step through memory in strides {_times(_strides(self.best))}, "
                    f"those of {answer.strategy} {_times(_strides(answer))}"
                )
            self.best = answer
            self.rejected += answer.notes
            return
        if self.best is None:
            self.rejected += answer.notes
        if against is None:
            depths = answer.depths
            against = f"what must run on one core is {_deep(depths.sequential)}, what could run in parallel {_deep(depths.parallel)}"
            if self.second_best is None and _gains(answer):
                self.second_best = answer
        self._reject(f"{answer.strategy}: {against}", next(iter(answer.notes), against))

    def _reject(self, clause: str, reason: str) -> None:
        """Say nothing of what was only tried because it might be faster."""
        if self.best is None:
            self.rejected.append(clause)
            self.reason = self.reason or reason


def _strides(answer: Automatic) -> float:
    """Accesses of its innermost loops on the host that step through memory in strides; without bound where nothing is known."""
    return inf if answer.steps is None else answer.steps.strides


def _times(number: float) -> str:
    return "in none" if number == 0 else "in 1 access" if number == 1 else f"in {number:g} accesses"


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
