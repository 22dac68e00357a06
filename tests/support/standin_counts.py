"""The CUDA stand-in's counts of a process where TILEK_STANDIN_COUNTS is set."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(
    r"stand-in: (\d+) launches, (\d+) waits, (\d+) copies, (\d+) entries, (\d+) graphs, (\d+) played, (\d+) cooperative"
)


@dataclass(frozen=True)
class StandinCounts:
    """Calls of the driver. There were `launches` single ones, `entries` of a context, `graphs` made
    and `played`. The `cooperative` launches have all their blocks resident together. `output` is
    the process's standard error.
    """

    launches: int
    waits: int
    copies: int
    entries: int
    graphs: int
    played: int
    cooperative: int
    output: str


def standin_counts(output: str) -> StandinCounts:
    """The counts in a process's standard error."""
    match_ = _LINE.search(output)
    assert match_ is not None, output
    return StandinCounts(*map(int, match_.groups()), output)
