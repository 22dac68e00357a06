"""The one way to the files that ship with the package: `templates/` and `runtime/`."""

from __future__ import annotations

import importlib
from pathlib import Path


def resource_folder(name: str) -> Path:
    """The folder of package data `name` ("templates" or "runtime"), installed or in a source tree.

    Raises FileNotFoundError where the installation lacks it.
    """
    try:
        module = importlib.import_module(f"tilepragma.{name}")
    except ModuleNotFoundError:
        module = None
    if module is not None and module.__file__ is not None:
        return Path(module.__file__).parent
    folder = Path(__file__).resolve().parents[2] / name
    if not folder.is_dir():
        raise FileNotFoundError(f"tilepragma is installed without its folder '{name}'; install it again")
    return folder
