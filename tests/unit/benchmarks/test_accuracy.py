"""What the benchmark of the model says of measured layouts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.accuracy import tables
from benchmarks.accuracy.problems import POLYBENCH_PROBLEMS, PROBLEMS
from benchmarks.accuracy.results import Measured, Sample, judge
from benchmarks.accuracy.stored import as_json, stored
from tilepragma.model.linear_model import Terms

#: Seconds of two kinds of work, a layout a row: the second costs twice what it is estimated to.
ESTIMATED = np.array([[float(1 + k % 5), float(1 + k % 7)] for k in range(34)])
TIMES = ESTIMATED @ np.array([1.0, 2.0])
TERMS = Terms(("points", "launches"), ESTIMATED)


def measured(times: list[float], named: dict[str, float], held_out: bool = False) -> Measured:
    return Measured(
        program="solver",
        type="double",
        held_out=held_out,
        sizes={"REPEATS": 1, "N": 100},
        target="threads",
        names=("i_size",),
        random=tuple(Sample((k + 1,), one) for k, one in enumerate(times)),
        named={name: Sample((64,), seconds) for name, seconds in named.items()},
        noise=0.02,
    )


NAMED = {"default": 6.0, "chosen": 3.3, "first": 3.0}


def test_prices_are_fitted_to_some_layouts_and_hold_for_the_others() -> None:
    judged = judge(measured(list(TIMES), NAMED), TERMS)
    assert judged.fitted_errors.most < 0.02
    assert judged.errors.median == pytest.approx(np.median(1 - ESTIMATED.sum(axis=1) / TIMES))
    assert judged.errors.median < judged.errors.most_but_five <= judged.errors.most < 0.5


def test_times_of_picks_and_named_layouts_are_shares_of_the_fastest() -> None:
    times = list(TIMES)
    times[0] = 5.0  # predicted to be the fastest, and is not: 4.0 is the next
    judged = judge(measured(times, NAMED), TERMS)
    assert judged.measured.best == 4.0
    assert judged.pick == 5.0 / 4.0
    assert judged.share("default") == 1.5
    assert judged.measured.worst == TIMES.max() / 4.0


def test_what_is_stored_is_read_again() -> None:
    first = measured(list(TIMES), NAMED)
    kept = stored(json.loads(json.dumps(as_json({"cores": 2}, [first]))))
    assert kept.measured == (first,)
    with pytest.raises(ValueError, match="no measurements of layouts"):
        stored({"measured": [{"names": []}]})


def test_the_table_marks_problems_held_out_and_the_summary_counts_goals() -> None:
    judged = [judge(measured(list(TIMES), NAMED, held_out=each), TERMS) for each in (False, True)]
    assert [row[0] for row in tables.rows(judged)] == ["solver N=100", "solver N=100*"]
    said = tables.summary(judged)
    assert any(
        line.startswith("all, chosen: 1.100 of") and "within 10% for 2 of 2, within 5% for 0" in line for line in said
    )
    assert any(line.startswith("held out (*), default: 2.000 of") for line in said)
    assert tables.markdown(judged).count("| solver") == 2


def test_problems_are_those_of_the_thesis_and_some_that_no_constant_was_set_by() -> None:
    solvers = [each for each in PROBLEMS if each.program.startswith("thesis-sor")]
    assert [len(each.sizes) for each in solvers] == [4, 4, 4]
    assert not any(each.held_out for each in solvers)
    assert all(each.held_out for each in POLYBENCH_PROBLEMS)
    assert len({each.program for each in (*PROBLEMS, *POLYBENCH_PROBLEMS)}) == len((*PROBLEMS, *POLYBENCH_PROBLEMS))
