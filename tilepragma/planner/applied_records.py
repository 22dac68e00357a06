"""A plan with its tuning records (sizes and versions), proven again for them."""

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

#: Makes the numbered plan of a version from its text and the place of that text. Raises
#: RefusalError.
MakeVersion = Callable[[str, SourceRange, int], PlanVersion]
#: Versions besides the plan itself.
MOST_VERSIONS = 3


def with_kept_sizes(
    planned: Planned, records: Iterable[TuningRecord], diagnostics: Diagnostics, make: MakeVersion | None = None
) -> Planned:
    """The planned kernel with its tuning records; without them, and with a warning, where the plan
    with them is not proven right. `make` plans versions; without it, none can be made.
    """
    candidates = [record for record in records if record.kernel == planned.plan.kernel.name]
    candidates, versions = _with_versions(candidates, diagnostics, make)
    applied = fitting(replace(planned.plan, versions=versions), candidates, diagnostics)
    if not applied:
        return planned
    plan = with_records(replace(planned.plan, versions=versions), applied)
    proof = planned.proof if planned.proof is not None and planned.proof.is_of(plan) else proof_of(plan)
    try:
        verify(plan, proof)
    except PlanFault as fault:
        remedy = "take it out, or run 'tilepragma tune' again"
        diagnostics.warning(
            applied[0].place, f"kept tile sizes are ignored, since they are not proven right: {fault}", remedy
        )
        return planned
    return Planned(plan, proof)


def _with_versions(
    records: list[TuningRecord], diagnostics: Diagnostics, make: MakeVersion | None
) -> tuple[list[TuningRecord], tuple[PlanVersion, ...]]:
    """The valid records and the versions that they name; a warning for each invalid record."""
    versions: dict[str, PlanVersion] = {}
    valid = []
    for entry in records:
        extended = dict(versions)
        try:
            for choice in entry.choices:
                if choice.version and choice.version not in extended:
                    extended[choice.version] = _version(choice, len(extended), make)
        except _NoVersionError as refusal:
            message = f"the tuning record of kernel '{entry.kernel}' is ignored: {refusal}"
            diagnostics.warning(refusal.place, message, "take it out, or run 'tilepragma tune' again")
            continue
        versions = extended
        valid.append(entry)
    for_devices = {choice.version for entry in valid if entry.size_class == DEVICE for choice in entry.choices}
    return valid, tuple(replace(version, on_devices=text in for_devices) for text, version in versions.items())


class _NoVersionError(Exception):
    """A version that cannot be made, and the place that names it."""

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
