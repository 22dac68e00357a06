"""A user's folders: one for data that can be made again, one for measurements."""

from __future__ import annotations

import os
from pathlib import Path


def data_folder() -> Path:
    """`TILEK_DATA_DIR`, else `tilepragma` under `XDG_DATA_HOME` or `~/.local/share`.

    The folder may be missing. Raises OSError if there is no home folder.
    """
    chosen = os.environ.get("TILEK_DATA_DIR")
    return Path(chosen) if chosen else users_folder("XDG_DATA_HOME", ".local/share", "TILEK_DATA_DIR") / "tilepragma"


def users_folder(variable: str, below_home: str, ours: str) -> Path:
    """The folder in `variable` if absolute, as the XDG specification asks, else `below_home`.

    Raises FileNotFoundError without a home folder; its message tells to set `ours`.
    """
    named = os.environ.get(variable, "")
    if os.path.isabs(named):
        return Path(named)
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise FileNotFoundError(2, f"there is no home folder; set {ours}", home)
    return Path(home) / below_home
