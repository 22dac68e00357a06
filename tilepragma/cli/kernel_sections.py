"""A report's section on a kernel and target: tables and figures of its versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.performance_spread import Spread, spread_of
from tilepragma.base.quantities import seconds
from tilepragma.report.input_figures import Curve, Range, ranges_figure, shares_figure
from tilepragma.report.landscape import Landscape, measured_landscape, ratio_text
from tilepragma.report.landscape_figure import landscape_figure
from tilepragma.report.measurements_page import InputRow, KernelSection, VersionRow, WayRow
from tilepragma.report.scene import Figure
from tilepragma.report.size_rules import size_rules
from tilepragma.tuning.database import MeasuredKernel
from tilepragma.tuning.decisions import ENOUGH
from tilepragma.tuning.input_space import InputSpace, input_name
from tilepragma.tuning.measuring import DEFAULT, version_of

if TYPE_CHECKING:
    from tilepragma.report.roofline_figure import KernelPoint
    from tilepragma.tuning.fitted_rules import FittedRules

RULES = "learned rules"
_IDEAL = "the fastest at each input (ideal)"
#: The most curves besides that of the rules; rows of the tables of inputs and of versions.
_CURVES, _INPUTS, _VERSIONS = 5, 8, 12
#: The fewest cells of a map from which conclusions on sizes are drawn.
_FEW = 6


@dataclass(frozen=True)
class KnownSource:
    """What the source of a kernel adds to its measurements.

    `work`: floating-point operations of each input by its text, empty if they cannot be counted.
    `points`: the fastest runs for the roofline, in the order of inputs. `lesson`: the fitted rules,
    None for the reason `no_lesson`. `predicted`: the model's landscape at the slowest input, None
    for the reason `no_prediction`. `refused`: sentences on versions that the program cannot have.
    """

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
    rules = (
        lesson.reached
        if lesson is not None and lesson.is_worth_it and len(lesson.reached) == len(space.inputs)
        else None
    )
    ways = _ways(space, average, amounts, rules)
    without = _why_no_rules(known, space)
    figures, missing = [_inputs(space, average, rules, without), _adaptive(ways, unit, average, without)], []
    landscapes, sentences = _landscapes(measured, space, known)
    figures += landscapes
    missing += sentences
    return KernelSection(
        measured.kernel.name,
        measured.environment.target,
        measured.kernel.source,
        unit,
        len(space.inputs),
        _facts(measured),
        _way_rows(ways),
        tuple(figures),
        _version_rows(space),
        _input_rows(space, rules),
        _rules(lesson, known, space),
        tuple(missing),
    )


def _why_no_rules(known: KnownSource | None, space: InputSpace) -> str:
    """Why there are no rules, as a sentence."""
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


def _inputs(space: InputSpace, average: str, rules: Mapping[str, float] | None, without: str) -> Figure:
    """Figure 6 of the TileK paper."""
    curves = [Curve(RULES, tuple(rules.values()))] if rules is not None else []
    for name in telling_versions(space, average):
        role = " (best on average)" if name == average else ""
        curves.append(Curve(f"{name}{role}", tuple(space.shares(name).values())))
    shares = space.shares(average)
    worst = min(shares, key=lambda text: (shares[text], text))
    words = (
        f"What share of the fastest version's speed each version reaches at {_count(len(space.inputs), 'input')}, "
        f"each curve from its worst input to its best. "
    )
    falls = f"{shares[worst]:.0%} at its worst input, {input_name(worst)}"
    if len(space.everywhere) == 1:
        words += (
            f"The default alone ran at all of them, with {falls}. Measure longer (--budget) to compare others with it."
        )
        return shares_figure(curves, words)
    words += (
        f"Of the {len(space.everywhere)} versions that ran at all of them {_the(average)} is the best on "
        f"average, with {falls}."
    )
    return shares_figure(curves, f"{words} {_advice_on_inputs(shares[worst], rules, without)}")


def _advice_on_inputs(least: float, rules: Mapping[str, float] | None, without: str) -> str:
    if least >= ENOUGH:
        return "One version is enough: take it."
    if rules is None:
        return f"No version is enough for all inputs. {without}"
    lowest = min(rules.values())
    if lowest >= ENOUGH:
        return (
            f"The learned rules reach {lowest:.0%} everywhere: keep them beside the source (tilepragma tune "
            f"writes IN.tilek.json)."
        )
    if lowest > least:
        return (
            f"The learned rules reach {lowest:.0%} at their worst input: better than one version; measure "
            f"longer (--budget) for more."
        )
    return (
        f"The learned rules fall to {lowest:.0%} as well: measure longer (--budget), or at sizes between "
        f"these, before relying on them."
    )


def _the(version: str) -> str:
    return "the default" if version == DEFAULT else version


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


# -- what adapting is worth


@dataclass(frozen=True)
class _Way:
    """A way to choose a version: what it reaches, and relative to the best version on average."""

    name: str
    spread: Spread
    mean_speedup: float
    worst_speedup: float


def _ways(
    space: InputSpace, average: str, work: Mapping[str, float], rules: Mapping[str, float] | None
) -> tuple[_Way, ...]:
    """The ideal first; the best on average last but for the default (TileK paper, Table 4)."""
    base = spread_of(space.rates(space.shares(average), work))
    shares: dict[str, Mapping[str, float]] = {_IDEAL: dict.fromkeys(space.inputs, 1.0)}
    if rules is not None:
        shares[RULES] = rules
    shares[f"best on average: {average}"] = space.shares(average)
    if average != DEFAULT:
        shares[DEFAULT] = space.shares(DEFAULT)
    spreads = {name: spread_of(space.rates(shares_, work)) for name, shares_ in shares.items()}
    return tuple(_Way(name, spread, *spread.over(base)) for name, spread in spreads.items())


def _way_rows(ways: Sequence[_Way]) -> tuple[WayRow, ...]:
    return tuple(
        WayRow(
            way.name,
            f"{way.spread.mean:.3g}",
            f"{way.spread.least:.3g}",
            f"{way.spread.most:.3g}",
            f"{way.mean_speedup:.2f}",
            f"{way.worst_speedup:.2f}",
        )
        for way in ways
    )


def _adaptive(ways: Sequence[_Way], unit: str, average: str, without: str) -> Figure:
    """Figure 7 of the TileK paper."""
    ideal, rules = ways[0], next((way for way in ways if way.name == RULES), None)
    words = (
        "Mean, least and most over all inputs. Taking the fastest version of each input is "
        f"{ideal.mean_speedup:.2f} times as fast as the best one on average ({average}), and "
        f"{ideal.worst_speedup:.2f} times at the slowest input."
    )
    if rules is None:
        advice = without
    else:
        words += (
            f" The learned rules, learned from these same inputs, are {rules.mean_speedup:.2f} "
            f"and {rules.worst_speedup:.2f} times as fast."
        )
        near = rules.mean_speedup >= ENOUGH * ideal.mean_speedup
        advice = (
            "They are near the ideal: build with them."
            if near
            else f"That leaves a factor of {ideal.mean_speedup / rules.mean_speedup:.2f}: measure longer "
            f"(--budget), or at more sizes."
        )
    ranges = [Range(way.name, way.spread) for way in ways]
    return ranges_figure(ranges, unit, f"{words} {advice}")


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
    return None if figure is None else figure.advised(advice)


def _advice_on_sizes(measured: Landscape) -> str:
    near = sum(measured.ratio(cell) <= 1.05 for cell in measured.seconds)
    if len(measured.seconds) < _FEW:
        return "Too few ran to tell whether sizes matter: measure longer (--budget)."
    share = near / len(measured.seconds)
    best = f"{measured.text(measured.best)}"
    if share >= 0.3:
        return f"{near} of {len(measured.seconds)} cells are within 5 % of the best: sizes hardly matter here."
    return (
        f"{near} of {len(measured.seconds)} cells are within 5 % of the best: sizes matter; {best} is the "
        f"fastest that ran."
    )


def _advice_on_model(predicted: Landscape, space: InputSpace, text: str) -> str:
    """How far the model's best is from the measured best, if it ran."""
    wanted = dict(zip(predicted.names, predicted.best, strict=True))
    version, best = space.best[text]
    ran = [
        time
        for name, time in space.seconds[text].items()
        if dict(version_of(name).sizes) == wanted and not version_of(name).build
    ]
    if not ran:
        return f"The model's best did not run; the fastest that did, {version}, took {seconds(best)}."
    ratio = min(ran) / best
    trust = "its order can be trusted here" if ratio <= 1.1 else "measure rather than trust it here"
    return (
        f"The model's best took {seconds(min(ran))} when it ran, {ratio_text(ratio)} times the fastest "
        f"({version}): {trust}."
    )


# -- tables


def _version_rows(space: InputSpace) -> tuple[VersionRow, ...]:
    rows = []
    for name in space.everywhere:
        spread = spread_of(space.shares(name).values())
        rows.append((spread.mean, VersionRow(name, f"{spread.mean:.1%}", f"{spread.least:.1%}", space.wins(name))))
    ordered = [row for _, row in sorted(rows, key=lambda entry: (-entry[0], entry[1].name))]
    if len(ordered) <= _VERSIONS:
        return tuple(ordered)
    default = [row for row in ordered[_VERSIONS - 1 : -1] if row.name == DEFAULT]
    return (*ordered[: _VERSIONS - 1 - len(default)], *default, ordered[-1])


def _input_rows(space: InputSpace, rules: Mapping[str, float] | None) -> tuple[InputRow, ...]:
    shares = space.shares(DEFAULT)
    furthest = sorted(space.inputs, key=lambda text: (shares[text], text))[:_INPUTS]
    return tuple(
        InputRow(
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
    facts = [
        (
            "measured",
            f"{when}: {_count(len(measured.trials), 'run')}, {_count(tried, 'pair')} of a version and an input",
        ),
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
