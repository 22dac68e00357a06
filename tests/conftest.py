"""Order of the tests: what fails fastest runs first."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent
#: Folders of tests/ in the order in which they run; others stand before the last.
ORDER = ("unit", "golden", "property", "run", "packaging")


def rank(path: Path) -> int:
    """Place of a test file in the order."""
    folder = path.relative_to(ROOT).parts[0]
    return ORDER.index(folder) if folder in ORDER else ORDER.index("packaging") - 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: rank(item.path))
