"""The runtime library: built once per compiler and ABI, whole or not at all."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tilepragma.base.cache_folder import cache_folder
from tilepragma.cli import runtime_library, tilepragma
from tilepragma.cli.runtime_library import RuntimeLibraryError, library


def test_built_once(tiny_runtime: Path) -> None:
    first = library()
    before = first.stat()
    assert library() == first
    assert first.stat().st_mtime_ns == before.st_mtime_ns
    assert sorted(path.name for path in first.parent.iterdir()) == ["libtilek.a"]


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


def test_abi_options_with_separate_values() -> None:
    options = ["-target", "aarch64-linux-gnu", "-O2", "--sysroot=/root", "-m32"]
    assert runtime_library._abi_options(options) == ["-target", "aarch64-linux-gnu", "--sysroot=/root", "-m32"]
