"""The folder for what is built once and kept: runtime libraries and compiled kernels."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(create: bool = True) -> Path:
    """`TILEK_CACHE_DIR`, else `tilek` under `XDG_CACHE_HOME` or `~/.cache`; made, readable by its owner only.

    Raises OSError where it cannot be made or written.
    """
    chosen = os.environ.get("TILEK_CACHE_DIR")
    if chosen:
        folder = Path(chosen)
    else:
        parent = os.environ.get("XDG_CACHE_HOME")
        folder = (Path(parent) if parent else Path.home() / ".cache") / "tilek"
    if create:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
