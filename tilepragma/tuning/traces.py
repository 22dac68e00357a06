"""What a program did and when, from the trace that TILEK_PROFILE=FILE.json has written (runtime/kernel/profile.c)."""

from __future__ import annotations

import json
from pathlib import Path

from tilepragma.base.frozen_values import dataclass


class TraceError(Exception):
    """A file that is no trace of ours; the message is a clause on the file, with the line at fault where there is one."""


@dataclass(frozen=True)
class Activity:
    """One thing that was done: its kind (`kernel`, `copy in`, `compile`, …), its name, its target;
    when it began, in seconds since the first one did, and how many it took.
    """

    kind: str
    name: str
    target: str
    begin: float
    length: float


def read_trace(path: Path) -> tuple[Activity, ...]:
    """All activities, in the order they began. Raises TraceError, OSError."""
    found = []
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if number == 1 and not line.startswith('{"displayTimeUnit"'):
                raise TraceError("is no trace: TILEK_PROFILE=FILE.json ./program writes one")
            if line.startswith('{"ph"'):
                found.append(_activity(line, number))
    if not found:
        raise TraceError("has no events: the program launched nothing")
    first = min(one.begin for one in found)
    moved = (Activity(one.kind, one.name, one.target, one.begin - first, one.length) for one in found)
    return tuple(sorted(moved, key=lambda one: (one.begin, one.kind, one.name)))


def _activity(line: str, number: int) -> Activity:
    try:
        event = json.loads(line.rstrip().rstrip(","))
        begin, length = float(event["ts"]), float(event["dur"])
        kind, name, target = str(event["cat"]), str(event["name"]), str(event["args"]["target"])
    except (ValueError, KeyError, TypeError):
        raise TraceError(f"is damaged in line {number}") from None
    if not (0 <= length < float("inf") and abs(begin) < float("inf")):
        raise TraceError(f"is damaged in line {number}")
    return Activity(kind, name, target, 1e-6 * begin, 1e-6 * length)
