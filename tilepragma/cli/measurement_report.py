"""`tilepragma report`: a page with figures of measurements of kernels, and of a run over time."""

from __future__ import annotations

import argparse
import difflib
import math
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma import __version__
from tilepragma.base.files import write_atomically
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.performance_spread import Spread, spread_of
from tilepragma.base.quantities import seconds
from tilepragma.base.refusals import CommandError
from tilepragma.cli.command_options import check_output, chosen_kernels, listed, targets_of
from tilepragma.cli.devices import calibrated, machine_of
from tilepragma.cli.explore import lesson_from
from tilepragma.cli.output import print_error
from tilepragma.driver.texts import kernel_digest
from tilepragma.report.charts import (
    KernelPoint,
    lanes_of,
    ranges_figure,
    roofline_figure,
    share_of_roof,
    shares_figure,
    timeline_figure,
    united,
    whole_of,
)
from tilepragma.report.drawing import Figure
from tilepragma.report.facts import size_rules
from tilepragma.report.landscape import Landscape, landscape_figure, measured_landscape, ratio_text
from tilepragma.report.model_facts import choice_facts, least_work
from tilepragma.report.page import template
from tilepragma.report.png import MissingMatplotlibError, png
from tilepragma.report.size_values import Sizes
from tilepragma.tuning.database import MeasuredKernel, database_path, measured_kernels, opened_to_read
from tilepragma.tuning.decisions import ENOUGH
from tilepragma.tuning.fitted_rules import NoRulesError
from tilepragma.tuning.input_space import InputSpace, input_name, input_space
from tilepragma.tuning.measuring import DEFAULT, version_of
from tilepragma.tuning.size_ranges import sizes_of
from tilepragma.tuning.traces import Activity, TraceError, read_trace

if TYPE_CHECKING:
    from tilepragma.driver.state import TranslateRequest, TranslateResult
    from tilepragma.model.device import Device
    from tilepragma.plan.kernel_plan import KernelPlan
    from tilepragma.tuning.fitted_rules import FittedRules


#: The page's file name in a folder.
_PAGE = "report.html"
#: The most kernels that a heading names.
_NAMED = 5
#: A translated source and its request.
Source = tuple["TranslateRequest", "TranslateResult"]
#: The measurements of a kernel, with its source and plan if available.
_Subject = tuple[MeasuredKernel, Source | None, "KernelPlan | None"]


def check_usage(options: argparse.Namespace) -> None:
    """Raises CommandError for wrong options."""
    if options.input == "-":
        raise CommandError("standard input has no measurements: they are kept by a kernel's text, so name its file")
    targets_of(options.target)
    output = Path(options.output)
    if options.output == "-":
        return
    if _is_page(options.output):
        check_output("-o", options.output, options.input)
    elif output.exists() and not output.is_dir():
        words = "that is a file; a page's name ends in .html, anything else is a folder"
        raise CommandError(f"-o {options.output}: {words}")


def _is_page(name: str) -> bool:
    return name == "-" or Path(name).suffix.lower() in (".html", ".htm")


def report(options: argparse.Namespace, sources: Sequence[Source]) -> int:
    """Make the page of the measurements of all kernels or of some sources; returns the exit status.
    Raises CommandError where there are none, OSError if the page cannot be written.
    """
    timelines = [_timeline(Path(options.trace))] if options.trace else []
    subjects: list[_Subject] = []
    if not options.trace or sources or options.kernel or database_path().is_file():
        subjects = _subjects(options, sources, _all())
    sections, known_kernels, used = [], [], []
    for measured, source, plan in subjects:
        space = input_space(measured.trials)
        if space is None:
            print_error(f"{_title(measured)} is left out: its default was measured at no input")
            continue
        known = None
        if source is not None and plan is not None:
            known = known_source(*source, plan, measured, space)
            known_kernels.append((measured, space, known))
        sections.append(kernel_section(measured, space, known))
        used.append(measured)
    if not sections and not timelines:
        words = "there is nothing to report: of no kernel the default was measured; 'tilepragma tune' does"
        raise CommandError(words, status=1)
    drawn, missing = rooflines(known_kernels)
    html = template("report/measurements.html.j2").render(
        title=_heading(sections),
        note=options.note,
        made=_made(used),
        sections=sections,
        figures=drawn,
        missing=missing,
        runs=timelines,
    )
    _write(options.output, html, _pictures(sections, [*drawn, *timelines]))
    return 0


def _pictures(sections: Sequence[KernelSection], figures: Sequence[Figure]) -> list[tuple[str, Figure]]:
    """Every picture with a file name, without its ending; kernels' names may be anything."""
    drawn = [(f"{part.name}-{part.target}-{figure.name}", figure) for part in sections for figure in part.figures]
    named = [(re.sub(r"[^\w-]", "_", name), figure) for name, figure in drawn]
    return [*_numbered([(figure.name, figure) for figure in figures]), *_numbered(named)]


def _numbered(named: Sequence[tuple[str, Figure]]) -> list[tuple[str, Figure]]:
    """The same, with a number after repeated names."""
    numbered: list[tuple[str, Figure]] = []
    for name, figure in named:
        count = sum(taken.rpartition("_")[0] == name or taken == name for taken, _ in numbered)
        numbered.append((f"{name}_{count + 1}" if count else name, figure))
    return numbered


def _heading(sections: Sequence[KernelSection]) -> str:
    names = list(dict.fromkeys(section.name for section in sections))
    words = ", ".join(names) if len(names) <= _NAMED else f"{len(names)} kernels"
    return f"Measured: {words}" if names else "A run over time"


def _timeline(path: Path) -> Figure:
    try:
        return timeline(path)
    except TraceError as error:
        raise CommandError(f"--trace: {path} {error}", status=1) from None
    except OSError as error:
        raise CommandError(f"--trace {path}: {error.strerror}") from None


def _all() -> list[MeasuredKernel]:
    """Everything in the user's database. Raises CommandError."""
    path = database_path()
    if not path.is_file():
        words = "nothing was measured yet; 'tilepragma tune IN.c --sizes NAME=RANGE' measures"
        raise CommandError(f"{path} is not there: {words}", status=1)
    with opened_to_read(path) as database:
        return measured_kernels(database.measurements())


def _subjects(
    options: argparse.Namespace, sources: Sequence[Source], kernels: Sequence[MeasuredKernel]
) -> list[_Subject]:
    """What to report, with source and plan if available. Raises CommandError."""
    targets = listed(options.target)
    candidates = [kernel for kernel in kernels if not targets or kernel.environment.target in targets]
    on = f" on {' or '.join(targets)}" if targets else ""
    if not sources:
        return [(kernel, None, None) for kernel in _named(options.kernel, candidates, on)]
    subjects: list[_Subject] = []
    for (request, result), plan in _plans(options.kernel, sources):
        identity = kernel_digest(result, plan), plan.kernel.name
        measured = [kernel for kernel in candidates if (kernel.kernel.digest, kernel.kernel.name) == identity]
        subjects += [(kernel, (request, result), plan) for kernel in measured]
        if not measured:
            _print_unmeasured(plan, candidates, request, on)
    if not subjects:
        raise CommandError(status=1)
    return subjects


def _plans(name: str, sources: Sequence[Source]) -> list[tuple[Source, KernelPlan]]:
    """The kernels of that name, or all. Raises CommandError if there are none."""
    having = [source for source in sources if any(name in ("", plan.kernel.name) for plan in source[1].plans)]
    return [
        ((request, result), plan)
        for request, result in having or sources
        for plan in chosen_kernels(name, result, request)
    ]


def _print_unmeasured(
    plan: KernelPlan, candidates: Sequence[MeasuredKernel], request: TranslateRequest, on: str
) -> None:
    """Print that a kernel, or its current text, has no measurements, and how to measure it."""
    name = plan.kernel.name
    older = any(kernel.kernel.name == name for kernel in candidates)
    why = "was measured with another text or other macros only" if older else "was not measured yet"
    options = "".join(f" {shlex.quote(word)}" for word in request.options)
    place = plan.kernel.directive.range.start.place
    command = f"tilepragma tune {shlex.quote(request.source)} --kernel {name} --sizes NAME=RANGE{options}"
    print_error(f"kernel '{name}' {why}{on}; measure it: {command}", place)


def _named(name: str, candidates: Sequence[MeasuredKernel], on: str) -> list[MeasuredKernel]:
    """The kernels of a name, or all. Raises CommandError."""
    if not candidates:
        words = f"nothing was measured{on} yet; 'tilepragma tune IN.c --sizes NAME=RANGE' measures"
        raise CommandError(words, status=1)
    named = [kernel for kernel in candidates if name in ("", kernel.kernel.name)]
    if not named:
        known = sorted({kernel.kernel.name for kernel in candidates})
        near = difflib.get_close_matches(name, known, 1)
        remedy = f"did you mean '{near[0]}'?" if near else f"measured are {', '.join(known)}"
        raise CommandError(f"--kernel {name}: no kernel of that name was measured{on}; {remedy}")
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


def _write(output: str, html: str, pictures: Sequence[tuple[str, Figure]]) -> None:
    """Write the page, and PNGs beside it in a folder; a failure leaves no files."""
    if output == "-":
        sys.stdout.write(html)
        return
    page = html.encode(errors="replace")
    if _is_page(output):
        write_atomically(Path(output), page)
        return
    folder, drawn = Path(output), {}
    try:
        drawn = {f"{name}.png": png(figure.svg) for name, figure in pictures}
    except MissingMatplotlibError as error:
        print(f"tilepragma: warning: no pictures beside the page: {error}", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (*drawn.items(), (_PAGE, page)):
        write_atomically(folder / name, content)
    print(folder / _PAGE)


# -- kernel sections


RULES = "learned rules"
_IDEAL = "the fastest at each input (ideal)"
#: The most curves besides that of the rules; rows of the tables of inputs and of versions.
_CURVES, _INPUTS, _VERSIONS = 5, 8, 12
#: The fewest cells of a map from which conclusions on sizes are drawn.
_FEW = 6


@dataclass(frozen=True)
class Way:
    """A way to choose a version: what it reaches, and relative to the best version on average."""

    name: str
    spread: Spread
    mean_speedup: float
    worst_speedup: float


#: An input: its fastest version, that one's time, the default's time and share, the rules' share.
InputRow = tuple[str, str, str, str, str, str]


@dataclass(frozen=True)
class KernelSection:
    """A kernel on a target. `unit` is what performance counts, `facts` where it was measured,
    `rules` what the translator takes. `versions` ran at every input: name, mean and least share of
    the best, and wins. `missing` are sentences on pictures that are missing and how to get them.
    """

    name: str
    target: str
    source: str
    unit: str
    inputs: int
    facts: tuple[tuple[str, str], ...]
    ways: tuple[Way, ...]
    figures: tuple[Figure, ...]
    versions: tuple[tuple[str, str, str, int], ...]
    rows: tuple[InputRow, ...]
    rules: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def title(self) -> str:
        """`sgemm on threads`"""
        return f"{self.name} on {self.target}"


@dataclass(frozen=True)
class KnownSource:
    """What the source of a kernel adds to its measurements. `device` is None if not calibrated.

    `work`: floating-point operations of each input by its text, empty if they cannot be counted.
    `points`: the fastest runs for the roofline, in the order of inputs. `lesson`: the fitted rules,
    None for the reason `no_lesson`. `predicted`: the model's landscape at the slowest input, None
    for the reason `no_prediction`. `refused`: sentences on versions that the program cannot have.
    """

    device: Device | None
    lesson: FittedRules | None
    no_lesson: str
    refused: tuple[str, ...]
    work: Mapping[str, float]
    points: tuple[KernelPoint, ...]
    predicted: Landscape | None
    no_prediction: str


def kernel_section(measured: MeasuredKernel, space: InputSpace, known: KnownSource | None) -> KernelSection:
    """A kernel's section; `known` is None without its source."""
    work = known.work if known is not None and known.work else {}
    unit, factor = ("GFLOP/s", 1e-9) if work else ("% of the fastest version", 100.0)
    amounts = {text: factor * count for text, count in (work or space.relative_work).items()}
    average = space.average_best(amounts)
    lesson = known.lesson if known is not None else None
    rules = None
    if lesson is not None and lesson.is_worth_it and len(lesson.reached) == len(space.inputs):
        rules = lesson.reached
    ways = _ways(space, average, amounts, rules)
    without = _why_no_rules(known, space)
    over_inputs = _shares_of_inputs(space, average, rules, without)
    landscapes, missing = _landscapes(measured, space, known)
    return KernelSection(
        measured.kernel.name,
        measured.environment.target,
        measured.kernel.source,
        unit,
        len(space.inputs),
        _facts(measured),
        ways,
        (over_inputs, _adaptive(ways, unit, average, without), *landscapes),
        _version_rows(space),
        _input_rows(space, rules),
        _rules(lesson, known, space),
        tuple(missing),
    )


def _why_no_rules(known: KnownSource | None, space: InputSpace) -> str:
    if known is None:
        return "Name the source (tilepragma report IN.c) to see what learned rules reach."
    if known.lesson is None:
        return f"No rules were learned: {known.no_lesson}."
    if known.lesson.is_worth_it:
        unknown = len(space.inputs) - len(known.lesson.reached)
        where = f"at {unknown} of {len(space.inputs)} inputs, where they did not run"
        return f"What the learned rules reach is not known {where}: measure longer (--budget)."
    return "No rules gain 2 % or more on what launches take by themselves: that stays."


def telling_versions(space: InputSpace, average: str) -> list[str]:
    """Versions worth a curve: best on average, default, most often fastest, worst."""
    often = sorted(space.everywhere, key=lambda name: (-space.wins(name), name))
    worst = min(space.everywhere, key=lambda name: (spread_of(space.shares(name).values()).mean, name))
    chosen = list(dict.fromkeys([average, DEFAULT, *often[: _CURVES - 3], worst, *often]))
    return chosen[:_CURVES]


# -- versions over inputs


def _shares_of_inputs(space: InputSpace, average: str, rules: Mapping[str, float] | None, without: str) -> Figure:
    """Figure 6 of the TileK paper."""
    curves = {RULES: rules.values()} if rules is not None else {}
    for name in telling_versions(space, average):
        curves[f"{name} (best on average)" if name == average else name] = space.shares(name).values()
    shares = space.shares(average)
    worst = min(shares, key=lambda text: (shares[text], text))
    where = f"at {_count(len(space.inputs), 'input')}, each curve from its worst input to its best"
    words = f"What share of the fastest version's speed each version reaches {where}. "
    falls = f"{shares[worst]:.0%} at its worst input, {input_name(worst)}"
    if len(space.everywhere) == 1:
        words += f"The default alone ran at all of them, with {falls}. "
        return shares_figure(curves, f"{words}Measure longer (--budget) to compare others with it.")
    the_best = "the default" if average == DEFAULT else average
    words += f"Of the {len(space.everywhere)} versions that ran at all of them {the_best} is the best on average, "
    return shares_figure(curves, f"{words}with {falls}. {_advice_on_inputs(shares[worst], rules, without)}")


def _advice_on_inputs(least: float, rules: Mapping[str, float] | None, without: str) -> str:
    if least >= ENOUGH:
        return "One version is enough: take it."
    if rules is None:
        return f"No version is enough for all inputs. {without}"
    lowest = min(rules.values())
    reach = f"The learned rules reach {lowest:.0%}"
    if lowest >= ENOUGH:
        return f"{reach} everywhere: keep them beside the source (tilepragma tune writes IN.tilek.json)."
    if lowest > least:
        return f"{reach} at their worst input: better than one version; measure longer (--budget) for more."
    remedy = "measure longer (--budget), or at sizes between these, before relying on them"
    return f"The learned rules fall to {lowest:.0%} as well: {remedy}."


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


# -- what adapting is worth


def _ways(
    space: InputSpace, average: str, work: Mapping[str, float], rules: Mapping[str, float] | None
) -> tuple[Way, ...]:
    """The ideal first; the best on average last but for the default (TileK paper, Table 4)."""
    base = spread_of(space.rates(space.shares(average), work))
    shares: dict[str, Mapping[str, float]] = {_IDEAL: dict.fromkeys(space.inputs, 1.0)}
    if rules is not None:
        shares[RULES] = rules
    shares[f"best on average: {average}"] = space.shares(average)
    if average != DEFAULT:
        shares[DEFAULT] = space.shares(DEFAULT)
    spreads = {name: spread_of(space.rates(shares_, work)) for name, shares_ in shares.items()}
    return tuple(Way(name, spread, *spread.over(base)) for name, spread in spreads.items())


def _adaptive(ways: Sequence[Way], unit: str, average: str, without: str) -> Figure:
    """Figure 7 of the TileK paper."""
    ideal, rules = ways[0], next((way for way in ways if way.name == RULES), None)
    mean = f"{ideal.mean_speedup:.2f} times as fast as the best one on average ({average})"
    words = f"Mean, least and most over all inputs. Taking the fastest version of each input is {mean}, "
    words += f"and {ideal.worst_speedup:.2f} times at the slowest input."
    if rules is None:
        advice = without
    else:
        both = f"{rules.mean_speedup:.2f} and {rules.worst_speedup:.2f}"
        words += f" The learned rules, learned from these same inputs, are {both} times as fast."
        advice = "They are near the ideal: build with them."
        if rules.mean_speedup < ENOUGH * ideal.mean_speedup:
            factor = f"a factor of {ideal.mean_speedup / rules.mean_speedup:.2f}"
            advice = f"That leaves {factor}: measure longer (--budget), or at more sizes."
    return ranges_figure({way.name: way.spread for way in ways}, unit, f"{words} {advice}")


# -- tile sizes


def _landscapes(
    measured: MeasuredKernel, space: InputSpace, known: KnownSource | None
) -> tuple[list[Figure], list[str]]:
    """Figures over tile sizes at the slowest input; sentences on missing ones."""
    figures, missing = [], []
    text = space.inputs[-1]
    landscape = _measured(measured, space, text, known.lesson if known is not None else None)
    if landscape is None:
        missing.append("No map of measured tile sizes: no build of the source ran with two of them.")
    else:
        figures.append(_advised(landscape, _advice_on_sizes(landscape)))
    if known is None:
        missing.append("No predicted times, roofline and rules: they need the source, as in tilepragma report IN.c.")
    elif known.predicted is None:
        missing.append(f"No predicted times: {known.no_prediction}.")
    else:
        figures.append(_advised(known.predicted, _advice_on_model(known.predicted, space, text)))
    return [figure for figure in figures if figure is not None], missing


def _measured(measured: MeasuredKernel, space: InputSpace, text: str, lesson: FittedRules | None) -> Landscape | None:
    """The landscape of the rules' build, or without rules, of the fastest build at the input."""
    note = f"At {input_name(text)}."
    if lesson is not None and text in lesson.occasions:
        names = tuple(size.object.name for size in lesson.plan.sizes)
        times, taken = lesson.launched(text, measured.environment.threads)
        default, build = taken or (), lesson.build
    else:
        build = version_of(space.best[text][0]).build
        versions = {name: version_of(name) for name in space.seconds[text]}
        times_by_sizes = {
            version.sizes: space.seconds[text][name]
            for name, version in versions.items()
            if version.build == build and version.sizes
        }
        names = tuple(name for name, _ in next(iter(times_by_sizes), ()))
        times = {
            tuple(size for _, size in sizes): time
            for sizes, time in times_by_sizes.items()
            if tuple(name for name, _ in sizes) == names
        }
        default = ()
    if build:
        note = f"At {input_name(text)}, with {build}."
    return measured_landscape(names, times, default, measured.environment.device, note) if times else None


def _advised(landscape: Landscape, advice: str) -> Figure | None:
    figure = landscape_figure(landscape)
    return None if figure is None else replace(figure, caption=f"{figure.caption} {advice}")


def _advice_on_sizes(measured: Landscape) -> str:
    near = sum(measured.ratio(cell) <= 1.05 for cell in measured.seconds)
    if len(measured.seconds) < _FEW:
        return "Too few ran to tell whether sizes matter: measure longer (--budget)."
    within = f"{near} of {len(measured.seconds)} cells are within 5 % of the best"
    if near / len(measured.seconds) >= 0.3:
        return f"{within}: sizes hardly matter here."
    return f"{within}: sizes matter; {measured.text(measured.best)} is the fastest that ran."


def _advice_on_model(predicted: Landscape, space: InputSpace, text: str) -> str:
    """How far the model's best is from the measured best, if it ran."""
    wanted = dict(zip(predicted.names, predicted.best, strict=True))
    version, best = space.best[text]
    versions = {name: version_of(name) for name in space.seconds[text]}
    named = [name for name, tried in versions.items() if dict(tried.sizes) == wanted and not tried.build]
    ran = [space.seconds[text][name] for name in named]
    if not ran:
        return f"The model's best did not run; the fastest that did, {version}, took {seconds(best)}."
    ratio = min(ran) / best
    trust = "its order can be trusted here" if ratio <= 1.1 else "measure rather than trust it here"
    compared = f"{ratio_text(ratio)} times the fastest ({version})"
    return f"The model's best took {seconds(min(ran))} when it ran, {compared}: {trust}."


# -- tables


def _version_rows(space: InputSpace) -> tuple[tuple[str, str, str, int], ...]:
    spreads = {name: spread_of(space.shares(name).values()) for name in space.everywhere}
    ordered = [
        (name, f"{spread.mean:.1%}", f"{spread.least:.1%}", space.wins(name))
        for name, spread in sorted(spreads.items(), key=lambda entry: (-entry[1].mean, entry[0]))
    ]
    if len(ordered) <= _VERSIONS:
        return tuple(ordered)
    default = [row for row in ordered[_VERSIONS - 1 : -1] if row[0] == DEFAULT]
    return (*ordered[: _VERSIONS - 1 - len(default)], *default, ordered[-1])


def _input_rows(space: InputSpace, rules: Mapping[str, float] | None) -> tuple[InputRow, ...]:
    shares = space.shares(DEFAULT)
    furthest = sorted(space.inputs, key=lambda text: (shares[text], text))[:_INPUTS]
    return tuple(
        (
            input_name(text),
            space.best[text][0],
            seconds(space.best[text][1]),
            seconds(space.seconds[text][DEFAULT]),
            f"{shares[text]:.0%}",
            f"{rules[text]:.0%}" if rules is not None else "",
        )
        for text in furthest
    )


def _rules(lesson: FittedRules | None, known: KnownSource | None, space: InputSpace) -> tuple[str, ...]:
    if known is None:
        return ()
    if lesson is None:
        return (f"None: {known.no_lesson}.",)
    if not lesson.is_worth_it:
        return (f"None. {_why_no_rules(known, space)}",)
    versions = [f"version {number}: {version.text}" for number, version in enumerate(lesson.plan.versions, 1)]
    rules = size_rules(lesson.plan, lesson.decision.measured.choices, lesson.on_host)
    named = [f"{lesson.build}: {rule}" if lesson.build else rule for rule in rules]
    missed = lesson.decision.missed
    short = (f"{ENOUGH:.0%} of the best at every input is not reached: {missed}.",) if missed else ()
    return (*versions, *named, *short, *known.refused)


def _facts(measured: MeasuredKernel) -> tuple[tuple[str, str], ...]:
    environment, (first, last) = measured.environment, measured.days
    when = first if first == last else f"{first} to {last}"
    tried = len({(trial.version, trial.sizes) for trial, _ in measured.trials})
    runs = f"{_count(len(measured.trials), 'run')}, {_count(tried, 'pair')} of a version and an input"
    facts = [
        ("measured", f"{when}: {runs}"),
        ("failed", _count(measured.failures, "run") if measured.failures else ""),
        ("left out", f"{_count(measured.left_out, 'older run')} with another build" if measured.left_out else ""),
        ("device", environment.device),
        ("driver", environment.driver),
        ("machine", environment.machine if environment.machine != environment.device else ""),
        ("threads", str(environment.threads)),
        ("compiler", environment.compiler),
        ("options", environment.options),
        ("program", environment.program or "made by tilepragma tune, on random numbers"),
        ("tilepragma", environment.translator),
    ]
    return tuple((name, value) for name, value in facts if value)


# -- known sources


_HOSTS = ("serial", "threads")


def known_source(
    request: TranslateRequest, result: TranslateResult, plan: KernelPlan, measured: MeasuredKernel, space: InputSpace
) -> KnownSource:
    """The facts of a kernel with this plan, without stored records."""
    device = device_of(measured, request.device)
    on_host = _runs_launches_of_hosts(measured)
    refused: list[str] = []

    def note(text: str, reason: str) -> None:
        refused.append(f"{text} cannot be a version of the kernel's own program: it {reason}")

    lesson, no_lesson = None, ""
    try:
        lesson = lesson_from(request, result, plan, measured.environment.target, on_host, measured.trials, note)
    except NoRulesError as reason:
        no_lesson = str(reason)
    target = "threads" if on_host else "cuda"
    numbers = {text: Sizes(sizes_of(text)) for text in space.inputs}
    counted = {text: least_work(plan, sizes, target) for text, sizes in numbers.items()}
    work = {text: work_.operations for text, work_ in counted.items() if work_ is not None and work_.operations}
    points = tuple(
        KernelPoint(work_.operations, work_.bytes, space.best[text][1], work_.double)
        for text, work_ in counted.items()
        if work_ is not None and work_.operations and work_.bytes
    )
    predicted, why = _predicted(plan, numbers[space.inputs[-1]], device)
    work = work if len(work) == len(space.inputs) else {}
    return KnownSource(device, lesson, no_lesson, tuple(refused), work, points, predicted, why)


def device_of(measured: MeasuredKernel, named: Device | None) -> Device | None:
    """The device of the measurements, as the user names it or as calibrated here; else None."""
    if named is not None:
        return named
    device = calibrated(measured.environment.target)
    return device if device is not None and device.name == measured.environment.device else None


def _runs_launches_of_hosts(measured: MeasuredKernel) -> bool:
    """Processors under OpenCL do too. An absent device is taken for a GPU."""
    if measured.environment.target in _HOSTS:
        return True
    machine = machine_of(measured.environment.target)
    return machine.kind == "cpu" and machine.name == measured.environment.device


def _predicted(plan: KernelPlan, sizes: Sizes, device: Device | None) -> tuple[Landscape | None, str]:
    if device is None:
        words = "what it was measured on is not calibrated here (tilepragma devices --calibrate)"
        return None, f"{words}, and no --device is named"
    said, landscape = choice_facts(plan, sizes, device)
    return landscape, said.get("predicted", "the kernel has no tile sizes there").removeprefix("not known: ")


# -- rooflines


#: The share of the roof beyond which other versions gain little, and beyond which it is no roof.
_NEAR, _ABOVE = 0.7, 1.05


_Known = tuple[MeasuredKernel, InputSpace, KnownSource]


def rooflines(kernels: Sequence[_Known]) -> tuple[list[Figure], list[str]]:
    """A figure for each device with a point for each kernel measured on it, and sentences on
    kernels in none.
    """
    absent = dict.fromkeys(measured.environment.device for measured, _, known in kernels if known.device is None)
    remedy = "run 'tilepragma devices --calibrate', or name it with --device"
    sentences = [f"No roofline of {name}, not calibrated here: {remedy}." for name in absent]
    uncounted = [_title(measured) for measured, _, known in kernels if known.device is not None and not known.points]
    if uncounted:
        why = "whose floating-point operations or bytes cannot be counted"
        sentences.append(f"Not on the roofline: {', '.join(uncounted)}, {why}.")
    groups: dict[str, tuple[Device, list[_Known]]] = {}
    for kernel in kernels:
        device = kernel[2].device
        if device is not None and kernel[2].points:
            groups.setdefault(device.name, (device, []))[1].append(kernel)
    return [_roofline_of(*group) for group in groups.values()], sentences


def _roofline_of(device: Device, kernels: Sequence[_Known]) -> Figure:
    named = [
        (f"{_title(measured)}; the large sign is {input_name(space.inputs[-1])}", known.points)
        for measured, space, known in kernels
    ]
    allowed = "under what arithmetic and memories allow; both axes are logarithmic"
    words = [f"The fastest run of each kernel at each input, {allowed}."]
    advised: dict[tuple[str, str], list[str]] = {}
    for measured, _, known in kernels:
        share = share_of_roof(known.points[-1], device)
        if share is not None:
            advised.setdefault(_advice_on_roof(*share), []).append(f"{_title(measured)} {100 * share[0]:.2g} %")
    words += [f"{what}: {', '.join(names)}. {advice}" for (what, advice), names in advised.items()]
    return roofline_figure(named, device, " ".join(words))


def _advice_on_roof(share: float, roof: str) -> tuple[str, str]:
    """What a share of the lowest roof (arithmetic or a memory) means, and what to do about it."""
    if share > _ABOVE:
        return f"Above the line of {roof}", "Their arrays stay in caches from call to call: see the roofs of these."
    if share >= _NEAR:
        return f"Near what {roof} allows", "Only less work or less traffic makes these faster."
    advice = "Try other tile sizes, and tiles of time steps (--versions steps) where there are any."
    if roof == "arithmetic":
        advice = "See that innermost loops are vectors' (-O3 -march=native) and that tiles fit the caches."
    return f"Below what {roof} allows", advice


# -- run timeline


def timeline(path: Path) -> Figure:
    """The figure of the run. Raises TraceError, OSError."""
    activities = read_trace(path)
    spans: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for activity in activities:
        name = f"{activity.name} on {activity.target}" if activity.kind == "kernel" else activity.kind
        spans.setdefault((activity.kind, name), []).append((activity.begin, activity.begin + activity.length))
    lanes = lanes_of(spans)
    return timeline_figure(lanes, _caption(activities, whole_of(lanes)))


def _caption(activities: tuple[Activity, ...], whole: float) -> str:
    groups = ("kernel",), ("copy in", "copy out"), ("compile",)
    kernels, copies, compiling = (_busy(activities, kinds) for kinds in groups)
    idle = max(0.0, whole - _busy(activities, tuple({activity.kind for activity in activities})))
    parts = [("kernels", kernels), ("copies", copies), ("compilation", compiling), ("none of these", idle)]
    spent = ", ".join(f"{name} {part / whole if whole else 0:.0%}" for name, part in parts if part > 0)
    when = f"{seconds(whole)} from the first to the last, of which {spent}"
    advice = _advice_on_run(kernels, copies, compiling, idle)
    return f"When each kernel, copy and compilation ran: {when}. {advice}"


def _advice_on_run(kernels: float, copies: float, compiling: float, idle: float) -> str:
    spent = {
        "kernels: faster versions of the longest one are worth looking for": kernels,
        "copies: keep arrays on the device between kernels, in a region of '#pragma tilek data'": copies,
        "compilation, once for each program: the next run takes it from the cache": compiling,
        "the rest of the program: kernels are not what makes it slow": idle,
    }
    return f"Most of the time goes to {max(spent, key=spent.__getitem__)}."


def _busy(activities: tuple[Activity, ...], kinds: tuple[str, ...]) -> float:
    """Seconds in which some activity of these kinds ran."""
    spans = [(activity.begin, activity.begin + activity.length) for activity in activities if activity.kind in kinds]
    return math.fsum(end - begin for begin, end in united(spans))
