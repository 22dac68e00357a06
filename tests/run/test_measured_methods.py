"""`explain --measure` from end to end: the sweeps it counts are those of relaxations in Python, and what cannot be measured has its reason."""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.programs import TILEPRAGMA, Workshop, tool_environment
from tilepragma.cli import tilepragma

SOURCE = """\
void line(int steps, int n, double w, double u[n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            u[i] = (1 - w) * u[i] + w / 2 * (u[i - 1] + u[i + 1]);
}
"""
INNER, FACTOR, TOLERANCE, SWEEPS_A_LOOK = 37, 1.2, 1e-2, 32


def sweeps(order: list[int], at_once: int = 1) -> int:
    """Sweeps that points need in an order, which makes some `at_once`, as the program counts them, from the program's random numbers."""
    u, state = [0.0] * (INNER + 2), 1
    for place in range(1, INNER + 1):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        u[place] = (state >> 11) / 2**53
    first, made = max(u), 0
    while made % SWEEPS_A_LOOK or max(map(abs, u)) > TOLERANCE * first:
        for place in order:
            u[place] = (1 - FACTOR) * u[place] + FACTOR / 2 * (u[place - 1] + u[place + 1])
        made += at_once
    return made


def by_subdomains(layers: int, side: int) -> list[int]:
    """The order of points in a forward and a backward group of layers (thesis (6.6), (6.9))."""
    order: list[int] = []
    for backward, half, base in itertools.product((False, True), (1, 2), range(0, INNER, side)):
        for layer in range(layers):
            cut = base + side - 1 - layer
            first, last = (base + layer if base else 0, cut - 1) if half == 1 else (cut, base + side - 1 + layer)
            order += [INNER - place if backward else place + 1 for place in range(first, min(last, INNER - 1) + 1)]
    return order


def test_sweeps_and_reasons(workshop: Workshop, tmp_path: Path) -> None:
    source = tmp_path / "line.c"
    source.write_text(SOURCE)
    options = ("--measure", "--size", f"n={INNER + 2}", "--value", f"w={FACTOR}", "--tolerance", str(TOLERANCE))
    environment = tool_environment(workshop.cache) | {"TILEK_TARGET": "serial"}
    command = (*TILEPRAGMA, "explain", str(source), *options)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    said = done.stdout.partition("by method")[2]
    assert f"{INNER} inner points, double; w = {FACTOR}\n" in said
    natural = list(range(1, INNER + 1))
    rows = dict(re.findall(r"^ +(original loops, plain C|sor\(\w+\)) +(\w+) ", said, re.MULTILINE))
    assert rows["original loops, plain C"] == rows["sor(wavefront)"] == str(sweeps(natural))
    assert rows["sor(redblack)"] == str(sweeps(natural[::2] + natural[1::2]))
    assert rows["sor(multilayer)"] == str(sweeps(by_subdomains(16, 32), 32))
    assert re.search(r"^  on serial \(.*\); cc -O2; one run each$".replace("cc", ".*"), said, re.MULTILINE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tolerance", "0.1"], "--tolerance goes with --measure"),
        (["--measure", "--tolerance", "1"], "--tolerance 1: a share of the first error, between 0 and 1"),
        (["--measure", "--seconds", "-1"], "--seconds -1: a time above 0"),
        (["--measure", "--value", "w=fast"], "--value w=fast: write NAME=NUMBER"),
        (["--measure", "--html", "-"], "--measure writes a table"),
        (
            ["--measure", "--value", "v=1"],
            "--value v: no coefficient of a relaxation depends on that; they depend on w",
        ),
    ],
)
def test_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str) -> None:
    source = tmp_path / "line.c"
    source.write_text(SOURCE)
    assert tilepragma.run(["explain", str(source), *options]) == 2
    assert message in capsys.readouterr().err


def test_nothing_to_measure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "plain.c"
    source.write_text("int x;\n")
    assert tilepragma.run(["explain", str(source), "--measure"]) == 0
    assert capsys.readouterr().out.endswith("\nNothing to measure: there is no relaxation in place.\n")
