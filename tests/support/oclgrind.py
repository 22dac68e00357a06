"""Programs under Oclgrind, which detects races, accesses out of bounds and misuse of the API."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.programs import Workshop
from tests.support.targets import TargetEnvironment, program_environment

OPENCL = TargetEnvironment("opencl", (("TILEK_TARGET", "opencl"), ("TILEK_STRICT", "1")))


def oclgrind(workshop: Workshop, form: str, program: Path, *arguments: str, **variables: str) -> str:
    """Oclgrind's messages for a run; empty if all is well."""
    log = program.with_suffix(".oclgrind")
    log.unlink(missing_ok=True)
    command = ("oclgrind", "--data-races", "--check-api", "--log", str(log), str(program), *arguments)
    environment = program_environment(OPENCL, workshop.cache / "oclgrind", TILEK_OPENCL_FORM=form, **variables)
    done = subprocess.run(
        command, env=environment, cwd=program.parent, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return log.read_text() if log.exists() else done.stderr
