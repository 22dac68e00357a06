"""gdb on a translated program: breakpoints on the user's lines hit, in host functions and in the original loop alike."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
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
needs_gdb = pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")


def debugged(folder: Path, commands: Sequence[str], variables: Mapping[str, str], *arguments: str) -> str:
    """What gdb says to these commands."""
    words = [word for command in commands for word in ("-ex", command)]
    done = subprocess.run(
        ["gdb", "-q", "-nx", "-batch", *words, "--args", "./debugged", *arguments],
        env=variables,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if "ptrace: Operation not permitted" in done.stderr:
        pytest.skip("this machine lets no debugger attach")
    return done.stdout + done.stderr


def build(workshop: Workshop, folder: Path, *options: str) -> None:
    (folder / "debugged.c").write_text(PROGRAM)
    command = (*TILECC, "-O0", "-g", "-Wno-unknown-pragmas", *options, "debugged.c", "-o", "debugged")
    run_command(command, tool_environment(workshop.cache), folder, BUILD_SECONDS)


@needs_gdb
@pytest.mark.parametrize("argument", ["", "original"])
def test_breakpoint_in_a_kernel(
    workshop: Workshop, host_target: TargetEnvironment, tmp_path: Path, argument: str
) -> None:
    build(workshop, tmp_path)
    variables = program_environment(host_target, workshop.cache)
    said = debugged(tmp_path, COMMANDS, variables, *filter(None, [argument]))
    assert "8\t        a[i] = left + b[i + 1];" in said, said
    function = "smooth" if argument else "tilek_smooth_host"
    assert any(line.startswith("#0") and function in line and "debugged.c:8" in line for line in said.splitlines())
    assert "main (" in said  # in the first thread, whichever came to the line first
    assert "debugged.c:17" in said
    assert "$1 = " in said


@needs_gdb
def test_stepping_stays_in_the_users_file(workshop: Workshop, tmp_path: Path) -> None:
    """A launch is one line to step over: that of its directive; `finish` and backtraces name the user's lines too."""
    build(workshop, tmp_path)
    serial = TargetEnvironment("serial", (("TILEK_TARGET", "serial"),))
    variables = program_environment(serial, workshop.cache)
    start = ("set debuginfod enabled off", "break smooth", "run")
    said = debugged(tmp_path, (*start, "next", "next", "next", "info source"), variables)
    shown = [int(line.split("\t")[0]) for line in said.splitlines() if "\t" in line and line.split("\t")[0].isdigit()]
    assert shown == [4, 10, 18, 19], said
    assert f"Located in {tmp_path}/debugged.c" in said
    said += debugged(tmp_path, (*start, "step", "step"), variables)
    said += debugged(
        tmp_path, (*start, "break tilek_smooth_host", "continue", "next", "backtrace", "finish"), variables
    )
    assert "No such file or directory" not in said
    assert "tilek.c" not in said
    frames = [line for line in said.splitlines() if line.startswith("#") and " at " in line]
    assert frames and all("debugged.c:" in line for line in frames), said
    symbols = subprocess.run(
        ["objdump", "--dwarf=rawline", "debugged"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "debugged.c" in symbols.stdout and "debugged.tilek.c" not in symbols.stdout


@needs_gdb
def test_a_kept_translation_can_be_stepped_through(workshop: Workshop, tmp_path: Path) -> None:
    build(workshop, tmp_path, "--tilek-keep")
    serial = TargetEnvironment("serial", (("TILEK_TARGET", "serial"),))
    said = debugged(tmp_path, ("break smooth", "run"), program_environment(serial, workshop.cache))
    assert "debugged.tilek.c:" in said and "No such file or directory" not in said
