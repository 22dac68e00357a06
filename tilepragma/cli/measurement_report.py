"""`tilepragma report`: a page with figures of measurements of kernels, and of a run over time."""

from __future__ import annotations

import argparse
import difflib
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma import __version__
from tilepragma.base.files import write_atomically
from tilepragma.base.frozen_values import dataclass
from tilepragma.cli.kernel_sections import kernel_section
from tilepragma.cli.known_sources import device_of, known_source
from tilepragma.cli.report import print_error
from tilepragma.cli.rooflines import MeasuredPoints, rooflines
from tilepragma.cli.run_timeline import timeline
from tilepragma.cli.tune import chosen_kernels
from tilepragma.cli.tune_options import listed, target_problem
from tilepragma.driver.texts import kernel_digest
from tilepragma.report.measurements_page import KernelSection, MeasurementsPage
from tilepragma.report.png import MissingMatplotlibError, png
from tilepragma.tuning.database import (
    MeasuredKernel,
    MeasurementsError,
    database_path,
    measured_kernels,
    opened_to_read,
)
from tilepragma.tuning.input_space import input_name, input_space
from tilepragma.tuning.traces import TraceError

if TYPE_CHECKING:
    from tilepragma.driver.state import TranslateRequest, TranslateResult
    from tilepragma.plan.kernel_plan import KernelPlan
    from tilepragma.report.scene import Figure

_DONE, _FAILED, _WRONG_USAGE = 0, 1, 2
#: The page's file name in a folder.
_PAGE = "report.html"
#: The most kernels that a heading names.
_NAMED = 5


class _ReportError(Exception):
    """There is nothing to report: the message says why, `status` is the command's."""

    def __init__(self, message: str, status: int = _FAILED) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Source:
    """A translated source and its request."""

    request: TranslateRequest
    result: TranslateResult


#: The measurements of a kernel, with its source and plan if available.
_Subject = tuple[MeasuredKernel, Source | None, "KernelPlan | None"]


def usage_problem(options: argparse.Namespace) -> str:
    """What is wrong with the options, in a sentence; empty if nothing is."""
    if options.input == "-":
        return "standard input has no measurements: they are kept by a kernel's text, so name its file"
    if wrong := target_problem(options.target):
        return f"--target: {wrong}"
    if options.output == "-":
        return ""
    output = Path(options.output)
    if _is_page(options.output):
        if options.input and output.exists() and Path(options.input).exists() and output.samefile(options.input):
            return f"-o {options.output}: that is the source itself"
        if output.is_dir():
            return f"-o {options.output}: that is a folder"
        return "" if output.parent.is_dir() else f"-o {options.output}: there is no such folder"
    if output.exists() and not output.is_dir():
        return f"-o {options.output}: that is a file; a page's name ends in .html, anything else is a folder"
    return ""


def _is_page(name: str) -> bool:
    return name == "-" or Path(name).suffix.lower() in (".html", ".htm")


def report(options: argparse.Namespace, sources: Sequence[Source]) -> int:
    """Make the page of the measurements of all kernels or of some sources; returns the exit status.
    Raises OSError if it cannot be written.
    """
    try:
        page = _page(options, sources)
    except _ReportError as error:
        if str(error):
            print_error("tilepragma", str(error))
        return error.status
    except MeasurementsError as error:
        print_error("tilepragma", str(error))
        return _FAILED
    _write(options.output, page)
    return _DONE


def _page(options: argparse.Namespace, sources: Sequence[Source]) -> MeasurementsPage:
    """Raises _ReportError, MeasurementsError."""
    timelines = (_timeline(Path(options.trace)),) if options.trace else ()
    subjects: list[_Subject] = []
    if not options.trace or sources or options.kernel or database_path().is_file():
        subjects = _subjects(options, sources, _all())
    sections, points, used = [], [], []
    for measured, source, plan in subjects:
        space = input_space(measured.trials)
        if space is None:
            print_error("tilepragma", f"{_title(measured)} is left out: its default was measured at no input")
            continue
        known = None
        if source is not None and plan is not None:
            device = device_of(measured, source.request.device)
            known = known_source(source.request, source.result, plan, measured, space, device)
            measured_points = MeasuredPoints(
                _title(measured), input_name(space.inputs[-1]), device, measured.environment.device, known.points
            )
            points.append(measured_points)
        sections.append(kernel_section(measured, space, known))
        used.append(measured)
    if not sections and not timelines:
        raise _ReportError("there is nothing to report: of no kernel the default was measured; 'tilepragma tune' does")
    drawn, missing = rooflines(points)
    return MeasurementsPage(_heading(sections), options.note, _made(used), tuple(sections), drawn, missing, timelines)


def _heading(sections: Sequence[KernelSection]) -> str:
    names = list(dict.fromkeys(section.name for section in sections))
    if not names:
        return "A run over time"
    return f"Measured: {', '.join(names) if len(names) <= _NAMED else f'{len(names)} kernels'}"


def _timeline(path: Path) -> Figure:
    try:
        return timeline(path)
    except TraceError as error:
        raise _ReportError(f"--trace: {path} {error}") from None
    except OSError as error:
        raise _ReportError(f"--trace {path}: {error.strerror}", _WRONG_USAGE) from None


def _all() -> list[MeasuredKernel]:
    """Everything in the user's database. Raises _ReportError, MeasurementsError."""
    path = database_path()
    if not path.is_file():
        raise _ReportError(
            f"{path} is not there: nothing was measured yet; 'tilepragma tune IN.c --sizes NAME=RANGE' measures"
        )
    with opened_to_read(path) as database:
        return measured_kernels(database.measurements())


def _subjects(
    options: argparse.Namespace, sources: Sequence[Source], kernels: Sequence[MeasuredKernel]
) -> list[_Subject]:
    """What to report, with source and plan if available. Raises _ReportError."""
    targets = listed(options.target)
    candidates = [kernel for kernel in kernels if not targets or kernel.environment.target in targets]
    on = f" on {' or '.join(targets)}" if targets else ""
    if not sources:
        return [(kernel, None, None) for kernel in _named(options.kernel, candidates, on)]
    subjects: list[_Subject] = []
    for source, plan in _plans(options.kernel, sources):
        measured = [kernel for kernel in candidates if kernel.kernel.digest == kernel_digest(source.result, plan)]
        measured = [kernel for kernel in measured if kernel.kernel.name == plan.kernel.name]
        subjects += [(kernel, source, plan) for kernel in measured]
        if not measured:
            _print_unmeasured(plan, candidates, source.request, on)
    if not subjects:
        raise _ReportError("")
    return subjects


def _plans(name: str, sources: Sequence[Source]) -> list[tuple[Source, KernelPlan]]:
    """The kernels of that name, or all. Raises _ReportError (already printed) if there are none."""
    having = [source for source in sources if any(name in ("", plan.kernel.name) for plan in source.result.plans)]
    chosen = []
    for input_ in having or sources:
        plans = chosen_kernels(name, input_.result, input_.request)
        if plans is None:
            raise _ReportError("", _WRONG_USAGE)
        chosen += [(input_, plan) for plan in plans]
    return chosen


def _print_unmeasured(
    plan: KernelPlan, candidates: Sequence[MeasuredKernel], request: TranslateRequest, on: str
) -> None:
    """Print that a kernel, or its current text, has no measurements, and how to measure it."""
    name = plan.kernel.name
    older = any(kernel.kernel.name == name for kernel in candidates)
    why = "was measured with another text or other macros only" if older else "was not measured yet"
    options = "".join(f" {shlex.quote(word)}" for word in request.options)
    place = plan.kernel.directive.range.start
    print_error(
        f"{place.file}:{place.line}",
        f"kernel '{name}' {why}{on}; measure it: tilepragma tune {shlex.quote(request.source)} "
        f"--kernel {name} --sizes NAME=RANGE{options}",
    )


def _named(name: str, candidates: Sequence[MeasuredKernel], on: str) -> list[MeasuredKernel]:
    """The kernels of a name, or all. Raises _ReportError."""
    if not candidates:
        raise _ReportError(f"nothing was measured{on} yet; 'tilepragma tune IN.c --sizes NAME=RANGE' measures")
    named = [kernel for kernel in candidates if name in ("", kernel.kernel.name)]
    if not named:
        known = sorted({kernel.kernel.name for kernel in candidates})
        near = difflib.get_close_matches(name, known, 1)
        remedy = f"did you mean '{near[0]}'?" if near else f"measured are {', '.join(known)}"
        raise _ReportError(f"--kernel {name}: no kernel of that name was measured{on}; {remedy}", _WRONG_USAGE)
    return named


def _title(measured: MeasuredKernel) -> str:
    return f"{measured.kernel.name} on {measured.environment.target}"


def _made(used: Sequence[MeasuredKernel]) -> str:
    """The page's origin. It has no date: the same measurements give the same page."""
    if not used:
        return f"Made by tilepragma report, version {__version__}."
    count = sum(len(kernel.trials) for kernel in used)
    first, last = min(kernel.days[0] for kernel in used), max(kernel.days[1] for kernel in used)
    when = f"on {first}" if first == last else f"from {first} to {last}"
    return f"Made by tilepragma report, version {__version__}, of {count} runs measured {when}."


def _write(output: str, page: MeasurementsPage) -> None:
    """Write the page, and PNGs beside it in a folder; a failure leaves no files."""
    if output == "-":
        sys.stdout.write(page.html)
        return
    if _is_page(output):
        write_atomically(Path(output), page.html.encode(errors="replace"))
        return
    folder, drawn = Path(output), {}
    try:
        drawn = {f"{name}.png": png(figure.svg) for name, figure in page.pictures}
    except MissingMatplotlibError as error:
        print(f"tilepragma: warning: no pictures beside the page: {error}", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in drawn.items():
        write_atomically(folder / name, content)
    write_atomically(folder / _PAGE, page.html.encode(errors="replace"))
    print(folder / _PAGE)
