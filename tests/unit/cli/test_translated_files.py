"""Files under names that their text decides, shared by the commands that run at once."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tilepragma.base.user_folders import cache_folder
from tilepragma.cli.tilecc_translation import TranslatedFiles


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEK_CACHE_DIR", str(tmp_path / "cache"))
    return cache_folder() / "translated"


def test_the_last_user_removes_the_file(tmp_path: Path, folder: Path) -> None:
    with TranslatedFiles(tmp_path) as first:
        path = first.write("a.c", b"int x;\n")
        with TranslatedFiles(tmp_path) as second:
            assert second.write("a.c", b"int x;\n") == path
            assert second.write("a.c", b"int y;\n") != path
        assert path.read_bytes() == b"int x;\n"
    assert list(folder.iterdir()) == []
    with TranslatedFiles(tmp_path) as third:
        assert third.write("a.c", b"int x;\n") == path


def test_what_is_altered_is_written_again(tmp_path: Path, folder: Path) -> None:
    with TranslatedFiles(tmp_path) as first, TranslatedFiles(tmp_path) as second:
        first.write("a.c", b"int x;\n").write_bytes(b"int")
        assert second.write("a.c", b"int x;\n").read_bytes() == b"int x;\n"


def test_leftovers_of_killed_commands_go(tmp_path: Path, folder: Path) -> None:
    with TranslatedFiles(tmp_path) as running:
        path = running.write("used.c", b"int x;\n")
        for name in ("old", "new"):
            (folder / name).mkdir()
            (folder / name / "a.c").write_bytes(b"int")
        for name in (folder / "old", path.parent):
            os.utime(name, (time.time() - 9999, time.time() - 9999))
        with TranslatedFiles(tmp_path) as other:
            other.write("other.c", b"int y;\n")
        assert sorted(path.name for path in folder.iterdir()) == sorted(["new", path.parent.name])


@pytest.mark.parametrize("closed", ["cache", "translated"])
def test_without_a_cache_the_commands_own_folder_serves(tmp_path: Path, folder: Path, closed: str) -> None:
    (folder.parent / "translated").mkdir(parents=True)
    (folder if closed == "translated" else folder.parent).chmod(0o777)
    with TranslatedFiles(tmp_path) as files:
        path = files.write("a.c", b"int x;\n")
        assert path.is_relative_to(tmp_path) and not path.is_relative_to(folder.parent)
        assert files.write("a.c", b"int x;\n") != path
