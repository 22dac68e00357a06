"""Time of `tilepragma translate`: a file of one kernel (goal: under 0.4 s), and 2 000 lines with 20
kernels (under 2 s).

Python keeps the package's bytecode, as where pip has installed it, even where the environment says
otherwise.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from measure import TILEPRAGMA, alternate, output_of, show

KERNEL = """
void stencil_{k}(int n, int m, float A[n][m], float B[n][m], float b)
{{
#pragma tilek kernel data(A[0:n][0:m], mode:r, live:in) data(B[0:n][0:m], mode:rw, live:inout) num_gangs(4, 4) num_workers(8, 8)
#pragma tilek loop tile(gang, 1) tile(worker, 1) tile(dynamic)
    for (int i = 1; i < n - 1; ++i)
#pragma tilek loop tile(gang, 0) tile(dynamic) tile(worker, 0)
        for (int j = 1; j < m - 1; ++j) {{
            const float sum = A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1];
            B[i][j] += b * (sum - {k}.0f * A[i][j]);
        }}
}}
"""
PLAIN = "int plain_{k}(int a, int b)\n{{\n    if (a > b)\n        return a * {k} - b;\n    return b / (a + 1);\n}}\n\n"
HEADERS = "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"


def program(kernels: int, lines: int) -> str:
    """A file of that many kernels, filled up with plain functions."""
    text = HEADERS + "".join(KERNEL.format(k=k) for k in range(kernels))
    k = 0
    while text.count("\n") < lines:
        text += PLAIN.format(k=k)
        k += 1
    return text


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=7)
    repeats = options.parse_args().repeats
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        cases = (("one kernel", program(1, 0), 0.4), ("2 000 lines, 20 kernels", program(20, 2000), 2.0))
        measures = []
        for k, (_, text, _) in enumerate(cases):
            (folder / f"case{k}.c").write_text(text)

            def translate(k: int = k) -> float:
                start = time.perf_counter()
                output_of((*TILEPRAGMA, "translate", f"case{k}.c", "-o", f"case{k}.tk.c"), folder)
                return time.perf_counter() - start

            translate()
            measures.append(translate)
        medians = alternate(repeats, *measures)
    for (title, text, goal), seconds in zip(cases, medians, strict=True):
        verdict = "yes" if seconds < goal else "no"
        rows.append((title, str(text.count("\n")), f"{seconds:.3f}", f"{goal:.1f}", verdict))
    show("tilepragma translate, seconds (median)", ("file", "lines", "seconds", "goal", "reached"), rows)


if __name__ == "__main__":
    main()
