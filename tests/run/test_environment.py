"""What the TILEK_ variables do to a translated program: verification, profiles, strictness, specialisation, fallback."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cuda_standin.build import build_standin
from tests.support.case_suites import case_suite, file_named, with_file
from tests.support.cases import CaseFile
from tests.support.programs import Failure, Workshop, first_difference
from tests.support.targets import DEVICE_NAMES, TargetEnvironment, program_environment

PROGRAM = r"""
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static void scale(int n, float *a, float by)
{
#pragma tilek kernel data(a[0:n], mode:rw, live:inout) num_gangs(3) num_workers(4)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i)
        a[i] = a[i] * by + 1.0f;
}

/* Tiles that pass INT_MAX: no target can run them. */
static void edge(float *a)
{
#pragma tilek kernel data(a[0:16], mode:rw, live:inout) num_gangs(3) num_workers(4)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = INT_MAX - 13; i < INT_MAX; ++i)
        a[INT_MAX - i] += 1.0f;
}

/* The user's word is wrong here: the tiles change the order, and the order matters. */
static void prefix(int n, float *a)
{
#pragma tilek kernel data(a[0:n], mode:rw, live:inout) independent
#pragma tilek loop tile[1](static, 2) tile[0](dynamic)
    for (int i = 1; i < n; ++i)
        a[i] += a[i - 1];
}

int main(int argc, char **argv)
{
    const int n = 1001;
    float *const a = malloc((size_t)n * sizeof *a);
    if (a == NULL || argc < 2)
        return 2;
    for (int i = 0; i < n; ++i)
        a[i] = (float)(i % 17);
    for (int k = 0; k < 3; ++k)
        scale(n, a, 0.5f);
    if (atoi(argv[1]) == 1)
        prefix(n, a);
    if (atoi(argv[1]) == 2)
        edge(a);
    double sum = 0.0;
    for (int i = 0; i < n; ++i)
        sum += a[i];
    printf("%.17g\n", sum);
    free(a);
    return 0;
}
"""
SUM = "2750.875\n"


@pytest.fixture(scope="module")
def program(workshop: Workshop) -> Path:
    folder = workshop.folder / "environment"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "environment.c"
    source.write_text(PROGRAM)
    original = workshop.build_original(source)
    assert workshop.run(original, TargetEnvironment("original", ()), "0") == SUM
    return workshop.build_translated(source)


def run(
    workshop: Workshop, program: Path, target: TargetEnvironment, argument: str = "0", **more: str
) -> subprocess.CompletedProcess[str]:
    environment = program_environment(target, workshop.cache, **more)
    command = (str(program), argument)
    return subprocess.run(
        command, env=environment, cwd=program.parent, capture_output=True, text=True, timeout=120, check=False
    )


SERIAL = TargetEnvironment("serial", (("TILEK_TARGET", "serial"),))


def test_verification_accepts_what_is_right(workshop: Workshop, program: Path, target: TargetEnvironment) -> None:
    done = run(workshop, program, target, TILEK_VERIFY="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout == SUM
    assert "scale" in done.stderr


def test_verification_ends_a_program_that_differs(workshop: Workshop, program: Path) -> None:
    done = run(workshop, program, SERIAL, "1", TILEK_VERIFY="1")
    assert done.returncode == 70
    assert "a[" in done.stderr
    assert "prefix" in done.stderr
    assert done.stdout == ""


def test_profile_table_names_every_kernel(workshop: Workshop, program: Path, target: TargetEnvironment) -> None:
    done = run(workshop, program, target, TILEK_PROFILE="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout == SUM
    row = next(line for line in done.stderr.splitlines() if "scale" in line)
    assert " 3 " in f"{row} ", "three launches"


def test_profile_trace_is_json(workshop: Workshop, program: Path, target: TargetEnvironment, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    done = run(workshop, program, target, TILEK_PROFILE=str(trace))
    assert done.returncode == 0, done.stderr
    content = json.loads(trace.read_text())
    events = content["traceEvents"] if isinstance(content, dict) else content
    assert sum("scale" in event.get("name", "") for event in events) >= 3


def test_an_absent_device_costs_one_warning(workshop: Workshop, program: Path) -> None:
    done = run(workshop, program, TargetEnvironment("cuda", (("TILEK_TARGET", "cuda"),)), CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 0
    assert done.stdout == SUM
    warnings = [line for line in done.stderr.splitlines() if "warning" in line]
    assert len(warnings) == 1, done.stderr


def test_an_absent_device_ends_a_strict_program(workshop: Workshop, program: Path) -> None:
    strict = TargetEnvironment("cuda", (("TILEK_TARGET", "cuda"), ("TILEK_STRICT", "1")))
    done = run(workshop, program, strict, CUDA_VISIBLE_DEVICES="")
    assert done.returncode != 0
    assert done.stdout == ""
    assert "error" in done.stderr


@pytest.mark.parametrize("failure", ["nodevice", "alloc", "compile", "launch", "launch:2"])
def test_a_failing_device_costs_one_warning_and_no_data(
    workshop: Workshop, program: Path, shared_scratch: Path, failure: str
) -> None:
    variables = build_standin(shared_scratch / "cuda_standin")
    cuda = TargetEnvironment("cuda", (("TILEK_TARGET", "cuda"), *sorted(variables.items())))
    # A cache of its own: what was compiled before would not be compiled, so it could not fail.
    cache = str(shared_scratch / f"cache-{failure.replace(':', '-')}")
    done = run(workshop, program, cuda, TILEK_STANDIN_FAIL=failure, TILEK_CACHE_DIR=cache)
    assert done.returncode == 0, done.stderr
    assert done.stdout == SUM
    warnings = [line for line in done.stderr.splitlines() if "warning" in line]
    assert len(warnings) == 1, done.stderr
    assert "; it runs on " in warnings[0], "the compiler's log does not break the sentence"
    strict = TargetEnvironment("cuda", (*cuda.variables, ("TILEK_STRICT", "1")))
    done = run(workshop, program, strict, TILEK_STANDIN_FAIL=failure, TILEK_CACHE_DIR=cache + "-strict")
    assert done.returncode != 0
    assert done.stdout == ""
    assert "error" in done.stderr


def test_tiles_beyond_the_iterators_type_run_as_written(workshop: Workshop, program: Path) -> None:
    done = run(workshop, program, SERIAL, "2")
    assert done.returncode == 0
    assert float(done.stdout) == float(SUM) + 13
    assert len([line for line in done.stderr.splitlines() if "warning" in line]) == 1, done.stderr


def test_an_unknown_target_is_named(workshop: Workshop, program: Path) -> None:
    done = run(workshop, program, TargetEnvironment("nonsense", (("TILEK_TARGET", "nonsense"),)))
    assert "nonsense" in done.stderr
    assert "TILEK_TARGET" in done.stderr


@pytest.mark.parametrize("file", [with_file(file_named(name)) for name in ("loops", "features")])
def test_parametric_binaries_agree(workshop: Workshop, device_target: TargetEnvironment, file: CaseFile) -> None:
    variables = (*device_target.variables, ("TILEK_SPECIALIZE", "0"))
    parametric = TargetEnvironment(f"{device_target.name}-parametric", variables)
    suite = case_suite(workshop, file)
    wrong = []
    for case in suite.cases.cases:
        try:
            difference = first_difference(suite.original(case), suite.translated(case, parametric))
        except Failure as failure:
            difference = str(failure)
        if difference is not None:
            wrong.append(f"{case.name}: {difference}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("target", ("threads", *DEVICE_NAMES), indirect=True)
@pytest.mark.parametrize("file", [with_file(file_named(name)) for name in ("data", "features", "loops", "statements")])
def test_every_case_passes_verification(workshop: Workshop, target: TargetEnvironment, file: CaseFile) -> None:
    """Threads run the host functions that the serial target runs."""
    verified = TargetEnvironment(f"{target.name}-verified", (*target.variables, ("TILEK_VERIFY", "1")))
    suite = case_suite(workshop, file)
    wrong = []
    for case in suite.cases.cases:
        try:
            suite.translated(case, verified)
        except Failure as failure:
            wrong.append(f"{case.name}: {failure}")
    assert not wrong, "\n".join(wrong)
