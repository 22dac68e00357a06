"""Rules for tile sizes, learned of layouts whose times at each length of arrays are known."""

from __future__ import annotations

import itertools
from random import Random

import numpy as np
import pytest

from tilepragma.plan.dispatch_table import chosen_sizes
from tilepragma.plan.kernel_plan import SizeChoice
from tilepragma.tuning.decisions import Decision, Occasion, covering, decided

A, B, C = (8, 8), (64, 8), (8, 64)


def occasion(length: int, trips: int = 1, **times: float) -> Occasion:
    """Launches of arrays of that length where layouts take these times: a, b and c."""
    seconds = {{"a": A, "b": B, "c": C}[name]: time for name, time in times.items()}
    return Occasion(length, trips, seconds, min(seconds.values()))


def rules(decision: Decision | None) -> list[tuple[int | None, int | None, tuple[int, ...]]]:
    assert decision is not None
    return [(choice.bytes, choice.trips, choice.sizes) for choice in decision.measured.choices]


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


def test_there_are_no_more_layouts_than_asked_for() -> None:
    names = "abc"
    lengths = [
        occasion(4**place, **{name: 1 + (place % 3 != own) for own, name in enumerate(names)}) for place in range(1, 8)
    ]
    for most in range(1, 5):
        decision = decided(lengths, most)
        assert decision is not None
        assert len({choice.sizes for choice in decision.measured.choices}) == min(most, 3)
        assert decision.least == (1.0 if most >= 3 else 0.5)
        assert decision.mean == pytest.approx((5 / 7, 6 / 7, 1.0, 1.0)[most - 1])
        assert rules(decision)[-1][0] == 4**7


def taken(decision: Decision, occasions: list[Occasion]) -> list[float]:
    """The shares of the best that launches reach which take what the rules say."""
    choices = decision.measured.choices
    return [each.share(chosen_sizes(choices, (each.bytes, each.trips)) or ()) for each in occasions]


def test_more_rules_than_layouts_where_few_do_not_tell_launches_apart() -> None:
    """A square table of sizes, with the faster one of two layouts by chance: no four rules reach 97 %, and two layouts do."""
    random = Random(4)
    lengths = [
        occasion(4 * n * m, n, **dict(zip("ab", random.sample((1.0, 1.1), 2), strict=True)))
        for n in (256, 512, 1024, 2048)
        for m in (256, 512, 1024, 2048)
    ]
    decision = decided(lengths)
    assert decision is not None
    assert (decision.least, decision.missed) == (1.0, "")
    assert 4 < len(decision.measured.choices) <= 16
    assert taken(decision, lengths) == [1.0] * 16


def test_layouts_are_chosen_that_are_good_everywhere_together() -> None:
    """Each size has a fastest layout of its own; of two others one takes 2 % longer at every second size."""
    lengths = [
        Occasion(
            4**place,
            1,
            {A: 1.02 if place % 2 else 2.0, B: 2.0 if place % 2 else 1.02, (place, 1): 1.0},
            1.0,
        )
        for place in range(1, 11)
    ]
    decision = decided(lengths)
    assert decision is not None
    assert decision.least >= 0.97
    assert len({choice.sizes for choice in decision.measured.choices}) <= 4
    assert min(taken(decision, lengths)) == decision.least


def test_what_cannot_be_reached_says_why() -> None:
    five = [Occasion(4**place, 1, {(place, 1): 1.0, A: 1.25}, 1.0) for place in range(1, 6)]
    decision = decided(five)
    assert decision is not None
    assert decision.missed == "no 4 versions reach more than 80.0% of the best at every size"
    assert decision.least == 0.8
    assert decision.mean == pytest.approx((3 + 2 * 0.8) / 5)
    alike = [occasion(100, 4, a=1, b=2), occasion(100, 4, a=2, b=1)]
    decision = decided(alike)
    assert decision is not None
    assert (decision.least, len(decision.measured.choices)) == (0.5, 1)
    assert decision.missed.startswith("sizes with equal bytes and iterations need different versions")
    one = decided(five, 1)
    assert one is not None
    assert one.missed == "", "the best layout for all sizes is asked for to compare with"


def test_no_other_few_layouts_reach_more() -> None:
    """Against all ways to take two of six, on shares that make greedy choices wrong now and then."""
    random = np.random.default_rng(3)
    for _ in range(30):
        shares = random.uniform(0.5, 1.0, (7, 6))
        found, reached = covering(shares, 2, 0.97)
        best = max(shares[:, list(pair)].max(axis=1).min() for pair in itertools.combinations(range(6), 2))
        assert reached == min(best, 0.97)
        assert shares[:, list(found)].max(axis=1).min() >= reached


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
                max(min(each.share(layout) for each in lengths[low:high]) for layout in (A, B, C))
                for low, high in ((0, i), (i, j), (j, 6))
                if low < high
            )
            for i in range(7)
            for j in range(i, 7)
        ]
        assert decision.least >= min(max(ways), 0.97)
        assert all(isinstance(choice, SizeChoice) and choice.bytes is not None for choice in decision.measured.choices)
