"""What one warm launch costs, in microseconds, on each target at hand, with a kernel that has almost nothing to do.

The device targets' figure holds the driver's own cost too; it is measured beside it where the driver offers a way: on
OpenCL by the same kernel enqueued by pyopencl.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

from measure import COMPILER, TILECC, alternate, environment, output_of, show

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


def opencl_driver_cost(launches: int) -> float:
    """Seconds a launch through pyopencl: enqueue with set arguments, then finish."""
    import numpy
    import pyopencl

    context = pyopencl.create_some_context(interactive=False)
    queue = pyopencl.CommandQueue(context)
    text = "__kernel void touch(__global float *a, long n) { for (long i = get_global_id(0) * 8; i < n; ++i) a[i] += 0.0f; }"
    kernel = pyopencl.Program(context, text).build().touch
    buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 256)
    kernel.set_args(buffer, numpy.int64(64))
    pyopencl.enqueue_nd_range_kernel(queue, kernel, (8,), (4,))
    queue.finish()
    start = time.perf_counter()
    for _ in range(launches):
        pyopencl.enqueue_nd_range_kernel(queue, kernel, (8,), (4,))
        queue.finish()
    return (time.perf_counter() - start) / launches


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
            driver = ""
            if target == "opencl" and _runs(folder, target):
                driver = f"{1e6 * alternate(arguments.repeats, lambda: opencl_driver_cost(arguments.launches))[0]:.2f}"
            rows.append((target, _microseconds(folder, "touch", target, arguments), driver))
    show("a warm launch, microseconds (median)", ("target", "launch", "driver alone"), rows)


def _runs(folder: Path, target: str) -> bool:
    settings = environment(TILEK_TARGET=target, TILEK_STRICT="1")
    return subprocess.run(("./touch", "1"), cwd=folder, env=settings, capture_output=True, check=False).returncode == 0


def _microseconds(folder: Path, program: str, target: str, arguments: argparse.Namespace) -> str:
    if program == "touch" and not _runs(folder, target):
        return "absent"

    def measure() -> float:
        return float(output_of((f"./{program}", str(arguments.launches)), folder, TILEK_TARGET=target or "serial"))

    return f"{1e6 * alternate(arguments.repeats, measure)[0]:.2f}"


if __name__ == "__main__":
    main()
