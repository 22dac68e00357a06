"""Which array tiles pay off, by counts: the figures of kernels whose times are known."""

from __future__ import annotations

import pytest

from tilepragma.model.staging_counts import TileAccesses


def tile(**changes: int | float | None) -> TileAccesses:
    """A tile of 256 workers in rows of 32, each of which reads one float of it."""
    usual = {
        "workers": 256, "accesses": 1, "shared_accesses": 1, "bytes": 4, "step": 4, "elements": 256, "run": 32,
    }  # fmt: skip
    return TileAccesses(**(usual | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("what", "changes", "pays"),
    [
        ("five points", {"accesses": 5, "shared_accesses": 5, "elements": 340, "run": 34}, False),
        ("a filter of 17 x 17", {"accesses": 289, "shared_accesses": 289, "elements": 1152, "run": 48}, False),
        ("an element for all", {"accesses": 32, "shared_accesses": 32, "step": 0, "elements": 256}, False),
        ("a transposition", {"step": None, "run": 8}, True),
        ("columns of one element", {"step": None, "run": 1}, False),
        ("A x, 16 columns", {"accesses": 16, "shared_accesses": 16, "step": None, "elements": 4096, "run": 16}, True),
        ("every second float", {"step": 8, "elements": 511, "run": 63}, False),
        ("a product's A", {"accesses": 1024, "shared_accesses": 256, "step": 0, "elements": 2048}, True),
        ("a product's A, a point a worker", {"accesses": 32, "shared_accesses": 32, "step": 0}, False),
        ("mostly unread", {"accesses": 3, "shared_accesses": 3, "step": None, "elements": 20488, "run": 20488}, False),
    ],
)
def test_what_pays(what: str, changes: dict[str, int | float | None], pays: bool) -> None:
    assert tile(**changes).pays is pays, what


def test_lines_of_an_access() -> None:
    assert [tile(step=step).lines for step in (0, 4, 8, 64, 128, 4096, None)] == [1, 1, 2, 16, 32, 32, 32]
    assert [tile(bytes=8, step=step).lines for step in (0, 8, 16, None)] == [1, 2, 4, 32]
