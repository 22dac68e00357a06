"""The measurements of a database by kernel and environment."""

from __future__ import annotations

from collections.abc import Iterable

from tilepragma.base.frozen_values import dataclass
from tilepragma.tuning.database import Environment, KernelKey, Measurement, Outcome, Trial


@dataclass(frozen=True)
class MeasuredKernel:
    """The measurements of a kernel in an environment. `left_out`: the number of measurements of the
    same text on the same device and target in older environments, such as with other compiler
    options.
    """

    kernel: KernelKey
    environment: Environment
    trials: tuple[tuple[Trial, Outcome], ...]
    left_out: int

    @property
    def days(self) -> tuple[str, str]:
        """The first and the last day of the measurements, `2026-11-22`."""
        dates = [outcome.date[:10] for _, outcome in self.trials]
        return min(dates), max(dates)

    @property
    def failures(self) -> int:
        """The number of failed trials."""
        return sum(bool(outcome.failure) for _, outcome in self.trials)


def measured_kernels(measurements: Iterable[Measurement]) -> list[MeasuredKernel]:
    """A kernel for each name, target, device and text, in its latest environment, sorted."""
    groups: dict[tuple[str, str, str, str], dict[Environment, list[Measurement]]] = {}
    for measurement in measurements:
        key = (
            measurement.kernel.name,
            measurement.environment.target,
            measurement.environment.device,
            measurement.kernel.digest,
        )
        groups.setdefault(key, {}).setdefault(measurement.environment, []).append(measurement)
    kernels = []
    for _, environments in sorted(groups.items()):
        newest = max(environments, key=lambda environment: max(row.outcome.date for row in environments[environment]))
        measured = environments[newest]
        others = sum(len(group) for group in environments.values()) - len(measured)
        trials = tuple((measurement.trial, measurement.outcome) for measurement in measured)
        kernels.append(MeasuredKernel(measured[0].kernel, newest, trials, others))
    return kernels
