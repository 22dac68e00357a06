"""tilecc run inside the test process: a real compiler, a tiny runtime, and a translator that replaces one word."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.source_ranges import Position, SourceRange
from tilepragma.cli import runtime_library, tilecc, tilecc_translation
from tilepragma.driver.state import TranslateRequest, TranslateResult

Tilecc = Callable[..., int]


class Executed(Exception):
    """Stands for the process that exec would have become."""


def word_translator(request: TranslateRequest) -> TranslateResult:
    """Replaces KERNEL by `1 + tilek_one()`; a source that says REFUSE gets an error at its first character."""
    text = request.text if request.text is not None else Path(request.source).read_bytes()
    diagnostics = Diagnostics()
    if b"REFUSE" in text:
        start = Position(request.source, 1, 1, 0)
        diagnostics.error(SourceRange(start, start), "This is refused.", "Leave it out.")
    if b"CRASH" in text:
        raise RuntimeError("the translator broke")
    output = f'#line 1 "{request.source}"\n'.encode() + text.replace(b"KERNEL", b"1 + tilek_one()")
    output = b"#include <tilek.h>\n" + output.replace(b'#include "inlined.h"', b"")
    inlined = tuple(str(Path(request.source).parent / "inlined.h") for _ in range(b'"inlined.h"' in text))
    failed = diagnostics.has_errors
    return TranslateResult(
        diagnostics=tuple(diagnostics),
        output=None if failed else output,
        dependencies=(request.source,),
        system_dependencies=("/usr/include/stddef.h",),
        inlined=inlined,
        measured=(),
        unit=None,
        plans=(),
        dumps=(),
        succeeded=not failed,
    )


@pytest.fixture
def tiny_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime of one function, and a cache of its own."""
    folder = tmp_path / "runtime-sources"
    (folder / "include").mkdir(parents=True)
    (folder / "include" / "tilek.h").write_text("int tilek_one(void);\n")
    (folder / "exports.list").write_text("{ tilek_one; };\n")
    (folder / "one.c").write_text('#include "tilek.h"\nint tilek_one(void) { return 1; }\n')
    monkeypatch.setattr(runtime_library, "resource_folder", lambda name: folder)
    monkeypatch.setenv("TILEK_CACHE_DIR", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def run_tilecc(tmp_path: Path, tiny_runtime: Path, monkeypatch: pytest.MonkeyPatch) -> Tilecc:
    """`run_tilecc("-c", "a.c")` in an empty folder `work`; the exit status."""
    work = tmp_path / "work"
    work.mkdir()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(tilecc_translation, "translate", word_translator)

    def become(program: str, words: Sequence[str]) -> NoReturn:
        raise Executed(subprocess.run(words, check=False).returncode)

    monkeypatch.setattr(os, "execvp", become)

    def run(*arguments: str) -> int:
        try:
            status = tilecc.run(arguments)
        except Executed as executed:
            status = executed.args[0]
        assert not any(entry.name.startswith("tilecc-") for entry in temporary.iterdir()), "temporary files are left"
        return int(status)

    return run
