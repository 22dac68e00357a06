"""Every refusal of a directive, compared with its exact text: tests/golden/pragmas/NAME.c and
NAME.err.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.golden_texts import check_golden, rendered
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.frontend.pragma.scanner import find_directives

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "pragmas"
CASES = sorted(path.stem for path in GOLDEN.glob("*.c"))


def report(source: Path) -> str:
    text = source.read_bytes()
    diagnostics = Diagnostics()
    find_directives(source.name, text, diagnostics)
    return rendered(diagnostics, text.decode())


@pytest.mark.parametrize("name", CASES)
def test_refusals_read_as_reviewed(name: str) -> None:
    actual = report(GOLDEN / f"{name}.c")
    check_golden(GOLDEN / f"{name}.err", actual)
    assert ": error: " in actual


def test_every_reviewed_text_has_its_source() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.err")) == CASES
