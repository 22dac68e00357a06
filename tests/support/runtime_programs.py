"""C tests of the runtime: one C file linked with the runtime's sources."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.programs import COMPILER, ROOT
from tilepragma.base.wheels import wheel_macros
from tilepragma.cli.runtime_library import runtime_includes, runtime_sources

SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")


def build_runtime_test(source: str, folder: Path, options: tuple[str, ...] = ()) -> Path:
    """The program of tests/runtime/`source`, built in `folder`; a warning is an error. Raises
    RuntimeError with the compiler's messages where it does not build.
    """
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / Path(source).stem
    command = [
        *(COMPILER, "-std=c99", "-g", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"),
        *options,
        *runtime_includes(),
        *wheel_macros(),
        str(ROOT / "tests" / "runtime" / source),
        *(str(path) for path in runtime_sources()),
        *("-o", str(program), "-ldl", "-lpthread", "-lm"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
    return program
