"""Times kernels beside CUDA by hand and CUDA of others, by the hardware's counters.

NVIDIA's `ncu` measures every launch, of whichever program, and counts what it executes and moves.
A run does its kernel `repeats` times, and the first time, in which it is compiled, does not count.
A code's time is the sum of its launches' times, data on the device, caches as the launch before
left them, clocks as the device sets them. At a small size each of our kernels runs beside its
original first.
"""

from __future__ import annotations

import csv
import glob
import json
import re
import shutil
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from toolchain import HERE, build, tool

TIME, REGISTERS, OCCUPANCY = (
    "gpu__time_duration.sum",
    "launch__registers_per_thread",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
)
INSTRUCTIONS, L1, L2 = "smsp__thread_inst_executed.sum", "l1tex__t_sectors.sum", "lts__t_sectors.sum"
READ, WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
METRICS = (TIME, REGISTERS, OCCUPANCY, INSTRUCTIONS, L1, L2, READ, WRITTEN)
NCU = ("--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--cache-control", "none")
BY_HAND, NAIVE = "by hand", "naive"
COLUMNS = (
    "kernel",
    "code",
    "us",
    "of naive",
    "G units/s",
    "insn",
    "L1",
    "L2",
    "DRAM",
    "registers",
    "occupancy",
    "bits",
)


@dataclass(frozen=True)
class Measured:
    """A run of `code`. `seconds`: of each repetition that counts. The other numbers are those of one
    repetition: `registers` of the kernel that needs most, `occupancy` (0 to 1) of the longest
    launch, `dram` in bytes, `l1` and `l2` in sectors. `hashes` of what the run left, and whether
    they are the `same` as those of the case's first code. `failure` says why there is no result.
    """

    kernel: str
    code: str
    seconds: tuple[float, ...] = ()
    instructions: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    dram: float = 0.0
    registers: int = 0
    occupancy: float = 0.0
    hashes: str = ""
    same: bool = False
    failure: str = ""


def find_ncu() -> str | None:
    places = ["/usr/local/cuda/bin/ncu", *glob.glob("/opt/nvidia/nsight-compute/*/ncu")]
    return shutil.which("ncu") or next((place for place in sorted(places, reverse=True) if Path(place).is_file()), None)


def launches(log: str) -> list[dict[str, float]]:
    """The metrics of each launch, of ncu's page `raw` as CSV. Raises RuntimeError where it has none."""
    lines = log.splitlines()
    first = next((k for k, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    rows = list(csv.DictReader(lines[first:]))[1:]  # the first row holds units
    if not rows:
        raise RuntimeError(f"ncu measured no launch: {' '.join(lines[-3:])}")
    try:
        return [{metric: float(row[metric].replace(",", "")) for metric in METRICS} for row in rows]
    except (KeyError, ValueError, AttributeError) as error:
        raise RuntimeError(f"ncu has no number for {error}") from None


def result_of(kernel: str, code: str, measured: list[dict[str, float]], repeats: int, hashes: str) -> Measured:
    """Raises RuntimeError where repetitions differ in launches."""
    each = len(measured) // repeats
    if each * repeats != len(measured):
        raise RuntimeError(f"{len(measured)} launches in {repeats} repetitions")
    parts = [measured[repeat * each : (repeat + 1) * each] for repeat in range(1, repeats)]
    last = parts[-1]

    def total(*metrics: str) -> float:
        return sum(launch[metric] for launch in last for metric in metrics)

    return Measured(
        kernel,
        code,
        tuple(1e-9 * sum(launch[TIME] for launch in part) for part in parts),
        total(INSTRUCTIONS),
        total(L1),
        total(L2),
        total(READ, WRITTEN),
        int(max(launch[REGISTERS] for launch in last)),
        0.01 * max(last, key=lambda launch: launch[TIME])[OCCUPANCY],
        hashes,
    )


class Comparison:
    """The kernels of `cases.json` in their codes. Raises RuntimeError where ours cannot be built."""

    def __init__(
        self,
        compiler: list[str],
        ncu: str,
        variables: dict[str, str],
        repeats: int,
        only: Sequence[str] = (),
        *,
        tiny: bool = False,
    ):
        stored = json.loads((HERE / "cases.json").read_text())["comparison"]
        self._cases = [case for case in stored["cases"] if not only or case["kernel"] in only]
        if tiny:
            small = ("n", "steps", "units", "title")
            self._cases = [{**case, **{name: case[f"check_{name}"] for name in small}} for case in self._cases]
        self._variants = stored["variants"]
        self._compiler, self._ncu, self._variables, self._repeats = compiler, ncu, variables, repeats
        self._programs = {}
        for variant in self._variants:
            self._programs[variant["name"]] = self._built(variant["folder"])
        by_hand = ["-DBY_HAND=0", f'-DBY_HAND_CUDA="{HERE / "programs" / "by_hand.cu"}"']
        self._programs[BY_HAND] = self._built("programs", *by_hand)

    def _built(self, folder: str, *options: str) -> str:
        """The program of the kernels in a folder. Raises RuntimeError."""
        sources = {"programs/kernel_run.c", *(f"{folder}/{path.name}" for path in (HERE / folder).glob("*.c"))}
        return build(self._compiler, f"{folder}.run", ["-Iprograms", "-w", *options], *sorted(sources), "support.o")

    def run(self, report: Callable[[str], None]) -> list[Measured]:
        """All of them, each reported when it is measured."""
        results = []
        for case in self._cases:
            runs = []
            for code in case["by_hand"]:
                name = case["kernel"] if code == NAIVE else f"{case['kernel']}_{code}"
                runs.append((code, partial(self._by_hand, name)))
            variants = [each for each in self._variants if not each["kernels"] or case["kernel"] in each["kernels"]]
            runs += [(each["name"], partial(self._ours, case, each)) for each in variants]
            runs += [(peer, partial(self._peer, case, units)) for peer, units in case["peers"].items()]
            done = []
            for code, prepare in runs:
                try:
                    program, name = prepare()
                    result = self._measured(case, code, program, name)
                    first = next((each.hashes for each in done if each.hashes), result.hashes)
                    done.append(replace(result, same=result.hashes == first))
                except RuntimeError as error:
                    done.append(Measured(case["title"], code, failure=str(error)))
                report(row_text(row_of(case, done[-1], done)))
            results += done
        return results

    def is_fault(self, result: Measured) -> bool:
        """No result, or ours with other bits although no arithmetic of it was fused."""
        exact = [variant["name"] for variant in self._variants if float(variant["tolerance"]) == 0]
        return bool(result.failure) or (result.code in exact and not result.same)

    def _ours(self, case: dict, variant: dict) -> tuple[str, str]:
        """Checks a kernel at a small size, and returns its program. Raises RuntimeError."""
        program = self._programs[variant["name"]]
        verified = {"TILEK_VERIFY": "1", "TILEK_TOLERANCE": variant["tolerance"]}
        settings = settings_of(case["kernel"], case["check_n"], case["check_steps"], 1)
        tool([program, "-", settings], **self._variables, **verified)
        return program, case["kernel"]

    def _by_hand(self, name: str) -> tuple[str, str]:
        return self._programs[BY_HAND], name

    def _peer(self, case: dict, units: list[str]) -> tuple[str, str]:
        """Builds the program of a peer. Raises RuntimeError."""
        nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        kernel, paths = case["kernel"], [HERE / unit for unit in units]
        made = paths[0].parent / "made"
        made.mkdir(exist_ok=True)
        included = "".join(f'#include "{path}"\n' for path in paths)
        headers = "".join(f"#include <{name}>\n" for name in ("cuda.h", "assert.h", "math.h", "stdio.h", "stdlib.h"))
        (made / "peer.cu").write_text(f'{headers}extern "C" {{\n{included}}}\n')
        # The plain kernel is replaced by the peer's function of its name.
        (made / "weak.h").write_text(f"#pragma weak {kernel}\n")
        objects = []
        for source in sorted((HERE / "programs").glob("*.c")):
            objects.append(str(made / f"{source.stem}.o"))
            weak = ["-include", str(made / "weak.h"), "-w"]
            tool([*self._compiler, "-std=gnu99", "-O2", *weak, "-c", "-o", objects[-1], str(source)])
        program = str(made / "peer.run")
        flags = ["-O3", "-w", "-fmad=false", "-arch=native"]
        tool([nvcc, *flags, "-o", program, str(made / "peer.cu"), *objects, "support.o", "-lm"])
        return program, kernel

    def _measured(self, case: dict, code: str, program: str, kernel: str) -> Measured:
        """Raises RuntimeError."""
        log = HERE / "logs" / f"{kernel}-{case['n']}-{code.replace(' ', '-')}.csv"
        log.parent.mkdir(exist_ok=True)
        options = [*NCU, "--log-file", str(log), "--metrics", ",".join(METRICS)]
        settings = settings_of(kernel, case["n"], case["steps"], self._repeats)
        variables = self._variables | {"TILEK_GRAPHS": "0"}
        said = tool([self._ncu, *options, program, "-", settings], **variables)
        hashes = re.findall(r"^0 [0-9.]+((?: [0-9a-f]{16})+)$", said, re.MULTILINE)
        if len(hashes) != 1:
            raise RuntimeError("the program printed no result")
        return result_of(case["title"], code, launches(log.read_text()), self._repeats, hashes[0].strip())


def settings_of(kernel: str, n: int, steps: int, repeats: int) -> str:
    """A run on random data, as an argument of the program."""
    return f"type=float,seed=1,time=1,KERNEL={kernel},N={n},STEPS={steps},REPEATS={repeats}"


def row_of(case: dict, result: Measured, done: Sequence[Measured]) -> tuple[str, ...]:
    """The result's row; `done` are the results of the case so far, those by hand first."""
    if result.failure:
        return (result.kernel, f"{result.code}: FAILED: {result.failure.splitlines()[-1]}")
    seconds, units = statistics.median(result.seconds), case["units"]
    naive = next((statistics.median(each.seconds) for each in done if each.code == NAIVE and each.seconds), 0.0)
    counts = (result.instructions, result.l1, result.l2, result.dram)
    return (
        result.kernel,
        result.code,
        f"{1e6 * seconds:.1f}",
        f"{seconds / naive:.2f}" if naive else "",
        f"{1e-9 * units / seconds:.2f}",
        *(f"{count / units:.2f}" for count in counts),
        str(result.registers),
        f"{result.occupancy:.2f}",
        "same" if result.same else "other",
    )


def row_text(row: Sequence[str]) -> str:
    widths = (22, 16, 10, 8, 10, 8, 8, 8, 8, 9, 9, 5)
    texts = zip(row, widths, strict=False)  # the row of a failure is short
    return " ".join(text.ljust(width) if k < 2 else text.rjust(width) for k, (text, width) in enumerate(texts))
