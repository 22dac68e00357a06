"""`tilepragma tune --export FILE` and `--merge FILE`: exchange measurements with other machines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tilepragma.base.files import write_atomically
from tilepragma.cli.report import print_error
from tilepragma.tuning.database import (
    MeasurementsError,
    SharingError,
    database_path,
    lines_of,
    measurements_of,
    opened,
    opened_to_read,
)

_DONE, _FAILED, _WRONG_USAGE = 0, 1, 2


def export(file: str) -> int:
    """Write all measurements; returns the exit status."""
    try:
        path = database_path()
        if not path.is_file():
            print_error("tilepragma", f"{path} is not there: nothing was measured yet")
            return _FAILED
        with opened_to_read(path) as database:
            if file == "-":
                sys.stdout.writelines(lines_of(database.measurements()))
            else:
                write_atomically(Path(file), "".join(lines_of(database.measurements())).encode())
    except MeasurementsError as error:
        print_error("tilepragma", str(error))
        return _FAILED
    except OSError as error:
        print_error("tilepragma", f"{error.filename or file}: {error.strerror}")
        return _WRONG_USAGE
    return _DONE


def merge(file: str) -> int:
    """Add the measurements of another database, all or none; returns the exit status."""
    try:
        with _lines(file) as lines, opened(database_path()) as database:
            new = database.merge(measurements_of(lines))
    except SharingError as error:
        print_error("tilepragma", f"{file}: {error}; nothing of it is taken")
        return _FAILED
    except MeasurementsError as error:
        print_error("tilepragma", str(error))
        return _FAILED
    except OSError as error:
        print_error("tilepragma", f"{error.filename or file}: {error.strerror}")
        return _WRONG_USAGE
    print(f"{new} measurement{'' if new == 1 else 's'} that {'was' if new == 1 else 'were'} not here before")
    return _DONE


@contextmanager
def _lines(file: str) -> Iterator[IO[str]]:
    if file == "-":
        yield sys.stdin
        return
    with Path(file).open(encoding="utf-8", errors="replace") as lines:
        yield lines
