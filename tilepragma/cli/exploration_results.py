"""Prints the results of an exploration."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from tilepragma.base.quantities import seconds
from tilepragma.cli.devices import machine_of
from tilepragma.cli.text_tables import print_table
from tilepragma.cli.tune import keep_beside
from tilepragma.report.size_rules import size_rules
from tilepragma.tuning.decisions import ENOUGH
from tilepragma.tuning.fitted_rules import FittedRules
from tilepragma.tuning.input_space import input_name
from tilepragma.tuning.measuring import DEFAULT

if TYPE_CHECKING:
    from tilepragma.tuning.exploration import Search

#: The most failures that are listed.
_MOST_FAILURES = 8


def show(search: Search, title: str) -> None:
    """The fastest version at each size, and the failures."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for name in ("sizes", "fastest version"):
        table.add_column(name, no_wrap=True)
    for name in ("measured", "of default", "its place", "tried"):
        table.add_column(name, justify="right", no_wrap=True)
    for sizes, versions in search.versions.items():
        ordered = search.ordered(sizes)
        if not ordered:
            table.add_row(input_name(sizes), "", "", "", "", f"0 of {len(versions)}")
            continue
        best, default = search.typical(ordered[0], sizes), search.typical(DEFAULT, sizes)
        ratio = f"{best / default:.3f}" if best is not None and default else ""
        place = str(versions.index(ordered[0]) + 1) if ordered[0] in versions else ""
        # The fastest version at another size was tried at this one, too.
        row = (seconds(best or 0.0), ratio, place, f"{len(ordered)} of {len({*versions, *ordered})}")
        table.add_row(input_name(sizes), ordered[0], *row)
    print_table(table)
    failed = [(version, why) for failures in search.failures.values() for version, why in failures.items()]
    for version, why in list(dict.fromkeys(failed))[:_MOST_FAILURES]:
        print(f"  {version}: the program {why}")
    if search.is_spent:
        print(f"  the budget of {search.budget:.4g} s is spent; a larger --budget goes on from here")


def show_lesson(lesson: FittedRules, keep: bool, source: str, is_rebuilt: bool) -> None:
    """Print the fitted rules and their quality, and store them beside the source if asked to.
    `is_rebuilt`: the command rebuilds the program.
    """
    decision = lesson.decision
    count = len(decision.measured.choices)
    if lesson.is_worth_it:
        if lesson.build:
            print(f"  with {lesson.build}:")
        for number, version in enumerate(lesson.plan.versions, 1):
            print(f"  version {number}: {version.text}")
        for rule in size_rules(lesson.plan, decision.measured.choices, lesson.on_host):
            print(f"  {rule}")
        rules = "this rule reaches" if count == 1 else f"these {count} rules reach"
        single = (
            f"; the best layout for all sizes {_shares(lesson.single.shares)}" if lesson.single and count > 1 else ""
        )
        print(f"  {rules} {_shares(decision.shares)}{single}; the default {_shares(lesson.before)}")
        if decision.missed:
            print(f"  {ENOUGH:.0%} everywhere is not reached: {decision.missed}")
    else:
        print(f"  the default is kept: it reaches {_shares(lesson.before)}, and no rules much more")
    for name, sizes in lesson.others.items():
        what = name or "the source as it stands"
        print(f"  {what} is the fastest at {sizes} of {len(lesson.before)} sizes that were measured so far")
    if keep:
        keep_beside(source, lesson.winner(machine_of(lesson.target).name, datetime.now()), is_rebuilt)


def _shares(shares: tuple[float, ...]) -> str:
    """The share of each size's best that is reached."""
    return f"{min(shares):.1%} of the best at every size, {sum(shares) / len(shares):.1%} on average"
