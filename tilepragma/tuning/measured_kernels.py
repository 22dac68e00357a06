"""The measurements of a database by kernel and by what they were made on."""

from __future__ import annotations

from collections.abc import Iterable

from tilepragma.base.frozen_values import dataclass
from tilepragma.tuning.database import Environment, KernelKey, Measurement, Outcome, Trial


@dataclass(frozen=True)
class MeasuredKernel:
    """What was measured of a kernel in an environment. `left_out` are measurements of the same text
    on the same device and target in other environments, such as with other options of the compiler,
    whose last one is older.
    """

    kernel: KernelKey
    environment: Environment
    trials: tuple[tuple[Trial, Outcome], ...]
    left_out: int

    @property
    def days(self) -> tuple[str, str]:
        """The first and the last day of measuring, `2026-11-22`."""
        dates = [outcome.date[:10] for _, outcome in self.trials]
        return min(dates), max(dates)

    @property
    def failures(self) -> int:
        """How many trials failed."""
        return sum(bool(outcome.failure) for _, outcome in self.trials)


def measured_kernels(measurements: Iterable[Measurement]) -> list[MeasuredKernel]:
    """One for each text of a kernel on each device and target, in the environment of the latest measurement; by name, target, device and text."""
    groups: dict[tuple[str, str, str, str], dict[Environment, list[Measurement]]] = {}
    for measurement in measurements:
        own = (
            measurement.kernel.name,
            measurement.environment.target,
            measurement.environment.device,
            measurement.kernel.digest,
        )
        groups.setdefault(own, {}).setdefault(measurement.environment, []).append(measurement)
    found = []
    for _, environments in sorted(groups.items()):
        newest = max(environments, key=lambda one: max(each.outcome.date for each in environments[one]))
        mine = environments[newest]
        others = sum(len(each) for each in environments.values()) - len(mine)
        trials = tuple((one.trial, one.outcome) for one in mine)
        found.append(MeasuredKernel(mine[0].kernel, newest, trials, others))
    return found
