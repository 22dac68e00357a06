"""The suite's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.suite.contenders import FORMS, GCC, HAND_OPENMP, OPENBLAS, PEERS, our_name
from benchmarks.suite.goals import Goal, goals
from benchmarks.suite.results import BEST, Limits, Measurement, Ratio, Row, best_peer, means, ratio, ratios
from benchmarks.suite.stored import Report

#: Beyond this much between least and most of its rounds, in parts of the median, a time is marked.
UNSTEADY = 0.1


def seconds_cell(measurement: Measurement | None) -> str:
    """The median, with how far least and most are apart."""
    if measurement is None:
        return ""
    if not measurement.ran:
        return "failed"
    spread = (max(measurement.seconds) - min(measurement.seconds)) / measurement.median
    return f"{measurement.median:.3f} ±{50 * spread:.0f}%" if spread > UNSTEADY else f"{measurement.median:.3f}"


def ratio_cell(found: Ratio | None) -> str:
    return "" if found is None else f"{found.value:.2f} ({found.least:.2f}-{found.most:.2f})"


def match_cell(measurement: Measurement | None) -> str:
    if measurement is None:
        return ""
    if measurement.match == "tolerance":
        return f"{measurement.difference:.0e}"
    return (
        measurement.match
        if measurement.match == "bits"
        else "WRONG"
        if measurement.match.startswith("differs")
        else "failed"
    )


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left")
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k < 2 else "right", no_wrap=True)
    return table


def times_table(rows: Sequence[Row], targets: Sequence[str]) -> Table:
    """Medians of all contenders, in seconds."""
    ours = [our_name(target) for target in targets]
    order = (GCC, HAND_OPENMP, *PEERS, OPENBLAS, *ours)
    names = [name for name in order if any(name in row.contenders for row in rows)]
    table = _table("seconds (median; ± half the spread where it is over 10 %)", ("kernel", "type", *names))
    for row in rows:
        table.add_row(row.case, row.type, *(seconds_cell(row.contenders.get(name)) for name in names))
    return table


def target_table(rows: Sequence[Row], limits: Limits, target: str) -> Table:
    """What ours reaches on one target, and against whom."""
    against = list(dict.fromkeys(each.against for row in rows for each in ratios(row, (target,))))
    device = any(row.contenders[our_name(target)].kernels for row in rows if our_name(target) in row.contenders)
    more = (("best",) if BEST in against else ()) + (("launches s",) if device else ())
    columns = ("kernel", "type", "GFLOP/s", "GB/s", "share", *(f"vs {name}" for name in against), *more, "result")
    table = _table(f"ours on {target}: over 1 is faster (least-most of the rounds)", columns)
    for row in rows:
        ours = row.contenders.get(our_name(target))
        if ours is None:
            continue
        rates: tuple[str, ...] = ("", "", "")
        if ours.ran:
            seconds = ours.median
            share = f"{100 * limits.share(row.type, row.flops, row.moved, seconds):.0f}%"
            share = share if limits.holds_for(our_name(target)) else ""
            rates = (f"{1e-9 * row.flops / seconds:.2f}", f"{1e-9 * row.moved / seconds:.2f}", share)
        cells = (ratio_cell(ratio(row, target, name)) for name in against)
        best = (best_peer(row) or "",) if BEST in against else ()
        launches = ("" if ours.kernels is None else f"{ours.kernels:.3f}",) if device else ()
        table.add_row(row.case, row.type, *rates, *cells, *best, *launches, match_cell(ours))
    return table


def means_table(rows: Sequence[Row], targets: Sequence[str]) -> Table:
    """Geometric means of the ratios: a line for each group and target, a column for each contender; the least ratio of all."""
    result = means(rows, targets)
    against = list(dict.fromkeys(mean.against for mean in result))
    columns = ("kernels", "type", "target", *(f"vs {name}" for name in against), "least")
    table = _table("geometric means of the ratios (of how many kernels)", columns)
    for kind in dict.fromkeys((mean.group, mean.type, mean.target) for mean in result):
        line = {mean.against: mean for mean in result if (mean.group, mean.type, mean.target) == kind}
        cells = (f"{line[name].value:.2f} ({line[name].count})" if name in line else "" for name in against)
        worst = line.get(BEST) or line.get(GCC) or next(iter(line.values()))
        table.add_row(*kind, *cells, f"{worst.least:.2f} {worst.least_case}")
    return table


def parametric_table(rows: Sequence[Row], targets: Sequence[str]) -> Table | None:
    """What sizes cost that are parameters, or None where it was not measured."""
    columns = ("seconds with numbers", "parameters", "unspecialized")
    table = _table(
        "sizes as numbers in the text, and as parameters: seconds (of the numbers')", ("kernel", "target", *columns)
    )
    for row in rows:
        for target in targets:
            literal, *others = (row.contenders.get(our_name(target, form)) for form in FORMS)
            if literal is None or not literal.ran:
                continue
            ran = [each if each is not None and each.ran else None for each in others]
            cells = ("" if each is None else f"{each.median:.3f} ({each.median / literal.median:.2f})" for each in ran)
            table.add_row(f"{row.case} {row.type}", target, f"{literal.median:.3f}", *cells)
    return table if table.row_count else None


def goals_table(found: Sequence[Goal]) -> Table:
    """Every figure beside its goal."""
    table = Table(title="goals", title_justify="left")
    for column, justify in (("figure", "left"), ("goal", "right"), ("reached", "right"), ("", "left"), ("", "left")):
        table.add_column(column, justify=justify, no_wrap=column != "figure" and justify == "right")  # type: ignore[arg-type]
    words = {True: "yes", False: "NO", None: "open"}
    for goal in found:
        bound = f"{'>=' if goal.least else '<='} {goal.goal:g}{goal.unit}"
        reached = "" if goal.reached is None else f"{goal.reached:.2f}{goal.unit}"
        table.add_row(goal.figure, bound, reached, words[goal.met], goal.note)
    return table


def headline(machine: Mapping[str, Any], limits: Limits) -> str:
    """With how many threads and options everyone runs, and what the machine reaches."""
    rates = ", ".join(f"{1e-9 * rate:.0f} GFLOP/s {type_}" for type_, rate in limits.operations.items())
    reached = f"a copy moves {1e-9 * limits.bandwidth:.1f} GB/s, multiply-adds {rates}"
    return f"{machine['threads']} threads, {machine['flags']}; {reached}"


def all_tables(report: Report) -> list[Table]:
    """In the order in which they are printed."""
    rows, limits, targets = report.rows, report.limits, report.targets
    parametric = parametric_table(rows, targets)
    return [
        times_table(rows, targets),
        *(target_table(rows, limits, target) for target in targets),
        means_table(rows, targets),
        *([] if parametric is None else [parametric]),
        goals_table(goals(report)),
    ]


def faults(report: Report) -> list[str]:
    """Whatever went wrong, in full."""
    return [
        f"{row.case} {row.type}, {name}: {measurement.match}"
        for row in report.rows
        for name, measurement in row.contenders.items()
        if not measurement.right
    ]


def show(console: Console, report: Report) -> None:
    """All tables, and whatever went wrong."""
    *measured, goals_last = all_tables(report)
    for table in measured:
        console.print(table)
    for fault in faults(report):
        console.print(fault, style="red", markup=False, highlight=False)
    console.print(goals_last)


def as_markdown(report: Report) -> str:
    """The same for a page."""
    parts = [headline(report.machine, report.limits)]
    for table in all_tables(report):
        heads = [str(column.header) or " " for column in table.columns]
        rules = ["---:" if column.justify == "right" else "---" for column in table.columns]
        cells = zip(*([str(cell) for cell in column.cells] for column in table.columns), strict=True)
        lines = ["| " + " | ".join(line) + " |" for line in (heads, rules, *cells)]
        parts.append(f"### {table.title}\n\n" + "\n".join(lines))
    wrong = "".join(f"- {' '.join(fault.split())}\n" for fault in faults(report))
    return "\n\n".join([*parts, *([wrong] if wrong else [])]).rstrip() + "\n"
