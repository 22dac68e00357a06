"""Compiled templates in the user's cache: read again, and compiled again where a file is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tilepragma.codegen import templates

NAME = "host/wait.c.j2"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TILEK_CACHE_DIR", str(tmp_path))
    templates._environment.cache_clear()
    yield tmp_path / "templates"
    templates._environment.cache_clear()


def compiled() -> object:
    templates._environment.cache_clear()
    return templates._environment().get_template(NAME)


def test_a_compiled_template_is_kept(cache: Path) -> None:
    compiled()
    [file] = cache.iterdir()
    written = file.stat().st_mtime_ns
    compiled()
    assert file.stat().st_mtime_ns == written


@pytest.mark.parametrize("keep", [0, 1, 20, 60])
def test_a_damaged_file_is_made_again(cache: Path, keep: int) -> None:
    compiled()
    [file] = cache.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:keep] + b"\xff" * 40)
    compiled()
    assert file.read_bytes() == whole


def test_no_folder_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEK_CACHE_DIR", str(tmp_path / "file"))
    compiled()
    templates._environment.cache_clear()
