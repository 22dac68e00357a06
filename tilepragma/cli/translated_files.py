"""Translated sources for the compiler, under names derived from their text alone.

So ccache and others see the same command for the same work. Concurrent commands with the same text
share the file; the last of them removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import time
from dataclasses import field
from pathlib import Path
from types import TracebackType

from tilepragma.base.files import file_bytes, write_atomically
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.user_folders import cache_folder, inner_folder

_LOCK = "lock"
#: The age at which folders of killed commands are removed.
_OLD_SECONDS = 3600


@dataclass
class TranslatedFiles:
    """Files for the time of one command; without a cache they lie in the folder `spare`."""

    spare: Path
    _held: list[tuple[int, Path]] = field(default_factory=list)
    _count: int = 0

    def __enter__(self) -> TranslatedFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for lock, folder in self._held:
            _remove_unused(lock, folder)
            os.close(lock)

    def write(self, name: str, content: bytes) -> Path:
        """A file of that name and content until the command ends. Raises OSError."""
        try:
            folder = inner_folder(cache_folder() / "translated")
            _sweep(folder)
            path = self._shared(folder, name, content) / name
        except OSError:
            self._count += 1
            path = self.spare / str(self._count) / name
            path.parent.mkdir()
        _write(path, content)
        return path

    def _shared(self, folder: Path, name: str, content: bytes) -> Path:
        """The folder for the content, which stays while this command holds its lock."""
        key = hashlib.blake2b(os.fsencode(name) + b"\0" + content, digest_size=16).hexdigest()
        while True:
            shared = inner_folder(folder / key)
            try:
                lock = _open_lock(shared)
            except FileNotFoundError:
                continue  # the last user has just removed the folder
            try:
                fcntl.flock(lock, fcntl.LOCK_SH)
                is_there = _same_file(lock, shared / _LOCK)
            except BaseException:
                os.close(lock)
                raise
            if is_there:
                self._held.append((lock, shared))
                return shared
            os.close(lock)


def _write(path: Path, content: bytes) -> None:
    with contextlib.suppress(OSError):
        if file_bytes(path) == content:
            return
    write_atomically(path, content)


def _open_lock(folder: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return os.open(folder / _LOCK, flags, 0o600)


def _same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _remove_unused(lock: int, folder: Path) -> None:
    """Remove a folder unless another command holds its lock."""
    with contextlib.suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _same_file(lock, folder / _LOCK):
            shutil.rmtree(folder, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Remove folders of killed commands."""
    for entry in os.scandir(folder):
        with contextlib.suppress(OSError):
            if time.time() - entry.stat(follow_symlinks=False).st_mtime < _OLD_SECONDS:
                continue
            lock = _open_lock(Path(entry.path))
            try:
                _remove_unused(lock, Path(entry.path))
            finally:
                os.close(lock)
