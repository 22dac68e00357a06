"""The planner's refusals, compared with their exact text: tests/golden/errors/plan_NAME.c and
plan_NAME.err.

`TILEK_UPDATE_GOLDEN=1` writes the .err files again; read the difference before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.source_plans import messages

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "errors"
CASES = sorted(path.stem for path in GOLDEN.glob("plan_*.c"))


@pytest.mark.parametrize("name", CASES)
def test_refusals_read_as_reviewed(name: str) -> None:
    expected = GOLDEN / f"{name}.err"
    actual = messages(GOLDEN / f"{name}.c")
    if os.environ.get("TILEK_UPDATE_GOLDEN") == "1":
        expected.write_text(actual)
    assert actual == expected.read_text()
    assert ": error: " in actual


def test_every_reviewed_text_has_its_source() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("plan_*.err")) == CASES
