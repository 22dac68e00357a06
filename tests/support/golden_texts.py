"""Texts that are compared to the letter with reviewed files below tests/golden.

`TILEK_UPDATE_GOLDEN=1` writes the files from the texts; read the difference before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

from tilepragma.base.diagnostics import Diagnostics, render


def check_golden(file: Path, actual: str) -> None:
    """Fail unless `file` holds `actual`."""
    if os.environ.get("TILEK_UPDATE_GOLDEN") == "1":
        file.write_text(actual)
    assert actual == file.read_text()


def rendered(diagnostics: Diagnostics, source: str) -> str:
    """All `diagnostics` of one file with the text `source`, as the user sees them."""
    lines = source.splitlines()
    return "".join(render(item, lambda _, line: lines[line - 1]) for item in diagnostics)
