"""Builds the stand-in for libcuda and NVRTC."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def build_standin(folder: Path, *options: str) -> dict[str, str]:
    """Builds the library in `folder`, with `options` of the compiler; the environment that makes
    the CUDA back end use it.

    Raises subprocess.CalledProcessError where the compiler refuses it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "libcuda_standin.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run(
        [
            *(compiler, "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-fPIC", "-shared", "-fvisibility=hidden"),
            *options,
            f'-DSTANDIN_PRELUDE="{FOLDER / "prelude.h"}"',
            *(str(FOLDER / name) for name in ("driver.c", "graphs.c", "nvrtc.c", "blocks.c")),
            *("-o", str(library), "-ldl", "-lpthread"),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return {"TILEK_CUDA_LIBRARY": str(library), "TILEK_NVRTC_LIBRARY": str(library)}
