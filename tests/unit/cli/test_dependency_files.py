"""Rules that make reads back as they were meant."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tilepragma.cli.dependency_files import make_rule


def test_phony_headers() -> None:
    assert make_rule("out.c", ["in.c", "a.h"], phony=True) == "out.c: \\\n in.c \\\n a.h\na.h:\n"


def test_make_understands_odd_names(tmp_path: Path) -> None:
    names = ["in.c", "two words.h", "a#b.h", "c$d.h"]
    for name in names:
        (tmp_path / name).write_text("")
    rule = make_rule("out", names)
    (tmp_path / "Makefile").write_text(f'{rule}\t@printf "%s\\n" ok > out\n')
    subprocess.run(["make", "-s"], cwd=tmp_path, check=True)
    assert (tmp_path / "out").read_text() == "ok\n"
