"""Sources under names that are no text for C, make or JSON as they stand: nothing of a name becomes code, and nothing of it is lost."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.programs import BUILD_SECONDS, TILECC, TILEPRAGMA, Workshop, tool_environment
from tests.support.targets import TargetEnvironment, program_environment

PROGRAM = b"""\
#include <stdio.h>
static void twice(int n, double *restrict a, const double *restrict b)
{
#pragma tilek data copy(a[0:n])
    {
#pragma tilek kernel data(a[0:n], mode:rw, live:inout) data(b[0:n], mode:r)
#pragma tilek loop independent
    for (int i = 0; i < n; i++)
        a[i] = 2.0 * b[i];
    }
}
int main(void)
{
    double a[10] = {0}, b[10];
    for (int i = 0; i < 10; i++)
        b[i] = i;
    twice(10, a, b);
    printf("%g\\n", a[7]);
    return 0;
}
"""
COMMENT = b"*/ extern int evil(void); int no = sizeof(struct evil); /*"
NAMES = (COMMENT + b"/*.c", b'??/"' + "\u202e".encode() + b"\xff/what??) a\\b\nc\\.c")
FLAGS = ("-std=c99", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas")


@pytest.mark.parametrize("name", NAMES, ids=["ends a comment", "no text"])
def test_a_name_stays_a_name(workshop: Workshop, target: TargetEnvironment, tmp_path: Path, name: bytes) -> None:
    folder, environment = os.fsencode(tmp_path), tool_environment(workshop.cache)
    source = os.path.join(folder, name)
    os.makedirs(os.path.dirname(source), exist_ok=True)
    Path(os.fsdecode(source)).write_bytes(PROGRAM)

    def run(*command: str | bytes) -> bytes:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, timeout=BUILD_SECONDS, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    run(*TILECC, *FLAGS, "-MMD", "-MF", "p.d", "--tilek-emit-kernels=kernels", name, "-o", "p")
    assert name.replace(b" ", b"\\ ") in (tmp_path / "p.d").read_bytes()
    variables = program_environment(target, workshop.cache, TILEK_PROFILE="p.json")
    ran = subprocess.run(["./p"], cwd=tmp_path, env=variables, capture_output=True, timeout=120, check=False)
    assert (ran.returncode, ran.stdout) == (0, b"14\n"), ran.stderr
    sources = {event["args"]["source"] for event in json.loads((tmp_path / "p.json").read_bytes())["traceEvents"]}
    assert os.fsencode(name).decode(errors="replace") in sources
    if target.runtime == "threads":  # the commands are the same for all
        run(*TILEPRAGMA, "translate", name, "-o", "p.tk.c", "-MMD", "-std=c99")
        assert name in run(*TILEPRAGMA, "explain", name, "--html", "p.html").replace(b"\\n", b"\n")
        assert json.loads(run(*TILEPRAGMA, "check", name, "--format", "json")) == []
