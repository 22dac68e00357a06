"""The quick search over layouts: what is measured how often, what wins, and what a failure costs."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tilepragma.model.linear_model import Terms
from tilepragma.sizes.ranked_layouts import Layout, Ranking
from tilepragma.tuning.layout_search import FINALISTS, ROUNDS, LayoutSearch, Trial, layout_search, search
from tilepragma.tuning.programs import ProgramError

DEFAULT = Layout((16,), 1.16)


def ranking(count: int = 30, reason: str = "") -> Ranking:
    """Layouts (1,) (2,) …, the model's best first."""
    layouts = tuple(Layout((size,), 1.0 + size / 100) for size in range(1, count + 1))
    return Ranking(("i_size",), layouts, DEFAULT, reason)


def ranking_with_terms() -> Ranking:
    """Layouts (1,) (2,) … of points, which grow with the size, and of launches, of which there are few: the best by the estimate has 5 or 6."""
    sizes = np.arange(1, 31)
    work = np.column_stack([1 + sizes / 100, 0.3 / sizes])
    order = np.argsort(work.sum(axis=1), kind="stable")
    layouts = tuple(Layout((int(sizes[row]),), float(work[row].sum())) for row in order)
    default = next(layout for layout in layouts if layout.sizes == DEFAULT.sizes)
    return Ranking(("i_size",), layouts, default, terms=Terms(("points", "launches"), work[order]))


#: Launches cost 20 times what they were estimated at: the best has 24 or 25.
REAL = {size: 1 + size / 100 + 6 / size for size in range(1, 31)}


class Machine:
    """Takes as long as `times` say by the size, else a second; fails for sizes in `failing`."""

    def __init__(self, times: dict[int, float] | None = None, failing: tuple[int, ...] = ()) -> None:
        self.times = times or {}
        self.failing = failing
        self.asked: list[int] = []

    def __call__(self, trial: Trial) -> float:
        [size] = trial.layout.sizes
        self.asked.append(size)
        if size in self.failing:
            raise ProgramError("was ended by signal 11 (SIGSEGV)")
        return self.times.get(size, 1.0)


def searched(machine: Machine, layouts: LayoutSearch | None = None) -> LayoutSearch:
    layouts = layouts or layout_search(ranking(), 12)
    heard: list[Trial] = []
    search(layouts, machine, Random(1), heard.append)
    assert [trial.layout.sizes[0] for trial in heard] == machine.asked
    assert len(heard) <= layouts.runs
    return layouts


def test_the_best_few_and_the_default_are_tried() -> None:
    layouts = layout_search(ranking(), 12)
    assert [each.layout.sizes[0] for each in layouts.others] == list(range(1, 13))
    assert layouts.default.layout == DEFAULT
    assert [trial.rank for trial in layouts.trials] == [16, *range(1, 13)]


def test_the_default_is_not_tried_twice() -> None:
    layouts = layout_search(ranking(), 20)
    assert [each.layout.sizes[0] for each in layouts.others] == [size for size in range(1, 22) if size != 16]


def test_layouts_that_the_model_did_not_order_have_no_rank() -> None:
    assert {trial.rank for trial in layout_search(ranking(reason="it has no ground"), 5).trials} == {None}


def test_halving() -> None:
    machine = Machine({3: 0.5, 5: 0.6, 7: 0.7, 9: 0.8})
    layouts = searched(machine)
    count = {size: machine.asked.count(size) for size in (16, *range(1, 13))}
    assert machine.asked[0] == 16
    assert sorted(machine.asked[:13]) == sorted(count)
    assert machine.asked[1:13] != list(range(1, 13)), "in random order"
    assert [count[size] for size in (3, 5, 7)] == [2 + ROUNDS] * FINALISTS
    assert count[9] == 2
    assert count[16] in (1 + ROUNDS, 2 + ROUNDS)
    assert len(machine.asked) == layouts.runs
    assert machine.asked[-8:] == [16, 3, 5, 7, 7, 5, 3, 16] or machine.asked[-8:] == [7, 5, 3, 16, 16, 3, 5, 7]


def test_the_fastest_wins() -> None:
    layouts = searched(Machine({3: 0.5, 5: 0.6}))
    assert layouts.winner.layout.sizes == (3,)
    assert layouts.winner.rank == 3
    assert layouts.ratio(layouts.winner) == 0.5


@pytest.mark.parametrize(("time", "wins"), [(0.97, True), (0.99, False), (1.5, False)])
def test_a_gain_that_is_hardly_there_is_none(time: float, wins: bool) -> None:
    layouts = searched(Machine(dict.fromkeys(range(1, 13), time)))
    assert (layouts.winner is not layouts.default) == wins


def test_a_gain_must_come_again() -> None:
    default = Trial(DEFAULT, None, [1.0] * 7)
    lucky = Trial(Layout((1,)), None, [0.1, 0.1, 0.1, 0.1, 1.1, 1.1, 1.1])
    assert LayoutSearch(ranking(), default, (lucky,), finalists=(lucky,)).winner is default
    steady = Trial(Layout((2,)), None, [0.9, 0.9, 0.9, 0.9, 1.1, 0.9, 0.9])
    both = (lucky, steady)
    assert LayoutSearch(ranking(), default, both, finalists=both).winner is steady


@pytest.mark.parametrize("seed", range(40))
def test_the_winner_leads_what_was_compared(seed: int) -> None:
    """Whatever the noise: the winner is the first of those compared, by the ratio that is shown, or the default where that is hardly a gain."""
    noise = Random(seed)

    def measure(trial: Trial) -> float:
        return {3: 0.9, 5: 0.93}.get(trial.layout.sizes[0], 1.0) * noise.choice((0.9, 1.0, 1.0, 1.2))

    layouts = layout_search(ranking(), 12)
    search(layouts, measure, Random(1), lambda trial: None)
    first = layouts.compared[0]
    ratios = [layouts.ratio(each) or 0.0 for each in layouts.compared]
    assert ratios == sorted(ratios)
    assert len(ratios) == FINALISTS + 1
    assert layouts.winner is (first if ratios[0] <= 0.98 else layouts.default)


def test_a_failure_costs_one_version() -> None:
    machine = Machine({3: 0.5, 5: 0.6}, failing=(3, 4))
    layouts = searched(machine)
    assert layouts.winner.layout.sizes == (5,)
    assert [machine.asked.count(size) for size in (3, 4)] == [1, 1]
    failed = [trial for trial in layouts.trials if trial.failure]
    assert {each.layout.sizes[0] for each in failed} == {3, 4}
    assert all(each.median is None and layouts.ratio(each) is None for each in failed)


def test_a_version_that_fails_late_does_not_win() -> None:
    class Late(Machine):
        def __call__(self, trial: Trial) -> float:
            if self.asked.count(3) == 3:
                self.failing = (3,)
            return super().__call__(trial)

    machine = Late({3: 0.5, 5: 0.6})
    assert searched(machine).winner.layout.sizes == (5,)
    assert machine.asked.count(3) == 4


def test_all_others_may_fail() -> None:
    layouts = searched(Machine(failing=tuple(range(1, 13))))
    assert layouts.winner is layouts.default


def test_a_failing_default_ends_the_search() -> None:
    machine = Machine(failing=(16,))
    with pytest.raises(ProgramError, match="SIGSEGV"):
        searched(machine)
    assert machine.asked == [16]


def test_what_was_measured_before_an_interrupt_is_there() -> None:
    class Interrupted(Machine):
        def __call__(self, trial: Trial) -> float:
            if len(self.asked) == 5:
                raise KeyboardInterrupt
            return super().__call__(trial)

    layouts = layout_search(ranking(), 12)
    with pytest.raises(KeyboardInterrupt):
        search(layouts, Interrupted(), Random(1), lambda _: None)
    assert sum(trial.median is not None for trial in layouts.trials) == 5
    assert layouts.winner is layouts.default


# -- Prices fitted to the first runs


def test_half_of_the_layouts_are_the_best_by_fitted_prices() -> None:
    machine = Machine(REAL)
    layouts = layout_search(ranking_with_terms(), 7)
    assert (len(layouts.others), layouts.more) == (4, 3)
    assert {each.layout.sizes[0] for each in layouts.others} >= {5, 6}, "the best by the estimate"
    searched(machine, layouts)
    assert set(machine.asked[5:8]) == {23, 24, 25} or set(machine.asked[5:8]) == {24, 25, 26}
    assert len(machine.asked) == layouts.runs
    assert layouts.winner.layout.sizes in ((24,), (25,))


def test_what_the_fit_says() -> None:
    layouts = searched(Machine(REAL), layout_search(ranking_with_terms(), 7))
    best = layouts.winner
    assert layouts.fit is not None
    assert len(layouts.fitted) == 5
    assert best.rank is not None
    assert ranking_with_terms().layouts[best.rank - 1].sizes == best.layout.sizes, "the rank stays that of the estimate"
    assert best.rank > 10
    assert layouts.fit.rank(best.layout.sizes) == 1
    assert layouts.fit.predicted(best.layout.sizes).seconds == pytest.approx(REAL[best.layout.sizes[0]], rel=0.03)


def test_layouts_that_tell_prices_apart_have_a_chance_of_their_own() -> None:
    """Runs near the best alone do not say what a launch costs; of those that may still win, the one with most launches does."""
    layouts = layout_search(ranking_with_terms(), 4)
    best, telling = layouts.others
    assert best.layout.sizes == (5,)
    assert telling.layout.sizes == (1,)


def test_the_fit_does_without_what_fails() -> None:
    layouts = layout_search(ranking_with_terms(), 7)
    failing = layouts.others[0].layout.sizes
    searched(Machine(REAL, failing=failing), layouts)
    assert layouts.fit is not None
    assert len(layouts.fitted) == 4
    assert layouts.winner.layout.sizes in ((24,), (25,))


def test_where_nothing_could_be_fitted_the_estimate_stands() -> None:
    layouts = layout_search(ranking_with_terms(), 6, is_mixed=True)
    failing = tuple(each.layout.sizes[0] for each in layouts.others)
    searched(Machine(REAL, failing=failing), layouts)
    assert layouts.fit is None
    assert len(layouts.others) == 6
    assert [each.rank for each in layouts.others[3:]] == sorted(
        set(range(1, 9)) - {each.rank for each in layouts.others[:3]}
    )[:3]


def test_a_default_of_several_layouts_is_none_of_those_that_are_fitted() -> None:
    layouts = layout_search(ranking_with_terms(), 6, (5,), [(5,), (2,)], is_mixed=True)
    assert layouts.default.rank is None
    assert [each.layout.sizes for each in layouts.others[:2]] == [(5,), (2,)]
    searched(Machine(REAL), layouts)
    assert layouts.fit is not None
    assert len(layouts.fitted) == 5, "two of the program's, and three of ours"


def test_what_somebody_chose_is_measured_in_any_case() -> None:
    layouts = layout_search(ranking(), 3, (2,), [(2,), (29,), (77,), (29,)])
    assert layouts.default.layout == Layout((2,), 1.02)
    assert [each.layout.sizes for each in layouts.others] == [(29,), (77,), (1,), (3,), (4,)]
    assert [trial.rank for trial in layouts.trials] == [2, 29, None, 1, 3, 4]


@pytest.mark.parametrize(("most", "first", "more"), [(1, 1, 0), (2, 1, 1), (3, 2, 1), (100, 15, 14)])
def test_no_layout_is_measured_twice_or_left_out(most: int, first: int, more: int) -> None:
    layouts = layout_search(ranking_with_terms(), most)
    assert (len(layouts.others), layouts.more) == (first, more)
    searched(Machine(REAL), layouts)
    measured = [trial.layout.sizes for trial in layouts.trials]
    assert len(set(measured)) == len(measured) == 1 + min(most, 29)
