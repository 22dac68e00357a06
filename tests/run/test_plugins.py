"""Libraries with kernels that a program opens while it runs: closed, opened again, and sharing data regions with the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.programs import BUILD_SECONDS, COMPILER, TILECC, Workshop, run_command, tool_environment
from tests.support.targets import TargetEnvironment

PLUGIN = """
double twice(int n, float *restrict a);
double twice(int n, float *restrict a)
{
    int large = 0;
#pragma tilek kernel data(a[0:n], mode:rw, live:inout) reduction(+: large) num_gangs(4) num_workers(2)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; i++) {
        if (a[i] > 3.0f)
            large += 1;
        a[i] = a[i] * 2.0f;
    }
    return large;
}
"""

PROGRAM = """
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef KERNELS
static void shift(int n, float *a)
{
#pragma tilek kernel data(a[0:n], mode:rw, live:inout) num_gangs(4) num_workers(2)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; i++)
        a[i] += 1.0f;
}
#endif

static void use(const char *path, int n, float *a)
{
    double (*twice)(int, float *);
    void *symbol, *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\\n", dlerror());
        exit(1);
    }
    symbol = dlsym(library, "twice");
    memcpy(&twice, &symbol, sizeof symbol);
    printf("%g\\n", twice(n, a));
#ifdef KERNELS
    shift(n, a);
#endif
    if (dlclose(library) != 0)
        exit(2);
}

int main(void)
{
    enum { N = 1000 };
    static float a[N];
    double sum = 0;
    for (int i = 0; i < N; i++)
        a[i] = (float)i / N;
#ifdef KERNELS
#pragma tilek data copy(a[0:N])
#endif
    for (int round = 0; round < 4; round++)
        use(round == 2 ? "./two.so" : "./one.so", N, a);
    for (int i = 0; i < N; i++)
        sum += a[i];
    printf("%.17g\\n", sum);
    return 0;
}
"""


@pytest.mark.parametrize("kernels", [True, False], ids=["kernels in the program too", "kernels in plugins only"])
def test_plugins_come_and_go(workshop: Workshop, target: TargetEnvironment, tmp_path: Path, kernels: bool) -> None:
    environment = tool_environment(workshop.cache)
    (tmp_path / "plugin.c").write_text(PLUGIN)
    (tmp_path / "program.c").write_text(PROGRAM)
    flags = ("-g", "-ffp-contract=off", "-Wno-unknown-pragmas", *(("-DKERNELS",) if kernels else ()))

    def build(compiler: tuple[str, ...]) -> Path:
        for name in ("one.so", "two.so"):
            command = (*compiler, *flags, "-fPIC", "-shared", "plugin.c", "-o", name)
            run_command(command, environment, tmp_path, BUILD_SECONDS)
        run_command((*compiler, *flags, "program.c", "-o", "program", "-ldl"), environment, tmp_path, BUILD_SECONDS)
        return tmp_path / "program"

    expected = workshop.run(build((COMPILER,)), TargetEnvironment("original", ()))
    program = build(TILECC)
    assert workshop.run(program, target) == expected
    profiled = TargetEnvironment(target.name, (*target.variables, ("TILEK_PROFILE", "1")))
    assert expected in workshop.run(program, profiled)
    if kernels:
        copied = workshop.run(
            program, TargetEnvironment(target.name, (*target.variables, ("TILEK_PROFILE", "trace.json")))
        )
        assert copied == expected
        trace = (tmp_path / "trace.json").read_text()
        assert trace.count("twice") >= 4, "the plugins' kernels are in the program's profile"
