"""The runtime's header is what the table of shared constants says."""

from __future__ import annotations

from pathlib import Path

from tilepragma.plan import shared_constants

HEADER = Path(__file__).resolve().parents[3] / "runtime" / "base" / "shared_constants.h"


def test_the_header_is_made_from_the_table() -> None:
    assert HEADER.read_text() == shared_constants.header(), "python -m tilepragma.plan.shared_constants makes it again"
