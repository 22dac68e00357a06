from __future__ import annotations

from pathlib import Path

import pytest

from tilepragma.base.user_folders import data_folder


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TILEK_DATA_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/someone")


def test_the_data_folder_is_below_home_where_nothing_is_said() -> None:
    assert data_folder() == Path("/home/someone/.local/share/tilepragma")


def test_xdg_names_it_where_absolute_and_ours_goes_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert data_folder() == Path("/home/someone/.local/share/tilepragma")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert data_folder() == Path("/data/tilepragma")
    monkeypatch.setenv("TILEK_DATA_DIR", "here")
    assert data_folder() == Path("here")
