"""Macros of the user do not reach into generated text, nor into tilek.h."""

from __future__ import annotations

from pathlib import Path

from tilepragma.host.user_macros import user_macros, without_macros
from tilepragma.ir.looptree import SourceFile


def test_macros_of_included_files_are_known(tmp_path: Path) -> None:
    (tmp_path / "sizes.h").write_text('#include "more.h"\n#include "absent.h"\n#  define count(x) (x)\n')
    (tmp_path / "more.h").write_text('#include "sizes.h"\n#define restrict\n#define first 0\n')
    main = SourceFile(str(tmp_path / "main.c"), b'#include "sizes.h"\n#define size 3\nint define;\n', ())
    assert user_macros([main]) == {"count", "first", "size"}


def test_macros_that_clauses_need_stay() -> None:
    text = b"""#define first 1
#define count(x) \\
    (size + (x))
#define size 3
#define other first
#pragma tilek kernel \\
    num_gangs(count(n))
"""
    assert user_macros([SourceFile("main.c", text, ())]) == {"first", "other"}


def test_clashing_macros_are_put_aside_and_come_back() -> None:
    assert without_macros("int size = last;\n", frozenset({"size", "sizes"})) == (
        '#pragma push_macro("size")\n#undef size\nint size = last;\n#pragma pop_macro("size")\n'
    )


def test_what_the_header_declares_clashes_too() -> None:
    assert '#pragma push_macro("count")\n' in without_macros('#include "tilek.h"\n', frozenset({"count"}))


def test_texts_and_comments_clash_with_nothing() -> None:
    text = 'const char *s = "size \\" first"; /* size */ // first\n'
    assert without_macros(text, frozenset({"size", "first"})) == text
