"""Writes a folder with everything that the GPU's benchmark needs, to be carried to a machine with a
GPU and run there.

There `python3 FOLDER/run.py` needs Python, a C compiler, a CUDA driver and NVRTC, and nothing of
tilepragma: the folder holds the generated sources, the runtime's, and what measures. `run.py --json
FILE` writes what the suite's `--gpu FILE` reads. Where CUDA's toolkit is, it also compares the
kernels of `programs/` with CUDA by hand and with the CUDA of peers.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.gpu.cases import CASES, CHECK_LIMITS, LIMITS, VARIANTS, GpuCase, Variant
from benchmarks.gpu.kernel_cases import CASES as KERNEL_CASES
from benchmarks.gpu.kernel_cases import OURS, STREAMED, KernelCase
from benchmarks.gpu.kernel_runs import PROGRAMS, cuda_units, peer_folder
from benchmarks.measure import SUPPORT, TILEPRAGMA, BenchmarkError, checked_output, environment
from benchmarks.polybench_programs import HOOKS, Program
from tilepragma.base.resources import resource_folder

HERE = Path(__file__).resolve().parent
#: What is carried to the machine with a GPU.
PACKED = HERE / "packed"
#: N and STEPS at which kernels run beside their originals first: they divide nothing.
CHECK_SIZES = (67, 2)
TIMED_KERNELS = tuple(case for case in KERNEL_CASES if case.timed_n > 0)
SUITE_KERNELS = HERE.parent / "suite" / "kernels"


def source_of(case: GpuCase) -> Path:
    """The kernel's text: of this benchmark, else of the suite."""
    own = HERE / "kernels" / f"{case.program}.c"
    return own if own.is_file() else SUITE_KERNELS / own.name


def options_of(case: GpuCase, check: bool) -> list[str]:
    """What translator and compiler have to know."""
    numbers = [f"-D{name}={value}" for name, value in case.numbers(check).items()]
    return [f"-DDATA_TYPE_IS_{case.type.upper()}", *HOOKS, *numbers]


def translate(case: GpuCase, check: bool, folder: Path) -> None:
    """Raises BenchmarkError."""
    source = source_of(case)
    text = Program(source, case.type, (), (), False).with_kernels()
    original, output = folder / f"{case.name}.in.c", folder / f"{case.name}.c"
    original.write_text(text)
    command = [
        *TILEPRAGMA,
        "translate",
        *options_of(case, check),
        f"-I{SUITE_KERNELS}",
        "-o",
        str(output),
        str(original),
    ]
    checked_output(command, environment(TILEK_TILES=case.tiles))
    original.unlink()


def translate_variant(variant: Variant, kernels: Sequence[KernelCase], folder: Path) -> None:
    """The programs of the variant's kernels into `folder`, which is made. Raises BenchmarkError and OSError."""
    folder.mkdir(exist_ok=True)
    for program in sorted({case.program for case in kernels if variant.has(case.kernel)}):
        source = PROGRAMS / f"{program}.c"
        flags = [f"-ffp-contract={'fast' if variant.contract else 'off'}", f"-I{PROGRAMS}"]
        command = [*TILEPRAGMA, "translate", *flags, "-o", str(folder / source.name), str(source)]
        checked_output(command, environment(TILEK_TILES=variant.tiles))


def sized(case: KernelCase, n: int, steps: int) -> dict[str, object]:
    """What cases.json says of a run at these sizes; `steps` is of kernels that have time steps."""
    steps = steps if "STEPS" in case.units else 1
    return {"title": case.title_at(n, steps), "n": n, "steps": steps, "units": case.units_at(n, steps)}


def pack_peers(folder: Path, case: KernelCase, peers: Sequence[Path]) -> dict[str, list[str]]:
    """By name of a peer that has the kernel, the files to compile, relative to `folder`."""
    result = {}
    for peer in peers:
        sources = peer_folder(peer, case.kernel, case.timed_n)
        if sources is not None:
            place = Path("peers", peer.resolve().name, f"{case.kernel}-{case.timed_n}")
            shutil.copytree(sources, folder / place, dirs_exist_ok=True)
            result[peer.resolve().name] = [str(place / unit.name) for unit in cuda_units(sources)]
    return result


def pack_comparison(folder: Path, kernels: Sequence[KernelCase], peers: Sequence[Path]) -> dict[str, object]:
    """What the comparison needs into `folder`, and its part of cases.json. Raises BenchmarkError and OSError."""
    variants = [variant for variant in VARIANTS if any(variant.has(case.kernel) for case in kernels)]
    for variant in variants:
        translate_variant(variant, kernels, folder / variant.folder)
    shutil.copytree(PROGRAMS, folder / "programs", dirs_exist_ok=True)
    cases = [
        {
            "kernel": case.kernel,
            "unit": case.unit,
            "by_hand": [code for code in case.codes if code not in (OURS, STREAMED)],
            **sized(case, case.timed_n, case.timed_steps),
            **{f"check_{name}": value for name, value in sized(case, *CHECK_SIZES).items()},
            "peers": pack_peers(folder, case, peers),
        }
        for case in kernels
    ]
    return {
        "cases": cases,
        "variants": [{**asdict(variant), "folder": variant.folder} for variant in variants],
    }


def pack(
    folder: Path,
    cases: Sequence[GpuCase] = CASES,
    kernels: Sequence[KernelCase] = TIMED_KERNELS,
    peers: Sequence[Path] = (),
    *,
    tiny: bool = False,
) -> None:
    """Everything into `folder`: `cases` with a figure, `kernels` to compare. `tiny`: only what
    `run.py --tiny` needs. Raises BenchmarkError and OSError.
    """
    for kind, check in (("check", True),) if tiny else (("full", False), ("check", True)):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for case in cases:
            translate(case, check, folder / kind)
    runtime = resource_folder("runtime")
    shutil.copytree(
        runtime, folder / "runtime", dirs_exist_ok=True, ignore=shutil.ignore_patterns("tools", "__pycache__")
    )
    for file in (*PACKED.glob("*.py"), *PACKED.glob("*.c"), SUITE_KERNELS / "suite.h"):
        shutil.copy(file, folder)
    shutil.copy(SUPPORT, folder / "support.c")
    described = [
        {
            "program": case.title,
            "name": case.name,
            "type": case.type,
            "figure": case.figure,
            **{
                f"{kind}_{name}": value
                for kind, check in (("full", False), ("check", True))
                for name, value in (
                    ("options", options_of(case, check)),
                    ("moved", case.count(case.moved, check)),
                    ("flops", case.count(case.flops, check)),
                )
            },
        }
        for case in cases
    ]
    figures = Counter(case.figure for case in CASES)
    comparison = pack_comparison(folder, kernels, peers)
    whole = {
        "cases": described,
        "figures": figures,
        "limits": LIMITS,
        "check_limits": CHECK_LIMITS,
        "comparison": comparison,
    }
    (folder / "cases.json").write_text(json.dumps(whole, indent=1) + "\n")


def main() -> int:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path, metavar="FOLDER", help="made where it is missing")
    options.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these kernels")
    options.add_argument(
        "--peer",
        type=Path,
        nargs="+",
        default=[],
        metavar="FOLDER",
        help="CUDA of others: FOLDER/KERNEL or FOLDER/KERNEL-N holds the .cu files of a kernel",
    )
    given = options.parse_args()
    cases = [case for case in CASES if not given.only or case.title in given.only]
    kernels = [case for case in TIMED_KERNELS if not given.only or case.kernel in given.only]
    if not cases and not kernels:
        names = dict.fromkeys([*(case.title for case in CASES), *(case.kernel for case in TIMED_KERNELS)])
        print(f"no kernel is called {' or '.join(given.only)}; there are {', '.join(names)}")
        return 2
    try:
        pack(given.folder, cases, kernels, given.peer)
    except (BenchmarkError, OSError) as error:
        print(error)
        return 2
    print(
        f"carry {given.folder} to a machine with a GPU, and there: python3 {given.folder.name}/run.py --json gpu.json"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
