"""Writes a folder with everything that the GPU's benchmark needs, to be carried to a machine with a
GPU and run there.

There `python3 FOLDER/run.py` needs Python, a C compiler, a CUDA driver and NVRTC, and nothing of
tilepragma: the folder holds the generated sources, the runtime's, and what measures. `run.py --json
FILE` writes what the suite's `--gpu FILE` reads.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchmarks.gpu.cases import CASES, CHECK_LIMITS, LIMITS, GpuCase
from benchmarks.measure import SUPPORT, TILEPRAGMA, BenchmarkError, checked_output, environment
from benchmarks.polybench_programs import HOOKS, Program
from tilepragma.base.resources import resource_folder

HERE = Path(__file__).resolve().parent
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


def pack(folder: Path, cases: Iterable[GpuCase] = CASES, *, tiny: bool = False) -> None:
    """Everything into `folder`; `tiny`: only what `run.py --tiny` needs. Raises BenchmarkError and OSError."""
    cases = tuple(cases)
    for kind, check in (("check", True),) if tiny else (("full", False), ("check", True)):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for case in cases:
            translate(case, check, folder / kind)
    runtime = resource_folder("runtime")
    shutil.copytree(
        runtime, folder / "runtime", dirs_exist_ok=True, ignore=shutil.ignore_patterns("tools", "__pycache__")
    )
    for file in (HERE / "run.py", HERE / "limits.c", SUITE_KERNELS / "suite.h"):
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
    whole = {"cases": described, "figures": figures, "limits": LIMITS, "check_limits": CHECK_LIMITS}
    (folder / "cases.json").write_text(json.dumps(whole, indent=1) + "\n")


def main() -> int:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path, metavar="FOLDER", help="made where it is missing")
    options.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these kernels")
    given = options.parse_args()
    cases = [case for case in CASES if not given.only or case.title in given.only]
    if not cases:
        print(f"no kernel is called {' or '.join(given.only)}; there are {', '.join(case.title for case in CASES)}")
        return 2
    try:
        pack(given.folder, cases)
    except (BenchmarkError, OSError) as error:
        print(error)
        return 2
    print(
        f"carry {given.folder} to a machine with a GPU, and there: python3 {given.folder.name}/run.py --json gpu.json"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
