"""`sor(redblack)` with four and eight colours, on every target and at awkward sizes, and with relaxation factors beyond 0 and 2, to the last bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.programs import FLAGS, Workshop
from tests.support.targets import TargetEnvironment
from tilepragma.tuning.programs import kernel_times

SOURCE = Path(__file__).parent / "many_colours.c"
RUNS = [
    pytest.param(*words, id="-".join(words))
    for words in (
        ("0", "7", "3", "5", "1.3"),
        ("2", "9", "1", "4", "1.3"),
        ("5", "5", "5", "0", "1"),
        # what converges by no order is computed all the same, where the factor is not known before
        ("13", "8", "5", "6", "2.5"),
        ("1", "1", "1", "4", "-1"),
        ("4", "3", "2", "4", "0"),
    )
]

pytestmark = pytest.mark.xdist_group("many_colours")


@pytest.fixture(scope="module")
def program(workshop: Workshop) -> Path:
    return workshop.build_translated(SOURCE, FLAGS)


@pytest.mark.parametrize(("n", "m", "k", "steps", "factor"), RUNS)
def test_all_targets_compute_the_same(
    workshop: Workshop, target: TargetEnvironment, program: Path, n: str, m: str, k: str, steps: str, factor: str
) -> None:
    assert workshop.run(program, target, n, m, k, steps, factor).splitlines() == ["nine", "box"]


def test_both_are_launched(workshop: Workshop, program: Path, tmp_path: Path) -> None:
    """Eight boxes of accesses, one a class of points, make long bounds of sections, which the proof must get through."""
    trace = tmp_path / "trace.json"
    variables = (("TILEK_TARGET", "threads"), ("TILEK_STRICT", "1"), ("TILEK_PROFILE", str(trace)))
    workshop.run(program, TargetEnvironment("threads", variables), "9", "8", "7", "4", "1.3")
    assert {name for _, name in kernel_times(trace)} == {"nine", "box"}
