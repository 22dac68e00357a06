"""The runtime library: built once per compiler and ABI, whole or not at all."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Tilecc
from tilepragma.base.user_compiler import compiler
from tilepragma.base.user_folders import UntrustedFolderError, cache_folder
from tilepragma.cli import runtime_library, tilepragma
from tilepragma.cli.runtime_library import RuntimeLibraryError, library


def test_built_once(tiny_runtime: Path) -> None:
    first = library()
    before = first.stat()
    assert library() == first
    assert first.stat().st_mtime_ns == before.st_mtime_ns
    assert sorted(path.name for path in first.parent.iterdir()) == ["libtilek.a", "libtilek.a.blake2b"]


def test_key_follows_sources_headers_abi_and_compiler(
    tiny_runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {library()}
    (tiny_runtime / "one.c").write_text('#include "tilek.h"\nint tilek_one(void) { return 2; }\n')
    made.add(library())
    (tiny_runtime / "include" / "tilek.h").write_text("int tilek_one(void); /* other */\n")
    made.add(library())
    made.add(library(["-O3", "-mabi=ms"]))
    wrapper = tmp_path / "mycc"
    wrapper.write_text('#!/bin/sh\nexec cc "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("TILEK_CC", str(wrapper))
    made.add(library())
    assert len(made) == 5
    assert library(["-O3", "-DX", "-lm"]) == library(), "options that leave the ABI alone leave the key alone"


def test_failure_leaves_nothing(tiny_runtime: Path) -> None:
    (tiny_runtime / "one.c").write_text("this is no C\n")
    with pytest.raises(RuntimeLibraryError, match="no C"):
        library()
    assert [path.name for path in (cache_folder() / "runtime").iterdir()] == ["lock"]


def test_concurrent_builds(tiny_runtime: Path) -> None:
    code = (
        "from pathlib import Path\nfrom tilepragma.cli import runtime_library as r\n"
        f"r.resource_folder = lambda name: Path({str(tiny_runtime)!r})\nprint(r.library())\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    answers = {process.communicate()[0] for process in processes}
    assert len(answers) == 1
    assert Path(answers.pop().strip()).is_file()


def test_cache_folder_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILEK_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "tilek"
    assert cache_folder().stat().st_mode & 0o777 == 0o700


def test_cflags_and_libs_build_a_program(
    tiny_runtime: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tilepragma.base.resources.resource_folder", lambda name: tiny_runtime)
    assert tilepragma.run(["--cflags"]) == 0
    flags = shlex.split(capsys.readouterr().out)
    assert tilepragma.run(["--libs"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    source = tmp_path / "a.c"
    source.write_text("#include <tilek.h>\nint main(void) { return tilek_one() - 1; }\n")
    program = tmp_path / "a"
    subprocess.run(["cc", *flags, str(source), "-o", str(program), *shlex.split(said.out)], check=True)
    subprocess.run([str(program)], check=True)


def test_libs_that_cannot_be_built(
    tiny_runtime: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEK_CC", "no-such-compiler")
    assert tilepragma.run(["--libs"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "set TILEK_CC to a C compiler" in said.err


def test_cache_that_cannot_be_written(
    tiny_runtime: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.write_text("a file, where even root can make no folder")
    monkeypatch.setenv("TILEK_CACHE_DIR", str(closed / "inside"))
    assert tilepragma.run(["--libs"]) == 1
    assert "TILEK_CACHE_DIR" in capsys.readouterr().err


@pytest.mark.parametrize("damage", ["truncated", "empty", "altered", "no sum", "open to all", "link"])
def test_a_damaged_library_is_built_again(tiny_runtime: Path, tmp_path: Path, damage: str) -> None:
    whole = library()
    content = whole.read_bytes()
    if damage == "no sum":
        whole.with_name("libtilek.a.blake2b").unlink()
    elif damage == "open to all":
        whole.chmod(0o666)
    elif damage == "link":
        whole.rename(tmp_path / "elsewhere.a")
        whole.symlink_to(tmp_path / "elsewhere.a")
    else:
        whole.write_bytes({"truncated": content[:100], "empty": b"", "altered": content[:-1] + b"?"}[damage])
    assert library() == whole
    assert (whole.read_bytes(), whole.stat().st_mode & 0o022, whole.is_symlink()) == (content, 0, False)


def test_leftovers_of_killed_builds_go(tiny_runtime: Path) -> None:
    leftover = cache_folder() / "runtime" / "building-killed"
    leftover.mkdir(parents=True)
    (leftover / "one.o").write_bytes(b"half")
    library()
    assert not leftover.exists()


def _open_to_all(folder: Path) -> None:
    folder.chmod(0o777)


def _of_someone_else(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(folder, 65534, 65534)


@pytest.mark.parametrize("spoil", [_open_to_all, _of_someone_else])
@pytest.mark.parametrize("inner", ["", "runtime"])
def test_folders_of_others_are_refused(
    tiny_runtime: Path, run_tilecc: Tilecc, capfd: pytest.CaptureFixture[str], spoil: Callable[[Path], None], inner: str
) -> None:
    """What others can write to is not linked: the library is built for the command alone, with a warning, and is gone behind it."""
    kept = library()
    spoil(cache_folder() / inner)
    archive = kept.read_bytes()
    kept.write_bytes(b"!<arch>\n of someone else")
    Path("plain.c").write_text("int tilek_one(void);\nint main(void) { return tilek_one() - 1; }\n")
    Path("ours.c").write_text("/* tilek */ int main(void) { return KERNEL - 2; }\n")
    assert run_tilecc("-c", "plain.c") == 0
    for words in (("plain.o",), ("ours.c",)):
        assert run_tilecc(*words, "-o", "prog") == 0
        said = capfd.readouterr().err
        assert said.count("must belong to you and be writable by you alone (chmod 700)") == 1
        assert said.startswith("tilecc: warning: the runtime library is built for this command alone: ")
        subprocess.run(["./prog"], check=True)
    with pytest.raises(UntrustedFolderError):
        library()
    assert tilepragma.run(["--libs"]) == 1
    assert archive != kept.read_bytes()


def test_a_wrapper_that_links_libraries(tiny_runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As mpicc: whatever it links has its library, which no relocatable object takes."""
    (tmp_path / "lib.c").write_text("int wrapped(void) { return 3; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "lib.c", "-o", "libwrapped.so"], cwd=tmp_path, check=True)
    (tmp_path / "a folder").mkdir()
    wrapper = tmp_path / "a folder" / "wrapcc"
    wrapper.write_text(f'#!/bin/sh\nexec cc "$@" -L{tmp_path} -Wl,-rpath,{tmp_path} -lwrapped\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("TILEK_CC", f"env LC_ALL=C {shlex.quote(str(wrapper))} -m64" if _is_x86() else str(wrapper))
    (tmp_path / "a.c").write_text(
        "int tilek_one(void), wrapped(void);\nint main(void) { return wrapped() + tilek_one() - 4; }\n"
    )
    program = tmp_path / "a"
    subprocess.run([*compiler(), str(tmp_path / "a.c"), "-o", str(program), str(library())], check=True)
    subprocess.run([str(program)], check=True)


def _is_x86() -> bool:
    return platform.machine() == "x86_64"


def test_abi_options_with_separate_values() -> None:
    options = ["-target", "aarch64-linux-gnu", "-O2", "--sysroot=/root", "-m32"]
    assert runtime_library._abi_options(options) == ["-target", "aarch64-linux-gnu", "--sysroot=/root", "-m32"]
