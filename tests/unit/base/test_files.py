"""Files that are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilepragma.base.files import write_atomically


def test_replaces_the_file_that_a_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


@pytest.mark.parametrize("name", ["missing/file", "folder"])
def test_failure_names_the_file_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError) as raised:
        write_atomically(tmp_path / name, b"new")
    assert raised.value.filename == str(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_full_device() -> None:
    with pytest.raises(OSError, match="No space left") as raised:
        write_atomically(Path("/dev/full"), b"new")
    assert raised.value.filename == "/dev/full"
