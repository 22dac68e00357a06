"""The table of `tilepragma tune`: what was tried at each size, with made-up times."""

from __future__ import annotations

import pytest

from tilepragma.cli.explore import show
from tilepragma.tuning.database import Outcome, Trial
from tilepragma.tuning.exploration import Search


def test_what_was_the_fastest_elsewhere_counts_among_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    result: dict[Trial, Outcome] = {}
    search = Search({"n=10": ("default", "a=1"), "n=20": ("default", "a=2", "a=3")}, 60.0, result.__getitem__)
    for sizes, version, time in (
        ("n=10", "default", 3.0),
        ("n=10", "a=1", 2.0),
        ("n=10", "a=2", 1.0),
        ("n=20", "default", 3.0),
        ("n=20", "a=2", 1.5),
    ):
        search.note(Trial(version, sizes, 0), Outcome((time,), "", 0.1, "2026-01-02T03:04:05"))
    show(search, "sweep on threads")
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip().startswith("n=")]
    assert rows == [
        ["n=10", "a=2", "1", "s", "0.333", "3", "of", "3"],
        ["n=20", "a=2", "1.5", "s", "0.500", "2", "2", "of", "3"],
    ]
