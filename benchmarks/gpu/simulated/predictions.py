"""The model's counts of ours beside the simulator's."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.gpu.simulated.simulator import Counts, Simulator
from tilepragma.cost.ptx_walk import PlanCounts
from tilepragma.driver import translate
from tilepragma.driver.compiled_counts import compiled_counts
from tilepragma.driver.state import TranslateRequest
from tilepragma.ir.evaluation import UncountableError
from tilepragma.model.device import Gpu

#: How far predictions may be off: any, and the median.
GREATEST_GOAL, MEDIAN_GOAL = 0.1, 0.03
COLUMNS = ("kernel", "instructions", "predicted", "off")
TIMED_COLUMNS = ("L1", "predicted", "off", "DRAM", "predicted", "off")


@dataclass(frozen=True)
class Prediction:
    """What the simulator counted in a run of ours, and what the model says of it: `reason` where it
    says nothing.
    """

    title: str
    counts: Counts
    predicted: PlanCounts | None
    reason: str = ""

    def off(self, what: str) -> float | None:
        """The relative error of a count; None where one of both is missing."""
        counted, predicted = self.pair(what)
        return predicted / counted - 1 if counted and predicted is not None else None

    def pair(self, what: str) -> tuple[int, float | None]:
        """What was counted, and what was predicted."""
        known = self.predicted
        match what:
            case "instructions":
                return self.counts.instructions, None if known is None else known.total.instructions
            case "L1":
                return self.counts.l1, None if known is None else known.total.sectors
        return self.counts.dram, None if known is None else known.memory


@dataclass(frozen=True)
class Predictor:
    """What the model is asked with: the simulator's compiler, and its device."""

    simulator: Simulator
    gpu: Gpu

    def predicted(
        self, source: str, text: str | None, options: Sequence[str], scalars: Mapping[str, int], kernel: str = ""
    ) -> PlanCounts:
        """The product's counts of a source's kernels, or of `kernel`, each run once with these
        scalars. Raises UncountableError.
        """
        os.environ["TILEK_NVRTC_LIBRARY"] = str(self.simulator.nvrtc)
        content = None if text is None else text.encode()
        result = translate(TranslateRequest(source, text=content, options=tuple(options), last="verify"))
        plans = [plan for plan in result.plans if not kernel or plan.kernel.name == kernel]
        if not plans:
            raise UncountableError("it has no kernel")
        every = [compiled_counts(plan, scalars, self.gpu) for plan in plans]
        launches = {name: counted for each in every for name, counted in each.launches.items()}
        known = [each.memory for each in every if each.memory is not None]
        return PlanCounts(every[0].by, launches, sum(known) if len(known) == len(every) else None)


def prediction(title: str, counts: Counts, predict: Callable[[], PlanCounts]) -> Prediction:
    """A run's counts beside what `predict` says."""
    try:
        return Prediction(title, counts, predict())
    except UncountableError as reason:
        return Prediction(title, counts, None, str(reason))


def columns_of(functional: bool) -> tuple[str, ...]:
    return COLUMNS if functional else COLUMNS + TIMED_COLUMNS


def rows_of(predictions: Sequence[Prediction], functional: bool) -> list[list[str]]:
    """A row a prediction; functional runs count instructions alone."""
    kinds = ("instructions",) if functional else ("instructions", "L1", "DRAM")
    return [[each.title, *(cell for what in kinds for cell in _cells(each, what))] for each in predictions]


def _cells(each: Prediction, what: str) -> tuple[str, str, str]:
    (counted, predicted), off = each.pair(what), each.off(what)
    said = "" if predicted is None else f"{predicted:.0f}"
    if each.predicted is None and what == "instructions":
        said = each.reason
    return str(counted), said, "" if off is None else f"{100 * off:+.1f} %"


def summaries(predictions: Sequence[Prediction], functional: bool) -> Iterator[str]:
    """A line on each kind of count: the median and the greatest error, beside the goals."""
    for what in ("instructions",) if functional else ("instructions", "L1", "DRAM"):
        errors = {each.title: abs(off) for each in predictions if (off := each.off(what)) is not None}
        if not errors:
            continue
        median, worst = statistics.median(errors.values()), max(errors, key=errors.__getitem__)
        within = sum(error <= GREATEST_GOAL for error in errors.values())
        yield (
            f"{what}: {len(errors)} of {len(predictions)} predicted, median {100 * median:.1f} % (goal "
            f"{100 * MEDIAN_GOAL:.0f} %), greatest {100 * errors[worst]:.1f} % ({worst}), {within} within "
            f"{100 * GREATEST_GOAL:.0f} %"
        )
