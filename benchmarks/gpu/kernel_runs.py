"""The kernels of `programs/`, which benchmarks.gpu.sass and benchmarks.gpu.simulated run."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.measure import SUPPORT, BenchmarkError

PROGRAMS = Path(__file__).resolve().parent / "programs"


def sources_of(*programs: str) -> list[str]:
    """What a program with the kernels of these files, or of all, is compiled of."""
    files = [PROGRAMS / f"{name}.c" for name in ("kernel_run", *programs)] if programs else PROGRAMS.glob("*.c")
    return [*sorted(map(str, files)), str(SUPPORT)]


def kernel_settings(kernel: str, n: int, steps: int, *, seed: int = 0) -> str:
    """A run, as an argument of the program; with a seed on random data, after which it prints hashes."""
    return f"type=float,seed={seed},time={int(seed != 0)},KERNEL={kernel},N={n},STEPS={steps}"


def peer_folder(peer: Path, kernel: str, n: int) -> Path | None:
    """The folder of a peer's CUDA for a kernel at one size, or for the kernel; None without."""
    folders = (peer / name for name in (f"{kernel}-{n}", kernel))
    return next((folder for folder in folders if folder.is_dir()), None)


def cuda_units(folder: Path) -> list[Path]:
    """The .cu files that are compiled: all that no other one includes. Raises BenchmarkError without any."""
    paths = sorted(folder.glob("*.cu"))
    texts = [path.read_text(errors="replace") for path in paths]
    included = {name for text in texts for name in re.findall(r'#\s*include\s*"([^"]+)"', text)}
    units = [path for path in paths if path.name not in included]
    if not units:
        raise BenchmarkError(f"{folder}\nhas no .cu files")
    return units


def hashes_of(output: str) -> str:
    """Of what the arrays hold after the program's run. Raises BenchmarkError where it printed none."""
    lines = re.findall(r"^0 [0-9.]+((?: [0-9a-f]{16})+)$", output, re.MULTILINE)
    if len(lines) != 1:
        raise BenchmarkError("the program printed no result")
    return str(lines[0]).strip()
