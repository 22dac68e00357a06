"""Shares, the best version on average and its rates, by times made by hand."""

from __future__ import annotations

import pytest

from tilepragma.base.performance_spread import Spread, spread_of
from tilepragma.tuning.database import Outcome, Trial
from tilepragma.tuning.input_space import InputSpace, input_space

#: Milliseconds by input; b is missing at the third.
TIMES = {
    "n=1": {"default": 4.0, "a": 2.0, "b": 1.0},
    "n=2": {"default": 8.0, "a": 10.0, "b": 5.0},
    "n=3": {"default": 20.0, "a": 16.0},
}


def trials(times: dict[str, dict[str, float]]) -> list[tuple[Trial, Outcome]]:
    return [
        (Trial(version, sizes, 0), Outcome((1e-3 * time,), "", 0.1, "2026-01-01T00:00:00"))
        for sizes, found in times.items()
        for version, time in found.items()
    ]


def space(times: dict[str, dict[str, float]] | None = None) -> InputSpace:
    result = input_space(trials(TIMES if times is None else times))
    assert result is not None
    return result


def test_shares_of_the_best_of_each_input() -> None:
    result = space()
    assert result.everywhere == ("default", "a")
    assert result.shares("a") == pytest.approx({"n=1": 0.5, "n=2": 0.5, "n=3": 1.0})
    assert result.shares("default") == pytest.approx({"n=1": 0.25, "n=2": 0.625, "n=3": 0.8})
    assert (result.wins("b"), result.wins("a"), result.wins("default")) == (2, 1, 0)


def test_the_best_on_average_depends_on_the_work() -> None:
    """a: 1/2, 1/10, 1/16 of a millisecond's work; default: 1/4, 1/8, 1/20."""
    result = space()
    assert result.average_best({"n=1": 1.0, "n=2": 1.0, "n=3": 1.0}) == "a"
    assert result.average_best({"n=1": 1.0, "n=2": 100.0, "n=3": 1.0}) == "default"


def test_relative_work_makes_rates_of_shares() -> None:
    result = space()
    assert result.rates(result.shares("a"), result.relative_work) == pytest.approx((0.5, 0.5, 1.0))


def test_inputs_stand_in_the_order_of_the_default() -> None:
    assert space({"n=9": {"default": 3.0}, "n=1": {"default": 1.0}}).inputs == ("n=1", "n=9")


def test_inputs_without_the_default_and_failures_are_left_out() -> None:
    made = trials({"n=1": {"default": 1.0, "a": 0.5}, "n=2": {"a": 1.0}})
    made.append((Trial("a", "n=1", 1), Outcome((), "crashed", 0.1, "2026-01-01T00:00:00")))
    result = input_space(made)
    assert result is not None
    assert result.seconds == {"n=1": {"default": pytest.approx(1e-3)}}
    assert input_space(trials({"n=2": {"a": 1.0}})) is None


def test_spread() -> None:
    result = spread_of([1.0, 4.0, 1.0])
    assert result == Spread(2.0, 1.0, 4.0)
    assert result.over(Spread(1.0, 4.0, 9.0)) == (2.0, 0.25)
