"""Versions of a kernel besides its plan: those of tuning records, and those that tuning tries.

A version is planned from its text and proven, whatever the user assures. A plan takes the versions
and sizes of its tuning records, and is proven again for them.

A build with `TILEK_CANDIDATES=FILE` in its environment embeds the versions that `tilepragma tune`
tries in the kernels of one source, without rules: launches take the plan itself, or the version
that `TILEK_VERSION` names. The build ignores tuning records beside sources. The file:
{"source": PATH, "devices": BOOLEAN, "kernels": {KERNEL: [TEXT, …]}}.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from tilepragma.base.diagnostics import Diagnostics, Severity
from tilepragma.base.files import file_bytes
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.refusals import RefusalError
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.directives import TemporalTiles
from tilepragma.ir.kernel_versions import KernelVersion
from tilepragma.ir.loop_tree import FloatingRules, Kernel
from tilepragma.plan.command_line import PlanOptions
from tilepragma.plan.kernel_plan import KernelPlan, PlanVersion
from tilepragma.planner.assembly import Planned, with_proof
from tilepragma.planner.planner import make_plan
from tilepragma.sizes.records import DEVICE, TuningRecord, fitting, with_records
from tilepragma.verify.rules import PlanFault, verify

#: Makes the numbered plan of a version from its text and the place of that text. Raises
#: RefusalError.
MakeVersion = Callable[[str, SourceRange, int], PlanVersion]
#: Versions besides the plan itself.
MOST_VERSIONS = 3
#: The environment variable of a build that embeds candidates.
CANDIDATES_VARIABLE = "TILEK_CANDIDATES"

_REMEDY = "take it out, or run 'tilepragma tune' again"


def plan_version(
    usual: KernelPlan, kernel: Kernel, version: KernelVersion, name: str, floating: FloatingRules, defaults: PlanOptions
) -> PlanVersion:
    """The kernel's version of this `name`. Raises RefusalError with a clause on the version."""
    if usual.untransformed is not None or usual.reordered is not None:
        raise RefusalError("is of a kernel that runs the original loops, or in another order than that")
    if version.temporal is not None and defaults.temporal is TemporalTiles.AUTOMATIC:
        defaults = replace(defaults, temporal=version.temporal, host_temporal=None)
    messages = Diagnostics()
    try:
        planned = make_plan(version.of(kernel, name), floating, messages, defaults)
    except PlanFault as fault:
        raise RefusalError(f"cannot be planned: {fault}") from None
    errors = [message.message for message in messages if message.severity is Severity.ERROR]
    if planned is None or errors:
        raise RefusalError(f"cannot be planned: {errors[0] if errors else 'it has errors'}")
    plan = planned.plan
    if plan.untransformed is not None:
        raise RefusalError(f"would run as written: {plan.untransformed}")
    if plan.prologue != usual.prologue:
        raise RefusalError("would declare other variables before the launch")
    launches = (*plan.host, *plan.device, *usual.host, *usual.device)
    # Real numbers are combined in an order that follows the tiles.
    sums_reals = any(reduction.rounds for launch in launches for reduction in launch.reductions)
    if not floating.fast and sums_reals and _launches(plan) != _launches(usual):
        raise RefusalError("would add real numbers up in another order")
    conditions = tuple(dict.fromkeys((*usual.conditions, *plan.conditions)))
    # The choices of the usual plan decide what launches of a version take.
    plan = replace(
        plan,
        assumes_disjoint=plan.assumes_disjoint or usual.assumes_disjoint,
        conditions=conditions,
        processor_choices=(),
    )
    proof = with_proof(planned, plan).proof
    if proof is not None and proof.faults:
        raise RefusalError(f"is not proven right: {proof.faults[0].message}")
    try:
        verify(plan, proof)
    except PlanFault as fault:
        raise RefusalError(f"is not proven right: {fault}") from None
    return PlanVersion(version.text, plan)


def _launches(plan: KernelPlan) -> tuple[object, ...]:
    return (*(launch.body for launch in plan.host), *(launch.body for launch in plan.device), plan.counts)


# -- tuning records


def with_kept_sizes(
    planned: Planned, records: Iterable[TuningRecord], diagnostics: Diagnostics, make: MakeVersion
) -> Planned:
    """The planned kernel with its tuning records, whose versions `make` makes.

    If the plan with them is not proven right, they are left out, with a warning.
    """
    of_kernel = [record for record in records if record.kernel == planned.plan.kernel.name]
    valid, versions = _with_versions(of_kernel, diagnostics, make)
    applied = fitting(replace(planned.plan, versions=versions), valid, diagnostics)
    if not applied:
        return planned
    result = with_proof(planned, with_records(replace(planned.plan, versions=versions), applied))
    try:
        verify(result.plan, result.proof)
    except PlanFault as fault:
        message = f"recorded tile sizes are ignored, since they are not proven right: {fault}"
        diagnostics.warning(applied[0].place, message, _REMEDY)
        return planned
    return result


def _with_versions(
    records: list[TuningRecord], diagnostics: Diagnostics, make: MakeVersion
) -> tuple[list[TuningRecord], tuple[PlanVersion, ...]]:
    """The valid records and the versions that they name; a warning for each invalid record."""
    versions: dict[str, PlanVersion] = {}
    valid = []
    for entry in records:
        extended = dict(versions)
        for choice in entry.choices:
            if not choice.version or choice.version in extended:
                continue
            why = f"a kernel has {MOST_VERSIONS} versions at most besides its own"
            if len(extended) < MOST_VERSIONS:
                try:
                    extended[choice.version] = make(choice.version, choice.place, len(extended) + 1)
                    continue
                except RefusalError as reason:
                    why = f"version '{choice.version}' {reason}"
            message = f"the tuning record of kernel '{entry.kernel}' is ignored: {why}"
            diagnostics.warning(choice.place, message, _REMEDY)
            break
        else:
            versions = extended
            valid.append(entry)
    for_devices = {choice.version for entry in valid if entry.size_class == DEVICE for choice in entry.choices}
    return valid, tuple(replace(version, on_devices=text in for_devices) for text, version in versions.items())


# -- versions that are tried


@dataclass(frozen=True)
class Candidates:
    """Version texts (ir/kernel_versions.py) by kernel, and whether devices take them."""

    kernels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    on_devices: bool = False


def candidates_text(source: str, candidates: Candidates) -> str:
    """The content of the file that a build reads (`candidates_for`)."""
    kernels = {name: list(texts) for name, texts in candidates.kernels.items()}
    return json.dumps({"source": os.path.realpath(source), "devices": candidates.on_devices, "kernels": kernels})


def candidates_for(source: str, environment: Mapping[str, str]) -> Candidates | None:
    """A source's candidates, empty for other sources; None without a file. Raises OSError."""
    name = environment.get(CANDIDATES_VARIABLE)
    if not name:
        return None
    try:
        content = json.loads(file_bytes(Path(name)))
        if content["source"] != os.path.realpath(source):
            return Candidates()
        versions = {kernel: tuple(texts) for kernel, texts in content["kernels"].items()}
        return Candidates(versions, bool(content["devices"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise OSError(
            errno.EINVAL, f"is not what 'tilepragma tune' writes; unset {CANDIDATES_VARIABLE}", name
        ) from None


def with_candidates(planned: Planned, candidates: Candidates, diagnostics: Diagnostics, make: MakeVersion) -> Planned:
    """The planned kernel with the candidates that can be made; a warning for each other one."""
    versions: list[PlanVersion] = []
    for text in candidates.kernels.get(planned.plan.kernel.name, ()):
        try:
            version = make(text, NOWHERE, len(versions) + 1)
        except RefusalError as reason:
            diagnostics.warning(planned.plan.kernel.directive.range, f"version '{text}' is left out: it {reason}")
            continue
        versions.append(replace(version, on_devices=candidates.on_devices))
    if not versions:
        return planned
    return with_proof(planned, replace(planned.plan, versions=tuple(versions)))
