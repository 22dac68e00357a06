"""`tilepragma tune --quick`: times the model's best tile sizes, and records the fastest."""

from __future__ import annotations

import argparse
import shlex
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from random import Random
from types import FrameType
from typing import TYPE_CHECKING

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.files import file_bytes
from tilepragma.base.quantities import seconds
from tilepragma.base.refusals import CommandError
from tilepragma.cli.command_options import chosen_kernels
from tilepragma.cli.devices import calibrated, machine_of
from tilepragma.cli.output import measuring_progress, new_table, print_diagnostics, print_error, print_table
from tilepragma.driver.state import TARGET_NAMES, TranslateRequest, TranslateResult
from tilepragma.report.size_values import Sizes, check_sizes, parse_sizes
from tilepragma.tuning.kernel_tuning import KernelTuning, TuningError, require_sizes, tuning_of
from tilepragma.tuning.layout_search import LEAST_GAIN, ROUNDS, SURE_ROUNDS, LayoutSearch, Trial
from tilepragma.tuning.programs import ProgramError, ProgramMissingError, Run, run
from tilepragma.tuning.source_records import TuningRecord, keep, recorded_layouts, records_file, set_aside

if TYPE_CHECKING:
    from rich.table import Table

    from tilepragma.plan.kernel_plan import KernelPlan

_DONE, _NOTHING_TUNED = 0, 1
#: Layouts to time besides the default.
_BEST = 12


class TerminatedError(KeyboardInterrupt):
    """SIGTERM, handled like Ctrl-C: the running program has its own session and would survive."""


def check_usage(options: argparse.Namespace) -> None:
    """Raises CommandError for wrong options."""
    if options.input == "-":
        raise CommandError("standard input cannot be tuned: sizes are kept beside the source, so name a file")
    if options.sizes or options.budget or options.versions or options.again or options.build:
        whole_only = "--sizes, --budget, --versions, --again and --build"
        raise CommandError(f"{whole_only} are for the whole search, without --quick")
    if options.target not in ("", *TARGET_NAMES):
        raise CommandError(f"--target: name one of {', '.join(TARGET_NAMES)} with --quick")
    if not options.program:
        raise CommandError("no program to run: name it last, built with tilecc before, as in  -- ./program arguments")
    if options.best is not None and options.best < 1:
        raise CommandError(f"--best {options.best}: at least one layout besides the default must be tried")


def tune(options: argparse.Namespace, request: TranslateRequest, result: TranslateResult) -> int:
    """Tune the kernels of a translated source, print and store the results; returns the exit
    status. Raises CommandError for invalid sizes and unknown kernels.
    """
    sizes = parse_sizes(options.size)
    check_sizes(sizes, [plan.kernel for plan in result.plans])
    plans = [plan for plan in chosen_kernels(options.kernel, result, request) if _is_tunable(plan, request)]
    if not plans or (options.keep and not can_keep(request.source)):
        return _NOTHING_TUNED
    variables: list[str] = []
    try:
        with ended_by_user("nothing more is measured or kept"):
            first = _first_run(options)
            tuned = [_tune_kernel(plan, first, sizes, options, request, variables) for plan in plans]
    except ProgramMissingError as error:
        raise CommandError(f"{options.program[0]} {error}; build it first, with tilecc") from None
    except ProgramError as error:
        raise CommandError(f"{shlex.join(options.program)} {error}", status=1) from None
    finally:
        if variables:
            print(f"TILEK_SIZES={','.join(variables)}")
    return _DONE if any(tuned) else _NOTHING_TUNED


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """SIGTERM raises TerminatedError inside, once: a second signal must not cut off the output."""

    def end(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise TerminatedError

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


@contextmanager
def ended_by_user(words: str) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the command with these words."""
    try:
        with ended_by_sigterm():
            yield
    except KeyboardInterrupt as reason:
        is_terminated = isinstance(reason, TerminatedError)
        print(f"{'terminated' if is_terminated else 'interrupted'}: {words}")
        raise CommandError(status=143 if is_terminated else 130) from None


def _is_tunable(plan: KernelPlan, request: TranslateRequest) -> bool:
    try:
        require_sizes(plan)
    except TuningError as error:
        refuse(plan, error, request)
        return False
    return True


def refuse(plan: KernelPlan, error: TuningError, request: TranslateRequest) -> None:
    """Print at the kernel why it cannot be tuned."""
    diagnostics = Diagnostics()
    diagnostics.error(plan.kernel.directive.range, f"kernel '{plan.kernel.name}' {error}", error.remedy)
    print_diagnostics(tuple(diagnostics), request.source, request.text)


def _first_run(options: argparse.Namespace) -> Run:
    """A run of the unchanged program: what it launches, and where."""
    with measuring_progress() as progress:
        progress.add_task(f"running {options.program[0]} once as it is", total=None)
        return run(options.program, {"TILEK_TARGET": options.target} if options.target else {}, None)


def _tune_kernel(
    plan: KernelPlan,
    first: Run,
    sizes: Sizes,
    options: argparse.Namespace,
    request: TranslateRequest,
    variables: list[str],
) -> bool:
    """Tune one kernel, print the result, add it to `variables`; returns whether it was tuned."""
    best = _BEST if options.best is None else options.best
    try:
        numbers, recorded = sizes.by_name(plan.kernel), recorded_layouts(request.source, plan)
        tuning = tuning_of(
            plan, first, options.target, numbers, lambda target: request.device or calibrated(target), recorded, best
        )
    except TuningError as error:
        refuse(plan, error, request)
        return False
    try:
        _measure(tuning, options)
    except (KeyboardInterrupt, ProgramError):
        if tuning.layouts.default.seconds:
            _show(tuning)
        raise
    _show(tuning)
    for line in _conclusion(tuning):
        print(f"  {line}")
    if tuning.layouts.winner is not tuning.layouts.default:
        variables.append(tuning.variable(tuning.layouts.winner.layout))
    if not options.keep:
        return True
    winner = tuning.winner(machine_of(tuning.target).name, datetime.now())
    return winner is None or keep_beside(request.source, winner)


def _measure(tuning: KernelTuning, options: argparse.Namespace) -> None:
    with measuring_progress() as progress:
        task = progress.add_task(tuning.name, total=tuning.layouts.runs)

        def notify(trial: Trial) -> None:
            measured = [trial.median for trial in tuning.layouts.trials if trial.median is not None]
            so_far = f"; fastest so far {seconds(min(measured))}" if measured else ""
            text = f"{tuning.name} on {tuning.target}: {_layout(tuning, trial)}{so_far}"
            progress.update(task, advance=1, description=text)

        tuning.run(options.program, Random(), notify)


def can_keep(source: str) -> bool:
    """Whether results can be written beside the source; prints the reason if not."""
    path = records_file(source)
    try:
        if path.exists():
            file_bytes(path)
        with tempfile.TemporaryFile(dir=path.parent):
            return True
    except OSError as error:
        print_error(f"what is found could not be kept: {path}: {error.strerror}; --no-keep measures all the same")
        return False


def keep_beside(source: str, winner: TuningRecord, is_rebuilt: bool = False) -> bool:
    """Store the result beside the source, and print what is left to do (`is_rebuilt`: nothing).
    Returns whether that succeeded.
    """
    try:
        damaged = set_aside(source)
        path = keep(source, winner)
    except OSError as error:
        print_error(f"what was found cannot be kept: {error.filename or source}: {error.strerror}")
        return False
    if damaged is not None:
        print_error(f"what was kept beside {source} could not be read, and starts over: {damaged} has what it was")
    if path is not None:
        what = "kept in" if winner.facts is not None else "what was kept before is taken out of"
        again = "" if is_rebuilt else f": build again (touch {source})"
        print(f"  {what} {path}, where the translator looks for it{again}")
    return True


# -- Output


def _layout(tuning: KernelTuning, trial: Trial) -> str:
    """Tile sizes by name; for a default with several layouts the one with most of the time."""
    pairs = zip(tuning.layouts.ranking.names, trial.layout.sizes, strict=True)
    text = " ".join(f"{name}={size}" for name, size in pairs)
    if trial is tuning.layouts.default and tuning.layouts.is_mixed:
        return f"{text}, {len(tuning.taken) - 1} more by launch"
    return text


def _show(tuning: KernelTuning) -> None:
    print_table(_table(tuning))
    if tuning.layouts.compared:
        share = f"a share that was reached in {SURE_ROUNDS} of {ROUNDS} rounds in turn with the default"
        print(f"  'of default': {share}; rows without one ran before these, and are not compared")
    for trial in tuning.layouts.trials:
        if trial.failure:
            print(f"  with {_layout(tuning, trial)} the program {trial.failure}")


def _table(tuning: KernelTuning) -> Table:
    ordered = not tuning.layouts.ranking.reason
    numbers = (*(("model's rank", "predicted") if ordered else ()), "measured", "runs", "of default")
    table = new_table(f"{tuning.name} on {tuning.target}", ("tile sizes",), numbers)
    layouts = tuning.layouts
    compared = layouts.compared
    others = [trial for trial in layouts.trials if all(trial is not row for row in compared)]
    others.sort(key=lambda trial: (trial.median is None, trial.median or 0.0))
    for trial in (*compared, *others):
        median, ratio = trial.median, layouts.ratio(trial) if compared else None
        predicted = "" if trial.layout.seconds is None else seconds(trial.layout.seconds)
        table.add_row(
            _layout(tuning, trial) + (" (default)" if trial is layouts.default else ""),
            *(("" if trial.rank is None else str(trial.rank), predicted) if ordered else ()),
            "failed" if trial.failure else "" if median is None else seconds(median),
            str(len(trial.seconds)),
            "" if ratio is None else f"{ratio:.3f}",
        )
    return table


def _conclusion(tuning: KernelTuning) -> list[str]:
    layouts, ranking = tuning.layouts, tuning.layouts.ranking
    best = layouts.winner
    ratio = layouts.ratio(best)
    if best is layouts.default or ratio is None:
        rounds = f"in {SURE_ROUNDS} of {ROUNDS} rounds in turn with it"
        outcome = f"the default is kept: no other is faster by {LEAST_GAIN:.0%} {rounds}"
    else:
        outcome = f"the fastest is {_layout(tuning, best)}: {ratio:.3f} of the default's time"
    if ranking.reason:
        return [outcome, f"the model did not order them: {ranking.reason}"]
    place = f"the model's number {best.rank} of {len(ranking.layouts)}"
    if best.rank is None:
        place = "not among the model's layouts"
    return [outcome, f"it is {place}", *_fitted(best, layouts)]


def _fitted(best: Trial, layouts: LayoutSearch) -> list[str]:
    """What the model says of a layout with prices fitted to runs."""
    fit = layouts.fit
    if fit is None or best.rank is None or best.median is None:
        return []
    rank, predicted = fit.rank(best.layout.sizes), fit.predicted(best.layout.sizes).seconds or 0.0
    itself = ", this among them" if best.layout.sizes in layouts.fitted else ""
    prices = f"with its prices fitted to runs of the first {len(layouts.fitted)} layouts{itself}"
    return [f"{prices}, number {rank}: {seconds(predicted)} predicted, {seconds(best.median)} measured"]
