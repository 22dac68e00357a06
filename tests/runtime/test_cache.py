"""The disk cache: what was written is read, what was damaged is not, and many processes share a folder."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.runtime_programs import SANITIZE, build_runtime_test

SIZE = 5000


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_runtime_test("cache.c", tmp_path_factory.mktemp("cache"), SANITIZE)


class Cache:
    """The test program on one folder."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program = program
        self.folder = folder
        self.environment = {"PATH": os.environ["PATH"], "TILEK_CACHE_DIR": str(folder)}
        self.errors = ""

    def __call__(self, *words: object) -> str:
        done = subprocess.run(
            [str(self.program), *map(str, words)], env=self.environment, capture_output=True, text=True, check=False
        )
        self.errors = done.stderr
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout.strip()

    def entries(self) -> list[Path]:
        return sorted(self.folder.iterdir())


@pytest.fixture
def cache(program: Path, tmp_path: Path) -> Cache:
    return Cache(program, tmp_path / "some" / "folder")


def made_up(key: str, size: int) -> bytes:
    return bytes((ord(key[k % len(key)]) + 31 * k) % 256 for k in range(size))


@pytest.mark.parametrize("size", [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000])
def test_hash(cache: Cache, size: int) -> None:
    assert cache("hash", size) == hashlib.sha256(made_up("hash", size)).hexdigest()


def test_round_trip(cache: Cache) -> None:
    assert cache("read", "a", SIZE) == "miss"
    assert not cache.folder.exists(), "reading makes no folder"
    cache("write", "a", SIZE)
    assert cache("read", "a", SIZE) == "hit"
    assert cache("read", "b", SIZE) == "miss"
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in cache.entries()] == [0o600]
    cache("write", "a", SIZE + 1)
    assert cache("read", "a", SIZE + 1) == "hit"
    assert len(cache.entries()) == 1


@pytest.mark.parametrize("offset", [0, 7, 8, 39, 40, 71, 72, 79, 80, 80 + SIZE // 2, 80 + SIZE - 1])
def test_one_flipped_bit_is_found(cache: Cache, offset: int) -> None:
    cache("write", "a", SIZE)
    (entry,) = cache.entries()
    content = bytearray(entry.read_bytes())
    assert len(content) == 80 + SIZE
    content[offset] ^= 1
    entry.write_bytes(content)
    assert cache("read", "a", SIZE) == "miss"
    assert cache.entries() == [], "a damaged entry is removed"
    cache("write", "a", SIZE)
    assert cache("read", "a", SIZE) == "hit"


@pytest.mark.parametrize("length", [0, 1, 79, 80, 80 + SIZE - 1, 80 + SIZE + 1])
def test_another_length_is_found(cache: Cache, length: int) -> None:
    cache("write", "a", SIZE)
    (entry,) = cache.entries()
    entry.write_bytes((entry.read_bytes() + b"x")[:length])
    assert cache("read", "a", SIZE) == "miss"


def test_entry_of_another_key(cache: Cache) -> None:
    cache("write", "a", SIZE)
    (first,) = cache.entries()
    cache("write", "b", SIZE)
    (second,) = set(cache.entries()) - {first}
    second.write_bytes(first.read_bytes())
    assert cache("read", "b", SIZE) == "miss"
    assert cache("read", "a", SIZE) == "hit"


@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
def test_entry_that_is_no_file(cache: Cache, tmp_path: Path, kind: str) -> None:
    cache("write", "a", SIZE)
    (entry,) = cache.entries()
    aside = tmp_path / "aside"
    entry.rename(aside)
    if kind == "link":
        entry.symlink_to(aside)
    elif kind == "folder":
        entry.mkdir()
    else:
        os.mkfifo(entry)
    assert cache("read", "a", SIZE) == "miss"


def test_entry_that_others_may_write(cache: Cache) -> None:
    cache("write", "a", SIZE)
    (entry,) = cache.entries()
    entry.chmod(0o666)
    assert cache("read", "a", SIZE) == "miss"


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_folder_that_others_may_write(cache: Cache, mode: int) -> None:
    cache("write", "a", SIZE)
    cache.folder.chmod(mode)
    assert cache("read", "a", SIZE) == "miss"
    assert cache.errors.count("writable by you alone") == 1
    cache("hammer", "b", SIZE, 3)
    assert cache.errors.count("writable by you alone") == 1, "the warning comes once"
    assert len(cache.entries()) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder that is not its own")
def test_folder_of_another_user(cache: Cache) -> None:
    cache("write", "a", SIZE)
    os.chown(cache.folder, 12345, -1)
    assert cache("read", "a", SIZE) == "miss"
    assert "must belong to you" in cache.errors


def test_place_that_is_no_folder(cache: Cache, tmp_path: Path) -> None:
    cache.folder = tmp_path / "file"
    cache.folder.write_text("")
    cache.environment["TILEK_CACHE_DIR"] = str(cache.folder)
    cache("write", "a", SIZE)
    assert "compiled kernels are not kept" in cache.errors
    assert cache("read", "a", SIZE) == "miss"


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({"XDG_CACHE_HOME": "{}/xdg", "HOME": "{}/home"}, "xdg/tilek"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "{}/home"}, "home/.cache/tilek"),
        ({"HOME": "{}/home"}, "home/.cache/tilek"),
        ({}, None),
    ],
)
def test_default_place(cache: Cache, tmp_path: Path, variables: dict[str, str], place: str | None) -> None:
    del cache.environment["TILEK_CACHE_DIR"]
    cache.environment |= {name: value.format(tmp_path) for name, value in variables.items()}
    cache("write", "a", SIZE)
    assert cache("read", "a", SIZE) == ("miss" if place is None else "hit")
    if place is not None:
        assert len(list((tmp_path / place).iterdir())) == 1


@pytest.mark.parametrize("limit", [0, 50, 80, SIZE])
def test_full_disk(cache: Cache, limit: int) -> None:
    cache("write", "other", 10)
    kept = cache.entries()
    cache("write", "a", SIZE, limit)
    assert cache.entries() == kept, "nothing half-written stays"
    assert cache("read", "a", SIZE) == "miss"
    assert cache("read", "other", 10) == "hit"


def test_many_processes(cache: Cache) -> None:
    words = [str(cache.program), "hammer", "a", "100000", "40"]
    processes = [subprocess.Popen(words, env=cache.environment) for _ in range(6)]
    assert [process.wait() for process in processes] == [0] * 6
    assert cache("read", "a", 100000) == "hit"
    assert len(cache.entries()) == 1


def age(path: Path, seconds: int) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_what_was_used_longest_ago_goes_first(cache: Cache) -> None:
    cache.environment["TILEK_CACHE_SIZE"] = "1"
    size = 300_000
    cache("write", "a", size)
    (first,) = cache.entries()
    cache("write", "b", size)
    (second,) = set(cache.entries()) - {first}
    cache("write", "c", size)
    for path in cache.entries():
        age(path, 1000 if path in (first, second) else 900)
    assert cache("read", "a", size) == "hit"
    cache("write", "d", size)
    assert [cache("read", key, size) for key in "abcd"] == ["hit", "miss", "hit", "hit"]
    assert sum(path.stat().st_size for path in cache.entries()) <= 1 << 20


def test_an_entry_beyond_the_limit_is_not_kept(cache: Cache) -> None:
    cache.environment["TILEK_CACHE_SIZE"] = "1"
    cache("write", "small", SIZE)
    cache("write", "great", 1 << 20)
    assert [cache("read", "small", SIZE), cache("read", "great", 1 << 20)] == ["hit", "miss"]
    cache.environment["TILEK_CACHE_SIZE"] = "0"
    cache("write", "other", SIZE)
    assert cache("read", "other", SIZE) == "miss" and len(cache.entries()) == 1


def test_what_killed_writers_left_is_swept_and_nothing_else(cache: Cache) -> None:
    cache("write", "a", SIZE)
    (entry,) = cache.entries()
    names = [f".{entry.name}.77.123", f".{entry.name}.78.124", "notes.bin", ".hidden", f"{entry.name}.old", "f" * 64]
    old, new, *foreign = (cache.folder / name for name in names)
    for path in (old, new, *foreign):
        path.write_bytes(b"x")
        age(path, 0 if path == new else 100_000)
    cache("write", "b", SIZE)
    assert not old.exists() and all(path.exists() for path in (new, *foreign))


def test_many_processes_evict_at_once(cache: Cache) -> None:
    cache.environment["TILEK_CACHE_SIZE"] = "1"
    command = [str(cache.program), "hammer"]
    running = [
        subprocess.Popen([*command, f"k{k}", str(200_000 + k), "20"], env=cache.environment, stderr=subprocess.PIPE)
        for k in range(8)
    ]
    assert [(each.wait(120), each.communicate()[1]) for each in running] == [(0, b"")] * 8
    cache("write", "last", SIZE)
    assert sum(path.stat().st_size for path in cache.entries()) <= 1 << 20
