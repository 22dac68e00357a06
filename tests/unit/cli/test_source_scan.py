"""Which sources may hold directives, found without a parser."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilepragma.base.source_scan import scan_source


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "kernel.h").write_text("#pragma tilek kernel\n")
    (tmp_path / "near.h").write_text('  #  include "include/kernel.h"\n')
    return tmp_path


@pytest.mark.parametrize(
    ("text", "folders", "mentions"),
    [
        ("int x;\n", [], False),
        ("#pragma tilek kernel\n", [], True),
        ('_Pragma("tilek loop")\n', [], True),
        ('#include "near.h"\n', [], True),
        ("#include <kernel.h>\n", [], False),
        ("#include <kernel.h>\n", ["include"], True),
        ('#include "kernel.h"\n', ["include"], True),
        ('#include "missing.h"\n', [], False),
        ('#include "tilek.h"\n', [], False),
        ('int a;\r\n%: include "near.h"\r\n', [], True),
    ],
)
def test_mentions(project: Path, text: str, folders: list[str], mentions: bool) -> None:
    (project / "a.c").write_bytes(text.encode())
    assert scan_source("a.c", [], folders).mentions is mentions


def test_headers_that_include_each_other(project: Path) -> None:
    (project / "a.h").write_text('#include "b.h"\n')
    (project / "b.h").write_text('#include "a.h"\n')
    (project / "a.c").write_text('#include "a.h"\n')
    assert scan_source("a.c", [], []) == (False, ("a.c", "a.h", "b.h"))


def test_text_in_place_of_a_file(project: Path) -> None:
    assert scan_source("<stdin>", [], [], b'#include "near.h"\n').mentions
