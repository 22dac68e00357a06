"""Rules that make reads back as they were meant."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tilepragma.cli.compiler_arguments import Input, read_command
from tilepragma.cli.dependency_files import Translated, make_rule, mend_dependency_files


def test_phony_headers() -> None:
    assert make_rule("out.c", ["in.c", "a.h", "b.h"], ["a.h"]) == "out.c: \\\n in.c \\\n a.h \\\n b.h\na.h:\n"


@pytest.mark.parametrize(("option", "phony"), [("-MMD", "sizes.json:\n"), ("-MP", "near.h:\nsizes.json:\n")])
def test_what_was_measured_may_go(tmp_path: Path, option: str, phony: str) -> None:
    """A build in which nobody can make it goes on without; headers are the user's to keep, unless -MP is there."""
    depfile, temporary = tmp_path / "in.d", tmp_path / "t" / "in.c"
    depfile.write_text(f"in.o: {temporary} far.h\n")
    command = read_command(["-MMD", option, "-MF", str(depfile), "-c", "in.c"])
    mend_dependency_files(
        command, [Translated(Input(0, "in.c", "c"), temporary, ".", ("near.h", "sizes.json"), ("sizes.json",))]
    )
    assert depfile.read_text() == f"in.o: in.c near.h sizes.json far.h\n{phony}"


def test_make_understands_odd_names(tmp_path: Path) -> None:
    names = ["in.c", "two words.h", "a#b.h", "c$d.h", "e\\f.h", "g\\ h.h", "i\\#j.h"]
    for name in names:
        (tmp_path / name).write_text("")
    rule = make_rule("out", names)
    (tmp_path / "Makefile").write_text(f'{rule}\t@printf "%s\\n" ok > out\n')
    subprocess.run(["make", "-s"], cwd=tmp_path, check=True)
    assert (tmp_path / "out").read_text() == "ok\n"
