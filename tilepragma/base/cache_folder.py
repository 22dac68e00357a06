"""The folder for what is built once and kept: runtime libraries, compiled kernels and what compilers have answered.

What lies there becomes part of the user's programs, so it counts only where nobody else can have put it there. runtime/base/cache.c has the
same rule.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from tilepragma.base.user_folders import users_folder


class UntrustedFolderError(OSError):
    """Others than the user may have written what lies in the folder."""

    def __str__(self) -> str:
        return f"{self.filename} must belong to you and be writable by you alone (chmod 700)"


def cache_folder(create: bool = True) -> Path:
    """`TILEK_CACHE_DIR`, else `tilek` under `XDG_CACHE_HOME` or `~/.cache`; made, readable by its owner only.

    Raises UntrustedFolderError where others may write to it, OSError where it cannot be made or written.
    """
    chosen = os.environ.get("TILEK_CACHE_DIR")
    folder = Path(chosen) if chosen else users_folder("XDG_CACHE_HOME", ".cache", "TILEK_CACHE_DIR") / "tilek"
    if create:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        status = folder.stat()  # a link is the user's who made the folder that it leads to
    except OSError:
        return folder
    if not is_users(status):
        raise UntrustedFolderError(errno.EPERM, "is not the user's alone", str(folder))
    return folder


def inner_folder(folder: Path) -> Path:
    """`folder`, which lies in the cache; made where it is not there. Raises UntrustedFolderError, also where it is a link, and OSError."""
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or not is_users(status):
        raise UntrustedFolderError(errno.EPERM, "is not the user's alone", str(folder))
    return folder


def is_users(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to the user and nobody else can write to it."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
