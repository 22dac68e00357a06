"""A user's folders: one for measurements, and a cache of results that can be made again.

The cache has runtime libraries, compiled kernels and answers of compilers. Its files become part of
the user's programs, so it is used only if no other user can write there. runtime/base/cache.c has
the same rule.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def data_folder() -> Path:
    """`TILEK_DATA_DIR`, else `tilepragma` under `XDG_DATA_HOME` or `~/.local/share`.

    The folder may be missing. Raises OSError if there is no home folder.
    """
    chosen = os.environ.get("TILEK_DATA_DIR")
    return Path(chosen) if chosen else _xdg_folder("XDG_DATA_HOME", ".local/share", "TILEK_DATA_DIR") / "tilepragma"


def _xdg_folder(variable: str, below_home: str, ours: str) -> Path:
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


class UntrustedFolderError(OSError):
    """Users other than the owner may have written to the folder."""

    def __str__(self) -> str:
        return f"{self.filename} must belong to you and be writable by you alone (chmod 700)"


def cache_folder(create: bool = True) -> Path:
    """`TILEK_CACHE_DIR`, else `tilek` under `XDG_CACHE_HOME` or `~/.cache`; made if need be.

    Only its owner may read it. Raises UntrustedFolderError if others may write to it, OSError if it
    cannot be made or written.
    """
    chosen = os.environ.get("TILEK_CACHE_DIR")
    folder = Path(chosen) if chosen else _xdg_folder("XDG_CACHE_HOME", ".cache", "TILEK_CACHE_DIR") / "tilek"
    if create:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        status = folder.stat()  # follows a link, which belongs to the folder's user
    except OSError:
        return folder
    if not is_users(status):
        raise UntrustedFolderError(errno.EPERM, "is not the user's alone", str(folder))
    return folder


def inner_folder(folder: Path) -> Path:
    """`folder`, which lies in the cache, made if missing. Raises UntrustedFolderError, OSError."""
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or not is_users(status):
        raise UntrustedFolderError(errno.EPERM, "is not the user's alone", str(folder))
    return folder


def is_users(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to the user, and no other user can write to it."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
