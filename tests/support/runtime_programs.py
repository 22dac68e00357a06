"""C tests of the runtime: one C file linked with the runtime's sources."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.programs import COMPILER, ROOT
from tilepragma.base.wheels import wheel_macros

SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")


def build_runtime_test(source: str, folder: Path, options: tuple[str, ...] = ()) -> Path:
    """The program of tests/runtime/`source`, built in `folder`; a warning is an error. Raises
    RuntimeError with the compiler's messages where it does not build.
    """
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / Path(source).stem
    runtime = ROOT / "runtime"
    command = [
        *(COMPILER, "-std=c99", "-g", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"),
        *options,
        *(f"-I{runtime}", f"-I{runtime / 'include'}"),
        *wheel_macros(),
        str(ROOT / "tests" / "runtime" / source),
        *(str(path) for path in sorted(runtime.glob("*.c"))),
        *("-o", str(program), "-ldl", "-lpthread", "-lm"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
    return program
