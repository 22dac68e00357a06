"""Writing files so that a failing run leaves none half-written."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Replace `path` by `content` in one step: written beside it, then renamed.

    What is no regular file (a device, a pipe) is written to directly. Raises OSError where that fails; `path` is then untouched.
    """
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
