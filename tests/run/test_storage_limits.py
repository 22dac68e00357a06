"""Arrays that a kernel would have for itself: too large ones are done without, and a queue does not outlive them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.programs import Failure, Workshop
from tests.support.targets import TargetEnvironment, target_environment

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
static double row[6000], x[6000];
static void rows(int n, int m)
{
#pragma tilek kernel async(1)
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++)
            row[j] = x[i] + j % 7;
        for (int j = 1; j < m; j++)
            x[i] += 0.25 * row[j - 1];
    }
#pragma tilek wait
}
int main(int argc, char **argv)
{
    const int n = atoi(argv[1]);
    for (int i = 0; i < 6000; i++)
        x[i] = i % 13;
    rows(n, n);
    rows(n / 2, n);
    double sum = 0;
    for (int i = 0; i < 6000; i++)
        sum = 0.5 * sum + x[i] - row[i];
    printf("%.17g\\n", sum);
    return argc - 2;
}
"""
WARNING = "its temporary arrays would take 274 MiB, more than 4 times its data"


@pytest.fixture(scope="module")
def programs(workshop: Workshop) -> tuple[Path, Path]:
    folder = workshop.folder / "storage_limits"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "rows.c"
    source.write_text(SOURCE)
    flags = ("-std=c99", "-O1", "-ffp-contract=off", "-Wno-unknown-pragmas")
    return workshop.build_original(source, flags), workshop.build_translated(source, flags)


def test_small_ones_are_made_on_every_target(
    workshop: Workshop, programs: tuple[Path, Path], target: TargetEnvironment
) -> None:
    original, translated = programs
    assert workshop.run(translated, target, "300") == workshop.run(original, target, "300")


def test_the_original_runs_where_they_are_too_large(
    workshop: Workshop, programs: tuple[Path, Path], shared_scratch: Path
) -> None:
    original, translated = programs
    strict = target_environment("threads", shared_scratch)
    lenient = replace(strict, variables=(*strict.variables, ("TILEK_STRICT", "0")))
    said = workshop.run(translated, lenient, "6000")
    assert WARNING in said
    assert said.splitlines()[-1] == workshop.run(original, lenient, "6000").splitlines()[-1]
    with pytest.raises(Failure, match="temporary arrays"):
        workshop.run(translated, strict, "6000")
