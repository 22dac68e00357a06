"""Builds the programs of this folder with the C compiler, and runs them."""

from __future__ import annotations

import glob
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUN_SECONDS = 900


def tool(command: list[str], **variables: str) -> str:
    """Standard output. Raises RuntimeError with what the command said, or why it did not run, or not to its end."""
    environment = os.environ | variables
    try:
        done = subprocess.run(
            command, cwd=HERE, env=environment, capture_output=True, text=True, check=False, timeout=RUN_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(str(error)) from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError("\n".join([f"{command[0]}: status {done.returncode}", *said[:8]]))
    return done.stdout


def build_runtime(compiler: list[str]) -> None:
    """libtilek.a of the runtime's sources, and the main function of all programs. Made once."""
    library = HERE / "libtilek.a"
    if library.is_file():
        return
    sources = sorted((HERE / "runtime").rglob("*.c"))
    flags = ["-O2", "-std=c99", "-fPIC", "-pthread", "-fvisibility=hidden", "-Iruntime/include", "-Iruntime"]

    def compiled(source: Path) -> str:
        output = f"{source.stem}.o"
        tool([*compiler, *flags, "-c", "-o", output, str(source)])
        return output

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        objects = list(pool.map(compiled, sources))
    tool([*compiler, "-std=c99", "-O2", "-c", "-o", "support.o", "support.c"])
    tool(["ar", "rcs", library.name, *objects])


def build(compiler: list[str], program: str, options: list[str], *sources: str) -> str:
    """The command that runs the program."""
    includes = ["-I.", "-Iruntime", "-isystem", "runtime/include"]
    command = [*compiler, "-std=gnu99", "-O2", *includes, *options, "-o", program, *sources]
    tool([*command, "libtilek.a", "-ldl", "-lpthread", "-lm"])
    return f"./{program}"


def libraries() -> dict[str, str]:
    """Where Python packages keep libcublas and NVRTC, for machines without CUDA's toolkit."""
    result = {}
    for variable, name in (("TILEK_CUBLAS_LIBRARY", "libcublas.so.1*"), ("TILEK_NVRTC_LIBRARY", "libnvrtc.so.1*")):
        paths = [path for folder in sys.path for path in glob.glob(f"{folder}/nvidia/*/lib/{name}")]
        if paths and variable not in os.environ:
            result[variable] = paths[0]
    return result
