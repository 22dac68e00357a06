"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tilepragma.base.files import NoFileError, file_bytes, write_atomically


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


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    """Reading a pipe would wait for ever."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as unix, open(tmp_path / "huge", "wb") as huge:
        unix.bind(str(tmp_path / "socket"))
        huge.truncate(1 << 40)
        for name, said in {
            "pipe": "a pipe",
            "folder": "a folder",
            "socket": "a socket",
            "huge": "64 MiB",
            "/dev/zero": "a device",
        }.items():
            with pytest.raises(NoFileError, match=said):
                file_bytes(tmp_path / name)


def test_full_device() -> None:
    with pytest.raises(OSError, match="No space left") as raised:
        write_atomically(Path("/dev/full"), b"new")
    assert raised.value.filename == "/dev/full"
