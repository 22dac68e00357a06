"""What was measured, as JSON: judged again by a later model without measuring again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.accuracy.results import Measured, Sample


@dataclass(frozen=True)
class Stored:
    """Measurements, and where they were made."""

    machine: Mapping[str, Any]
    measured: tuple[Measured, ...]


def as_json(machine: Mapping[str, Any], measured: Sequence[Measured]) -> dict[str, Any]:
    """Everything, in a form for json.dump."""
    return {"machine": dict(machine), "measured": [asdict(each) for each in measured]}


def stored(whole: Mapping[str, Any]) -> Stored:
    """What `as_json` made. Raises ValueError for anything else."""
    try:
        return Stored(whole["machine"], tuple(map(_measured, whole["measured"])))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no measurements of layouts ({type(error).__name__}: {error})") from None


def _measured(one: Mapping[str, Any]) -> Measured:
    changed = {
        "names": tuple(one["names"]),
        "random": tuple(map(_sample, one["random"])),
        "named": {name: _sample(sample) for name, sample in one["named"].items()},
        "wrong": tuple(map(tuple, one["wrong"])),
    }
    return Measured(**{**one, **changed})


def _sample(one: Mapping[str, Any]) -> Sample:
    return Sample(tuple(one["layout"]), one["seconds"])
