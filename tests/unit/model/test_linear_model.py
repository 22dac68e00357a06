"""Prices of kinds of work that are fitted to runs."""

from __future__ import annotations

import numpy as np
import pytest

from tilepragma.model.linear_model import Terms, fit, most_informative

GENERATOR = np.random.default_rng(7)
TERMS = Terms(("points", "rows", "memory"), GENERATOR.uniform(0.1, 1.0, (40, 3)))
PRICES = np.array([1.5, 0.25, 2.0])


def test_prices_are_found() -> None:
    assert fit(TERMS, TERMS.priced(PRICES)) == pytest.approx(PRICES, rel=0.05)


def test_runs_that_something_disturbed_count_less() -> None:
    times = TERMS.priced(PRICES)
    times[::5] *= 3
    assert fit(TERMS, times) == pytest.approx(PRICES, rel=0.15)


def test_no_price_is_below_nothing() -> None:
    times = TERMS.seconds[:, 0] * 2 - TERMS.seconds[:, 1] * 0.05
    result = fit(TERMS, times)
    assert np.all(result >= 0)
    assert result[1] == 0


def test_what_runs_leave_open_is_as_far_off_as_the_whole() -> None:
    same = Terms(TERMS.names, np.column_stack([TERMS.seconds[:, :2], np.zeros(40)]))
    assert fit(same, 4 * same.estimate) == pytest.approx([4, 4, 4], rel=0.05)


def test_few_runs_do_not_lead_far_astray() -> None:
    few = Terms(TERMS.names, TERMS.seconds[:4])
    result = fit(few, few.priced(PRICES) * np.array([1.02, 0.98, 1.03, 0.97]))
    assert TERMS.priced(result) == pytest.approx(TERMS.priced(PRICES), rel=0.25)


@pytest.mark.parametrize("times", [[], [1.0, 0.0], [1.0, np.nan]], ids=["none", "zero", "not a number"])
def test_times_that_are_none_are_refused(times: list[float]) -> None:
    with pytest.raises(ValueError, match="a number above 0"):
        fit(Terms(TERMS.names, TERMS.seconds[: len(times)]), np.array(times))


def test_runs_that_tell_most() -> None:
    """Eight layouts of points alone, one with rows, one with memory: these tell what the first does not."""
    work = np.array([*([size, 0.0, 0.0] for size in range(1, 9)), [1.0, 1.0, 0.0], [1.0, 0.0, 0.5]])
    terms = Terms(("points", "rows", "memory"), work)
    assert set(most_informative(terms, [0], range(1, 10), 2)) == {8, 9}
    assert most_informative(terms, [0, 8], range(1, 8), 0) == []
    assert most_informative(terms, [], [3, 9], 5) == [3, 9] or most_informative(terms, [], [3, 9], 5) == [9, 3]


def test_runs_that_tell_most_find_prices() -> None:
    """Six runs find them as well as all forty."""
    chosen = most_informative(TERMS, [], range(40), 6)
    some = Terms(TERMS.names, TERMS.seconds[chosen])
    assert fit(some, some.priced(PRICES)) == pytest.approx(PRICES, rel=0.05)
