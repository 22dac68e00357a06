"""Successive halving over versions with known times, and that a search which is interrupted goes on where it stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tilepragma.tuning.database import Environment, KernelKey, Outcome, Trial, opened
from tilepragma.tuning.exploration import Search, Take
from tilepragma.tuning.measuring import LostError, recorded
from tilepragma.tuning.programs import ProgramError

HERE = Environment("threads", "a processor", "", "a processor", 4, "cc 1", "-O2", "", "0")
KERNEL = KernelKey("a.c", "k", "digest")
SIZES = tuple(f"n={64 << step}" for step in range(4))
VERSIONS = ("default", *(f"i_size={size}" for size in range(1, 40)))


def noise(*words: object) -> float:
    """From 0 to 1, the same for the same words."""
    return int.from_bytes(hashlib.blake2b(repr(words).encode(), digest_size=4).digest(), "big") / 2**32


def seconds(version: str, sizes: str) -> float:
    """What a version takes at some sizes: each has its own best ones."""
    return 1.0 + noise(version, sizes)


def outcome(trial: Trial) -> Outcome:
    own = seconds(trial.version, trial.sizes) * (1 + 0.001 * noise(trial))
    return Outcome((own,), "", own, "now")


def space(versions: tuple[str, ...] = VERSIONS) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(SIZES, versions)


def searched(budget: float, take: Take = outcome, versions: tuple[str, ...] = VERSIONS) -> Search:
    search = Search(space(versions), budget, take)
    search.run()
    return search


def test_the_fastest_is_found_at_each_size() -> None:
    search = searched(1e9)
    for sizes in SIZES:
        assert search.ordered(sizes)[0] == min(VERSIONS, key=lambda version: seconds(version, sizes))
        assert len(search.ordered(sizes)) == len(VERSIONS)


def test_the_better_a_version_the_more_often_it_runs() -> None:
    search = searched(1e9)
    runs = search.seconds[SIZES[0]]
    ordered = sorted(VERSIONS, key=lambda version: seconds(version, SIZES[0]))
    counts = [len(runs[version]) for version in ordered]
    assert counts[0] == max(counts) > 4
    assert sum(counts) < 4 * len(VERSIONS), "most of them only once"
    assert len(runs["default"]) == counts[0], "what all others are compared with"


def test_the_best_of_one_size_is_tried_at_the_others() -> None:
    versions = {SIZES[0]: ("default", "a", "b"), SIZES[1]: ("default", "c")}
    search = Search(versions, 1e9, lambda trial: Outcome((float("ab".find(trial.version) == -1) + 1,), "", 1, ""))
    search.run()
    assert {"a"} <= set(search.seconds[SIZES[1]])


def test_the_budget_holds_and_the_models_best_go_first() -> None:
    search = searched(60.0)
    assert 60.0 <= search.spent < 62.1
    for sizes in SIZES:
        tried = [version for version in VERSIONS if version in search.seconds[sizes]]
        assert 2 <= len(tried) < len(VERSIONS)
        least = min(len(search.seconds[each]) for each in SIZES)
        assert set(VERSIONS[: least - 4]) <= set(tried), "in the order that was given, winners of other sizes besides"


def test_what_is_left_of_the_budget_goes_to_further_versions() -> None:
    assert len(searched(120.0).seconds[SIZES[0]]) > len(searched(60.0).seconds[SIZES[0]])


def test_what_seems_faster_than_the_default_runs_again_in_turn_with_it() -> None:
    def take(trial: Trial) -> Outcome:
        lucky = trial.version == "other" and trial.attempt == 0
        own = 0.9 if lucky else {"default": 1.0, "other": 1.05}.get(trial.version, 30.0)
        return Outcome((own,) * 5, "", own, "now")

    versions = ("default", "other", "slow", "slower")
    search = Search({"n=1": versions}, 64 / 0.85, take)
    search.run()
    assert {one: len(runs) for one, runs in search.seconds["n=1"].items()} == {
        "default": 3,
        "other": 4,
        "slow": 1,
        "slower": 1,
    }
    assert search.ordered("n=1")[0] == "default", "though the budget was spent when each had run once"
    assert search.spent < search.budget


def test_what_failed_at_other_sizes_is_not_made_sure_of() -> None:
    def take(trial: Trial) -> Outcome:
        if trial.version == "other" and trial.sizes != "n=1":
            return Outcome((), "crashed", 1.0, "now")
        return Outcome((1.0 if trial.version == "default" else 0.5,), "", 1.0, "now")

    search = Search(dict.fromkeys(("n=1", "n=2", "n=3"), ("default", "other")), 1e3, take)
    search.run()
    assert search.ordered("n=1")[0] == "other"
    assert search.spent < 100


def test_a_version_that_fails_twice_is_tried_no_more() -> None:
    def take(trial: Trial) -> Outcome:
        taken.append(trial)
        return Outcome((), "crashed", 1.0, "now") if trial.version == "i_size=1" else outcome(trial)

    taken: list[Trial] = []
    search = searched(1e9, take)
    assert sum(trial.version == "i_size=1" for trial in taken) == 2
    assert search.failures == {sizes: {"i_size=1": "crashed"} for sizes in SIZES[:2]}
    assert len(search.ordered(SIZES[0])) == len(VERSIONS) - 1


# -- Interruptions


class Machine:
    """Measures with a clock of its own, which runs only while it does, and is interrupted when so many more trials were begun."""

    def __init__(self) -> None:
        self.time = 0.0
        self.left: int | None = None
        self.began = 0
        self.is_lost = False

    def measure(self, trial: Trial) -> tuple[float, ...]:
        self.began += 1
        if self.is_lost:
            raise ProgramError("ran the kernel on threads, not on opencl")
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.time += 0.3  # some of it was done, and is lost
                raise KeyboardInterrupt
        result = outcome(trial).seconds[0]
        self.time += round(result, 6)
        if trial.version == "i_size=7":
            raise ProgramError("was ended by signal 11 (SIGSEGV)")
        return (result,)

    def check(self) -> None:
        """It is there as long as it is not lost."""
        if self.is_lost:
            raise LostError("ran the kernel on threads, not on opencl")


def rows(path: Path) -> list[tuple[Trial, tuple[float, ...], str]]:
    with opened(path) as database:
        return [
            (measurement.trial, measurement.outcome.seconds, measurement.outcome.failure)
            for measurement in database.measurements()
        ]


def explore(path: Path, machine: Machine, budget: float) -> Search:
    with opened(path) as database:
        take = recorded(
            database.study(KERNEL, HERE), machine.measure, machine.check, lambda: round(machine.time, 6), lambda: "now"
        )
        return searched(budget, take)


@pytest.mark.parametrize("budget", [150.0, 1e9])
def test_a_search_that_is_interrupted_twenty_times_ends_in_the_same_database(tmp_path: Path, budget: float) -> None:
    machine, random = Machine(), Random(7)
    explore(tmp_path / "whole.sqlite", machine, budget)
    whole = rows(tmp_path / "whole.sqlite")
    trials = machine.began
    assert trials == len(whole)
    machine = Machine()
    for _ in range(20):
        machine.left = random.randrange(trials // 21)
        with pytest.raises(KeyboardInterrupt):
            explore(tmp_path / "parts.sqlite", machine, budget)
    machine.left = None
    search = explore(tmp_path / "parts.sqlite", machine, budget)
    assert rows(tmp_path / "parts.sqlite") == whole
    assert machine.began == trials + 20, "nothing was measured twice but what was cut off"
    again = Machine()
    assert explore(tmp_path / "parts.sqlite", again, budget).seconds == search.seconds
    assert again.began == 0


def test_a_device_that_vanishes_fails_no_version(tmp_path: Path) -> None:
    machine = Machine()
    with opened(tmp_path / "lost.sqlite") as database:
        take = recorded(
            database.study(KERNEL, HERE), machine.measure, machine.check, lambda: machine.time, lambda: "now"
        )

        def vanishing(trial: Trial) -> Outcome:
            machine.is_lost = machine.began > 30
            return take(trial)

        with pytest.raises(LostError, match="on threads, not on opencl"):
            searched(1e9, vanishing)
    assert len(rows(tmp_path / "lost.sqlite")) == 31
    assert {failure for *_, failure in rows(tmp_path / "lost.sqlite")} <= {"", "was ended by signal 11 (SIGSEGV)"}


def test_two_that_explore_one_database_keep_all(tmp_path: Path) -> None:
    """Each goes its way in turn with the other, trial by trial; what one has measured the other takes."""
    machine = Machine()
    path = tmp_path / "both.sqlite"
    with opened(path) as first, opened(path) as second:
        takes: list[Callable[[Trial], Outcome]] = [
            recorded(each.study(KERNEL, HERE), machine.measure, machine.check, lambda: machine.time, lambda: "now")
            for each in (first, second)
        ]

        def both(trial: Trial) -> Outcome:
            takes.reverse()
            result = takes[0](trial)
            assert takes[1](trial) == result
            return result

        searched(150.0, both)
    assert len(rows(path)) == machine.began
