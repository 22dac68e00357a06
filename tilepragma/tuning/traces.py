"""What a program did and when, from the trace that TILEK_PROFILE=FILE.json has written
(runtime/kernel/profile.c).
"""

from __future__ import annotations

import json
from pathlib import Path

from tilepragma.base.frozen_values import dataclass


class TraceError(Exception):
    """An invalid trace; the message is a clause on the file, with the line at fault if any."""


@dataclass(frozen=True)
class Activity:
    """An activity: its kind (`kernel`, `copy in`, `compile`, …), its name, its target, its begin in
    seconds since the first activity, and its length in seconds.
    """

    kind: str
    name: str
    target: str
    begin: float
    length: float


def read_trace(path: Path) -> tuple[Activity, ...]:
    """All activities in the order of their begin. Raises TraceError, OSError."""
    events = []
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if number == 1 and not line.startswith('{"displayTimeUnit"'):
                raise TraceError("is no trace: TILEK_PROFILE=FILE.json ./program writes one")
            if line.startswith('{"ph"'):
                events.append(_activity(line, number))
    if not events:
        raise TraceError("has no events: the program launched nothing")
    first = min(event.begin for event in events)
    moved = (Activity(event.kind, event.name, event.target, event.begin - first, event.length) for event in events)
    return tuple(sorted(moved, key=lambda event: (event.begin, event.kind, event.name)))


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
