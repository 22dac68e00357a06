"""TSVC's loops under a bare pragma, beside gcc: checksums of equal bits, and each loop's time."""

from __future__ import annotations

import re
import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from benchmarks.measure import TILECC, BenchmarkError
from benchmarks.real.lines import KERNEL, kernels_in
from benchmarks.real.programs import Edit, Program
from benchmarks.real.running import Build, Workplace, ours_on, peer_variables
from benchmarks.real.tables import summary
from benchmarks.suite.builds import COMPILE, compiler_flags

NAME = "TSVC"
#: Fewer repetitions than TSVC's 100000: a loop takes about a tenth of a second. Bits of checksums, and microseconds.
PROGRAM = Program(
    NAME,
    "src",
    ("tsvc.c", "common.c", "dummy.c"),
    edits=(
        Edit("common.h", "#define iterations 100000", "#define iterations 5120", instead=True),
        Edit("tsvc.c", r"%10.3f\t%f\n", r"%10.6f\t%a\n", instead=True),
    ),
)
REFUSED, ONE_CORE, PARALLEL = "refused", "one core", "parallel"
_FUNCTION = re.compile(r"^real_t (\w+)\(struct args_t")
#: TSVC repeats each kernel; the loops inside are what it measures.
_REPEATED = re.compile(r"^( *)for \(int nl = 0;")
_LOOP = re.compile(r"^( *)for \(")
_ERROR = re.compile(r"^tsvc\.c:(\d+):\d+: error: (.*)$", re.MULTILINE)
_RESULT = re.compile(r"^ *(\w+)\t *([\d.]+)\t(\S+)$", re.MULTILINE)


@dataclass
class Loop:
    """What became of a loop: one of REFUSED (with the `reason`), ONE_CORE and PARALLEL, the peer's
    seconds and those on each target, and the targets where its checksum differs.
    """

    name: str
    state: str
    reason: str = ""
    peer: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)
    differs: list[str] = field(default_factory=list)


def marked(text: str, without: Collection[str] = ()) -> str:
    """TSVC's text with a kernel on each outermost loop that is repeated, but in the functions `without`."""
    lines = text.split("\n")
    starts = [k for k, line in enumerate(lines) if _REPEATED.match(line)]
    places = []
    for start in starts:
        indent = _REPEATED.match(lines[start])[1]  # type: ignore[index]
        end = next((k for k in range(start, len(lines)) if lines[k] == f"{indent}}}"), len(lines))
        loops = [(len(match[1]), k) for k in range(start + 1, end) if (match := _LOOP.match(lines[k]))]
        if _function_at(lines, start) not in without:
            places += [k for depth, k in loops if depth == min(loops)[0]]
    for k in sorted(places, reverse=True):
        lines.insert(k, KERNEL)
    return "\n".join(lines)


def _function_at(lines: Sequence[str], place: int) -> str:
    """The function around the line of that index."""
    return next((match[1] for line in lines[place::-1] if (match := _FUNCTION.match(line))), "")


def _translated(place: Workplace, options: Sequence[str]) -> tuple[Build, dict[str, str]]:
    """Our program, and the reason for each function whose kernel was refused and left out."""
    refused: dict[str, str] = {}
    while True:
        built = place.build(PROGRAM, TILECC, (*options, "--tilek-explain"), partial(marked, without=tuple(refused)))
        if not built.failure:
            return built, refused
        lines = (built.folder / "tsvc.c").read_text().split("\n")
        more = {_function_at(lines, int(number) - 1): said for number, said in _ERROR.findall(built.said)}
        if not set(more) - {*refused, ""}:
            raise BenchmarkError(f"tilecc\n{built.failure}")
        refused = more | refused


def measure(place: Workplace, targets: Sequence[str], repeats: int) -> list[Loop]:
    """Every loop that is marked. Raises BenchmarkError where a program isn't built or fails."""
    options = compiler_flags("native", exact=True)
    peer = place.build(PROGRAM, COMPILE, options)
    if peer.failure:
        raise BenchmarkError(f"cc\n{peer.failure}")
    built, refused = _translated(place, options)
    lines = (built.folder / "tsvc.c").read_text().split("\n")
    parallel: dict[str, list[bool]] = {}
    for where, is_parallel in kernels_in(built.said).items():
        parallel.setdefault(_function_at(lines, int(where.rpartition(":")[2]) - 1), []).append(is_parallel)
    loops = {name: Loop(name, PARALLEL if all(parts) else ONE_CORE) for name, parts in parallel.items()}
    loops |= {name: Loop(name, REFUSED, why) for name, why in refused.items()}
    contenders = {"": (peer, peer_variables(place.threads))}
    contenders |= {target: (built, ours_on(target, place.threads)) for target in targets}
    taken: dict[tuple[str, str], list[float]] = {}
    wanted: dict[str, str] = {}
    for _ in range(repeats):
        for target, (program, variables) in contenders.items():
            for name, seconds, checksum in _RESULT.findall(place.run(PROGRAM, program, variables).result):
                taken.setdefault((target, name), []).append(float(seconds))
                if checksum != wanted.setdefault(name, checksum) and target not in loops[name].differs:
                    loops[name].differs.append(target)
    for (target, name), seconds in taken.items():
        if name in loops and target:
            loops[name].seconds[target] = statistics.median(seconds)
        elif name in loops:
            loops[name].peer = statistics.median(seconds)
    return list(loops.values())


def head(targets: Sequence[str]) -> list[str]:
    return ["loop", "kernel", "gcc s", *targets]


def row(loop: Loop, targets: Sequence[str]) -> list[str]:
    cells = ["differs" if target in loop.differs else f"{_ratio(loop, target):.2f}" for target in targets]
    return [loop.name, loop.state, f"{loop.peer:.3f}", *cells]


def _ratio(loop: Loop, target: str) -> float:
    """The peer's time over ours; times under the clock's step count as the step."""
    return max(loop.peer, 1e-6) / max(loop.seconds[target], 1e-6)


def remarks(loops: Sequence[Loop], targets: Sequence[str]) -> list[str]:
    """Means, how many loops became what, and what is wrong."""
    states = [loop.state for loop in loops]
    lines = [
        f"{len(loops)} loops: {', '.join(f'{states.count(state)} {state}' for state in (PARALLEL, ONE_CORE, REFUSED))}"
    ]
    lines += [f"{target}: {summary([_ratio(loop, target) for loop in loops])}" for target in targets if loops]
    lines += [f"{loop.name} is refused: {loop.reason}" for loop in loops if loop.state == REFUSED]
    return lines + [f"{loop.name} has another checksum on {', '.join(loop.differs)}" for loop in loops if loop.differs]


def wrong(loops: Sequence[Loop]) -> bool:
    return any(loop.differs for loop in loops)
