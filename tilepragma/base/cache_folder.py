"""The folder for what is built once and kept: runtime libraries and compiled kernels."""

from __future__ import annotations

import os
from pathlib import Path

from tilepragma.base.user_folders import users_folder


def cache_folder(create: bool = True) -> Path:
    """`TILEK_CACHE_DIR`, else `tilek` under `XDG_CACHE_HOME` or `~/.cache`; made, readable by its owner only.

    Raises OSError where it cannot be made or written.
    """
    chosen = os.environ.get("TILEK_CACHE_DIR")
    folder = Path(chosen) if chosen else users_folder("XDG_CACHE_HOME", ".cache", "TILEK_CACHE_DIR") / "tilek"
    if create:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
