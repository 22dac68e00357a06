"""The planner's refusals, compared with their exact text: tests/golden/errors/plan_NAME.c and
plan_NAME.err.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.golden_texts import check_golden
from tests.support.source_plans import messages

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "errors"
CASES = sorted(path.stem for path in GOLDEN.glob("plan_*.c"))


@pytest.mark.parametrize("name", CASES)
def test_refusals_read_as_reviewed(name: str) -> None:
    actual = messages(GOLDEN / f"{name}.c")
    check_golden(GOLDEN / f"{name}.err", actual)
    assert ": error: " in actual


def test_every_reviewed_text_has_its_source() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("plan_*.err")) == CASES
