"""A folder for the time of one command, which ends by signals too."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class StoppedError(BaseException):
    """The command ends here, with this status; everything was said. Nothing on the way may take it for a fault, as a signal may raise it anywhere."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is gone afterwards, also where SIGTERM, SIGHUP or SIGINT ends the command: these raise StoppedError."""

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
