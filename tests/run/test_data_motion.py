"""How many bytes go to a device and come back, kernel by kernel, from the runtime's own trace of tests/run/cases/motion.c."""

from __future__ import annotations

import functools
import json
from collections import Counter
from pathlib import Path

from tests.support.cases import read_cases
from tests.support.programs import Workshop
from tests.support.targets import TargetEnvironment

CASES = Path(__file__).parent / "cases" / "motion.c"
N, M = 40, 24
#: Per kernel (bytes in, bytes out), over all of its launches.
MOTION = {
    "overwrite": (8 * N * M, 8 * N * M),
    "product": (2 * 8 * N * M, 2 * 8 * N * N),
    "smooth": (4 * N, 4 * (N - 2)),
    "some_rows": (8 * 12 * M, 8 * 12 * M),
    "every_other": (8 * (N - 1) * M, 8 * (N - 1) * M),
    "block": (4 * (4 * M + 6), 4 * (4 * M + 6)),
    "triangle": (8 * N * N, 8 * N * N),
    "halves": (4 * N, 2 * 4 * 2 * N),
    "both_branches": (4 * N, 4 * N),
    "one_branch": (2 * 4 * N, 4 * N),
    "said_out": (8 * N, 8 * (2 * N + 1)),
    "members": (8 * N, 16 * N),
    "one_member": (8 * N + 16 * N, 16 * N),
    "wide": (4 * N * M, 4 * N * M),
}
#: A loop on the host, twice, 4 and 8 turns: two arrays to the device and back (""). What its second
#: kernel reduces comes back each turn.
HELD = {"until_still_part1": (2 * 2 * 8 * N, 0), "": (0, 2 * 2 * 8 * N)}
REDUCING = "until_still_part2"


@functools.cache
def program(workshop: Workshop) -> Path:
    folder = workshop.folder / "motion"
    folder.mkdir(parents=True, exist_ok=True)
    file = read_cases(CASES)
    source = folder / "motion.c"
    source.write_text(file.program(file.cases))
    return workshop.build_translated(source)


def test_only_what_is_needed_moves(workshop: Workshop, device_target: TargetEnvironment, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    workshop.run(program(workshop), device_target, str(tmp_path / "dump"), "all", TILEK_PROFILE=str(trace))
    expected = MOTION | HELD
    moved: dict[str, Counter[str]] = {kernel: Counter() for kernel in (*expected, REDUCING)}
    for event in json.loads(trace.read_text())["traceEvents"]:
        moved[event["args"]["kernel"]][event["cat"]] += event["args"]["bytes"]
    result = {kernel: (bytes_["copy in"], bytes_["copy out"]) for kernel, bytes_ in moved.items() if kernel != REDUCING}
    # The program for processors works in the host's memory where its device shares it.
    in_place = dict.fromkeys(expected, (0, 0)) | HELD
    assert result in ((expected, in_place) if device_target.name == "opencl" else (expected,))
