"""Runs programs that relax a model problem (templates/report/model_problem.c.j2)."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from pathlib import Path

from tilepragma.base.frozen_values import dataclass
from tilepragma.tuning.programs import ProgramError, ending, kernel_times, last_line, streamed, users_environment

#: Extra seconds for a program's first launch, which may compile kernels, and for the sweeps between
#: two reports.
PATIENCE = 60.0


class Outcome(Enum):
    """How a run ended, as the program reports it."""

    DONE = "done"
    STOPPED = "stopped"
    DIVERGES = "diverges"


@dataclass(frozen=True)
class Convergence:
    """A report: the greatest error relative to the first, after so many rounds of sweeps and
    seconds. The last one has an `outcome`, and the targets of the launches; none without launches
    or a profile.
    """

    rounds: int
    share: float
    seconds: float
    outcome: Outcome | None = None
    targets: tuple[str, ...] = ()


def converge(command: Sequence[str], limit: float, notify: Callable[[Convergence], None]) -> Convergence:
    """Run a program that stops after `limit` seconds of sweeps; `notify` receives its reports.
    Raises ProgramError if it fails, takes much longer, or prints anything else.
    """
    with tempfile.TemporaryDirectory(prefix="tilepragma-") as folder:
        trace = Path(folder) / "trace.json"
        environment = {**users_environment(), "TILEK_PROFILE": str(trace)}
        last = None
        stopped = threading.Event()
        with streamed(command, environment) as (process, lines, errors):

            def stop() -> None:
                stopped.set()
                process.kill()

            timer = threading.Timer(limit + PATIENCE, stop)
            timer.daemon = True
            timer.start()
            try:
                for line in lines:
                    last = _parsed(line)
                    notify(last)
                status = process.wait()
            finally:
                timer.cancel()
            if stopped.is_set():
                raise ProgramError(f"was stopped after {limit + PATIENCE:.3g} s")
            if status != 0 or last is None or last.outcome is None:
                raise ProgramError(ending(status) + last_line(errors()))
        return replace(last, targets=_targets(trace))


def _parsed(line: str) -> Convergence:
    """Raises ProgramError."""
    try:
        rounds, share, seconds, *end = line.split()
        return Convergence(int(rounds), float(share), float(seconds), Outcome(end[0]) if end else None)
    except ValueError:
        raise ProgramError(f"printed a line that is no report of the error: {line.strip()}") from None


def _targets(trace: Path) -> tuple[str, ...]:
    with suppress(FileNotFoundError, ProgramError):
        return tuple(dict.fromkeys(name for time in kernel_times(trace).values() for name in time.targets))
    return ()
