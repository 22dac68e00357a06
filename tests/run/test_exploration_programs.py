"""The programs that an exploration runs: built when they are first needed, once, and refused once where they cannot be."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.programs import ROOT, Workshop
from tilepragma.cli.exploration_programs import MadePrograms, with_numbers
from tilepragma.tuning.programs import NotBuiltError
from tilepragma.tuning.trial_versions import Build


class Calling:
    """A function that is `main` already: nothing is added to its source."""

    def text(self, source: bytes) -> bytes:
        return source

    def command_line(self, numbers: Mapping[str, int], calls: int, calls_a_fill: int) -> tuple[str, ...]:
        return (str(calls), str(calls_a_fill), *map(str, numbers.values()))


def programs(folder: Path, **sources: str) -> MadePrograms:
    builds = {name: Build(text.encode(), {"CPATH": str(folder)}, None) for name, text in sources.items()}
    made = folder / "made"
    made.mkdir()
    return MadePrograms(made, folder / "a.c", ("-DRESULT=7",), False, builds, Calling())  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def our_own_tilecc(monkeypatch: pytest.MonkeyPatch, workshop: Workshop) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("TILEK_CACHE_DIR", str(workshop.cache))


def test_a_build_has_its_source_options_and_environment(tmp_path: Path) -> None:
    (tmp_path / "found.h").write_text("#define FOUND 1\n")
    (tmp_path / "beside.h").write_text("#define BESIDE 2\n")
    text = '#include <found.h>\n#include "beside.h"\nint main(void) { return RESULT + FOUND + BESIDE; }\n'
    made = programs(
        tmp_path,
        one=text.replace("main", "tilek_users_main") + "#undef main\nint main(void) { return tilek_users_main(); }\n",
    )
    command = made.command("one", {"n": 5}, 3)
    assert command[1:] == ["3", "1", "5"]
    assert subprocess.run(command, check=False).returncode == 10
    before = os.stat(command[0]).st_mtime_ns
    assert made.command("one", {"n": 5}, 3) == command
    assert os.stat(command[0]).st_mtime_ns == before


def test_what_cannot_be_built_says_so_again_and_again(tmp_path: Path) -> None:
    made = programs(tmp_path, bad="int main(void) { return nothing; }\n", good="int main(void) { return 0; }\n")
    for _ in range(2):
        with pytest.raises(NotBuiltError, match="^is not built: .*undeclared.*nothing"):
            made.command("bad", {}, 1)
    assert len(list((tmp_path / "made").iterdir())) == 1, "it was tried once"


def test_a_full_disk_is_no_fault_of_a_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", f"as: error: out.o: {os.strerror(errno.ENOSPC)}\n")

    made = programs(tmp_path, one="int main(void) { return 0; }\n")
    monkeypatch.setattr(subprocess, "run", full)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        made.command("one", {}, 1)


def test_numbers_take_the_place_of_their_names() -> None:
    words = ["./p", "{n}", "x{n}-{m}.{other}", "{}", "{n"]
    assert with_numbers(words, {"n": 4, "m": 5}) == ["./p", "4", "x4-5.{other}", "{}", "{n"]
