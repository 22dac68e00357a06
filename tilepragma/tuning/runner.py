"""Runs the calibration program (runtime/tools/calibrate.c) on one device."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from tilepragma.tuning.calibration_samples import Findings, Series, parsed
from tilepragma.tuning.calibration_target import CalibrationError, CalibrationTarget
from tilepragma.tuning.subprocesses import ending, last_line

#: Seconds for one number, its program's compilation included, before the device is given up.
PATIENCE = 60.0
#: Variables of the user's programs that would change a launch's usual cost.
_FOREIGN = (
    "TILEK_VERIFY",
    "TILEK_PROFILE",
    "TILEK_SIZES",
    "TILEK_OPENCL_FORM",
    "TILEK_GRAPHS",
    "TILEK_SPECIALIZE",
    "TILEK_NUM_THREADS",
)


def run(
    program: Path,
    subject: CalibrationTarget,
    words: Sequence[str],
    milliseconds: float,
    notify: Callable[[Series], None],
) -> Findings:
    """Measure `words` on the subject, each for about `milliseconds`; `notify` receives each series.
    Raises CalibrationError if the program cannot be started, fails, or falls silent.
    """
    command = [str(program), f"{milliseconds:.3f}", *words]
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        try:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace", env=_environment(subject)
            )
        except OSError as error:
            raise CalibrationError(f"the calibration program cannot be started: {error}") from None
        try:
            series = _listen(process, notify)
            status = process.wait()
        finally:
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
        if status != 0 or len(series) != len(words):
            errors.seek(0)
            where = f" at {words[len(series)]}" if len(series) < len(words) else ""
            raise CalibrationError(f"the calibration program {ending(status)}{where}{last_line(errors.read())}")
    return Findings(tuple(series))


def run_again(program: Path, subject: CalibrationTarget, findings: Findings, milliseconds: float) -> Findings:
    """The findings, with wide spreads measured once more and the steadier of both taken."""
    wide = [series.word for series in findings.wide()]
    try:
        return findings.steadier(run(program, subject, wide, milliseconds, lambda _: None)) if wide else findings
    except CalibrationError:
        return findings


def _listen(process: subprocess.Popen[str], notify: Callable[[Series], None]) -> list[Series]:
    """The program's lines, until it ends, or is killed for being silent too long."""
    series = []
    watch = _watch(process)
    try:
        for line in process.stdout or ():
            watch.cancel()
            series.append(parsed(line))
            notify(series[-1])
            watch = _watch(process)
    except ValueError as error:
        raise CalibrationError(str(error)) from None
    finally:
        watch.cancel()
    return series


def _watch(process: subprocess.Popen[str]) -> threading.Timer:
    timer = threading.Timer(PATIENCE, process.kill)
    timer.daemon = True
    timer.start()
    return timer


def _environment(subject: CalibrationTarget) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    return kept | {"TILEK_TARGET": subject.target, "TILEK_DEVICE": str(subject.number), "TILEK_STRICT": "1"}
