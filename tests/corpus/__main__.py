"""Translates every program at hand for every target: hashes of emitted text, of results, times.

python -m tests.corpus --save before.json      # at the state to compare with
python -m tests.corpus --against before.json   # after a change: status 1 if code or results differ
python -m tests.corpus --results serial,threads --only cases/ --save before.json
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.corpus.programs import CorpusProgram, openmp_programs, polybench_programs, programs_here, tsvc_programs
from tests.corpus.records import Corpus, differences, read_corpus, slower_programs, time_ratio, write_corpus
from tests.corpus.translations import translate_corpus
from tests.support.targets import NAMES

FOLDERS: dict[str, Callable[[Path], Iterator[CorpusProgram]]] = {
    "polybench": polybench_programs,
    "openmp": openmp_programs,
    "tsvc": tsvc_programs,
}
#: Programs that take less time may vary by more.
LEAST_SECONDS, SLOWER = 0.5, 1.3


def compare(before: Corpus, after: Corpus) -> int:
    """Print the differences; returns the exit status."""
    shown = list(differences(before, after))
    for difference in shown:
        print(f"{difference.program}: {difference.what}")
    for name, old, new in slower_programs(before, after, LEAST_SECONDS, SLOWER):
        print(f"{name}: {new:.2f} s to translate, {old:.2f} s before")
    in_code = len({difference.program for difference in shown if difference.is_code})
    others = len({difference.program for difference in shown}) - in_code
    print(
        f"{len(after)} programs: {in_code} with other code or results, {others} with other comments or layout alone; "
        f"translation {time_ratio(before, after):.2f} times as fast"
    )
    return 1 if in_code else 0


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser("python -m tests.corpus", description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the hashes")
    parser.add_argument("--against", type=Path, metavar="FILE", help="say what differs from what --save kept")
    parser.add_argument("--only", default="", metavar="PREFIX", help="programs whose name begins so (cases/, nests/)")
    parser.add_argument("--nests", type=int, default=500, help="kernels of each generator (500)")
    parser.add_argument("--results", default="", metavar="TARGET,…", help=f"also run on these: {', '.join(NAMES)}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    for name in FOLDERS:
        parser.add_argument(f"--{name}", type=Path, metavar="FOLDER", help="your copy of it")
    options = parser.parse_args(arguments)
    targets = tuple(filter(None, options.results.split(",")))
    if unknown := [name for name in targets if name not in NAMES]:
        parser.error(f"--results: no target {unknown[0]}; there are {', '.join(NAMES)}")
    before = read_corpus(options.against) if options.against is not None else None
    programs = list(programs_here(options.nests))
    for name, programs_of in FOLDERS.items():
        folder = getattr(options, name)
        programs += programs_of(folder) if folder is not None else ()
    programs = [program for program in programs if program.name.startswith(options.only)]
    after = translate_corpus(programs, targets, options.jobs)
    if options.save is not None:
        write_corpus(options.save, after)
    if before is None:
        print(f"{len(after)} programs, {sum(record.seconds for record in after.values()):.0f} s of processor time")
        return 0
    return compare({name: record for name, record in before.items() if name.startswith(options.only)}, after)


if __name__ == "__main__":
    sys.exit(main())
