"""Every refusal of a directive, compared with its exact text: tests/golden/pragmas/NAME.c and
NAME.err.

`TILEK_UPDATE_GOLDEN=1` writes the .err files anew; read the difference before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tilepragma.base.diagnostics import Diagnostics, render
from tilepragma.frontend.pragma.scanner import find_directives

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "pragmas"
CASES = sorted(path.stem for path in GOLDEN.glob("*.c"))


def report(source: Path) -> str:
    text = source.read_bytes()
    diagnostics = Diagnostics()
    find_directives(source.name, text, diagnostics)
    lines = text.decode().splitlines()
    return "".join(render(item, lambda _, line: lines[line - 1]) for item in diagnostics)


@pytest.mark.parametrize("name", CASES)
def test_refusals_read_as_reviewed(name: str) -> None:
    expected = GOLDEN / f"{name}.err"
    actual = report(GOLDEN / f"{name}.c")
    if os.environ.get("TILEK_UPDATE_GOLDEN") == "1":
        expected.write_text(actual)
    assert actual == expected.read_text()
    assert ": error: " in actual


def test_every_reviewed_text_has_its_source() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.err")) == CASES
