"""The command: see `python -m benchmarks.tilek_paper --help`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.explored import Explored, NotExploredError, build_all, explored, measure
from benchmarks.measure import machine_description, show
from benchmarks.suite.machine import present_devices
from benchmarks.tilek_paper import tables
from benchmarks.tilek_paper.results import Input, Place, Row, as_json, compared, place_of_best, rates_of
from benchmarks.tilek_paper.subjects import SUBJECTS, CalibrationTarget
from tilepragma.cli.output import measuring_progress
from tilepragma.driver.state import TARGET_NAMES
from tilepragma.plan.dispatch_table import bytes_and_trips
from tilepragma.tuning.database import Database, MeasurementsError, database_path, opened
from tilepragma.tuning.exploration import Search
from tilepragma.tuning.measuring import DEFAULT, LostError, alone
from tilepragma.tuning.size_ranges import sizes_of

if TYPE_CHECKING:
    from tilepragma.plan.kernel_plan import KernelPlan

#: The families of versions that the paper evaluates, by whether the target is the host.
FAMILIES = {True: ("paper8", "sizes"), False: ("paper16", "paper24", "sizes")}
#: Of a device's versions one of so many is measured in a quick run.
SPARSE = 8
#: Attempts at each version and input, and seconds of each search in the model's order: in a quick
#: run, in a full one.
ATTEMPTS, BUDGETS = (2, 3), (20.0, 60.0)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tilek_paper",
        description="Section 5 of the TileK paper on this machine: the adaptive kernel against the version that is best on average (Table 4), and "
        "where the fastest version stands in the model's order. Measurements are kept where `tilepragma tune` keeps them, and taken from there.",
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"few inputs, and on devices one of {SPARSE} versions: under 5 minutes"
    )
    parser.add_argument("--target", metavar="LIST", help="of threads, opencl, cuda; default: all that are here")
    parser.add_argument("--only", nargs="+", default=[], metavar="KERNEL", help=", ".join(s.name for s in SUBJECTS))
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="for each search in the model's order")
    parser.add_argument("--attempts", type=int, metavar="N", help="at each version and input")
    parser.add_argument("--again", action="store_true", help="measure again what was measured before")
    parser.add_argument("--json", type=Path, metavar="FILE", help="everything, after each kernel")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the tables for a page")
    return parser.parse_args()


def row_of(given: argparse.Namespace, subject: CalibrationTarget, target: str, folder: Path, database: Database) -> Row:
    """Measure a kernel on a target. Raises NotExploredError, LostError."""
    points = subject.points(given.quick)
    first = next(iter(points.values()))
    one = explored(subject.source, target, FAMILIES[target == "threads"], first, folder, database)
    if given.quick and target != "threads":
        kept = ["", *[name for name in one.builds if name][::SPARSE]]
        one = replace(one, builds={name: one.builds[name] for name in kept})
    if given.again:
        one.study.forget(points)
    build_all(one, one.builds, first)
    inputs = [input_of(subject, one.plan, text) for text in points]
    versions = [name for name in one.builds if name]
    attempts = given.attempts or ATTEMPTS[not given.quick]
    said, _ = one.space(points, with_sizes=False)
    with measuring_progress() as progress:
        bar = progress.add_task(f"{subject.name} on {target}", total=attempts * len(points) * (1 + len(versions)))
        take = one.take(said, points)
        results = measure(take, [DEFAULT, *versions], list(points), attempts, lambda: progress.advance(bar))
    rates, own = rates_of(results, inputs, versions), rates_of(results, inputs, [DEFAULT])
    if not rates:
        raise NotExploredError("no version ran at all inputs")
    comparison = compared(rates, inputs, own.get(DEFAULT))
    budget = given.budget if given.budget is not None else BUDGETS[not given.quick]
    places = searched(one, points, budget)
    failures = {version: why for value in results.failures.values() for version, why in value.items()}
    return Row(subject.name, target, comparison, tuple(places), rates, own.get(DEFAULT, {}), failures)


def input_of(subject: CalibrationTarget, plan: KernelPlan, text: str) -> Input:
    numbers = sizes_of(text)
    return Input(text, subject.flops(numbers), *bytes_and_trips(plan, plan.kernel.by_name(numbers), with_trips=True))


def searched(one: Explored, points: Mapping[str, Mapping[str, int]], budget: float) -> list[Place]:
    """Searches as the tuner makes them, over all versions and tile sizes, at the smallest, the middle and the largest input."""
    texts = list(points)
    some = {text: points[text] for text in dict.fromkeys((texts[0], texts[len(texts) // 2], texts[-1]))}
    versions, space = one.space(some, with_sizes=True)
    search = Search(space, budget, one.take(versions, some))
    search.run()
    results = [place_of_best(search, space[text], text, DEFAULT) for text in some]
    return [each for each in results if each is not None]


def targets_of(given: argparse.Namespace) -> list[str]:
    here = [device.target for device in present_devices() if device.target != "serial"]
    return here if not given.target else [word.strip() for word in given.target.split(",")]


def measured(given: argparse.Namespace, targets: Sequence[str], folder: Path) -> list[Row]:
    """All kernels on all targets; what cannot be measured is named and left out."""
    rows: list[Row] = []
    path = database_path()
    with opened(path) as database, alone(path, lambda: print("waiting for another tuner to end", file=sys.stderr)):
        for target in targets:
            for subject in SUBJECTS:
                if given.only and subject.name not in given.only:
                    continue
                own = folder / f"{subject.sample}-{target}"
                own.mkdir()
                try:
                    rows.append(row_of(given, subject, target, own, database))
                except (NotExploredError, LostError) as error:
                    print(f"{subject.name} on {target} is left out: {error}", file=sys.stderr)
                if given.json is not None:
                    given.json.write_text(json.dumps(as_json(machine_description(), rows)) + "\n")
    return rows


def main() -> int:
    """Print the tables."""
    given = arguments()
    unknown = set(given.only) - {each.name for each in SUBJECTS}
    if unknown:
        print(f"no kernel is called {' or '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    targets = targets_of(given)
    wrong = set(targets) - set(TARGET_NAMES)
    if wrong:
        print(f"no target is called {' or '.join(sorted(wrong))}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="tilepragma-paper-") as name:
        try:
            rows = measured(given, targets, Path(name))
        except MeasurementsError as error:
            print(error, file=sys.stderr)
            return 2
    if not rows:
        return 2
    for title, head, table in tables.all_tables(rows):
        show(title, head, table)
    print("\n".join(tables.summary(rows)))
    if given.markdown is not None:
        given.markdown.write_text(tables.as_markdown(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
