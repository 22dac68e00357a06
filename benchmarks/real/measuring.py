"""A program in its forms: the peer's and ours, which agree, and how long each takes."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from benchmarks.measure import TILECC, BenchmarkError, alternate
from benchmarks.real.lines import Loops, loops_of, with_kernels
from benchmarks.real.programs import Program
from benchmarks.real.running import Build, Run, Workplace, difference, ours_on, peer_variables, reason
from benchmarks.suite.builds import COMPILE

#: Of the peer and of ours: what stays OpenMP's runs under OpenMP.
FLAGS = ("-O3", "-march=native", "-fopenmp")
#: Our forms: what else tilecc is told, and how the copy's text changes.
UNEDITED, PRAGMA = "unedited", "bare pragma"
FORMS: dict[str, tuple[tuple[str, ...], Callable[[str], str] | None]] = {
    UNEDITED: (("--tilek-openmp",), None),
    PRAGMA: ((), with_kernels),
}


@dataclass
class Outcome:
    """A form on a target. `fault` says how the result differs, or why there is none; `differs` tells
    the two apart. `seconds` by the clock, and those `printed`, are medians.
    """

    fault: str = ""
    differs: bool = False
    remarks: str = ""
    seconds: float = 0.0
    printed: float = 0.0


@dataclass
class Measured:
    """A program in one form, beside the `peer`. `failure` says why it is not built; `translation` is
    the processor time that building took beyond the peer's.
    """

    program: str
    form: str
    peer: Outcome
    failure: str = ""
    loops: Loops = Loops()
    translation: float = 0.0
    outcomes: dict[str, Outcome] = field(default_factory=dict)


def measure(
    place: Workplace, program: Program, forms: Sequence[str], targets: Sequence[str], repeats: int
) -> list[Measured]:
    """The program in each of the forms."""
    peer = place.build(program, COMPILE, FLAGS)
    theirs = Outcome(fault=peer.failure)
    if peer.failure:
        return [Measured(program.name, form, theirs) for form in forms]
    variables = peer_variables(place.threads)
    try:
        wanted = place.run(program, peer, variables)
        theirs.fault = difference(program, wanted.result, wanted.result)
    except BenchmarkError as error:
        theirs.fault = reason(str(error))
    result: list[Measured] = []
    timed = [(theirs, lambda: place.run(program, peer, variables))]
    for form in forms:
        measured = Measured(program.name, form, theirs)
        result.append(measured)
        if theirs.fault:
            continue
        options, change = FORMS[form]
        built = place.build(program, TILECC, (*options, "--tilek-explain", *FLAGS), change)
        measured.failure, measured.loops = built.failure, loops_of(built.said)
        measured.translation = built.seconds - peer.seconds
        for target in targets if not built.failure else ():
            outcome, run = _compared(place, program, built, target, wanted.result)
            measured.outcomes[target] = outcome
            if not outcome.fault:
                timed.append((outcome, run))
    if not theirs.fault and len(timed) > 1:
        _time(timed, repeats)
    return result


def _compared(
    place: Workplace, program: Program, built: Build, target: str, wanted: str
) -> tuple[Outcome, Callable[[], Run]]:
    variables = ours_on(target, place.threads)

    def run() -> Run:
        return place.run(program, built, variables)

    try:
        first = run()
    except BenchmarkError as error:
        return Outcome(reason(str(error))), run
    fault = difference(program, wanted, first.result)
    return Outcome(fault, bool(fault), first.remarks), run


def _time(timed: Sequence[tuple[Outcome, Callable[[], Run]]], repeats: int) -> None:
    """Medians by the clock, of runs in turn, and of what they print."""
    printed: list[list[float]] = [[] for _ in timed]

    def seconds(run: Callable[[], Run], kept: list[float]) -> float:
        taken = run()
        kept.append(taken.printed)
        return taken.seconds

    measures = [partial(seconds, run, kept) for (_, run), kept in zip(timed, printed, strict=True)]
    try:
        medians = alternate(repeats, *measures)
    except BenchmarkError as error:
        for outcome, _ in timed[1:]:
            outcome.fault = f"a later run fails: {reason(str(error))}"
        return
    for (outcome, _), median, kept in zip(timed, medians, printed, strict=True):
        outcome.seconds, outcome.printed = median, statistics.median(kept)
