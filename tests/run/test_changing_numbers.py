"""A number that differs from launch to launch is compiled for twice, then passed: on devices, with the bits of the original."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.support.programs import FLAGS, PLAIN, Workshop
from tests.support.targets import TargetEnvironment

SOURCE = """
#include <stdio.h>
#include <string.h>
enum { N = 40 };
static double a[N * N];
static void update(double *a, int n, int step)
{
#pragma tilek kernel
    for (int i = step + 1; i < n; i++)
        for (int j = step + 1; j < n; j++) a[i * n + j] -= a[i * n + step] * a[step * n + j];
}
int main(void)
{
    unsigned long long hash = 0, bits;
    for (int i = 0; i < N * N; i++) a[i] = i * 37 % 101 / 101.0 + N * (i % (N + 1) == 0);
    for (int step = 0; step < N - 1; step++) {
        for (int i = step + 1; i < N; i++) a[i * N + step] /= a[step * N + step];
        update(a, N, step);
    }
    for (int i = 0; i < N * N; i++) memcpy(&bits, &a[i], 8), hash = hash * 31 + bits;
    printf("%llx\\n", hash);
    return 0;
}
"""


@pytest.fixture(scope="module")
def programs(workshop: Workshop) -> tuple[Path, Path]:
    workshop.folder.mkdir(parents=True, exist_ok=True)
    source = workshop.folder / "changing_numbers.c"
    source.write_text(SOURCE)
    return workshop.build_original(source, FLAGS), workshop.build_translated(source, FLAGS)


def test_numbers_that_change_become_arguments(
    workshop: Workshop, programs: tuple[Path, Path], device_target: TargetEnvironment, tmp_path: Path
) -> None:
    expected = workshop.run(programs[0], PLAIN)
    trace = tmp_path / "trace.json"
    assert workshop.run(programs[1], device_target, TILEK_PROFILE=str(trace)) == expected
    count = Counter(event["cat"] for event in json.loads(trace.read_text())["traceEvents"])
    # Three for origins and bounds, and one for each of the counts of workers and gangs, which change later.
    assert count["kernel"] == 39 and count["compile"] <= 6
    said = workshop.run(programs[1], device_target, TILEK_PROFILE="1")
    changing = re.search(r"arguments, since they change: (.*)", said)
    assert changing is not None and "i_trip" in changing[1].split(", ")
