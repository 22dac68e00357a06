"""Writing files so that a failing run leaves none half-written."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Replace `path` by `content` in one step: written beside it, then renamed.

    What is no regular file (a device, a pipe) is written to directly; behind a link, the file that it leads to is replaced. Raises
    OSError, with the file's name, where that fails; `path` is then untouched.
    """
    try:
        _write(path.resolve() if path.is_symlink() else path, content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _write(path: Path, content: bytes) -> None:
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        beside.write_bytes(content)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
