"""The prose of the pages at the root and in docs/ wraps at 100 columns; tables and code do not. The runtime's C wraps at
120, its comments at 100.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def can_be_broken(line: str) -> bool:
    """Whether a blank stands outside of inline code."""
    return " " in re.sub(r"`[^`]*`", "", line).strip(" .,;:-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_prose_wraps_at_100_columns(page: Path) -> None:
    prose = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in prose.splitlines() if not re.match(r"\||#|    ", line)]
    assert [line for line in lines if len(line) > 100 and can_be_broken(line)] == []


@pytest.mark.parametrize("file", sorted((ROOT / "runtime").rglob("*.[ch]")), ids=lambda file: file.name)
def test_c_wraps_at_120_columns_and_its_comments_at_100(file: Path) -> None:
    lines = file.read_text().splitlines()
    assert [line for line in lines if len(line) > 120] == []
    assert [line for line in lines if len(line) > 100 and re.match(r" *(/\*| \* )", line)] == []
