"""Runs programs that relax a model problem (templates/report/model_problem.c.j2)."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path

from tilepragma.base.frozen_values import dataclass
from tilepragma.tuning.programs import FOREIGN, ProgramError, ProgramMissingError, kernel_times
from tilepragma.tuning.subprocesses import ending, last_line

#: Extra seconds for a program's first launch, which may compile kernels, and for the sweeps between
#: two reports.
PATIENCE = 60.0


class Outcome(Enum):
    """How a run ended, as the program reports it."""

    DONE = "done"
    STOPPED = "stopped"
    DIVERGES = "diverges"


@dataclass(frozen=True)
class Look:
    """The greatest error relative to the first, after so many rounds of sweeps and seconds."""

    rounds: int
    share: float
    seconds: float


@dataclass(frozen=True)
class Convergence:
    """The last report, and the targets of the launches; none without launches or a profile."""

    last: Look
    outcome: Outcome
    targets: tuple[str, ...]


def converge(command: Sequence[str], limit: float, notify: Callable[[Look], None]) -> Convergence:
    """Run a program that stops after `limit` seconds of sweeps; `notify` receives some of its
    reports. Raises ProgramError if it fails, takes much longer, or prints anything else.
    """
    with tempfile.TemporaryDirectory(prefix="tilepragma-") as folder, tempfile.TemporaryFile("w+") as errors:
        trace = Path(folder) / "trace.json"
        kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
        environment = {**kept, "TILEK_PROFILE": str(trace)}
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
        except OSError as error:
            raise ProgramMissingError(f"cannot be started: {error.strerror}") from None
        stopped = threading.Event()

        def stop() -> None:
            stopped.set()
            process.kill()

        timer = threading.Timer(limit + PATIENCE, stop)
        timer.daemon = True
        timer.start()
        last = None
        try:
            for line in process.stdout or ():
                last = _parsed(line)
                notify(last[0])
            status = process.wait()
        finally:
            timer.cancel()
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
        if stopped.is_set():
            raise ProgramError(f"was stopped after {limit + PATIENCE:.3g} s")
        if status != 0 or last is None or last[1] is None:
            errors.seek(0)
            raise ProgramError(ending(status) + last_line(errors.read()))
        return Convergence(last[0], last[1], _targets(trace))


def _parsed(line: str) -> tuple[Look, Outcome | None]:
    """Raises ProgramError."""
    try:
        rounds, share, seconds, *end = line.split()
        look = Look(int(rounds), float(share), float(seconds))
        return look, Outcome(end[0]) if end else None
    except ValueError:
        raise ProgramError(f"says what is no look at the error: {line.strip()}") from None


def _targets(trace: Path) -> tuple[str, ...]:
    if not trace.is_file():
        return ()
    try:
        return tuple(dict.fromkeys(name for time in kernel_times(trace).values() for name in time.targets))
    except ProgramError:
        return ()
