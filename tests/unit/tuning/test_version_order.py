"""The order in which versions are tried: by predicted time, those apart that the model can hardly tell apart."""

from __future__ import annotations

import numpy as np

from tilepragma.tuning.measuring import Version
from tilepragma.tuning.trial_versions import UNKNOWN, Candidate, ordered

DEFAULT = (Version(), np.array([0.5, 0.5]))


def layout(size: int, *terms: float) -> Candidate:
    return (Version(sizes=(("i_size", size),)), np.array(terms))


def build(name: str, *terms: float) -> Candidate:
    return (Version(name), np.array(terms) if terms else UNKNOWN)


def texts(*order: Version) -> list[str]:
    return [each.text for each in order]


def test_the_default_is_first_and_the_others_follow_by_predicted_time() -> None:
    result = ordered(DEFAULT, [build("slow", 2.0), build("quick", 0.7)], [layout(1, 0.8), layout(2, 0.6)])
    assert texts(*result) == ["default", "i_size=2", "quick", "i_size=1", "slow"]


def test_the_next_kind_comes_before_most_of_the_first() -> None:
    same = [layout(size, 0.4, 0.2 + 1e-5 * size) for size in range(1, 5)]
    other = layout(9, 0.3, 0.315)
    assert texts(*ordered(DEFAULT, [], [*same, other])) == [
        *("default", "i_size=1", "i_size=2", "i_size=9"),
        *("i_size=3", "i_size=4"),
    ]


def test_other_work_of_the_same_time_is_another_kind() -> None:
    result = ordered(DEFAULT, [], [layout(1, 0.5, 0.1), layout(2, 0.5, 0.1), layout(3, 0.1, 0.502)])
    assert texts(*result)[1:] == ["i_size=1", "i_size=3", "i_size=2"]


def test_the_default_stands_for_its_own_kind() -> None:
    result = ordered(DEFAULT, [], [layout(1, 0.5, 0.5), layout(2, 0.5, 0.504), layout(3, 0.4, 0.605)])
    assert texts(*result) == ["default", "i_size=3", "i_size=1", "i_size=2"]


def test_what_nothing_is_predicted_of_comes_behind_the_best() -> None:
    assert texts(*ordered(DEFAULT, [build("unroll(2)")], [layout(1, 0.6), layout(2, 0.9)])) == [
        *("default", "i_size=1", "unroll(2)", "i_size=2"),
    ]
    nothing = (Version(), UNKNOWN)
    unknown = [(Version(sizes=(("i_size", size),)), UNKNOWN) for size in (8, 4)]
    assert texts(*ordered(nothing, [build("a")], unknown)) == ["default", "i_size=8", "a", "i_size=4"]
