"""Exits, forks, signals, cancellations, odd threads and scarce memory around launches: nothing
crashes, hangs or goes wrong in silence.

TILEPRAGMA_HOSTILE_RUNS=N runs every case N times, and under the address, undefined-behaviour and
thread sanitizers too.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.programs import COMPILER, ROOT, Workshop
from tests.support.targets import TargetEnvironment, program_environment
from tilepragma.base.wheels import wheel_macros
from tilepragma.cli.runtime_library import runtime_includes, runtime_sources

HOSTILE = ROOT / "tests" / "runtime" / "hostile_programs.c"
RUNTIME = ROOT / "runtime"
RUNS = int(os.environ.get("TILEPRAGMA_HOSTILE_RUNS", "1"))
SECONDS = 120

#: What any target may be hit by.
CASES = (
    "exits handlers_data handlers_launch handlers_update exit_in_handler forks forks_in_regions forks_early "  # noqa: SIM905
    "cancels jumps ends_in_handler launches_in_handler signals absurd".split()
)
SANITIZERS = {
    "address": ("-fsanitize=address", "-fno-sanitize-recover=all"),
    "undefined": ("-fsanitize=undefined", "-fno-sanitize-recover=all"),
    "thread": ("-fsanitize=thread",),
}


@pytest.fixture(scope="module")
def folder(workshop: Workshop) -> Path:
    made = workshop.folder / "hostile"
    made.mkdir(parents=True, exist_ok=True)
    return made


@pytest.fixture(scope="module")
def program(workshop: Workshop, folder: Path) -> Path:
    source = folder / "hostile_programs.c"
    source.write_bytes(HOSTILE.read_bytes())
    return workshop.build_translated(source, ("-O1", "-Wall", "-Wextra", "-DFAILING_CALLOC", "-pthread"))


def run(
    workshop: Workshop, program: Path, target: TargetEnvironment, case: str, **more: str
) -> subprocess.CompletedProcess[str]:
    """A child's devices are its parent's, and a handler's jump costs the device: both fall back with a warning."""
    environment = program_environment(target, workshop.cache, **{"TILEK_STRICT": "0", **more})
    done = subprocess.run(
        [str(program), case], env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert "error" not in done.stderr.lower(), done.stderr
    return done


@pytest.mark.parametrize("case", CASES)
def test_hostile(workshop: Workshop, target: TargetEnvironment, program: Path, case: str) -> None:
    for _ in range(RUNS):
        for more in ({}, {"TILEK_PROFILE": "1"}) if case in {"exits", "forks"} else ({},):
            done = run(workshop, program, target, case, **more)
            assert done.stdout == "right\n", done.stderr
            assert done.returncode == 0


@pytest.mark.parametrize("strict", ["0", "1"])
@pytest.mark.parametrize("case", ["handlers_data", "handlers_launch", "handlers_update", "exhausted"])
def test_newest_values_come_home(
    workshop: Workshop, target: TargetEnvironment, program: Path, case: str, strict: str
) -> None:
    done = run(workshop, program, target, case, TILEK_STRICT=strict)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr


def test_a_handler_that_has_interrupted_malloc(workshop: Workshop, target: TargetEnvironment, program: Path) -> None:
    """Launches in it ask for no memory. That it hangs else is up to the moment; here it is told at once."""
    done = run(workshop, program, target, "interrupts_malloc")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert "is launched in a signal handler, which may have interrupted malloc or a device's library" in done.stderr


@pytest.mark.parametrize("case", ["main_ends", "main_ends_idle", "little_stack"])
def test_threads_of_the_program(workshop: Workshop, host_target: TargetEnvironment, program: Path, case: str) -> None:
    """On the host: device libraries need larger stacks, and their threads keep a process alive."""
    for _ in range(RUNS):
        done = run(workshop, program, host_target, case)
        assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr


@pytest.fixture
def threads() -> TargetEnvironment:
    return TargetEnvironment("threads", (("TILEK_TARGET", "threads"),))


def test_stacks_of_threads(workshop: Workshop, threads: TargetEnvironment, program: Path) -> None:
    assert run(workshop, program, threads, "stacks_by_limit", TILEK_NUM_THREADS="3").stdout == "right\n"
    assert run(workshop, program, threads, "stacks", TILEK_NUM_THREADS="3", TILEK_STACKSIZE="64m").stdout == "right\n"
    small = run(workshop, program, threads, "stacks_by_limit", TILEK_NUM_THREADS="3", TILEK_STACKSIZE=" 1024 k ")
    assert small.returncode < 0, "the size that is asked for is the one there is"


@pytest.mark.parametrize("value", ["huge", "0", "-8M", "1", "63", "8MB", "8 M M", "99999999999G", "M"])
def test_bad_stack_sizes(workshop: Workshop, threads: TargetEnvironment, program: Path, value: str) -> None:
    done = run(workshop, program, threads, "absurd", TILEK_STACKSIZE=value)
    accepted = "a size from 64K, with B, K, M or G behind the number (K where there is none)"
    assert f'TILEK_STACKSIZE is "{value}", which is not one of: {accepted}; it is ignored\n' in done.stderr


def test_many_threads(workshop: Workshop, threads: TargetEnvironment, program: Path) -> None:
    assert "300 threads\n" in run(workshop, program, threads, "threads", TILEK_NUM_THREADS="300").stdout
    done = run(workshop, program, threads, "threads", TILEK_NUM_THREADS="3000", TILEK_STACKSIZE="256K")
    assert "1024 threads\n" in done.stdout
    assert "TILEK_NUM_THREADS is 3000, and there are 1024 threads at most; these are used\n" in done.stderr


def test_a_bound_thread_launches_first(workshop: Workshop, threads: TargetEnvironment, program: Path) -> None:
    """The pool has the process's cores, whatever the launching thread is bound to; control groups may allow fewer."""
    used, cores = re.match(r"(\d+) threads of (\d+)\n", run(workshop, program, threads, "bound").stdout).groups()
    assert int(used) > 1 or int(cores) == 1


@pytest.mark.skipif(RUNS == 1, reason="TILEPRAGMA_HOSTILE_RUNS is not set")
@pytest.mark.parametrize("sanitizer", SANITIZERS)
@pytest.mark.parametrize("case", (*CASES, "main_ends", "main_ends_idle"))
def test_hostile_under_sanitizers(
    workshop: Workshop, threads: TargetEnvironment, folder: Path, case: str, sanitizer: str
) -> None:
    """On threads: device libraries are not built for sanitizers."""
    if sanitizer != "undefined" and case.startswith("forks"):
        pytest.skip(
            "the sanitizer's own locks (of its allocator, of pthread_once) are not taken at a fork: children wait for ever"
        )
    if sanitizer == "thread" and case.startswith("main_ends"):
        pytest.skip("the sanitizer has a thread of its own: no process ends whose main thread has called pthread_exit")
    program = _build_with(workshop, folder, sanitizer)
    quiet = {"ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "halt_on_error=1:report_signal_unsafe=0"}
    for _ in range(RUNS):
        done = run(workshop, program, threads, case, TILEK_NUM_THREADS="3", **quiet)
        assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr


def _build_with(workshop: Workshop, folder: Path, sanitizer: str) -> Path:
    program = folder / f"hostile.{sanitizer}"
    if program.exists():
        return program
    translated = folder / f"{sanitizer}.tilek.c"
    translate = ("tilepragma.cli.tilepragma", "translate", str(HOSTILE), "-o", str(translated))
    environment = program_environment(TargetEnvironment("none", ()), workshop.cache) | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-m", *translate], env=environment, check=True, capture_output=True)
    command = [
        *(COMPILER, "-std=gnu99", "-g", "-O1", "-pthread", *SANITIZERS[sanitizer]),
        *(*runtime_includes(), *wheel_macros(), str(translated)),
        *(str(path) for path in runtime_sources()),
        *("-o", str(program), "-ldl", "-lm"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return program


def test_every_lock_is_registered() -> None:
    """A fork takes all locks of the registry; another would stay locked in its child. A device's are the parent's."""
    of_devices = {("cuda_context.h", 1), ("cuda_program.h", 1), ("opencl_program.h", 3)}
    results = {
        (path.name, count)
        for path in RUNTIME.rglob("*.[ch]")
        if path.name not in {"locks.c", "locks.h"}
        and (count := len(re.findall(r"\bpthread_(?:mutex|rwlock|spinlock)_t\b", path.read_text())))
    }
    assert results == of_devices
    header = (RUNTIME / "base" / "locks.h").read_text()
    names = re.findall(r"^    (TILEK_LOCK_\w+),", header, re.MULTILINE)
    initialised = (RUNTIME / "base" / "locks.c").read_text().split("locks[TILEK_LOCKS] = {")[1].split("}")[0]
    assert len(names) == len(initialised.split(",")), "every lock is initialised"
