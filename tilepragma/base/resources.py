"""Finds the folders that ship with the package; how commands set Python's garbage collection."""

from __future__ import annotations

import importlib
from pathlib import Path

#: Python's thresholds of garbage collection: trees of frozen values hold no cycles, and a
#: translation spends 6 % less time when nothing looks for any.
GARBAGE_COLLECTIONS = (50_000, 20, 100)


def resource_folder(name: str) -> Path:
    """The folder of package data `name` ("templates" or "runtime"), installed or in a source tree.

    Raises FileNotFoundError if the installation lacks it.
    """
    source_tree = Path(__file__).resolve().parents[2]
    if (source_tree / "setup.cfg").is_file() and (source_tree / name).is_dir():
        return source_tree / name
    try:
        module = importlib.import_module(f"tilepragma.{name}")
    except ModuleNotFoundError:
        module = None
    if module is None or module.__file__ is None:
        raise FileNotFoundError(f"tilepragma is installed without its folder '{name}'; install it again")
    return Path(module.__file__).parent
