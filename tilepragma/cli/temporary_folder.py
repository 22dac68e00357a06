"""A folder for the time of one command, removed on signals too."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class StoppedError(BaseException):
    """Ends the command with this status. A signal may raise it anywhere; it is no fault."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is removed afterwards. SIGTERM, SIGHUP and SIGINT raise StoppedError."""

    def stop(number: int, _frame: object) -> None:
        raise StoppedError(128 + number)

    previous = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    folder = Path(tempfile.mkdtemp(prefix="tilecc-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for number, handler in previous.items():
            signal.signal(number, handler)
