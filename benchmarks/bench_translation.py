"""Time of `tilepragma translate`, process start included: a file with one kernel, and 2 000 lines with 20 kernels.

The limits that the project sets itself are 0.4 s and 2 s. Medians of five runs with a warm compiler cache.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KERNEL = """\
void stencil{number}(int n, int m, double A[n][m], double B[n][m])
{{
#pragma tilek kernel
#pragma tilek loop independent
    for (int i = 1; i < n - 1; i++)
#pragma tilek loop independent
        for (int j = 1; j < m - 1; j++)
            B[i][j] = 0.2 * (A[i][j] + A[i-1][j] + A[i+1][j] + A[i][j-1] + A[i][j+1]) * {number};
}}
"""
PLAIN = "double plain{number}(double x)\n{{\n    return x * {number} + 1.0;\n}}\n\n"
RUNS = 5


def source(kernels: int, lines: int) -> str:
    """A file with `kernels` kernels and about `lines` lines."""
    head = "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    text = head + "".join(KERNEL.format(number=number) for number in range(kernels))
    missing = max(0, lines - text.count("\n")) // 5
    return text + "".join(PLAIN.format(number=number) for number in range(missing))


def seconds(folder: Path, text: str) -> float:
    """Median time of one translation."""
    path = folder / "source.c"
    path.write_text(text)
    tool = str(Path(sys.executable).with_name("tilepragma"))
    taken = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        subprocess.run([tool, "translate", str(path), "-o", str(folder / "out.c")], check=True)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[1:])


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text, limit in (
            ("one kernel", source(1, 0), 0.4),
            ("2 000 lines, 20 kernels", source(20, 2000), 2.0),
        ):
            print(f"{name:26} {seconds(Path(folder), text):6.3f} s   (limit {limit} s)", flush=True)


if __name__ == "__main__":
    main()
