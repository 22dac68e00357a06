"""The command: see `python -m benchmarks.metafork --help`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import build_support, machine_description, markdown, show
from benchmarks.metafork.measuring import lines_of, measure
from benchmarks.metafork.programs import PROGRAMS, Program
from benchmarks.metafork.results import Measured, as_json, remarks, table
from benchmarks.suite.machine import present_devices
from benchmarks.suite.runs import RunError
from tilepragma.cli.output import measuring_progress
from tilepragma.driver.state import TARGET_NAMES

#: Rounds over everything, in a quick run and a full one.
ROUNDS = (1, 3)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.metafork",
        description="The four tables of the MetaFork slides: the speed-up of the kernel over the original C by block and size. Each program is "
        "compiled once, and its block said at launch: as the plan's tile sizes on cores where it has such (TILEK_SIZES), else as workers of "
        "gangs, as on the slides.",
    )
    parser.add_argument("--quick", action="store_true", help="smaller sizes, one round: under 5 minutes")
    parser.add_argument("--target", metavar="LIST", help="of threads, opencl, cuda; default: all that are here")
    parser.add_argument("--only", nargs="+", default=[], metavar="PROGRAM", help=", ".join(p.name for p in PROGRAMS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="everything that was measured")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the tables for a page")
    return parser.parse_args()


def measured(programs: list[Program], targets: list[str], quick: bool) -> list[Measured]:
    """Everything; a program that fails is named and left out."""
    results: list[Measured] = []
    rounds = ROUNDS[not quick]
    with tempfile.TemporaryDirectory(prefix="tilepragma-metafork-") as name, measuring_progress() as progress:
        for target in targets:
            for program in programs:
                folder = Path(name) / f"{program.name}-{target}"
                folder.mkdir()
                build_support(folder)
                sizes = program.quick if quick else program.full
                total = rounds * len(sizes) * (1 + len(lines_of(program, target)))
                bar = progress.add_task(f"{program.name} on {target}", total=total)
                try:
                    results.append(
                        measure(program, target, sizes, rounds, folder, lambda bar=bar: progress.advance(bar))
                    )
                except RunError as error:
                    print(f"{program.name}: the original fails: {error}", file=sys.stderr)
    return results


def main() -> int:
    """Print the tables; returns 1 where any result is wrong."""
    given = arguments()
    programs = [program for program in PROGRAMS if not given.only or program.name in given.only]
    unknown = set(given.only) - {program.name for program in PROGRAMS}
    here = [device.target for device in present_devices() if device.target != "serial"]
    targets = [word.strip() for word in given.target.split(",")] if given.target else here
    unknown |= set(targets) - set(TARGET_NAMES)
    if unknown:
        print(f"there is no program or target {' or '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    result = measured(programs, targets, given.quick)
    parts: list[str] = []
    for item in result:
        [program] = [each for each in programs if each.name == item.program]
        sizes = program.quick if given.quick else program.full
        head, rows = table(program, item, sizes)
        title = f"{program.title}, {item.target}: speed-up of the kernel over the original"
        said = remarks(program, item, sizes)
        show(title, head, rows)
        print("\n".join(said))
        parts += [f"{title}\n", markdown(head, rows), *(f"- {each}" for each in said), ""]
    if given.json is not None:
        given.json.write_text(json.dumps(as_json(machine_description(), result)) + "\n")
    if given.markdown is not None:
        given.markdown.write_text("\n".join(parts) + "\n")
    return 1 if any(each.wrong for each in result) else 0


if __name__ == "__main__":
    sys.exit(main())
