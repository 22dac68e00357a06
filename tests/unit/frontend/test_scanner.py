"""Where directives are found, and that their bytes, lines and columns are those of the file."""

from __future__ import annotations

import pytest

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.source_ranges import Position, SourceRange
from tilepragma.frontend.pragma.scanner import LocatedDirective, MacroTable, find_directives
from tilepragma.ir.directives import KernelDirective, LoopDirective, RoutineDirective


def scan(text: str | bytes) -> tuple[LocatedDirective, ...]:
    data = text.encode() if isinstance(text, str) else text
    diagnostics = Diagnostics()
    result = find_directives("a.c", data, diagnostics)
    assert not diagnostics.items
    return result


def spelled(text: str | bytes, range_: SourceRange) -> str:
    data = text.encode() if isinstance(text, str) else text
    return data[range_.start.offset : range_.end.offset].decode()


def texts(text: str) -> list[str]:
    return [spelled(text, each.range) for each in scan(text)]


@pytest.mark.parametrize(
    "line",
    [
        "#pragma tilek loop",
        "  #pragma tilek loop",
        "\t# pragma  tilek\tloop",
        "#/* a */pragma/* b */tilek/**/loop",
        "# \\\n pragma \\\n tilek \\\r\n loop",
        "#pra\\\ngma til\\  \nek lo\\\nop",
        "#pragma tilek loop // and so on \\\n still the comment",
        "#pragma tilek loop /* goes\n on */ /* and\n on */",
        "#pragma tilek loop /* has // in it */",
        "#pragma tilek loop // has /* in it",
    ],
)
def test_every_spelling_of_a_pragma_is_one_directive_to_the_end_of_its_line(line: str) -> None:
    text = f"int x;\n{line}\nfor (;;);\n"
    (found,) = scan(text)
    assert isinstance(found.directive, LoopDirective)
    assert spelled(text, found.range) == line.strip()
    assert text[found.end_offset :] == "for (;;);\n"


def test_a_comment_that_began_on_an_earlier_line_may_stand_before_a_pragma() -> None:
    assert texts("/* a\n b */ /**/ #pragma tilek loop\n") == ["#pragma tilek loop"]


@pytest.mark.parametrize(
    "text",
    [
        "// #pragma tilek loop\n",
        "/*\n#pragma tilek loop\n*/\n",
        "// continued \\\n#pragma tilek loop\n",
        'char *s = "\\\n#pragma tilek loop\\\n";\n',
        'char *s = "_Pragma(\\"tilek loop\\")";\n',
        "int x; #pragma tilek loop\n",
        "#pragma omp simd tilek\n",
        "#pragma tileks loop\n",
        "#pragma tilek_loop\n",
        "#define X #pragma tilek loop\n",
        '#include "#pragma tilek"\n',
        '#error don\'t write _Pragma("tilek loop") here\n',
        "int tilek, pragma, _Pragma_tilek;\n",
        '_Pragma("omp tilek")\n',
        '_Pragma(tilek "tilek loop")\n',
        "/* never closed\n#pragma tilek loop\n",
        "",
        "\n",
    ],
)
def test_what_only_looks_like_a_directive_is_none(text: str) -> None:
    assert scan(text) == ()


def test_quotes_in_comments_and_lone_quotes_hide_nothing() -> None:
    text = "// it's\n/* \"*/\n#error can't\n#pragma tilek loop\n'\"'; '\\'';\n#pragma tilek loop\n"
    assert texts(text) == ["#pragma tilek loop"] * 2


def test_a_range_leaves_out_the_newline_of_either_kind() -> None:
    for newline in ("\n", "\r\n"):
        text = f"{newline}#pragma tilek loop{newline}x"
        (found,) = scan(text)
        assert spelled(text, found.range) == "#pragma tilek loop"
        assert text[found.end_offset :] == "x"
        assert (found.range.start.line, found.range.start.column, found.range.end.column) == (2, 1, 19)


def test_a_pragma_may_end_the_file_without_a_newline() -> None:
    text = "#pragma tilek loop"
    (found,) = scan(text)
    assert (found.range.end.offset, found.end_offset) == (len(text), len(text))


def test_tokens_behind_continuations_have_their_own_line_and_column() -> None:
    text = "#pragma tilek kernel \\\r\n  num_gangs(n \\\n+ m)\\\n name(k)\n"
    (found,) = scan(text)
    assert isinstance(found.directive, KernelDirective)
    count = found.directive.counts[0]
    assert count.count.text == "n + m"
    assert spelled(text, count.count.range) == "n \\\n+ m"
    assert (count.range.start.line, count.range.start.column) == (2, 3)
    assert (count.count.range.end.line, count.count.range.end.column) == (3, 4)
    assert (found.range.end.line, found.range.end.column) == (4, 9)


def test_a_token_split_by_a_continuation_is_whole() -> None:
    text = "#pragma tilek kernel num_threads(thr\\\neads)\n"
    (found,) = scan(text)
    assert isinstance(found.directive, KernelDirective)
    assert found.directive.counts[0].count.text == "threads"
    assert spelled(text, found.directive.counts[0].count.range) == "thr\\\neads"


def test_offsets_are_bytes_and_columns_characters() -> None:
    text = "/* größe */ #pragma tilek kernel /* ü */ num_threads(größe)\n"
    (found,) = scan(text)
    assert isinstance(found.directive, KernelDirective)
    count = found.directive.counts[0].count
    assert count.text == "größe"
    assert spelled(text, count.range) == "größe"
    assert count.range.start.column == text.index("größe)") + 1
    assert count.range.start.offset == text.encode().index("größe)".encode())


def test_bytes_that_are_no_utf8_do_no_harm() -> None:
    (found,) = scan(b"/* gr\xf6\xdfe */\n#pragma tilek loop /* \xff */\n")
    assert found.range.start.line == 2


def test_the_operator_is_unescaped_and_keeps_its_places() -> None:
    text = 'x; _Pragma ( /* c */ L"tilek kernel if(strcmp(s, \\"a\\\\\\\\n\\")) \\\n name(k)" ) for (;;);'
    (found,) = scan(text)
    assert isinstance(found.directive, KernelDirective)
    assert spelled(text, found.range) == text[3 : text.index(" for")]
    assert text[found.end_offset :] == " for (;;);"
    assert found.directive.condition is not None
    assert found.directive.condition.text == 'strcmp(s, "a\\\\n")'
    assert spelled(text, found.directive.condition.range) == 'strcmp(s, \\"a\\\\\\\\n\\")'
    assert found.directive.name == "k"


def test_operators_may_follow_each_other_on_a_line() -> None:
    assert len(texts('_Pragma("tilek kernel") _Pragma("tilek loop") for (;;);')) == 2


def test_a_macro_is_a_directive_wherever_it_is_used() -> None:
    text = '#define LOOP _Pragma("tilek loop tile(dynamic)") // x\nLOOP for (;;);\n/* LOOP */ "LOOP" LOOPS\n{LOOP}\n'
    result = scan(text)
    assert [spelled(text, item.range) for item in result] == ["LOOP", "LOOP"]
    assert [item.range.start.line for item in result] == [2, 4]
    assert isinstance(result[0].directive, LoopDirective)
    assert result[0].directive.range == result[0].range
    assert spelled(text, result[0].directive.tiles[0].range) == "tile(dynamic)"


def test_a_macro_holds_from_its_definition_until_it_is_undefined() -> None:
    text = 'LOOP\n#define LOOP _Pragma("tilek loop")\nLOOP\n#undef LOOP\nLOOP\n#define LOOP\nLOOP\n'
    diagnostics = Diagnostics()
    (found,) = find_directives("a.c", text.encode(), diagnostics)
    assert found.range.start.line == 3


def test_macros_may_hold_several_directives_and_other_macros() -> None:
    text = (
        '#define LOOP _Pragma("tilek loop")\n#define BOTH _Pragma("tilek kernel") LOOP /* both */\n'
        "#define ALIAS BOTH\nALIAS for (;;);\n"
    )
    first, second = scan(text)
    assert isinstance(first.directive, KernelDirective)
    assert isinstance(second.directive, LoopDirective)
    assert spelled(text, first.range) == spelled(text, second.range) == "ALIAS"


@pytest.mark.parametrize(
    "definitions",
    [
        "#define PRAGMA(x) _Pragma(#x)\n",
        "#define PRAGMA(...) _Pragma(#__VA_ARGS__)\n",
        "#define STRING(x) _Pragma(#x) // again\n#define PRAGMA(x) STRING(x)\n",
    ],
)
def test_a_macro_that_makes_a_pragma_of_its_argument_is_seen(definitions: str) -> None:
    text = definitions + 'PRAGMA(omp simd)\nPRAGMA (tilek kernel if(f(")"),\n  g) name(k)) for (;;);\nPRAGMA;\n'
    text = text.replace(",\n  g", "\n  + g")
    result = scan(text)
    assert [spelled(text, item.range) for item in result] == ['PRAGMA (tilek kernel if(f(")")\n  + g) name(k))']
    assert isinstance(result[0].directive, KernelDirective)
    assert result[0].directive.name == "k"
    assert text[result[0].end_offset :] == " for (;;);\nPRAGMA;\n"


def test_a_macro_in_a_body_is_looked_up_at_the_use() -> None:
    text = '#define ALIAS LOOP\nALIAS\n#define LOOP _Pragma("tilek loop")\nALIAS\n#undef LOOP\nALIAS\n'
    assert [each.line for each in starts(text)] == [4]


def test_macros_that_name_each_other_end() -> None:
    diagnostics = Diagnostics()
    text = b'#define ALIAS LOOP\n#define LOOP _Pragma("tilek loop") ALIAS\nLOOP ALIAS\n'
    assert find_directives("a.c", text, diagnostics) == ()
    assert "holds more than tilek directives" in diagnostics.items[0].message


def starts(text: str) -> list[Position]:
    result = find_directives("a.c", text.encode(), Diagnostics())
    return [item.range.start for item in result]


def test_a_macro_defined_away_in_a_skipped_branch_holds() -> None:
    text = '#if 1\n#define LOOP _Pragma("tilek loop")\n#else\n#define LOOP\n#endif\nLOOP for (;;);\n'
    skipped = [(text.index("#else"), text.index("#endif"))]
    (found,) = find_directives("a.c", text.encode(), Diagnostics(), skipped)
    assert found.range.start.line == 6


def test_macros_of_headers_hold_in_the_files_that_follow() -> None:
    header = b'#define PRAGMA(x) _Pragma(#x)\n#define LOOP _Pragma("tilek loop tile(dynamic)")\n'
    second = b"#define ALIAS LOOP\n"
    main = b"LOOP ALIAS PRAGMA(tilek routine)\n#undef LOOP\nALIAS\n"
    macros, diagnostics = MacroTable(), Diagnostics()
    assert find_directives("a.h", header, diagnostics, macros=macros) == ()
    assert find_directives("b.h", second, diagnostics, macros=macros) == ()
    result = find_directives("a.c", main, diagnostics, macros=macros)
    assert [main[item.range.start.offset : item.range.end.offset] for item in result] == [
        b"LOOP",
        b"ALIAS",
        b"PRAGMA(tilek routine)",
    ]
    assert isinstance(result[0].directive, LoopDirective)
    assert result[0].directive.range.file == "a.c"
    assert result[0].directive.tiles[0].range.file == "a.h"
    assert not diagnostics.items
    assert find_directives("a.c", b"LOOP", diagnostics) == ()


def test_such_a_macro_may_stand_in_the_body_of_another() -> None:
    text = "#define PRAGMA(x) _Pragma(#x)\n#define LOOP PRAGMA(tilek loop) PRAGMA(tilek routine)\nLOOP\n"
    first, second = scan(text)
    assert isinstance(first.directive, LoopDirective)
    assert isinstance(second.directive, RoutineDirective)


def test_macros_that_have_nothing_to_do_with_tilek_are_left_alone() -> None:
    text = (
        '#define N 10 // tilek\n#define SIMD _Pragma("omp simd") for\n#define F(x) _Pragma("omp simd") x\n'
        "#define G(x) #x\nSIMD (;;) F(tilek) G(tilek loop) N\n"
    )
    assert scan(text) == ()


def test_ranges_that_the_preprocessor_skips_have_no_directives_and_no_errors() -> None:
    text = "#if 0\n#pragma tilek nonsense\n#endif\n#pragma tilek loop\n"
    diagnostics = Diagnostics()
    skipped = [(text.index("#pragma"), text.index("#endif"))]
    (found,) = find_directives("a.c", text.encode(), diagnostics, skipped)
    assert found.range.start.line == 4
    assert not diagnostics.items


def test_a_directive_with_errors_is_returned_with_what_is_in_order() -> None:
    diagnostics = Diagnostics()
    (found,) = find_directives("a.c", b"#pragma tilek kernel nome(x) name(k)\n", diagnostics)
    assert isinstance(found.directive, KernelDirective)
    assert found.directive.name == "k"
    assert diagnostics.has_errors


def test_directives_in_a_long_file() -> None:
    body = b"   A[i][0] += B[i] * 2.0 + sin(1) / 3 - A[i-1][0]; /* it's \"some\" comment */ // and 'more'\n" * 95
    kernel = b"#pragma tilek kernel loop data(A[0:n][0:m], B[0:n]) tile(gang, 0) tile(worker, 0) tile(dynamic)\n"
    text = (kernel + b"for (int i = 0; i < n; i++) {\n" + body + b"}\n") * 20
    assert len(find_directives("a.c", text, Diagnostics())) == 20
