"""Versions and their names, the calls of a run, and what a run of a version is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tilepragma.tuning import measuring
from tilepragma.tuning.database import Outcome, Trial
from tilepragma.tuning.measuring import DEFAULT, Bench, Version, calls_a_fill, version_of
from tilepragma.tuning.programs import KernelTimes, ProgramError, Run


@pytest.mark.parametrize(
    ("version", "text"),
    [
        (Version(), DEFAULT),
        (Version(sizes=(("t_size", 8), ("i_size", 32))), "t_size=8 i_size=32"),
        (Version("TILEK_TILES=skewed"), "TILEK_TILES=skewed"),
        (Version("TILEK_TILES=skewed", (("t_size", 8),)), "TILEK_TILES=skewed t_size=8"),
        (Version("num_workers(32, 4)"), "num_workers(32, 4)"),
        (Version("thread3"), "thread3"),
    ],
)
def test_a_version_is_known_by_its_name(version: Version, text: str) -> None:
    assert version.text == text
    assert version_of(text) == version


def times(*launches: float) -> KernelTimes:
    return KernelTimes(sum(launches), ("threads",), True, launches=launches)


def test_the_launches_of_each_call_belong_together() -> None:
    assert times(1, 2, 10, 20, 100, 200).calls(3) == (3, 30, 300)
    assert times(1, 2).calls(1) == (3,)
    for count in (4, 12):
        with pytest.raises(ProgramError, match=f"^launched the kernel 6 times in {count} calls$"):
            times(1, 2, 3, 4, 5, 6).calls(count)


@pytest.mark.parametrize(
    ("default", "calls", "first", "fill", "limit"),
    [
        (None, 2, 1, 1, 600.0),
        (Outcome((0.5,), "", 0.7, ""), 2, 1, 1, 5.0),
        (Outcome((0.05,), "", 2.0, ""), 5, 1, 1, 10.0),
        (Outcome((0.002,), "", 0.1, ""), 6, 1, 1, 5.0),
        (Outcome((0.0005,), "", 0.1, ""), 17, 6, 4, 5.0),
        (Outcome((1e-5,), "", 0.1, ""), 301, 148, 4, 5.0),
        (Outcome((), "crashed", 0.1, ""), 2, 1, 1, 5.0),
    ],
)
def test_short_kernels_are_called_more_often_and_neither_their_first_calls_count_nor_those_behind_a_fill(
    monkeypatch: pytest.MonkeyPatch, default: Outcome | None, calls: int, first: int, fill: int, limit: float
) -> None:
    asked: list[Any] = []

    def run(words: list[str], variables: Mapping[str, str], seconds: float) -> Run:
        asked.append((words, dict(variables), seconds))
        return Run(1.0, {("a.c", "k"): times(*range(calls))})

    monkeypatch.setattr(measuring, "run", run)
    version = Version("other", (("i", 4), ("j", 5)))
    bench = Bench(
        "k",
        ("a.c", "k"),
        "threads",
        {version.text: version},
        {"n=3": {"n": 3}},
        lambda build, numbers, count, fill: [build, str(numbers["n"]), str(count), str(fill)],
        has_calls=True,
        keeps_arrays=True,
    )
    assert (calls_a_fill(calls, True), calls_a_fill(calls, False)) == (fill, 1)
    counted = tuple(call for call in range(first, calls) if fill == 1 or call % fill != 0)
    assert bench.seconds(Trial(version.text, "n=3", 0), default) == counted
    variables = {"TILEK_TARGET": "threads", "TILEK_SIZES": "k.i=4,k.j=5", "TILEK_VERSION": "0"}
    assert asked == [(["other", "3", str(calls), str(fill)], variables, limit)]
