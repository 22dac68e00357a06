"""The tables: Table 4's columns with the paper's speed-ups beside ours, what rules reach, and places in the model's order."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.measure import markdown
from benchmarks.tilek_paper.results import Row
from benchmarks.tilek_paper.subjects import SUBJECTS
from tilepragma.base.performance_spread import Spread

#: What the adaptive kernel is to reach of the best on average at least.
GOAL = 0.98
TABLE_4 = ("kernel", "inputs", "A", "A min", "A max", "B", "B min", "B max", "B is", "A/B", "worst", "paper's")
RULES = ("kernel", "rules", "mean", "worst", "at unseen inputs", "untuned")
ORDER = ("kernel", "input", "fastest version", "of default", "place", "within 2 %", "measured")
Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]


def _three(of: Spread) -> tuple[str, ...]:
    return tuple(f"{each:.2f}" for each in (of.mean, of.least, of.most))


def _times(speedup: tuple[float, float]) -> tuple[str, ...]:
    return tuple(f"{each:.2f}" for each in speedup)


def table_4(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """As the paper's, for one target: the ideal adaptive kernel (A), the best version on average (B), and A over B."""
    papers = {each.name: each.paper for each in SUBJECTS}
    results = []
    for row in rows:
        own = row.comparison
        mean, worst = papers[row.name]["threads" if row.target == "threads" else "accelerator"]
        rates = (*_three(own.adaptive), *_three(own.best), own.version)
        results.append((row.name, str(own.inputs), *rates, *_times(own.speedup), f"{mean:.2f} {worst:.2f}"))
    return results


def rules_table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """What rules that can be built in reach, over the best on average; and what the translator makes by itself."""
    results = []
    for row in rows:
        own = row.comparison
        unseen = "" if own.unseen_share is None else f"{own.unseen_share:.2f}"
        untuned = "" if own.own is None else f"{own.own.mean / own.best.mean:.2f}"
        results.append((row.name, str(own.rules.count), *_times(own.rules_speedup), unseen, untuned))
    return results


def order_table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Where the fastest version of each search stood, and the first that is as fast."""
    return [
        (
            *(row.name, each.input, each.version, f"{1 / each.default:.2f}"),
            *(str(each.place), str(each.near), str(each.measured)),
        )
        for row in rows
        for each in row.places
    ]


def all_tables(rows: Sequence[Row]) -> list[Table]:
    """Three for each target, each with its title and its columns."""
    results: list[Table] = []
    for target in dict.fromkeys(row.target for row in rows):
        own = [row for row in rows if row.target == target]
        title = f"Table 4 on {target}: ideal adaptive kernel (A), best version on average (B), GFLOP/s"
        results += [
            (title, TABLE_4, table_4(own)),
            (f"{target}: rules of at most four of these versions, over B", RULES, rules_table(own)),
            (f"{target}: the fastest version in the model's order", ORDER, order_table(own)),
        ]
    return results


def summary(rows: Sequence[Row]) -> list[str]:
    """The goals, and what is reached of them; what failed."""
    least = min(rows, key=lambda row: row.comparison.rules_speedup[0])
    places = [(row, each) for row in rows for each in row.places]
    early = sum(one.is_early for _, one in places)
    near = sum(one.is_near_early for _, one in places)
    lines = [
        f"rules over the best on average: least {least.comparison.rules_speedup[0]:.3f} ({least.name} on {least.target}); goal {GOAL}",
        f"the fastest among the first tenth that was measured: {early} of {len(places)}; one within 2 % of it: {near} of {len(places)}; goal: all",
    ]
    for row in rows:
        lines += [f"{row.name} on {row.target}: {version} {why}" for version, why in row.failures.items()]
    return lines


def as_markdown(rows: Sequence[Row]) -> str:
    """All of it for a page."""
    parts = [f"{title}\n\n{markdown(head, table)}" for title, head, table in all_tables(rows)]
    return "\n".join([*parts, *(f"- {line}" for line in summary(rows)), ""])
