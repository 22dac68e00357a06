"""Every refusal of the front end, compared with its exact text: tests/golden/errors/NAME.c and
NAME.err.

`TILEK_UPDATE_GOLDEN=1` writes the .err files again; read the difference before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tilepragma.base.diagnostics import Diagnostics, render
from tilepragma.frontend.clang.compiler import CompilerFlags
from tilepragma.frontend.translation_unit import parse_translation_unit

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "errors"
#: The planner's refusals stand in the same folder.
CASES = sorted(path.stem for path in GOLDEN.glob("*.c") if not path.name.startswith("plan_"))


def report(name: str) -> str:
    diagnostics = Diagnostics()
    parse_translation_unit(name, None, CompilerFlags(), diagnostics)
    lines = Path(name).read_text().splitlines()
    return "".join(render(item, lambda _, line: lines[line - 1]) for item in diagnostics)


@pytest.mark.parametrize("name", CASES)
def test_refusals_read_as_reviewed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN)
    expected = GOLDEN / f"{name}.err"
    actual = report(f"{name}.c")
    if os.environ.get("TILEK_UPDATE_GOLDEN") == "1":
        expected.write_text(actual)
    assert actual == expected.read_text()
    assert ": error: " in actual


def test_every_reviewed_text_has_its_source() -> None:
    assert sorted(p.stem for p in GOLDEN.glob("*.err") if not p.name.startswith("plan_")) == CASES
