"""`tilepragma devices --calibrate`: measures every device and stores the results for the model."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.cli import runtime_library
from tilepragma.cli.devices import accelerators, host_devices, subject_of
from tilepragma.cli.progress import measuring_progress, warn
from tilepragma.tuning import calibration
from tilepragma.tuning.calibration import Measured
from tilepragma.tuning.calibration_samples import CalibrationError, Series, rows, run, run_again
from tilepragma.tuning.host_processor import this_host

if TYPE_CHECKING:
    from rich.progress import Progress

#: Options for this processor, as compilers spell them; they allow fused multiply-adds.
_NATIVE = (("-march=native",), ("-mcpu=native",), ())
_FAST = ("-O3", "-ffp-contract=fast")


def calibrate(quick: bool) -> int:
    """Measure all devices, print and store the results; returns the exit status, 1 on failure."""
    try:
        with tempfile.TemporaryDirectory(prefix="tilepragma-") as folder:
            program = _built(Path(folder))
            measured = _measure_all(program, quick)
    except (runtime_library.RuntimeLibraryError, OSError) as error:
        runtime_library.report(error)
        return 1
    return 0 if measured and _keep_all(measured) else 1


def _keep_all(measured: list[Measured]) -> bool:
    """Print and store all results; reports a failure to store."""
    now = datetime.now()
    try:
        for device in measured:
            _show(device, calibration.keep(device.device, device.subject, now))
    except OSError as error:
        print(
            f"tilepragma: error: what was measured cannot be kept: {error}; set TILEK_DATA_DIR to a folder of yours",
            file=sys.stderr,
        )
        return False
    return True


def _built(folder: Path) -> Path:
    """Build the calibration program for this processor. Raises RuntimeLibraryError."""
    program = folder / "calibrate"
    sources = sorted(runtime_library.tools_folder().glob("calibrate*.c"))
    complaints = []
    for native in _NATIVE:
        try:
            runtime_library.build_tool(sources, [*_FAST, *native], program)
        except runtime_library.RuntimeLibraryError as error:
            complaints.append(error)
        else:
            return program
    raise complaints[-1]


def _measure_all(program: Path, quick: bool) -> list[Measured]:
    how = calibration.QUICK if quick else calibration.FULL
    host = this_host()
    devices = [device for device in [*host_devices(), *accelerators()] if device.number is not None]
    subjects = [subject_of(device) for device in devices if device.target != "serial"]
    words = {subject: calibration.words_for(subject, host, how) for subject in subjects}
    count = sum(map(len, words.values()))
    milliseconds = calibration.milliseconds_a_number(how, count)
    measured: list[Measured] = []
    with measuring_progress() as progress:
        task = progress.add_task("calibrating", total=count)
        for subject in subjects:
            progress.update(task, description=subject.key)
            try:
                results = run(program, subject, words[subject], milliseconds, _advance(progress, task))
                if not quick:
                    results = run_again(program, subject, results, milliseconds)
                measured.append(calibration.described(subject, host, how, results, measured))
            except CalibrationError as failure:
                warn(progress, f"{subject.key} ({subject.name}) is left out: {failure}")
            progress.update(
                task, completed=sum(len(words[subject]) for subject in subjects[: subjects.index(subject) + 1])
            )
    return measured


# -- Output


def _advance(progress: Progress, task: object) -> Callable[[Series], None]:
    def notify(_: Series) -> None:
        progress.advance(task)  # type: ignore[arg-type]

    return notify


def _show(measured: Measured, path: Path) -> None:
    """The table of one device, and the file that stores its results."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{measured.subject.key}  {measured.subject.name}", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("what")
    table.add_column("measured", justify="right")
    table.add_column("spread", justify="right")
    for row in rows(measured.findings, measured.labels):
        table.add_row(*row)
    console = Console(highlight=False, soft_wrap=True)
    console.print(table)
    wide = measured.findings.wide()
    if wide:
        many = f"{len(wide)} measurement{'s' * (len(wide) != 1)} spread by more than 20 %"
        console.print(
            f"  {many}, {wide[0].word} most: something else ran; calibrate again on a quiet machine", markup=False
        )
    console.print(f"  kept in {path}", markup=False)
