"""OpenMP's lines as input: `openmp_lines.c` runs on every target with the bits of the plain program,
and what stays OpenMP's is said.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.programs import BUILD_SECONDS, PLAIN, TILECC, TILEPRAGMA, Workshop, tool_environment
from tests.support.targets import TargetEnvironment

SOURCE = Path(__file__).parent / "openmp_lines.c"
FLAGS = ("-std=c99", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Wno-unknown-pragmas")
OPENMP = "-fopenmp"

pytestmark = pytest.mark.xdist_group("openmp")


def run(workshop: Workshop, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = tool_environment(workshop.cache) | variables
    return subprocess.run(
        words, capture_output=True, text=True, env=environment, timeout=BUILD_SECONDS, check=False, cwd=workshop.folder
    )


@pytest.fixture(scope="module")
def source(workshop: Workshop) -> Path:
    workshop.folder.mkdir(parents=True, exist_ok=True)
    path = workshop.folder / SOURCE.name
    path.write_text(SOURCE.read_text())
    return path


@pytest.fixture(scope="module")
def programs(workshop: Workshop, source: Path) -> tuple[Path, Path]:
    return workshop.build_original(source, FLAGS), workshop.build_translated(source, (*FLAGS, OPENMP, "--tilek-openmp"))


def test_every_target_has_the_bits_of_the_plain_program(
    workshop: Workshop, programs: tuple[Path, Path], target: TargetEnvironment
) -> None:
    expected = workshop.run(programs[0], PLAIN)
    said = workshop.run(programs[1], target, TILEK_STRICT="0").splitlines()
    assert expected.strip().splitlines()[-1] in said
    # A private variable keeps the value that it had before the region.
    assert "last 5, usual threads 1" in said


def test_what_stays_is_said(workshop: Workshop, source: Path) -> None:
    said = run(workshop, *TILEPRAGMA, "check", "--openmp", source.name, *FLAGS, OPENMP)
    assert said.returncode == 0
    assert "tilepragma does not translate '#pragma omp atomic'" in said.stderr
    stays = re.findall(r":(\d+):\d+: note: this line stays OpenMP's(?:: (.*))?", said.stderr)
    words = [why for _, why in sorted(stays, key=lambda line: int(line[0]))]
    inner = "its loop needs the threads of an 'omp parallel' that stays"
    assert words == [
        "",
        "a line in it stays OpenMP's",
        "tilepragma does not translate 'omp sections'",
        inner,
        "each thread has a 'pair' of its own",
        inner,
        "each thread has a 'same' of its own",
        inner,
        "the value of 'last' before the region may be read behind it",
        inner,
        "its function needs several threads: threads that stay OpenMP's call it",
        "its function needs several threads: threads of other files may call it, as it is not static",
        "'omp_get_thread_num' asks for OpenMP's threads",
        "'count_up', which it calls, needs its threads",
        "what is around it is parallel already",
    ]
    # Without OpenMP in the compiler, what stays runs on one core, which is a warning.
    plain = run(workshop, *TILEPRAGMA, "check", "--openmp", source.name, *FLAGS)
    assert plain.stderr.count("warning: this line stays OpenMP's") == 15
    assert plain.stderr.count("without -fopenmp it runs on one core") == 15


def test_a_false_promise_is_disproved(workshop: Workshop) -> None:
    """The program is what the compiler alone would build."""
    workshop.folder.mkdir(parents=True, exist_ok=True)
    source = workshop.folder / "false_promise.c"
    loop = "    for (int i = 1; i < n; i++) x[i] = x[i - 1] + 1;\n"
    source.write_text(f"void f(int n, double *x)\n{{\n#pragma omp parallel for\n{loop}}}\n")
    said = run(workshop, *TILECC, "--tilek-openmp", "--tilek-keep", OPENMP, "-c", source.name)
    assert said.returncode == 0
    message = "iterations of this loop depend on each other, though the line says that they may run in any order"
    assert f"false_promise.c:3:1: warning: {message}" in said.stderr
    assert "an iteration writes 'x' here" in said.stderr and "a later one reads the same element here" in said.stderr
    assert "#pragma omp parallel for" in (workshop.folder / "false_promise.tilek.c").read_text()


@pytest.mark.parametrize("value", ["0", "1"])
def test_the_environment_asks_for_it_too(workshop: Workshop, source: Path, value: str) -> None:
    said = run(workshop, *TILEPRAGMA, "explain", source.name, *FLAGS, OPENMP, TILEK_OPENMP=value)
    assert said.returncode == 0 and ("kernel heat" in said.stdout) is (value == "1")


#: Regions that one thread cannot stand for, each with the reason, and one that it can ("").
REGIONS = {
    "double *p;\n fill((void **)&p);\n @ { for (int j = 0; j < 4; j++) p[j] = x[i]; y[i] = p[i % 4]; }": (
        "each thread has a 'p' of its own"
    ),
    "struct work w;\n w.n = 3;\n @ { w.buf[i % 4] = x[i]; y[i] += w.buf[i % 4] + w.n; }": (
        "each thread has a 'w' of its own"
    ),
    "@ s += x[i];\n s += 1;": "each thread changes its 's' outside the loops",
    "struct work w;\n @ { for (int j = 0; j < 4; j++) w.buf[j] = x[i]; y[i] += w.buf[i % 4]; }": "",
    "double *p = x, *q = y;\n @ q[i] = p[i];": "",
}


@pytest.mark.parametrize("text", REGIONS)
def test_memory_of_each_thread_keeps_a_region(workshop: Workshop, text: str) -> None:
    workshop.folder.mkdir(parents=True, exist_ok=True)
    source = workshop.folder / "region.c"
    loop = "\n#pragma omp for\n for (int i = 0; i < n; i++)"
    source.write_text(
        "struct work { double buf[4]; int n; };\nvoid fill(void **to);\n"
        "double f(int n, double *x, double *y)\n{\n double s = 0;\n#pragma omp parallel reduction(+: s)\n {\n "
        f"{text.replace('@', loop)}\n }}\n return s;\n}}\n"
    )
    said = run(workshop, *TILEPRAGMA, "check", "--openmp", source.name, OPENMP)
    assert said.returncode == 0
    why = REGIONS[text]
    assert (f"region.c:6:1: note: this line stays OpenMP's: {why}" in said.stderr) is bool(why)
    assert ("stays OpenMP's" in said.stderr) is bool(why)
