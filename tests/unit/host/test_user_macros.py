"""Macros of the user do not reach into generated text, nor into tilek.h."""

from __future__ import annotations

from pathlib import Path

from tests.support.translation_units import parse_translation_unit
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.frontend.clang.compiler import CompilerFlags
from tilepragma.host.user_macros import as_written, path_macros, without_macros
from tilepragma.ir.loop_tree import TranslationUnit

NEST = "void f(int n, int *a) {\n#pragma tilek kernel num_gangs(count(n))\nfor (int i = 0; i < n; i++) a[i] = i;\n}\n"


def unit(folder: Path, text: str, *options: str) -> TranslationUnit:
    (folder / "main.c").write_text(text + NEST)
    result = parse_translation_unit(str(folder / "main.c"), None, CompilerFlags(options), Diagnostics())
    assert result is not None
    return result


def test_all_macros_of_files_and_options_are_known(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "sizes.h").write_text("#  define counts(x) (x)\n")
    text = """#include <sizes.h>
#include <stdint.h>
# /* a comment */ define bytes 11
#define \\
    lower 3 /* that
    goes on */ + 4
%:define status 1
#undef status
#if 0
#define absent
#endif
int define;
"""
    result = unit(tmp_path, text, f"-I{tmp_path}/elsewhere", "-Darrays=7").macros
    assert set(result) - {"linux", "unix"} == {"counts", "bytes", "lower", "status", "arrays"}
    assert b"4" in result["lower"]


def test_macros_that_paths_need_stay(tmp_path: Path) -> None:
    text = """#define first 1
#define many first
#define count(x) (x)
void g(int n, struct grid { int *cells; } *grid) {
#define size grid
#pragma tilek data copy(size->cells[0:many])
{ }
}
"""
    result = unit(tmp_path, text)
    assert path_macros(result.macros, [region.directive for region in result.data_regions]) == {"size"}
    without = without_macros("int size, first;", result.macros, {"size"}).splitlines()
    assert without[0] == '#pragma push_macro("first")'


def test_clauses_have_their_macros_and_what_these_need() -> None:
    macros = {"count": b"(size + 1)", "size": b"3", "first": b"1", "other": b"2"}
    text = f"int size, first[{as_written('count')}], last[{as_written('other')}];\n"
    assert without_macros(text, macros) == (
        '#pragma push_macro("first")\n#undef first\n#pragma push_macro("size")\n#undef size\n'
        'int size, first[\n#pragma pop_macro("size")\ncount\n#pragma push_macro("size")\n#undef size\n], last[other];\n'
        '#pragma pop_macro("first")\n#pragma pop_macro("size")\n'
    )


def test_clashing_macros_are_put_aside_and_come_back() -> None:
    assert without_macros("int size = last;\n", {"size": b"1", "sizes": b"2"}) == (
        '#pragma push_macro("size")\n#undef size\nint size = last;\n#pragma pop_macro("size")\n'
    )


def test_texts_and_comments_clash_with_nothing() -> None:
    text = """const char *s = "size \\" first"; /* size */ // first\nif (c == '"' || c == 'x') return '"';\n"""
    assert without_macros(text, {"size": b"1", "first": b"2"}) == text
    assert "push" in without_macros("c == '\"' || size || c == '\"'", {"size": b"1"})
