"""Traces as the runtime writes them, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilepragma.tuning.traces import Activity, TraceError, read_trace

HEAD = '{"displayTimeUnit": "ms", "traceEvents": [\n'


def event(begin: float, length: float, kind: str = "kernel", name: str = "sweep") -> str:
    own = {"target": "opencl", "bytes": 8, "kernel": name}
    return json.dumps(
        {"ph": "X", "pid": 1, "tid": 1, "ts": begin, "dur": length, "cat": kind, "name": name, "args": own}
    )


def trace(folder: Path, *events: str, head: str = HEAD) -> Path:
    path = folder / "trace.json"
    path.write_text(head + ",\n".join(events) + "\n]}\n")
    return path


def test_seconds_from_the_first_on(tmp_path: Path) -> None:
    result = read_trace(trace(tmp_path, event(3e6, 5e5), event(1e6, 2e6, "copy in", "copy in")))
    assert result == (
        Activity("copy in", "copy in", "opencl", 0.0, 2.0),
        Activity("kernel", "sweep", "opencl", 2.0, 0.5),
    )


@pytest.mark.parametrize(
    ("events", "head", "message"),
    [
        ([], HEAD, "has no events"),
        ([event(0, 1), '{"ph": "X", "ts"'], HEAD, "is damaged in line 3"),
        ([event(0, -1)], HEAD, "is damaged in line 2"),
        ([event(0, 1)], "n,seconds\n", "is no trace"),
    ],
)
def test_files_that_are_no_traces(tmp_path: Path, events: list[str], head: str, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        read_trace(trace(tmp_path, *events, head=head))
