"""What the CUDA stand-in says of a process where TILEK_STANDIN_COUNTS is set."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(
    r"stand-in: (\d+) launches, (\d+) waits, (\d+) copies, (\d+) entries, (\d+) graphs, (\d+) played, (\d+) cooperative"
)


@dataclass(frozen=True)
class StandinCounts:
    """Calls of the driver: `launches` one at a time, `entries` of a context, `graphs` that were
    made, and how often one was `played`; `cooperative` of the launches have all their blocks at
    once; `said` is all that the process wrote to its standard error.
    """

    launches: int
    waits: int
    copies: int
    entries: int
    graphs: int
    played: int
    cooperative: int
    said: str


def standin_counts(said: str) -> StandinCounts:
    """The counts in what a process wrote to its standard error."""
    found = _LINE.search(said)
    assert found is not None, said
    return StandinCounts(*map(int, found.groups()), said)
