"""The README's shell commands that cost little do what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text()
#: Commands of the README that are cheap and leave nothing behind.
CHEAP = ("tilepragma --cflags", "tilepragma --makefile", "tilepragma --cmake", "tilepragma devices")


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language ("" where none is named)."""
    results = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    return [text for name, text in results if name == language]


def commands() -> list[str]:
    return [line.split("  #")[0].strip() for block in blocks("") for line in block.splitlines()]


def test_first_screen_names_the_two_commands() -> None:
    assert [command.partition(" #")[0].strip() for command in commands()[:2]] == ["make demo", "make test"]


@pytest.mark.parametrize("command", CHEAP)
def test_cheap_command_works(command: str) -> None:
    assert command in commands()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        command, shell=True, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_first_nest_becomes_wavefronts_of_tiles() -> None:
    [nest] = blocks("c")
    source = f"void sweep(int steps, int n, float A[n][n])\n{{\n{nest}}}\n"
    result = translate(TranslateRequest("readme.c", text=source.encode()))
    assert result.output is not None
    [plan] = result.plans
    assert plan.untransformed is None
    assert plan.sizes


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", TEXT):
        assert (ROOT / target).exists(), target


def test_wave2d_difference_is_the_samples_own() -> None:
    [block] = blocks("diff")
    sources = "".join((ROOT / "samples" / "wave2d" / name).read_text() for name in ("main.c", "wave.c"))
    added = [line[1:] for line in block.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert added
    assert [line for line in added if line not in sources] == []
