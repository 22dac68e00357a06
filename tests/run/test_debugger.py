"""gdb on a translated program: breakpoints on the user's lines hit, in host functions and in the original loop alike."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.programs import BUILD_SECONDS, TILECC, Workshop, run_command, tool_environment
from tests.support.targets import TargetEnvironment, program_environment

PROGRAM = """\
#include <stdio.h>
static void smooth(int n, double *restrict a, const double *restrict b, int enabled)
{
#pragma tilek kernel data(a[0:n], mode:rw, live:inout) data(b[0:n], mode:r, live:in) if(enabled)
#pragma tilek loop independent
    for (int i = 1; i < n - 1; i++) {
        double left = b[i - 1];
        a[i] = left + b[i + 1];
    }
}
int main(int argc, char **argv)
{
    double a[50] = {0}, b[50];
    (void)argv;
    for (int i = 0; i < 50; i++)
        b[i] = i;
    smooth(50, a, b, argc < 2);
    printf("%g\\n", a[7]);
    return 0;
}
"""
COMMANDS = (
    "set debuginfod enabled off",
    "break debugged.c:8",
    "run",
    "thread apply all backtrace",
    "print left",
    "info locals",
)


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
@pytest.mark.parametrize("argument", ["", "original"])
def test_breakpoint_in_a_kernel(
    workshop: Workshop, host_target: TargetEnvironment, tmp_path: Path, argument: str
) -> None:
    (tmp_path / "debugged.c").write_text(PROGRAM)
    command = (*TILECC, "-O0", "-g", "-Wno-unknown-pragmas", "debugged.c", "-o", "debugged")
    run_command(command, tool_environment(workshop.cache), tmp_path, BUILD_SECONDS)
    words = [word for command in COMMANDS for word in ("-ex", command)]
    done = subprocess.run(
        ["gdb", "-q", "-nx", "-batch", *words, "--args", "./debugged", *filter(None, [argument])],
        env=program_environment(host_target, workshop.cache),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if "ptrace: Operation not permitted" in done.stderr:
        pytest.skip("this machine lets no debugger attach")
    assert "8\t        a[i] = left + b[i + 1];" in done.stdout, done.stdout + done.stderr
    function = "smooth" if argument else "tilek_smooth_host"
    assert any(
        line.startswith("#0") and function in line and "debugged.c:8" in line for line in done.stdout.splitlines()
    )
    assert "main (" in done.stdout  # in the first thread, whichever came to the line first
    assert "debugged.c:17" in done.stdout
    assert "$1 = " in done.stdout
