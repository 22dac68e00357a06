"""The samples at their default sizes: plain programs against translated ones on each target, in
alternating runs.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from measure import COMPILER, ROOT, TILECC, alternate, environment, output_of, show

PAPER = ("listing1", "listing2", "listing3", "conv2d", "sgemm", "syr2k", "doitgen")
NAMES = (*PAPER, "lu", "heat3d", "gauss_seidel", "sor", "smith_waterman", "wave2d")
TARGETS = ("serial", "threads", "opencl", "cuda")


def build(scratch: Path, name: str, compiler: str) -> Path:
    """Copy a sample and build it there; returns its folder."""
    folder = scratch / re.sub(r"\W", "_", compiler)[-20:]
    for part in ("common", name):
        shutil.copytree(ROOT / "samples" / part, folder / part, dirs_exist_ok=True)
    output_of(("make", "-B", f"CC={compiler}"), folder / name)
    return folder / name


def seconds(folder: Path, name: str, target: str) -> float:
    """The kernel's time as the program prints it."""
    text = output_of((f"./{name}",), folder, TILEK_TARGET=target, TILEK_STRICT="1")
    return float(text.split("seconds")[1].split()[0])


def runs(folder: Path, name: str, target: str) -> bool:
    settings = environment(TILEK_TARGET=target, TILEK_STRICT="1")
    return subprocess.run((f"./{name}",), cwd=folder, env=settings, capture_output=True, check=False).returncode == 0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--targets", default=",".join(TARGETS))
    options.add_argument("samples", nargs="*", default=NAMES)
    arguments = options.parse_args()
    targets = arguments.targets.split(",")
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.samples:
            plain = build(Path(scratch), name, COMPILER)
            translated = build(Path(scratch), name, " ".join(TILECC))
            present = [target for target in targets if runs(translated, name, target)]
            original, *times = alternate(
                arguments.repeats,
                lambda plain=plain, name=name: seconds(plain, name, "serial"),
                *(lambda t=t, f=translated, n=name: seconds(f, n, t) for t in present),
            )
            ratio = dict(zip(present, (original / time for time in times), strict=True))
            cells = (f"{ratio[target]:.2f}" if target in ratio else "absent" for target in targets)
            rows.append((name, f"{original:.3f}", *cells))
    show("samples: speed-up over the plain program (medians)", ("sample", "plain s", *targets), rows)


if __name__ == "__main__":
    main()
