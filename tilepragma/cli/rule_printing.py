"""Fits rules to all measurements of a kernel, whatever families its versions are of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.cli.devices import host_devices
from tilepragma.tuning.fitted_rules import FittedRules, embedding, lesson_of
from tilepragma.tuning.trial_versions import Build, builds_of, families_of

if TYPE_CHECKING:
    from tilepragma.driver.state import TranslateRequest, TranslateResult
    from tilepragma.plan.kernel_plan import KernelPlan
    from tilepragma.tuning.database import Outcome, Trial


@dataclass(frozen=True)
class RuleFitter:
    """A kernel on a target; `on_host`: it runs host launches. `builds`: those of `families`."""

    request: TranslateRequest
    result: TranslateResult
    plan: KernelPlan
    target: str
    on_host: bool
    families: tuple[str, ...] = ()
    builds: Mapping[str, Build] = field(default_factory=dict)

    def lesson(self, trials: Sequence[tuple[Trial, Outcome]], refused: Callable[[str, str], None]) -> FittedRules:
        """Fits rules to the trials; `refused` gets impossible versions. Raises NoRulesError."""
        families, builds = families_of(trial.version for trial, _ in trials), self.builds
        missing = tuple(family for family in families if family not in self.families)
        if missing:
            threads = host_devices()[-1].compute_units
            builds = {**builds, **builds_of(self.request, self.result, self.plan, self.target, missing, threads)}
        embed = embedding(self.request, self.result, self.plan, refused) if len(builds) > 1 else None
        return lesson_of(trials, builds, self.target, self.on_host, embed)
