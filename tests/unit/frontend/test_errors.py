"""Every refusal of the front end, compared with its exact text: tests/golden/errors/NAME.c and
NAME.err.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.golden_texts import check_golden, rendered
from tests.support.translation_units import parse_translation_unit
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.frontend.clang.compiler import CompilerFlags

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "errors"
#: The planner's refusals stand in the same folder.
CASES = sorted(path.stem for path in GOLDEN.glob("*.c") if not path.name.startswith("plan_"))


def report(name: str) -> str:
    diagnostics = Diagnostics()
    parse_translation_unit(name, None, CompilerFlags(), diagnostics)
    return rendered(diagnostics, Path(name).read_text())


@pytest.mark.parametrize("name", CASES)
def test_refusals_read_as_reviewed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN)
    actual = report(f"{name}.c")
    check_golden(GOLDEN / f"{name}.err", actual)
    assert ": error: " in actual


def test_every_reviewed_text_has_its_source() -> None:
    assert sorted(p.stem for p in GOLDEN.glob("*.err") if not p.name.startswith("plan_")) == CASES
