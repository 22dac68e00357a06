"""A plan with the tile sizes and versions that were kept for it, proven anew: what was proven before was so at others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.refusals import RefusalError
from tilepragma.base.source_ranges import SourceRange
from tilepragma.plan.kernel_plan import PlanVersion
from tilepragma.planner.assembly import Planned
from tilepragma.sizes.records import DEVICE, RecordedChoice, TuningRecord, fitting, with_records
from tilepragma.verify.proofs import proof_of
from tilepragma.verify.rules import PlanFault, verify

#: Makes the plan of a version from its text, for the place where that stands, under a number.
#: Raises RefusalError.
MakeVersion = Callable[[str, SourceRange, int], PlanVersion]
#: Versions besides the plan itself.
MOST_VERSIONS = 3


def with_kept_sizes(
    planned: Planned, kept: Iterable[TuningRecord], diagnostics: Diagnostics, make: MakeVersion | None = None
) -> Planned:
    """What was planned, with what is kept for it; that is warned of, and left out, where the plan
    is not proven right with it. `make` plans versions, which there are none of without it.
    """
    known = [one for one in kept if one.kernel == planned.plan.kernel.name]
    known, versions = _with_versions(known, diagnostics, make)
    mine = fitting(replace(planned.plan, versions=versions), known, diagnostics)
    if not mine:
        return planned
    plan = with_records(replace(planned.plan, versions=versions), mine)
    proof = planned.proof if planned.proof is not None and planned.proof.is_of(plan) else proof_of(plan)
    try:
        verify(plan, proof)
    except PlanFault as fault:
        remedy = "take it out, or run 'tilepragma tune' again"
        diagnostics.warning(
            mine[0].place, f"kept tile sizes are ignored, since they are not proven right: {fault}", remedy
        )
        return planned
    return Planned(plan, proof)


def _with_versions(
    kept: list[TuningRecord], diagnostics: Diagnostics, make: MakeVersion | None
) -> tuple[list[TuningRecord], tuple[PlanVersion, ...]]:
    """What is kept, and the versions that it names; an entry is warned of, and left out, that names one that cannot be had."""
    found: dict[str, PlanVersion] = {}
    right = []
    for entry in kept:
        mine = dict(found)
        try:
            for choice in entry.choices:
                if choice.version and choice.version not in mine:
                    mine[choice.version] = _version(choice, len(mine), make)
        except _NoVersionError as refusal:
            message = f"what is kept of kernel '{entry.kernel}' is ignored: {refusal}"
            diagnostics.warning(refusal.place, message, "take it out, or run 'tilepragma tune' again")
            continue
        found = mine
        right.append(entry)
    for_devices = {choice.version for entry in right if entry.size_class == DEVICE for choice in entry.choices}
    return right, tuple(replace(one, on_devices=text in for_devices) for text, one in found.items())


class _NoVersionError(Exception):
    """A version that cannot be had, which stands at a place."""

    def __init__(self, message: str, place: SourceRange) -> None:
        super().__init__(message)
        self.place = place


def _version(choice: RecordedChoice, before: int, make: MakeVersion | None) -> PlanVersion:
    """Raises _NoVersionError."""
    if make is None or before == MOST_VERSIONS:
        raise _NoVersionError(f"a kernel has {MOST_VERSIONS} versions at most besides its own", choice.place)
    try:
        return make(choice.version, choice.place, before + 1)
    except RefusalError as reason:
        raise _NoVersionError(f"version '{choice.version}' {reason}", choice.place) from None
