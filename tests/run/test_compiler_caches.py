"""Who compares commands, ccache for instance, sees the same one for the same work: nothing in it is random."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.programs import BUILD_SECONDS, COMPILER, TILECC, Workshop, run_command, tool_environment

SOURCE = """\
void scale(int n, double *restrict a, double factor)
{
#pragma tilek kernel data(a[0:n])
#pragma tilek loop independent
    for (int i = 0; i < n; i++)
        a[i] *= factor;
}
"""
RECORDER = """\
#!/bin/sh
printf '%s\\n' "$*" >> "$RECORD"
exec {compiler} "$@"
"""
OPTIONS = ("-std=c99", "-O2", "-g", "-MMD", "-MF", "scale.d")


def prerequisites(depfile: Path) -> list[str]:
    """A rule's words."""
    return depfile.read_text().replace("\\\n", " ").split()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "scale.c").write_text(SOURCE)
    return tmp_path


def test_two_runs_have_the_same_commands(workshop: Workshop, project: Path) -> None:
    """Of several files in several folders and of one, compiled and linked at once too."""
    recorder = project / "recorder"
    recorder.write_text(RECORDER.format(compiler=COMPILER))
    recorder.chmod(0o755)
    (project / "b").mkdir()
    (project / "b" / "other.c").write_text(SOURCE.replace("scale", "other"))
    records = []
    for number in range(2):
        record = project / f"record{number}"
        environment = {**tool_environment(workshop.cache), "TILEK_CC": str(recorder), "RECORD": str(record)}
        for words in ((*OPTIONS, "-c", "scale.c", "-o", "scale.o"), ("-fPIC", "-S", "scale.c", "b/other.c")):
            run_command((*TILECC, *words), environment, project, BUILD_SECONDS)
        records.append([line for line in record.read_text().splitlines() if "scale.c" in line or "other.c" in line])
    assert len(records[0]) == 3
    assert records[0] == records[1]


@pytest.mark.skipif(shutil.which("ccache") is None, reason="ccache is not installed")
@pytest.mark.parametrize("around", [False, True], ids=["beneath", "around"])
def test_ccache_hits(workshop: Workshop, project: Path, around: bool) -> None:
    """Beneath tilecc and around it; a source or a tile size that has changed is no hit."""
    environment = {**tool_environment(workshop.cache), "CCACHE_DIR": str(project / "ccache"), "CCACHE_NODIRECT": "1"}
    command = TILECC
    if around:
        driver = project / "tilecc"
        driver.write_text(f'#!/bin/sh\nexec {" ".join(TILECC)} "$@"\n')
        driver.chmod(0o755)
        command = ("ccache", str(driver))
    else:
        environment["TILEK_CC"] = f"ccache {COMPILER}"
    objects = []

    def build(hits: int) -> None:
        run_command((*command, *OPTIONS, "-c", "scale.c", "-o", "scale.o"), environment, project, BUILD_SECONDS)
        done = subprocess.run(["ccache", "--print-stats"], env=environment, capture_output=True, text=True, check=True)
        counts = dict(line.split("\t") for line in done.stdout.splitlines())
        assert int(counts["direct_cache_hit"]) + int(counts["preprocessed_cache_hit"]) == hits, done.stdout
        objects.append((project / "scale.o").read_bytes())
        assert prerequisites(project / "scale.d")[:2] == ["scale.o:", "scale.c"]

    build(0)
    (project / "scale.o").unlink()
    build(1)
    build(2)
    assert len(set(objects)) == 1
    (project / "scale.c").write_text(SOURCE.replace("*=", "+="))
    build(2)
    assert len(set(objects)) == 2


def test_the_same_file_at_once_with_other_options(workshop: Workshop, project: Path) -> None:
    """Commands share what they translate alike; none takes it from another that still reads it, and the last leaves nothing."""
    environment = tool_environment(workshop.cache)
    processes = [
        subprocess.Popen(
            (*TILECC, f"-O{number % 4}", "-g", "-MMD", "-c", "scale.c", "-o", f"scale{number}.o"),
            cwd=project,
            env=environment,
        )
        for number in range(8)
    ]
    assert [process.wait(BUILD_SECONDS) for process in processes] == [0] * 8
    for number in range(4):
        first, second = ((project / f"scale{number + more}.o").read_bytes() for more in (0, 4))
        assert first == second
        assert os.fspath(workshop.cache).encode() not in first
        assert prerequisites(project / f"scale{number}.d")[:2] == [f"scale{number}.o:", "scale.c"]
