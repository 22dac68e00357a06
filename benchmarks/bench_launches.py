"""What one warm launch costs, in microseconds, on each target of this machine, with a kernel that
does almost nothing.

On devices the cost contains the driver's. For OpenCL, opencl_driver.c measures that alone.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

from measure import COMPILER, ROOT, TILECC, TILEPRAGMA, alternate, environment, output_of, show

PROGRAM = r"""
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void touch(int n, float *a)
{
#pragma tilek kernel data(a[0:n], mode:rw, live:inout) num_gangs(2) num_workers(4)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i)
        a[i] += 1.0f;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    const int launches = argc > 1 ? atoi(argv[1]) : 1000;
    float a[64] = {0};
    double seconds = 0.0;
#pragma tilek data copy(a[0:64])
    {
        touch(64, a);
        const double start = now();
        for (int k = 0; k < launches; ++k)
            touch(64, a);
        seconds = now() - start;
    }
    printf("%.9f\n", seconds / launches);
    return a[5] == (float)(launches + 1) ? 0 : 1;
}
"""


def opencl_driver(folder: Path) -> Path:
    """Build opencl_driver.c, which launches through OpenCL alone on the device that the runtime chooses."""
    libraries = output_of((*TILEPRAGMA, "--libs"), folder).split()
    includes = (f"-I{ROOT / 'runtime'}", f"-I{ROOT / 'runtime' / 'include'}")
    source = ROOT / "benchmarks" / "opencl_driver.c"
    output_of((COMPILER, "-O2", "-std=c99", *includes, "-o", "driver", str(source), *libraries), folder)
    return folder / "driver"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--launches", type=int, default=5000)
    options.add_argument("--repeats", type=int, default=5)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "touch.c").write_text(PROGRAM)
        output_of((*TILECC, "-O2", "-o", "touch", "touch.c"), folder)
        output_of((COMPILER, "-O2", "-o", "plain", "touch.c"), folder)
        rows = [("plain C", _microseconds(folder, "plain", "", arguments), "")]
        for target in ("serial", "threads", "opencl", "cuda"):
            present = _runs(folder, target)
            alone = ""
            if present and target == "opencl":
                alone = _microseconds(folder, opencl_driver(folder).name, "", arguments)
            launch = _microseconds(folder, "touch", target, arguments) if present else "absent"
            rows.append((target, launch, alone))
    show("a warm launch, microseconds (median)", ("target", "launch", "driver alone"), rows)


def _runs(folder: Path, target: str) -> bool:
    settings = environment(TILEK_TARGET=target, TILEK_STRICT="1")
    return subprocess.run(("./touch", "1"), cwd=folder, env=settings, capture_output=True, check=False).returncode == 0


def _microseconds(folder: Path, program: str, target: str, arguments: argparse.Namespace) -> str:
    def measure() -> float:
        return float(output_of((f"./{program}", str(arguments.launches)), folder, TILEK_TARGET=target or "serial"))

    return f"{1e6 * alternate(arguments.repeats, measure)[0]:.2f}"


if __name__ == "__main__":
    main()
