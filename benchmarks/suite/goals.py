"""The figures that the generated code has to reach, each beside what a run measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.suite.cases import POLYBENCH
from benchmarks.suite.contenders import (
    GCC,
    HAND_OPENMP,
    LITERALS,
    OPENBLAS,
    PARAMETERS,
    PPCG_OPENCL,
    UNSPECIALIZED,
    our_name,
)
from benchmarks.suite.results import BEST, Row, geometric_mean, ratio
from benchmarks.suite.stored import Report

#: (row, times faster), by which figures are computed.
Found = list[tuple[Row, float]]
_MOST_NAMED = 8


@dataclass(frozen=True)
class Goal:
    """One figure. `reached` is None where the run does not hold it, and `note` says why; `least`
    says whether the goal is a least value (else a most). `comparable`: whether it was measured as
    the goal wants it, sizes among that.
    """

    figure: str
    goal: float
    reached: float | None
    note: str = ""
    least: bool = True
    unit: str = ""
    comparable: bool = True

    @property
    def met(self) -> bool | None:
        """None where nothing can be said."""
        if self.reached is None or not self.comparable:
            return None
        return self.reached >= self.goal if self.least else self.reached <= self.goal


def goals(report: Report) -> list[Goal]:
    """Every figure, in the order in which the suite prints them. Those of small sizes decide nothing."""
    results = [*_threads(report), *_opencl(report), *_parametric(report)]
    if report.machine.get("quick"):
        results = [replace(goal, comparable=False, note=f"small sizes; {goal.note}") for goal in results]
    return [*results, *_cuda(report)]


def _named(found: Iterable[tuple[Row, float]]) -> str:
    """Those cases with their values, the least first."""
    ordered = sorted(found, key=lambda each: each[1])
    named = [f"{row.case} {row.type} {value:.2f}" for row, value in ordered[:_MOST_NAMED]]
    return ", ".join([*named, *([f"{len(ordered) - _MOST_NAMED} more"] if len(ordered) > _MOST_NAMED else [])])


def _ratios(rows: Iterable[Row], target: str, against: str) -> Found:
    result = ((row, ratio(row, target, against)) for row in rows)
    return [(row, each.value) for row, each in result if each is not None]


def _mean(found: Found, figure: str, goal: float, absent: str) -> Goal:
    """A geometric mean, with those by type."""
    if not found:
        return Goal(figure, goal, None, absent)
    types = dict.fromkeys(row.type for row, _ in found)
    by_type = {type_: [value for row, value in found if row.type == type_] for type_ in types}
    split = ", ".join(f"{type_} {geometric_mean(values):.2f} ({len(values)})" for type_, values in by_type.items())
    return Goal(figure, goal, geometric_mean([value for _, value in found]), split)


def _least(found: Found, figure: str, goal: float, absent: str) -> Goal:
    """The least, with every kernel below the goal."""
    if not found:
        return Goal(figure, goal, None, absent)
    below = [each for each in found if each[1] < goal]
    worst = min(found, key=lambda each: each[1])
    return Goal(figure, goal, worst[1], f"below: {_named(below)}" if below else _named([worst]))


def _threads(report: Report) -> list[Goal]:
    polybench = [row for row in report.rows if row.group == POLYBENCH]
    peers = report.machine.get("peers") or ()
    absent = [name for name in ("PPCG", "PLUTO") if not any(peer.startswith(name) for peer in peers)]
    note = f" ({' and '.join(absent)} not installed)" if absent else ""
    found, unmeasured = _ratios(polybench, "threads", BEST), "PolyBench/C was not measured"
    jacobi = ("jacobi-2d-large", "double", {"TSTEPS": 20, "N": 4000})
    figure = "jacobi-2d of 4000^2, 20 steps, double"
    return [
        _mean(found, f"threads, PolyBench/C over the best of others{note}, geometric mean", 1.5, unmeasured),
        _least(found, "threads, least of these", 0.9, unmeasured),
        _one(report, f"{figure}, over OpenMP by hand", jacobi, HAND_OPENMP, 2.0),
        _one(report, f"{figure}, over gcc", jacobi, GCC, 4.0),
        _one(report, "float product of 2048 over OpenBLAS", ("product", "float", {"N": 2048}), OPENBLAS, 0.5),
    ]


def _one(report: Report, figure: str, case: tuple[str, str, Mapping[str, int]], against: str, goal: float) -> Goal:
    """A figure of one case on threads, at the sizes that the goal names."""
    name, type_, sizes = case
    row = next((row for row in report.rows if (row.case, row.type) == (name, type_)), None)
    result = None if row is None else ratio(row, "threads", against)
    if row is None or result is None:
        return Goal(f"threads, {figure}", goal, None, f"{name} {type_} was not measured on threads and {against}")
    spread = f"{result.least:.2f} to {result.most:.2f} in one round"
    other = (
        "" if row.sizes == sizes else "; other sizes: " + " ".join(f"{size}={row.sizes[size]}" for size in row.sizes)
    )
    return Goal(f"threads, {figure}", goal, result.value, spread + other, comparable=not other)


def _opencl(report: Report) -> list[Goal]:
    installed = PPCG_OPENCL in (report.machine.get("peers") or ())
    absent = "no kernel has both" if installed else "PPCG not installed, or without its ocl_utilities.c"
    peers, originals = (_ratios(report.rows, "opencl", name) for name in (PPCG_OPENCL, GCC))
    return [
        _mean(peers, "OpenCL over PPCG's OpenCL, geometric mean", 3.0, absent),
        _least(peers, "OpenCL, least of these", 1.0, absent),
        _least(originals, "OpenCL over gcc, least", 0.8, "OpenCL was not measured"),
    ]


def _costs(rows: Sequence[Row], target: str, form: str) -> Found:
    """By row, how many times the literals' time a form takes."""
    results = []
    for row in rows:
        literal, other = (row.contenders.get(our_name(target, each)) for each in (LITERALS, form))
        if literal is not None and other is not None and literal.right and other.right and literal.ran and other.ran:
            results.append((row, other.median / literal.median))
    return results


def _parametric(report: Report) -> list[Goal]:
    """Percent of time that sizes cost when they are parameters."""
    made = []
    for target in ("opencl", "cuda"):
        if target not in report.targets and target != "opencl":
            continue
        for form, words, goal in ((PARAMETERS, "specialised", 2.0), (UNSPECIALIZED, "TILEK_SPECIALIZE=0", 15.0)):
            result = _costs(report.rows, target, form)
            figure = f"{target}, sizes as parameters, {words}: time over numbers in the text"
            if not result:
                made.append(Goal(figure, goal, None, "not measured", least=False, unit=" %"))
                continue
            percent = 100.0 * (geometric_mean([value for _, value in result]) - 1.0)
            over = [each for each in result if 100.0 * (each[1] - 1.0) > goal]
            note = f"{len(result)} kernels" + (f"; times over: {_named(over)}" if over else "")
            made.append(Goal(figure, goal, percent, note, least=False, unit=" %"))
    return made


#: Of the GPU's benchmark: figure, goal, whether it is a least value, and the value in its results.
_GPU: tuple[tuple[str, float, bool, str], ...] = (
    ("streaming kernels, share of the measured copy bandwidth (least)", 0.9, True, "streaming"),
    ("sgemm of 4096 over cublasSgemm in plain fp32", 0.6, True, "sgemm"),
    ("2-D 5-point Jacobi, fp32, 16384^2, over one read and one write a step", 3.0, True, "jacobi-2d"),
    ("3-D 7-point Jacobi, fp32, 512^3, over one read and one write a step", 1.5, True, "jacobi-3d"),
    ("array reversal over a copy (time)", 1.05, False, "reversal"),
)


def _cuda(report: Report) -> list[Goal]:
    made = []
    for figure, goal, least, name in _GPU:
        if report.gpu is None:
            made.append(Goal(f"CUDA, {figure}", goal, None, "no GPU here", least=least))
            continue
        result = report.gpu["figures"].get(name, {})
        note = str(result.get("note", "not measured"))
        comparable = bool(report.gpu["comparable"]) and bool(result.get("whole", True))
        made.append(Goal(f"CUDA, {figure}", goal, result.get("value"), note, least=least, comparable=comparable))
    return made
