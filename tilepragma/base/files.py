"""Reading what need be no file, and writing so that a failing run leaves no file half-written."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

#: More than anything has that we keep: what is longer is not ours.
_MOST_BYTES = 64 << 20

_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe"}


class NoFileError(OSError):
    """What stands under a name is no file that could be read; `strerror` says what it is."""


def file_bytes(path: Path) -> bytes:
    """The content of a file of ours or of one that lies beside the user's: never waits, as reading
    a pipe would.

    Raises NoFileError for what is no regular file or far too long, FileNotFoundError and other
    OSErrors.
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
    """Replace `path` by `content` in one step: written beside it, then renamed.

    What is no regular file (a device, a pipe) is written to directly; behind a link, the file that
    it leads to is replaced. Raises OSError, with the file's name, where that fails; `path` is then
    untouched.
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
