"""The reports in docs/ open without a network, and are small."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPORTS = Path(__file__).resolve().parents[2] / "docs" / "reports"
MOST_BYTES = 400_000


@pytest.mark.parametrize("page", sorted(REPORTS.glob("*.html")), ids=lambda page: page.name)
def test_reports_refer_to_nothing_elsewhere(page: Path) -> None:
    text = page.read_text()
    assert set(re.findall(r"https?://[^\"\s<]*", text)) == {"http://www.w3.org/2000/svg"}
    assert re.findall(r"<(?:script|link|img|iframe)\b|@import|url\(", text) == []
    assert len(text.encode()) < MOST_BYTES
    assert f"({page.name})" in (REPORTS / "README.md").read_text()


def test_there_are_reports_of_the_papers_kernels() -> None:
    text = (REPORTS / "tilek-paper.html").read_text()
    for name in ("conv2d", "sgemm", "syr2k", "doitgen"):
        assert f">{name} on threads <span" in text
