"""The model's counts beside a simulator's: errors, what is not predicted, and the summary."""

from __future__ import annotations

import pytest

from benchmarks.gpu.simulated.predictions import columns_of, prediction, rows_of, summaries
from benchmarks.gpu.simulated.simulator import CONFIGURATIONS, Counts
from tilepragma.cost.ptx_walk import LaunchCounts, PlanCounts
from tilepragma.ir.evaluation import UncountableError


def counted(instructions: int, l1: int = 0, dram: int = 0) -> Counts:
    return Counts(1, instructions, 10, l1, 0, dram, 0, 1.0, 32)


def predicted(instructions: float, sectors: float = 0.0, memory: float | None = None) -> PlanCounts:
    return PlanCounts("NVRTC", {"f": (1, LaunchCounts(instructions=instructions, sectors=sectors))}, memory)


def unknown() -> PlanCounts:
    raise UncountableError("a reason")


def test_errors_are_relative_to_what_was_counted() -> None:
    every = [
        prediction("a", counted(1000, 50, 20), lambda: predicted(1000, 50, 25)),
        prediction("b", counted(1000, 50, 20), lambda: predicted(900, 60)),
        prediction("c", counted(1000), unknown),
        prediction("d", counted(1000), lambda: predicted(1040)),
    ]
    assert columns_of(functional=True) == ("kernel", "instructions", "predicted", "off")
    assert rows_of(every, functional=True) == [
        ["a", "1000", "1000", "+0.0 %"],
        ["b", "1000", "900", "-10.0 %"],
        ["c", "1000", "a reason", ""],
        ["d", "1000", "1040", "+4.0 %"],
    ]
    assert rows_of(every[:2], functional=False)[0][4:] == ["50", "50", "+0.0 %", "20", "25", "+25.0 %"]
    assert rows_of(every[:2], functional=False)[1][7:] == ["20", "", ""]
    assert list(summaries(every, functional=True)) == [
        "instructions: 3 of 4 predicted, median 4.0 % (goal 3 %), greatest 10.0 % (b), 3 within 10 %"
    ]
    assert [line.split(":")[0] for line in summaries(every, functional=False)] == ["instructions", "L1", "DRAM"]


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_the_model_knows_the_simulated_device(configuration: object) -> None:
    gpu = configuration.gpu  # type: ignore[attr-defined]
    assert (gpu.multiprocessors, gpu.compute_capability) == (20, (7, 0))
    assert gpu.float_rate == pytest.approx(15.7e12 / 4)
    assert [memory.sharers for memory in gpu.memories] == [1, 20, 20]


def test_the_second_level_is_the_configurations() -> None:
    assert {each.name: each.gpu.memories[1].size for each in CONFIGURATIONS} == {
        "quarter-v100": 3 << 19,
        "small-l2": 128 << 10,
    }
