"""Reads paths that need not be regular files, and writes files whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

#: Longer than any file we keep.
_MOST_BYTES = 64 << 20

_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe"}


class NoFileError(OSError):
    """The name is not that of a regular file; `strerror` says of what."""


def file_bytes(path: Path) -> bytes:
    """The content of a file of ours, or beside the user's; never waits, as for a pipe.

    Raises NoFileError if it is no regular file or far too long, and OSErrors.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise NoFileError(errno.EINVAL, "it is a socket or a device, no file", str(path)) from None
    try:
        kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
        if kind != stat.S_IFREG:
            raise NoFileError(errno.EINVAL, f"it is {_KINDS.get(kind, 'a device')}, no file", str(path))
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(_MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > _MOST_BYTES:
        raise NoFileError(errno.EFBIG, f"it has more than {_MOST_BYTES >> 20} MiB", str(path))
    return content


def write_atomically(path: Path, content: bytes) -> None:
    """Replace `path` by `content` in one step: write a file beside it, then rename.

    Devices and pipes are written directly; a link's target is replaced. Raises OSError with the
    file's name if that fails; `path` is then unchanged.
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
