"""The folder for what is built once and kept: runtime libraries and compiled kernels."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(create: bool = True) -> Path:
    """`TILEK_CACHE_DIR`, else `tilek` under `XDG_CACHE_HOME` or `~/.cache`; made, readable by its owner only.

    Raises OSError where it cannot be made or written.
    """
    chosen = os.environ.get("TILEK_CACHE_DIR")
    folder = Path(chosen) if chosen else _users_cache() / "tilek"
    if create:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _users_cache() -> Path:
    """XDG_CACHE_HOME where it is absolute, as its specification asks, else ~/.cache."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(named):
        return Path(named)
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise FileNotFoundError(2, "there is no home folder; set TILEK_CACHE_DIR", home)
    return Path(home) / ".cache"
