"""`make demo` on samples that print times that are known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilepragma.cli import demo

SAMPLE = """#!/bin/sh
[ "$1" = --dump ] && : > "$2"
echo run >> runs
if [ -n "$TILEK_PROFILE" ]; then echo '{event}' > "$TILEK_PROFILE"; seconds=5.0; else seconds=0.25; fi
echo "one: 8 9 seconds $seconds"
"""


@pytest.mark.parametrize(
    ("target", "seconds", "compiling", "runs"), [("opencl", 0.25, 1.5, 4), ("threads", 0.25, 0, 3)]
)
def test_compiling_is_no_part_of_a_time(
    tmp_path: Path, target: str, seconds: float, compiling: float, runs: int
) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    event = json.dumps({"ph": "X", "ts": 0, "dur": 1.5e6, "cat": "compile", "name": "compile", "args": {}})
    program = folder / "one"
    program.write_text(SAMPLE.replace("{event}", event))
    program.chmod(0o755)
    run = demo._run(folder, target, {})
    assert (run.size, run.seconds, run.compiling) == ("8×9", seconds, compiling)
    assert len((folder / "runs").read_text().split()) == runs
    assert run.dump.is_file() and not (folder / f"{target}.json").exists()
