"""`tilepragma tune --quick` on a program built by tilecc, and what tilecc makes of the sizes that are kept: same results, other tiles."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.programs import FLAGS, TILEPRAGMA, Workshop, run_command
from tests.support.programs import tool_environment as tools
from tests.support.targets import TargetEnvironment

#: Counts its runs in a file, for what a version may do: the third crashes, and the fourth hangs,
#: where an argument says so.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void sweep(int steps, int n, float *a)
{
#pragma tilek kernel
    for (int t = 0; t < steps; ++t)
        for (int i = 1; i < n - 1; ++i)
            a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
}

static void scale(int n, float *a)
{
#pragma tilek kernel data(a[0:n], mode:rw, live:inout)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i)
        a[i] *= 0.5f;
}

int main(int argc, char **argv)
{
    const int n = 5000;
    const char *const how = argc > 1 ? argv[1] : "well";
    float *const a = malloc((size_t)n * sizeof *a);
    FILE *const runs = fopen("runs", "a");
    long run;
    double sum = 0.0;
    if (a == NULL || runs == NULL)
        return 2;
    fputc('.', runs);
    run = ftell(runs);
    fclose(runs);
    if (strcmp(how, "badly") == 0 && run == 3)
        abort();
    if (strcmp(how, "never") == 0 || (strcmp(how, "badly") == 0 && run == 4))
        for (;;)
            sleep(1);
    for (int i = 0; i < n; ++i)
        a[i] = (float)(i % 17);
    if (strcmp(how, "not") != 0)
        sweep(60, n, a);
    scale(n, a);
    for (int i = 0; i < n; ++i)
        sum += a[i] * (i % 5);
    printf("%.17g\n", sum);
    free(a);
    return 0;
}
"""
_FLAGS = tuple(flag for flag in FLAGS if flag != "-std=c99")
THREADS = TargetEnvironment("threads", (("TILEK_TARGET", "threads"),))


@pytest.fixture(scope="module")
def built(workshop: Workshop) -> Path:
    folder = workshop.folder / "tune"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "tuned.c"
    source.write_text(PROGRAM)
    return workshop.build_translated(source, _FLAGS)


@pytest.fixture
def folder(tmp_path: Path, built: Path) -> Path:
    """A folder with the source, in which programs count their runs."""
    (tmp_path / "tuned.c").write_text(PROGRAM)
    return tmp_path


def command(program: Path, how: str, *options: str) -> list[str]:
    return [
        *TILEPRAGMA,
        "tune",
        "tuned.c",
        "--quick",
        "--kernel",
        "sweep",
        "--best",
        "3",
        *options,
        "--",
        str(program),
        how,
    ]


def tune(workshop: Workshop, folder: Path, program: Path, how: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(program, how, "--target", "threads", *options),
        env=tools(workshop.cache) | {"TILEK_NUM_THREADS": "1"},  # tiles follow the number of threads
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_layouts_are_timed_and_the_fastest_is_kept_or_the_default(
    workshop: Workshop, folder: Path, built: Path
) -> None:
    done = tune(workshop, folder, built, "well")
    assert done.returncode == 0, done.stderr
    assert "sweep on threads" in done.stdout
    rows = [line for line in done.stdout.splitlines() if line.strip().startswith("t_size=") and "(default)" not in line]
    assert len(rows) == 3
    assert len((folder / "runs").read_text()) == 1 + 4 + 2 + 5 * 4
    kept = folder / "tuned.tilek.json"
    last = done.stdout.splitlines()[-1]
    assert last.startswith("TILEK_SIZES=sweep.") == kept.exists()
    if kept.exists():
        sizes = json.loads(kept.read_text())["kernels"]["sweep"]["host"]["sizes"]
        assert last == "TILEK_SIZES=" + ",".join(f"sweep.{name}={size}" for name, size in sizes.items())
    else:
        assert "the default is kept" in done.stdout


def test_a_crash_and_a_hang_cost_a_version_each(workshop: Workshop, folder: Path, built: Path) -> None:
    done = tune(workshop, folder, built, "badly", "--no-keep")
    assert done.returncode == 0, done.stderr
    assert "the program was ended by signal 6 (SIGABRT)" in done.stdout
    assert "the program was stopped after " in done.stdout
    assert sum(" failed " in line for line in done.stdout.splitlines()) == 2
    assert sorted(path.name for path in folder.iterdir()) == ["runs", "tuned.c"]


def test_a_kernel_that_is_not_launched(workshop: Workshop, folder: Path, built: Path) -> None:
    done = tune(workshop, folder, built, "not")
    assert done.returncode == 1
    assert "tuned.c:9:1: error: kernel 'sweep' was never launched in this run" in done.stderr


def test_a_program_that_tilecc_has_not_built(workshop: Workshop, folder: Path) -> None:
    plain = workshop.build_original(folder / "tuned.c", _FLAGS)
    done = tune(workshop, folder, plain, "well")
    assert done.returncode == 1
    assert "wrote no profile: was it built with tilecc" in done.stderr


def test_sizes_of_another_source(workshop: Workshop, folder: Path, built: Path) -> None:
    (folder / "tuned.c").write_text(PROGRAM.replace("int t = 0; t < steps; ++t", "int step = 0; step < steps; ++step"))
    done = tune(workshop, folder, built, "well")
    assert done.returncode == 1
    assert "it was built from another source, or with other options" in done.stderr


@pytest.mark.parametrize(
    ("sent", "status", "said_first"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_signal_ends_the_program_too(
    sent: signal.Signals, status: int, said_first: str, workshop: Workshop, folder: Path, built: Path
) -> None:
    process = subprocess.Popen(
        command(built, "never"),
        env=tools(workshop.cache),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        for _ in range(1200):
            if (folder / "runs").exists():
                break
            time.sleep(0.05)
        process.send_signal(sent)
        said, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == status, errors
    assert said == f"{said_first}: nothing more is measured or kept\n"
    assert errors == ""
    if sys.platform == "linux":
        running = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit() and _works_in(entry, folder)]
        assert running == []


def _works_in(process: Path, folder: Path) -> bool:
    try:
        return Path(os.readlink(process / "cwd")) == folder
    except OSError:
        return False


@pytest.fixture(scope="module", params=[(3, 7), (90, 1000)], ids=lambda sizes: f"{sizes[0]}x{sizes[1]}")
def rebuilt(request: pytest.FixtureRequest, workshop: Workshop) -> Path:
    """The program as tilecc makes it with sizes kept beside its source."""
    entry = {"sizes": dict(zip(("t_size", "t_i_size"), request.param, strict=True))}
    kept = {"version": 1, "kernels": {"sweep": {"host": entry, "device": entry}}}
    folder = workshop.folder / f"tuned-{request.param[0]}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tuned.c").write_text(PROGRAM)
    (folder / "tuned.tilek.json").write_text(json.dumps(kept))
    return workshop.build_translated(folder / "tuned.c", _FLAGS)


def test_kept_sizes_change_tiles_and_no_result(
    workshop: Workshop, built: Path, rebuilt: Path, target: TargetEnvironment
) -> None:
    assert workshop.run(rebuilt, target) == workshop.run(built, target)
    assert launches(workshop, rebuilt, target) != launches(workshop, built, target), "other tiles, other wavefronts"


def test_the_default_is_what_the_program_was_built_with(workshop: Workshop, folder: Path, rebuilt: Path) -> None:
    kept = json.loads((rebuilt.parent / "tuned.tilek.json").read_text())["kernels"]["sweep"]["host"]["sizes"]
    done = tune(workshop, folder, rebuilt, "well", "--no-keep", "--best", "1")
    assert done.returncode == 0, done.stderr
    [row] = [line.split() for line in done.stdout.splitlines() if "(default)" in line]
    assert row[:2] == [f"{name}={size}" for name, size in kept.items()]
    assert "t_size=256 t_i_size=16" in done.stdout, "what a build takes without them is tried, too"


def launches(workshop: Workshop, program: Path, target: TargetEnvironment) -> int:
    trace = program.parent / "trace.json"
    # A persistent launch is one, whatever it is made of.
    workshop.run(program, target, TILEK_PROFILE=str(trace), TILEK_PERSISTENT="0")
    events = json.loads(trace.read_text())["traceEvents"]
    trace.unlink()
    return sum(event["cat"] == "kernel" and event["args"]["kernel"] == "sweep" for event in events)


def test_a_damaged_file_is_a_warning(workshop: Workshop, folder: Path) -> None:
    (folder / "tuned.tilek.json").write_text('{"version": 1,\n "kernels": {')
    program = folder / "program"
    said = run_command(
        (*TILEPRAGMA[:2], "tilepragma.cli.tilecc", *_FLAGS, "-o", str(program), "tuned.c"),
        tools(workshop.cache),
        folder,
        300,
    )
    assert "tuned.tilek.json:2:" in said
    assert "warning: recorded tile sizes are ignored: this is no JSON" in said
    assert workshop.run(program, THREADS)
