"""`tilepragma tune` as a process of its own: killed in the middle and run again; and on programs that it makes of a source."""

from __future__ import annotations

import shlex
import sqlite3
import subprocess
import time
from pathlib import Path

from tests.support.programs import TILECC, TILEPRAGMA, Workshop
from tests.support.programs import tool_environment as tools

SOURCE = """\
#include <stdio.h>

void sweep(int steps, int n, float *a)
{
#pragma tilek kernel
    for (int t = 0; t < steps; ++t)
        for (int i = 1; i < n - 1; ++i)
            a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
}

void add(int n, int m, double **a, double b)
{
#pragma tilek kernel independent
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < m; ++j)
            a[i][j] += b;
}

int main(void)
{
    puts("not what is measured");
}
"""
#: A program whose profile says of each launch what the runtime would, with a time that is none.
PROGRAM = """\
#!/bin/sh
echo '{"ph": "X", "ts": 0, "dur": 100, "cat": "kernel", "name": "x", "args": {"target": "threads", "kernel": "sweep", "form": "host", \
"source": "in.c", "line": 5}}' > "$TILEK_PROFILE"
"""
Row = tuple[str, str, int, str, str]


def command(*options: str) -> list[str]:
    return [*TILEPRAGMA, "tune", "in.c", *options]


def environment(workshop: Workshop, folder: Path) -> dict[str, str]:
    return tools(workshop.cache) | {"TILEK_DATA_DIR": str(folder / "data")}


def tuned(workshop: Workshop, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What the command says of the source in the folder, when it has ended."""
    return subprocess.run(
        command(*options),
        env=environment(workshop, folder),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def rows(folder: Path) -> list[Row]:
    """What is in the database, asked without our own code, and while it is written."""
    file = folder / "data" / "measurements.sqlite"
    if not file.is_file():
        return []
    connection = sqlite3.connect(file, timeout=60)
    try:
        return connection.execute(
            "SELECT version, sizes, attempt, seconds, failure FROM measurements ORDER BY id"
        ).fetchall()
    except sqlite3.OperationalError:  # it is not laid out yet
        return []
    finally:
        connection.close()


def test_a_tuner_that_is_killed_goes_on_where_it_was(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "in.c").write_text(SOURCE)
    (tmp_path / "program").write_text(PROGRAM)
    (tmp_path / "program").chmod(0o755)
    ours = ("--kernel", "sweep", "--sizes", "n=40:80:x2,steps=4", "--budget", "1s", "--", "./program", "{n}")
    process = subprocess.Popen(
        command(*ours),
        env=environment(workshop, tmp_path),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(6000):
            if len(rows(tmp_path)) > 2 or process.poll() is not None:
                break
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    before = rows(tmp_path)
    assert before
    done = tuned(workshop, tmp_path, *ours)
    assert done.returncode == 0, done.stderr
    after = rows(tmp_path)
    assert after[: len(before)] == before
    assert [row[4] for row in after if row[4]] == []
    assert {sizes for _, sizes, *_ in after} == {"n=40,steps=4", "n=80,steps=4"}
    assert "sweep on threads" in done.stdout
    assert done.stdout.count("n=40,steps=4") == 1


def test_versions_are_tried_in_the_users_program(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "in.c").write_text(
        SOURCE.replace(
            'puts("not what is measured");', "double row[9] = {0}, *rows[1] = {row};\n    add(1, 9, rows, 1.0);"
        )
    )
    build = shlex.join([*TILECC, "-O1", "in.c", "-o", "program"])
    options = ("--kernel", "add", "--sizes", "n=1,m=9", "--versions", "unroll", "--build", build, "--budget", "1s")
    done = tuned(workshop, tmp_path, *options, "--target", "threads", "--", "./program")
    assert done.returncode == 0, done.stderr
    assert {version for version, *_ in rows(tmp_path)} == {"default", "unroll(2)", "unroll(4)", "unroll(8)"}
    assert [failure for *_, failure in rows(tmp_path) if failure] == []
    assert "the program is built again as it stands" in done.stdout


def test_the_papers_versions_are_built_of_the_source(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "in.c").write_text(SOURCE)
    done = tuned(
        workshop,
        tmp_path,
        "--kernel",
        "add",
        "--sizes",
        "n=9,m=7",
        "--versions",
        "paper8",
        "--budget",
        "4s",
        "-std=c99",
        "-O1",
    )
    assert done.returncode == 0, done.stderr
    tried = {version for version, *_ in rows(tmp_path)}
    assert "default" in tried
    assert tried & {f"thread{number}" for number in range(1, 9)}
    assert [failure for *_, failure in rows(tmp_path) if failure] == []


def test_a_kernel_without_tile_sizes_is_tried_in_other_versions(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "in.c").write_text(
        "void scale(int n, float *a)\n{\n#pragma tilek kernel\n    for (int i = 0; i < n; ++i)\n        a[i] *= 3;\n}\n"
    )
    results = []
    for families in ((), ("--versions", "paper8,unroll"), ("--versions", "paper8")):
        options = ("--sizes", "n=99", "--budget", "2s", "-O1", *families)
        done = tuned(workshop, tmp_path, *options)
        results.append((done.returncode, done.stdout.splitlines()[:1], done.stderr))
    reason = "it does not begin with two loops, one right inside the other"
    assert results[0] == (0, ["scale on threads has no versions of sizes, steps: trying counts, unroll"], "")
    assert results[1] == (0, [f"scale on threads has no versions of paper8: {reason}"], "")
    assert results[2][0] == 1
    assert f"kernel 'scale' has none of these versions: {reason}" in results[2][2]
    assert {"default", "unroll(2)", "num_threads(1)"} <= {version for version, *_ in rows(tmp_path)}


def test_a_loop_that_ends_when_a_sum_is_small_has_the_same_numbers_in_each_call(
    workshop: Workshop, tmp_path: Path
) -> None:
    """On what a call left the next one would have nothing to do: both are told apart by how often they launch the kernel."""
    (tmp_path / "in.c").write_text(
        """\
void settle(int n, double *a)
{
    double most = 1;
    while (most > 1e-3) {
#pragma tilek kernel
        for (int i = 0; i < n; i++)
            a[i] /= 2;
        most = 0;
        for (int i = 0; i < n; i++)
            most = a[i] > most ? a[i] : most;
    }
}
"""
    )
    done = tuned(workshop, tmp_path, "--sizes", "n=300", "--budget", "6s", "-O1")
    assert (done.returncode, done.stderr) == (0, "")
    assert [failure for *_, failure in rows(tmp_path) if failure] == []
    assert len(rows(tmp_path)) > 4
