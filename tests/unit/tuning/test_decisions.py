"""Rules for tile sizes, learned of layouts whose times at each length of arrays are known."""

from __future__ import annotations

from random import Random

import pytest

from tilepragma.plan.kernel_plan import SizeChoice
from tilepragma.tuning.decisions import Decision, Occasion, decided

A, B, C = (8, 8), (64, 8), (8, 64)


def occasion(length: int, trips: int = 1, **times: float) -> Occasion:
    """Launches of arrays of that length where layouts take these times: a, b and c."""
    seconds = {{"a": A, "b": B, "c": C}[name]: time for name, time in times.items()}
    return Occasion(length, trips, seconds, min(seconds.values()))


def rules(decision: Decision | None) -> list[tuple[int | None, int | None, tuple[int, ...]]]:
    assert decision is not None
    return [(one.bytes, one.trips, one.sizes) for one in decision.measured.choices]


def test_one_rule_where_one_layout_is_good_enough() -> None:
    decision = decided([occasion(100, a=1.0, b=2.0), occasion(400, a=1.02, b=1.0)])
    assert rules(decision) == [(400, None, A)]
    assert decision is not None
    assert decision.measured.least == 100
    assert decision.least == pytest.approx(1 / 1.02)
    assert decision.mean == pytest.approx((1 + 1 / 1.02) / 2)


def test_ranges_of_bytes_have_layouts_of_their_own() -> None:
    lengths = [
        occasion(100, a=1, b=2),
        occasion(400, a=1, b=2),
        occasion(1600, a=2, b=1),
        occasion(6400, a=2, b=1, c=1.5),
    ]
    decision = decided(lengths)
    assert rules(decision) == [(800, None, A), (6400, None, B)]
    assert decision is not None
    assert decision.shares == (1, 1, 1, 1)
    assert rules(decided(list(reversed(lengths)))) == rules(decision)


def test_iterations_are_asked_for_where_bytes_do_not_tell() -> None:
    lengths = [
        occasion(100, 4, a=1, b=2),
        occasion(100, 64, a=2, b=1),
        occasion(400, 4, a=1, b=2),
        occasion(400, 64, a=2, b=1),
    ]
    assert rules(decided(lengths)) == [(400, 16, A), (400, None, B)]


def test_there_are_no_more_rules_than_asked_for() -> None:
    lengths = [occasion(4**place, a=1 + place % 2, b=2 - place % 2) for place in range(1, 8)]
    for most in range(1, 7):
        decision = decided(lengths, most)
        assert decision is not None
        assert len(decision.measured.choices) <= most
    assert decided(lengths, 7) == decided(lengths, 8)
    assert rules(decided(lengths, 1))[0][0] == 4**7


def test_a_layout_that_did_not_run_everywhere_is_taken_where_it_did() -> None:
    assert rules(decided([occasion(100, a=1), occasion(400, b=1), occasion(1600, b=1)])) == [
        (200, None, A),
        (1600, None, B),
    ]


def test_what_no_layout_reaches_counts_as_lost() -> None:
    decision = decided([Occasion(100, 1, {A: 2.0}, 1.0)])
    assert decision is not None
    assert decision.shares == (0.5,)


def test_nothing_comes_of_nothing() -> None:
    assert decided([]) is None
    assert decided([Occasion(100, 1, {}, 1.0)]) is None


def test_no_other_ranges_are_better() -> None:
    """Against all ways to cut a few lengths in up to three ranges."""
    random = Random(5)
    for _ in range(20):
        lengths = [
            occasion(4**place, a=random.uniform(1, 2), b=random.uniform(1, 2), c=random.uniform(1, 2))
            for place in range(1, 7)
        ]
        decision = decided(lengths, 3)
        assert decision is not None
        ways = [
            min(
                max(min(one.share(layout) for one in lengths[low:high]) for layout in (A, B, C))
                for low, high in ((0, i), (i, j), (j, 6))
                if low < high
            )
            for i in range(7)
            for j in range(i, 7)
        ]
        assert decision.least >= min(max(ways), 0.97)
        assert all(isinstance(one, SizeChoice) and one.bytes is not None for one in decision.measured.choices)
