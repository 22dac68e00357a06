"""The tables of the benchmark."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from rich.table import Table

from benchmarks.accuracy.results import Errors, Judged

COLUMNS = (
    "problem",
    "default ms",
    "noise",
    "slowest",
    "default",
    "chosen",
    "first",
    "pick",
    "fitted pick",
    "errors",
    "fitted errors",
)
#: What a share of the best random layout's time may be, for every problem and for most.
GOALS = (1.10, 1.05)


def rows(judged: Sequence[Judged]) -> list[tuple[str, ...]]:
    """A row for each problem and size, with COLUMNS."""
    return [
        (
            each.measured.title + ("*" if each.measured.held_out else ""),
            f"{1e3 * each.measured.named['default'].seconds:.1f}",
            f"{each.measured.noise:.0%}",
            f"{each.measured.worst:.1f}",
            *(f"{each.share(name):.2f}" for name in ("default", "chosen", "first")),
            f"{each.pick:.2f}",
            f"{each.fitted_pick:.2f}",
            _errors(each.errors),
            _errors(each.fitted_errors),
        )
        for each in judged
    ]


def _errors(errors: Errors) -> str:
    return f"{errors.median:.0%} {errors.most_but_five:.0%} {errors.most:.0%}"


def table(judged: Sequence[Judged], title: str) -> Table:
    """For a terminal."""
    made = Table(title=title, title_justify="left")
    for k, column in enumerate(COLUMNS):
        made.add_column(column, justify="left" if k == 0 else "right", no_wrap=True)
    for row in rows(judged):
        made.add_row(*row)
    return made


def markdown(judged: Sequence[Judged]) -> str:
    """For a page."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"| --- |{' ---: |' * (len(COLUMNS) - 1)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows(judged)]
    return "\n".join([*lines, "", *(f"- {line}" for line in summary(judged)), ""])


def summary(judged: Sequence[Judged]) -> list[str]:
    """What the goals are of, for all problems and those held out, and layouts with wrong results."""
    results = [line for title, some in _groups(judged) for line in _summary(title, some)]
    wrong = sum(len(each.measured.wrong) for each in judged)
    return [*results, f"layouts whose results differ from the default's: {wrong}"]


def _groups(judged: Sequence[Judged]) -> list[tuple[str, list[Judged]]]:
    groups = [("all", list(judged)), ("held out (*)", [each for each in judged if each.measured.held_out])]
    return [(title, some) for title, some in groups if some]


def _summary(title: str, judged: Sequence[Judged]) -> list[str]:
    shares = {name: [each.share(name) for each in judged] for name in ("default", "chosen", "first")}
    shares |= {"pick": [each.pick for each in judged], "fitted pick": [each.fitted_pick for each in judged]}
    every, most = GOALS
    lines = [
        f"{title}, {name}: {statistics.geometric_mean(own):.3f} of the best random layout's time in the mean, at most {max(own):.2f}; "
        f"within {every - 1:.0%} for {sum(each <= every for each in own)} of {len(own)}, within {most - 1:.0%} for {sum(each <= most for each in own)}"
        for name, own in shares.items()
    ]
    for name, errors in (
        ("estimated", [each.errors for each in judged]),
        ("fitted", [each.fitted_errors for each in judged]),
    ):
        middle = statistics.median(error.median for error in errors)
        usual = statistics.median(error.most_but_five for error in errors)
        lines.append(
            f"{title}, {name}: errors {middle:.1%} (median of medians), {usual:.0%} (of 95th percentiles), "
            f"{max(error.most for error in errors):.0%} at most"
        )
    return lines
