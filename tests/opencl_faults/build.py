"""Builds the OpenCL library whose calls fail on demand."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
RUNTIME = FOLDER.parents[1] / "runtime"


def build_faults(folder: Path, wheel: Path | None) -> dict[str, str]:
    """Builds the library in `folder`, in front of the system's or of a Python wheel's; the
    environment that makes the OpenCL back end use it.

    Raises subprocess.CalledProcessError where the compiler refuses it.
    """
    library = folder / ".libs" / "libopencl_faults.so"  # where the runtime looks for a wheel's drivers
    library.parent.mkdir(parents=True)
    for drivers in wheel.parent.glob("*.icd") if wheel is not None else ():
        # By its whole path: a driver finds its own libraries from where it lies.
        (library.parent / drivers.name).write_text(f"{wheel.parent / drivers.read_text().strip()}\n")
    flags = ("-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-fPIC", "-shared", "-fvisibility=hidden")
    subprocess.run(
        [
            *(os.environ.get("CC", "cc"), *flags, f"-I{RUNTIME}", f"-I{RUNTIME / 'include'}"),
            *(str(FOLDER / "library.c"), "-o", str(library), "-ldl", "-lpthread"),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return {"TILEK_OPENCL_LIBRARY": str(library)} | ({} if wheel is None else {"TILEK_FAULTS_LIBRARY": str(wheel)})
