"""Builds as users have them, with the installed commands: make CC=tilecc, the make fragment, CMake, autoconf's questions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

TOOLS = Path(sys.executable).parent
HEADER = """\
void scale(int n, double *a, double factor);
static inline void shift(int n, double *a)
{
#pragma tilek kernel data(a[0:n])
#pragma tilek loop independent
    for (int i = 0; i < n; i++)
        a[i] += 1.0;
}
"""
LIBRARY = """\
#include "scale.h"
void scale(int n, double *a, double factor)
{
#pragma tilek kernel data(a[0:n])
#pragma tilek loop independent
    for (int i = 0; i < n; i++)
        a[i] *= factor;
}
"""
PROGRAM = """\
#include <stdio.h>
#include "scale.h"
int main(void)
{
    double a[1000];
    for (int i = 0; i < 1000; i++)
        a[i] = i;
    scale(1000, a, FACTOR);
    shift(1000, a);
    double sum = 0.0;
    for (int i = 0; i < 1000; i++)
        sum += a[i];
    printf("%.17g\\n", sum);
    return 0;
}
"""
EXPECTED = "1499500\n"
MAKEFILE = """\
CFLAGS = -O2 -std=c99
CPPFLAGS = -DFACTOR=3.0 -Wno-unknown-pragmas
prog: main.o lib/scale.o
\t$(CC) $(LDFLAGS) -o $@ $^
%.o: %.c
\t$(CC) $(CPPFLAGS) $(CFLAGS) -Ilib -MMD -MP -c -o $@ $<
clean:
\trm -f prog main.o main.d lib/scale.o lib/scale.d
-include main.d lib/scale.d
"""
FRAGMENT = """\
CFLAGS = -O2 -std=c99
CPPFLAGS = -DFACTOR=3.0 -Ilib
include $(shell tilepragma --makefile)
prog: main.tk.o lib/scale.tk.o
\t$(CC) $(LDFLAGS) -o $@ $^ $(TILEPRAGMA_LIBS)
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.13)
project(prog C)
set(CMAKE_C_STANDARD 99)
execute_process(COMMAND tilepragma --cmake OUTPUT_VARIABLE TILEPRAGMA_CMAKE OUTPUT_STRIP_TRAILING_WHITESPACE)
include(${TILEPRAGMA_CMAKE})
add_executable(prog main.c lib/scale.c)
target_include_directories(prog PRIVATE lib)
target_compile_definitions(prog PRIVATE FACTOR=3.0)
tilepragma_translate(prog)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of two files and a header with a kernel of its own, in two folders."""
    monkeypatch.setenv("PATH", f"{TOOLS}:{os.environ['PATH']}")
    monkeypatch.setenv("TILEK_TARGET", "threads")
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "scale.h").write_text(HEADER)
    (tmp_path / "lib" / "scale.c").write_text(LIBRARY)
    (tmp_path / "main.c").write_text(PROGRAM)
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return tmp_path


def run(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def is_translated(program: Path) -> bool:
    return b"tilek_launch" in program.read_bytes()


def test_make_with_tilecc(project: Path) -> None:
    run(["make", "-j4"], project)
    assert run(["./prog"], project) == EXPECTED
    run(["make", "clean"], project)
    run(["make", "-j4", "CC=tilecc"], project)
    assert is_translated(project / "main.o"), "the kernel in the header is one of main.c's"
    assert is_translated(project / "lib" / "scale.o")
    assert run(["./prog"], project) == EXPECTED
    assert run(["make", "CC=tilecc"], project).startswith("make: 'prog' is up to date")
    (project / "lib" / "scale.h").write_text(HEADER.replace("1.0", "2.0"))
    assert "main.c" in run(["make", "CC=tilecc"], project), "a header with a kernel is a dependency"
    assert run(["./prog"], project) == "1500500\n"


def test_one_command_for_all(project: Path) -> None:
    run(["tilecc", "-O2", "-DFACTOR=3.0", "-Ilib", "main.c", "lib/scale.c", "-o", "prog"], project)
    assert is_translated(project / "prog")
    assert run(["./prog"], project) == EXPECTED


def test_make_fragment(project: Path) -> None:
    (project / "Makefile").write_text(FRAGMENT)
    run(["make", "-j4"], project)
    assert is_translated(project / "prog")
    assert run(["./prog"], project) == EXPECTED
    assert (project / "main.tk.c").is_file(), "the translated source is kept"
    assert "up to date" in run(["make"], project)
    (project / "lib" / "scale.h").write_text(HEADER.replace("1.0", "2.0"))
    assert "translate main.c" in run(["make"], project)
    assert run(["./prog"], project) == "1500500\n"


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_cmake_module(project: Path) -> None:
    (project / "CMakeLists.txt").write_text(CMAKE)
    run(["cmake", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Release"], project)
    run(["cmake", "--build", "build"], project)
    assert is_translated(project / "build" / "prog")
    assert run(["build/prog"], project) == EXPECTED
    (project / "lib" / "scale.h").write_text(HEADER.replace("1.0", "2.0"))
    run(["cmake", "--build", "build"], project)
    assert run(["build/prog"], project) == "1500500\n"


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_tilecc_as_cmakes_compiler(project: Path) -> None:
    plain = CMAKE.replace("tilepragma_translate(prog)\n", "").replace("include(${TILEPRAGMA_CMAKE})\n", "")
    (project / "CMakeLists.txt").write_text(plain)
    run(["cmake", "-S", ".", "-B", "build", "-DCMAKE_C_COMPILER=tilecc"], project)
    run(["cmake", "--build", "build"], project)
    assert is_translated(project / "build" / "prog")
    assert run(["build/prog"], project) == EXPECTED


def test_shared_library_of_kernels(project: Path) -> None:
    run(["tilecc", "-shared", "-fPIC", "-Ilib", "lib/scale.c", "-o", "libscale.so"], project)
    run(["tilecc", "-DFACTOR=3.0", "-Ilib", "main.c", "-L.", "-lscale", "-Wl,-rpath,$ORIGIN", "-o", "prog"], project)
    assert run(["./prog"], project) == EXPECTED


def test_archive_of_kernels_linked_by_name(project: Path) -> None:
    run(["tilecc", "-Ilib", "-c", "lib/scale.c"], project)
    run(["ar", "rcs", "libscale.a", "scale.o"], project)
    (project / "main.c").write_text(
        PROGRAM.replace('#include "scale.h"', "void scale(int, double *, double);").replace("    shift(1000, a);\n", "")
    )
    run(["tilecc", "-DFACTOR=3.0", "main.c", "-L.", "-lscale", "-o", "prog"], project)
    assert run(["./prog"], project) == "1498500\n"


def test_lines_of_the_user_in_debug_information(project: Path) -> None:
    run(["tilecc", "-g", "-c", "lib/scale.c"], project)
    decoded = run(["objdump", "--dwarf=decodedline", "scale.o"], project)
    assert "scale.c" in decoded
    assert "/tilecc-" not in run(["objdump", "--dwarf=info", "scale.o"], project)


def test_compiling_the_same_file_many_times_at_once(project: Path) -> None:
    names = [f"copy{number}" for number in range(4)]
    processes = [
        subprocess.Popen(["tilecc", "-Ilib", "-c", "lib/scale.c", "-o", f"{name}.o"], cwd=project) for name in names
    ]
    assert [process.wait() for process in processes] == [0] * 4
    assert len({(project / f"{name}.o").read_bytes() for name in names}) == 1, "objects are reproducible"
