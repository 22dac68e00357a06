"""The samples: built by their own Makefiles with plain cc and with tilecc, run on every target, equal bit for bit."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.programs import BUILD_SECONDS, COMPILER, ROOT, TILECC, Workshop, run_command, tool_environment
from tests.support.targets import TargetEnvironment

SAMPLES = ROOT / "samples"
#: Sizes that divide nothing, small enough for a test.
SIZES = {
    "listing1": ("53", "37", "3"),
    "listing2": ("53", "37", "3"),
    "listing3": ("53", "37", "3"),
    "conv2d": ("61", "47", "2"),
    "sgemm": ("37", "29", "31"),
    "syr2k": ("41", "23"),
    "doitgen": ("11", "13", "17"),
    "lu": ("61",),
    "heat3d": ("19", "7"),
    "gauss_seidel": ("53", "47", "11"),
    "sor": ("37",),
    "smith_waterman": ("83", "101"),
    "wave2d": ("83", "71", "60"),
}
SERIAL = TargetEnvironment("serial", (("TILEK_TARGET", "serial"), ("TILEK_STRICT", "1")))


@pytest.fixture(scope="session")
def built(workshop: Workshop) -> dict[tuple[str, str], Path]:
    """Folders with the samples as make left them, by (compiler, sample); filled as tests ask."""
    return {}


def make(workshop: Workshop, built: dict[tuple[str, str], Path], compiler: str, name: str) -> Path:
    """The program of a sample, built by its Makefile in a copy of samples/."""
    key = (compiler, name)
    if key not in built:
        folder = workshop.folder / f"samples-{compiler}"
        folder.mkdir(parents=True, exist_ok=True)
        for part in ("common", name):
            ignored = shutil.ignore_patterns("*.o", "*.d", part if part != "common" else "")
            shutil.copytree(SAMPLES / part, folder / part, dirs_exist_ok=True, ignore=ignored)
        command = COMPILER if compiler == "cc" else " ".join(TILECC)
        environment = tool_environment(workshop.cache)
        run_command(("make", f"CC={command}"), environment, folder / name, BUILD_SECONDS)
        built[key] = folder / name / name
    return built[key]


def test_every_sample_is_listed() -> None:
    folders = {path.name for path in SAMPLES.iterdir() if path.is_dir()} - {"common"}
    assert folders == set(SIZES)
    for name in folders:
        assert {path.name for path in (SAMPLES / name).iterdir()} >= {"Makefile", "README.md"}
        assert f"[{name}]({name}/)" in (SAMPLES / "README.md").read_text()


@pytest.mark.parametrize("name", SIZES)
def test_sample_agrees_with_the_plain_program(
    workshop: Workshop, built: dict[tuple[str, str], Path], target: TargetEnvironment, name: str
) -> None:
    dumps, lines = [], []
    for compiler in ("cc", "tilecc"):
        program = make(workshop, built, compiler, name)
        dump = program.with_suffix(f".{target.name}.dump")
        lines.append(workshop.run(program, target, *SIZES[name], "--dump", str(dump)).splitlines())
        dumps.append(dump.read_bytes())
    for *table, first, second in lines:
        assert bool(table) == (name == "sor")
        assert re.fullmatch(rf"{name}: {' '.join(SIZES[name])} seconds \d+\.\d+", first)
        assert re.fullmatch(r"checksum [0-9a-f]{16}", second)
    assert dumps[0] == dumps[1]
    assert lines[0][-1] == lines[1][-1]


def sor_table(workshop: Workshop, program: Path, target: TargetEnvironment, *arguments: str) -> dict[str, list[str]]:
    """What sor prints of each method that does not hang on time: sweeps, residual and error."""
    _, *rows, _, _ = workshop.run(program, target, *arguments).splitlines()
    return {row.split()[0]: row.split()[1:4] for row in rows}


def test_sor_solves_by_each_method(
    workshop: Workshop, built: dict[tuple[str, str], Path], target: TargetEnvironment
) -> None:
    plain, translated = make(workshop, built, "cc", "sor"), make(workshop, built, "tilecc", "sor")
    expected = sor_table(workshop, plain, SERIAL, "37")
    assert list(expected) == ["wavefront", "redblack", "multilayer"]
    assert expected["multilayer"] == expected["redblack"] == expected["wavefront"]
    result = sor_table(workshop, translated, target, "37")
    assert result["wavefront"] == expected["wavefront"]
    assert all(result[name] != expected[name] for name in ("redblack", "multilayer"))
    assert result == sor_table(workshop, translated, SERIAL, "37")
    for _, residual, error in result.values():
        assert 0 < float(residual) <= 1e-6
        assert float(error) < 6 / 38**2


def test_sor_writes_how_it_got_there(workshop: Workshop, built: dict[tuple[str, str], Path], tmp_path: Path) -> None:
    program = make(workshop, built, "cc", "sor")
    history, solution = tmp_path / "history.csv", tmp_path / "solution.csv"
    arguments = ("20", "--tolerance", "1e-4", "--method", "redblack", "-o", str(history), "-u", str(solution))
    ((name, (sweeps, residual, _)),) = sor_table(workshop, program, SERIAL, *arguments).items()
    heading, first, *_, last = (row.split(",") for row in history.read_text().splitlines())
    assert heading == ["method", "sweeps", "seconds", "residual"]
    assert (first[0], int(first[1]), float(first[3])) == (name, 0, 1)
    assert (last[0], last[1], float(last[3])) == (name, sweeps, pytest.approx(float(residual), rel=1e-3))
    mesh = [[float(value) for value in row.split(",")] for row in solution.read_text().splitlines()]
    assert {len(row) for row in mesh} == {len(mesh)} == {22}
    assert set(mesh[0]) == {0.0}
    assert max(map(max, mesh)) > 0.5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("5", "--tolerance", "2"), "sor: not a tolerance between 0 and 1: 2"),
        (("5", "--method", "jacobi"), "sor: no such method (see --help): jacobi"),
        (("5", "-o"), "sor: a value must follow: -o"),
        (("5", "--tolerance", "1e-300"), "sor: the residual does not get that small: wavefront"),
    ],
)
def test_sor_says_what_is_wrong(
    workshop: Workshop, built: dict[tuple[str, str], Path], arguments: tuple[str, ...], said: str
) -> None:
    program = make(workshop, built, "cc", "sor")
    done = subprocess.run((program, *arguments), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (2, said)


def test_wave2d_draws_the_same_picture(workshop: Workshop, built: dict[tuple[str, str], Path]) -> None:
    pictures = []
    threads = TargetEnvironment("threads", (("TILEK_TARGET", "threads"),))
    for compiler in ("cc", "tilecc"):
        program = make(workshop, built, compiler, "wave2d")
        picture = program.with_suffix(".ppm")
        workshop.run(program, threads, "60", "50", "80", "--image", str(picture))
        pictures.append(picture.read_bytes())
    assert pictures[0] == pictures[1]
    assert pictures[0].startswith(b"P6\n60 50\n255\n")
    assert len(set(pictures[0][13:])) > 20


def without_pragmas(text: str) -> str:
    """A source without its tilek directives, continuation lines included."""
    return re.sub(r"^[ \t]*#pragma tilek(?:.*\\\n)*.*\n", "", text, flags=re.MULTILINE)


def test_wave2d_was_plain_c_and_its_readme_shows_the_difference() -> None:
    readme = (SAMPLES / "wave2d" / "README.md").read_text()
    shown = re.search(r"```diff\n(.*?)```", readme, re.DOTALL)
    assert shown is not None
    difference = ""
    for name in ("main.c", "wave.c"):
        text = (SAMPLES / "wave2d" / name).read_text()
        plain = without_pragmas(text)
        difference += "".join(
            difflib.unified_diff(
                plain.splitlines(keepends=True), text.splitlines(keepends=True), f"plain/{name}", f"wave2d/{name}", n=1
            )
        )
    assert shown[1] == difference


def test_a_project_of_several_files_needs_pragmas_only(workshop: Workshop, tmp_path: Path) -> None:
    """wave2d without its pragmas is the plain project; the Makefile and everything else stay as they are."""
    results = []
    for pragmas in (False, True):
        folder = tmp_path / ("with" if pragmas else "without")
        shutil.copytree(SAMPLES / "common", folder / "common")
        shutil.copytree(SAMPLES / "wave2d", folder / "wave2d", ignore=shutil.ignore_patterns("*.o", "*.d", "wave2d"))
        if not pragmas:
            for source in (folder / "wave2d").glob("*.c"):
                source.write_text(without_pragmas(source.read_text()))
                assert "pragma" not in source.read_text()
        compiler = " ".join(TILECC) if pragmas else COMPILER
        environment = tool_environment(workshop.cache) | {"MAKEFLAGS": ""}
        run_command(("make", f"CC={compiler}"), environment, folder / "wave2d", BUILD_SECONDS)
        said = run_command(("make", f"CC={compiler}"), environment, folder / "wave2d", BUILD_SECONDS)
        assert "up to date" in said
        program = folder / "wave2d" / "wave2d"
        serial = TargetEnvironment("threads", (("TILEK_TARGET", "threads"),))
        results.append(workshop.run(program, serial, "40", "30", "20").splitlines()[1])
        header = folder / "wave2d" / "grid.h"
        later = time.time() + 10
        os.utime(header, (later, later))
        assert "wave.o" in run_command(("make", "-n", f"CC={compiler}"), environment, folder / "wave2d", BUILD_SECONDS)
    assert results[0] == results[1]


def test_kernels_are_emitted_beside_the_sample(workshop: Workshop, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "common", tmp_path / "common")
    shutil.copytree(SAMPLES / "listing3", tmp_path / "listing3")
    command = f"{TILECC[0]} -m tilepragma.cli.tilepragma"
    run_command(
        ("make", "kernels", f"TILEPRAGMA={command}"),
        tool_environment(workshop.cache),
        tmp_path / "listing3",
        BUILD_SECONDS,
    )
    written = {path.suffix for path in (tmp_path / "listing3" / "kernels").rglob("*")}
    assert {".cl", ".cu", ".c"} <= written
