"""A run's results as JSON: written after each kernel, read again to print the tables without measuring."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.suite.results import TOLERANCE, Limits, Measurement, Row, best_peer, means, ratios


class StoredError(Exception):
    """A file that holds no results of the suite; the message says why."""


@dataclass(frozen=True)
class Report:
    """Everything that one run measured. `machine` describes where, `targets` are ours; `gpu` holds what benchmarks/gpu/run.py measured."""

    machine: Mapping[str, Any]
    limits: Limits
    rows: tuple[Row, ...]
    targets: tuple[str, ...]
    gpu: Mapping[str, Any] | None = None


def as_json(report: Report) -> dict[str, Any]:
    """Everything, in a form for json.dump."""
    return {
        "machine": dict(report.machine),
        "limits": asdict(report.limits),
        "targets": list(report.targets),
        "tolerance": TOLERANCE,
        "rows": [_row_as_json(row, report) for row in report.rows],
        "means": [asdict(mean) for mean in means(report.rows, report.targets)],
        "gpu": report.gpu,
    }


def _row_as_json(row: Row, report: Report) -> dict[str, Any]:
    whole, limits = asdict(row), report.limits
    for name, measurement in row.contenders.items():
        if measurement.ran:
            seconds = measurement.median
            whole["contenders"][name] |= {
                "median": seconds,
                "gflops": 1e-9 * row.flops / seconds,
                "gbs": 1e-9 * row.moved / seconds,
                "share": limits.share(row.type, row.flops, row.moved, seconds) if limits.holds_for(name) else None,
            }
    whole["ratios"] = [asdict(each) for each in ratios(row, report.targets)]
    whole["best"] = best_peer(row)
    return whole


def read(path: Path) -> Report:
    """What `as_json` wrote. Raises StoredError and OSError."""
    try:
        whole = json.loads(path.read_text())
        limits = Limits(
            whole["limits"]["bandwidth"], whole["limits"]["operations"], tuple(whole["limits"]["elsewhere"])
        )
        rows = tuple(map(_row, whole["rows"]))
        return Report(whole["machine"], limits, rows, tuple(whole["targets"]), whole["gpu"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoredError(f"{path}: no results of the suite ({type(error).__name__}: {error})") from None


def _row(stored: Mapping[str, Any]) -> Row:
    row = Row(*(stored[name] for name in ("case", "group", "type", "sizes", "flops", "moved")))
    for name, each in stored["contenders"].items():
        row.contenders[name] = Measurement(each["seconds"], each["match"], each["difference"], each["kernels"])
    return row
