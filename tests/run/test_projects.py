"""Programs of several files: regions in headers, several translated objects in one program, dialects of C."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.programs import BUILD_SECONDS, COMPILER, TILECC, Workshop, run_command, tool_environment
from tests.support.targets import TargetEnvironment

HEADER = """
#ifndef SHIFT_H
#define SHIFT_H

static inline void shift(int n, int *restrict a, int by)
{
#pragma tilek kernel data(a[0:n], mode:rw, live:inout) num_gangs(2) num_workers(3)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i)
        a[i] += by * i;
}

void other_file(int n, int *a);
int plain_file(int n, const int *a);

#endif
"""

MAIN = """
#include <stdio.h>
#include "shift.h"

/* Two functions of one name in two files, each with a kernel. */
static void work(int n, int *a)
{
#pragma tilek kernel data(a[0:n], mode:rw, live:inout) num_threads(2)
#pragma tilek loop tile(thread) tile(dynamic)
    for (int i = 0; i < n; ++i)
        a[i] ^= 0x55;
}

int main(void)
{
    int a[101];
    for (int i = 0; i < 101; ++i)
        a[i] = 3 * i;
    shift(101, a, 5);
    work(101, a);
    other_file(101, a);
    printf("%d\\n", plain_file(101, a));
    return 0;
}
"""

OTHER = """
#include "shift.h"

static void work(int n, int *a)
{
#pragma tilek kernel data(a[0:n], mode:rw, live:inout) num_gangs(4) num_workers(2)
#pragma tilek loop tile(gang) tile(dynamic) tile(worker)
    for (int i = n - 1; i >= 0; --i)
        a[i] *= 3;
}

void other_file(int n, int *a)
{
    shift(n, a, -2);
    work(n, a);
    shift(n, a, 9);
}
"""

PLAIN = """
#include "shift.h"

int plain_file(int n, const int *a)
{
    unsigned hash = 7;
    for (int i = 0; i < n; ++i)
        hash = hash * 31u + (unsigned)a[i];
    return (int)(hash >> 1);
}
"""

DIALECTS = (
    ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"),
    ("-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"),
    ("-std=gnu11", "-O3", "-g"),
    ("-std=gnu99", "-Os", "-fPIC"),
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "shift.h").write_text(HEADER)
    for name, text in (("main.c", MAIN), ("other.c", OTHER), ("plain.c", PLAIN)):
        (tmp_path / name).write_text(text)
    return tmp_path


def build(workshop: Workshop, project: Path, compiler: tuple[str, ...], flags: tuple[str, ...], name: str) -> Path:
    """Separate compilation, with dependency files, then one link."""
    environment = tool_environment(workshop.cache)
    common = (*flags, "-Iinclude", "-Wno-unknown-pragmas")
    for source in ("main", "other", "plain"):
        command = (*compiler, *common, "-MMD", "-c", f"{source}.c", "-o", f"{name}-{source}.o")
        run_command(command, environment, project, BUILD_SECONDS)
        assert "include/shift.h" in (project / f"{name}-{source}.d").read_text()
    objects = tuple(f"{name}-{source}.o" for source in ("main", "other", "plain"))
    run_command((*compiler, "-o", name, *objects), environment, project, BUILD_SECONDS)
    return project / name


@pytest.mark.parametrize("flags", DIALECTS, ids=lambda flags: flags[0])
def test_several_files_and_a_header(
    workshop: Workshop, host_target: TargetEnvironment, project: Path, flags: tuple[str, ...]
) -> None:
    runs_alike(workshop, host_target, project, flags)


def test_several_files_on_devices(workshop: Workshop, device_target: TargetEnvironment, project: Path) -> None:
    """In one dialect: that is the host's matter."""
    runs_alike(workshop, device_target, project, DIALECTS[0])


def runs_alike(workshop: Workshop, target: TargetEnvironment, project: Path, flags: tuple[str, ...]) -> None:
    original = build(workshop, project, (COMPILER,), flags, "original")
    translated = build(workshop, project, TILECC, flags, "translated")
    plain = TargetEnvironment("original", ())
    assert workshop.run(translated, target) == workshop.run(original, plain)


def test_one_command_compiles_and_links_all(workshop: Workshop, project: Path) -> None:
    command = (*TILECC, "-Iinclude", "-o", "program", "main.c", "other.c", "plain.c")
    run_command(command, tool_environment(workshop.cache), project, BUILD_SECONDS)
    run_command(
        (COMPILER, "-Iinclude", "-o", "plain", "main.c", "other.c", "plain.c"),
        tool_environment(workshop.cache),
        project,
        BUILD_SECONDS,
    )
    serial = TargetEnvironment("serial", (("TILEK_TARGET", "serial"),))
    assert workshop.run(project / "program", serial) == workshop.run(project / "plain", serial)
