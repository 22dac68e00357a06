"""Versions that `tilepragma tune` tries in a user's program.

A build with `TILEK_CANDIDATES=FILE` in its environment embeds them in the kernels of one source,
without rules: launches take the plan itself, or the version that `TILEK_VERSION` names. The build
ignores tuning records beside sources. The file: {"source": PATH, "devices": BOOLEAN, "kernels":
{KERNEL: [TEXT, …]}}.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.files import file_bytes
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.refusals import RefusalError
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.plan.kernel_plan import PlanVersion
from tilepragma.planner.applied_records import MakeVersion
from tilepragma.planner.assembly import Planned
from tilepragma.verify.proofs import proof_of

#: The environment variable of such a build.
CANDIDATES_VARIABLE = "TILEK_CANDIDATES"


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
    plan = replace(planned.plan, versions=tuple(versions))
    is_proven = planned.proof is not None and planned.proof.is_of(plan)
    return Planned(plan, planned.proof if is_proven else proof_of(plan))
