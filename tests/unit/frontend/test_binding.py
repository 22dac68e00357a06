from __future__ import annotations

from pathlib import Path

import pytest
from frontend_text import kernel, messages, nodes, read, read_file, read_with

from tests.support.translation_units import parse_translation_unit
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.frontend.clang.compiler import CompilerFlags
from tilepragma.ir.loop_tree import Kernel, Loop, TranslationUnit


def region_text(source: str, found: Kernel) -> str:
    return source.encode()[found.range.start.offset : found.range.end.offset].decode()


@pytest.mark.parametrize(
    "statement",
    [
        "for (int i = 0; i < n; i++) a[i] = 0;",
        "for (int i = 0; i < n; i++) { a[i] = 0; }",
        "{ for (int i = 0; i < n; i++) a[i] = 0; }",
        "for (int i = 0; i < n; i++) if (a[i] > 0) a[i] = 0; else a[i] = 1;",
        "for (int i = 0; i < n; i++) do a[i] += 1; while (a[i] < 0);",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[j] = ';';",
        "for (int i = 0; i < n; i++) /* ; } */ a[i] = sizeof (struct { int x; });",
        "for (int i = 0; i < n; i++)\n#pragma omp simd\n  a[i] = ZERO(i);",
    ],
)
def test_a_region_is_the_whole_statement(statement: str) -> None:
    source = f"#define ZERO(x) (x)\nvoid f(int n, double *a) {{\n#pragma tilek kernel\n  {statement} a[0] = 1;\n}}\n"
    assert region_text(source, kernel(source)) == statement


@pytest.mark.parametrize(
    ("used", "behind"), [("WHOLE(a)", " else a[1] = 1;"), ("WHOLE(a)", ""), ("PART(a) ;", " a[1] = 1;")]
)
def test_a_region_out_of_a_macro_ends_with_its_use(used: str, behind: str) -> None:
    whole = "#define PART(a) for (int i = 0; i < n; i++) a[i] = 0\n#define WHOLE(a) PART(a);\n"
    source = f"{whole}void f(int n, double *a) {{\n  if (n > 3)\n#pragma tilek kernel\n  {used}{behind}\n}}\n"
    assert region_text(source, kernel(source)) == used


@pytest.mark.parametrize(
    "used",
    [
        "for (int i = 0; i < n; i++) { a[i] = 0; CLOSE",
        "BEGIN for (int i = 0; i < n; i++) a[i] = 0; CLOSE",
        "FOR BEGIN a[i] = 0; CLOSE",
        "FOR SET(a[i], (0));",
        "FOR SET(a[i],\n0)\n;",
        "FOR a[i] = 0 END",
        "AS_IT_IS(FOR) AS_IT_IS(AS_IT_IS({ a[i] = 0; }))",
        "for (int i = 0; i < n; i++)\n#if 1\n{\n#else\n{ {\n#endif\na[i] = 0; }",
        "for (int i = 0; i < n; i++) <% a[i] = '}'; /* } */ %>",
        "for (int i = 0; i < n; i++) a[i] = 0\n#if 0\n; }\n#endif\n;",
    ],
)
def test_macros_and_conditions_may_open_and_close_a_region(used: str) -> None:
    macros = "#define BEGIN {\n#define CLOSE }\n#define END ;\n#define AS_IT_IS(...) __VA_ARGS__\n"
    macros += "#define FOR for (int i = 0; i < n; i++)\n#define SET(x, y) x = y\n"
    source = f"{macros}void f(int n, double *a) {{\n#pragma tilek kernel\n  {used} a[0] = 1;\n}}\n"
    assert region_text(source, kernel(source)) == used


@pytest.mark.parametrize(
    "used",
    [
        "BOTH",
        "BOTH;",
        "for (int i = 0; i < n; i++) { a[i] = 0; CLOSE_ALL a[1] = 1; {",
        "for (int i = 0; i < n; i++) a[i] = 0 AND_MORE",
        "for (int i = 0; i < n; i++) TWO(a[i])",
        "if (n > 3)\n#pragma tilek kernel\n for (int i = 0; i < n; i++) a[i] = 0 ELSE a[1] = 1;",
    ],
)
def test_a_macro_that_holds_more_than_the_region_is_refused(used: str) -> None:
    loop = "for (int i = 0; i < n; i++) a[i] = 0;"
    macros = f"#define BOTH {loop} {loop}\n#define CLOSE_ALL }} }}\n#define AND_MORE ; a[1] = 1;\n"
    macros += "#define TWO(x) x = 0; a[2] = 2;\n#define ELSE ; else\n"
    pragma = "" if used.startswith("if") else "#pragma tilek kernel\n"
    refused = messages(f"{macros}void f(int n, double *a) {{ if (n) {{\n{pragma}{used}\n}} }}\n")
    assert refused == ["error: a macro that begins or ends this statement holds other tokens than the statement's"]


def test_a_region_that_ends_in_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "body.inc").write_text("a[i] = 0; }\n")
    main = tmp_path / "main.c"
    main.write_text(
        'void f(int n, double *a) {\n#pragma tilek kernel\nfor (int i = 0; i < n; i++) {\n#include "body.inc"\n}\n'
    )
    diagnostics = Diagnostics()
    parse_translation_unit(str(main), None, CompilerFlags(()), diagnostics)
    (refusal,) = [item for item in diagnostics if item.severity.value == "error"]
    assert "body.inc" in refusal.message and refusal.range.start.line == 3


@pytest.mark.parametrize(
    "between",
    [
        "\n\n/* a comment; for (;;) */ // another {\n",
        "\n#pragma omp parallel for\n",
        "\n#define X 1\n#undef X\n",
        "\n#if 0\nfor (;;) {}\n#endif\n",
        "\n#ifdef MISSING\nwhile (1)\n#else\n",
        "\n#pragma tilek loop seq\n",
        '\n_Pragma("omp simd") ',
        "\n#define NOTHING\nNOTHING ",
        '\n#define SIMD _Pragma("omp simd")\n#pragma tilek loop seq\nSIMD\n',
        "\n#define PRAGMA(x) _Pragma(#x)\nPRAGMA(omp parallel for schedule(static)) /* ours */\n",
        "\n#ifdef MISSING\n#pragma omp parallel for\n#endif\n",
    ],
)
def test_a_directive_binds_to_the_next_token(between: str) -> None:
    end = "\n#endif" if "#else" in between else ""
    loop = "for (int i = 0; i < n; i++) a[i] = 0;"
    source = f"void f(int n, double *a) {{\n#pragma tilek kernel{between}{loop}{end}\n}}\n"
    assert region_text(source, kernel(source)) == "for (int i = 0; i < n; i++) a[i] = 0;"


def test_pragma_operators_and_macros_are_directives_too() -> None:
    source = """#define GANGS _Pragma("tilek loop tile(gang)")
void f(int n, double a[n][n]) {
  _Pragma("tilek kernel") for (int i = 0; i < n; i++) { GANGS for (int j = 0; j < n; j++) a[i][j] = 0; }
}"""
    outer, inner = nodes(kernel(source).body, Loop)
    assert outer.directive is None
    assert inner.directive is not None


def test_directives_that_the_preprocessor_leaves_out_are_none() -> None:
    source = """void f(int n, double *a) {
#if 0
#pragma tilek kernel nonsense(3)
#endif
#ifdef FAST
#pragma tilek kernel
#endif
for (int i = 0; i < n; i++) a[i] = 0;
}"""
    assert read(source).kernels == ()
    assert len(read(source, "-DFAST").kernels) == 1


def test_a_loop_in_a_macro_can_be_a_kernel() -> None:
    source = """#define FOR(i, n) for (int i = 0; i < n; i++)
void f(int n, double *a) {
#pragma tilek kernel
  FOR(i, n) { a[i] = 0; }
}"""
    result = kernel(source)
    assert region_text(source, result) == "FOR(i, n) { a[i] = 0; }"
    assert isinstance(result.body.statements[0], Loop)


def test_names_come_from_the_clause_or_the_function_and_are_unique() -> None:
    loop = "for (int i = 0; i < n; i++) a[i] = 0;"
    pragma = "\n#pragma tilek kernel\n"
    source = (
        f"void f(int n, double *a) {{{pragma}{loop}{pragma}{loop}\n#pragma tilek kernel name(own)\n{loop}}}\n"
        f"void g(int n, double *a) {{{pragma}{loop}}}\nint main(void) {{ int n = 1; double a[1];{pragma}{loop} }}"
    )
    assert [each.name for each in read(source).kernels] == ["f", "f_2", "own", "g", "main_kernel"]


@pytest.mark.parametrize(
    "head",
    [
        "static inline void f(int n, double *a)",
        "__attribute__((noinline)) static void f(int n, double *a)",
        "extern __attribute__((noinline, cold))\nvoid\nf(int n, double *a)",
        "#pragma tilek routine\nstatic void f(int n, double *a)",
    ],
)
def test_code_of_file_scope_goes_before_the_functions_declaration(head: str) -> None:
    source = f"int before;\n{head} {{\n#pragma tilek kernel\nfor (int i = 0; i < n; i++) a[i] = 0; }}\n"
    result = kernel(source)
    start = source.index(head) + (len("#pragma tilek routine\n") if head.startswith("#") else 0)
    assert result.enclosing.insertion == start
    assert result.enclosing.function == "f"
    assert result.enclosing.file == "test.c"


def test_standard_input_is_read_under_the_name_it_is_given() -> None:
    unit, diagnostics = read_with("void f(int n, double *a) {\n#pragma tilek kernel\na[0] = n; }", path="<stdin>")
    assert unit is not None
    (item,) = diagnostics
    assert (item.range.file, item.range.start.line) == ("<stdin>", 2)


def test_a_missing_file_is_an_error() -> None:
    diagnostics = Diagnostics()
    assert parse_translation_unit("there_is_none.c", None, CompilerFlags(), diagnostics) is None
    assert [item.message for item in diagnostics] == ["the file 'there_is_none.c' does not exist"]


def test_a_broken_directive_and_a_broken_kernel_are_reported_in_one_run() -> None:
    source = """void f(int n, double *a) {
#pragma tilek kernel
for (int i = 0; i < n; i++) { x: ; goto x; }
#pragma tilek nonsense
}"""
    reported = messages(source)
    assert reported[0] == "error: a label cannot stand in a kernel"
    assert "nonsense" in reported[-1]


@pytest.fixture
def headers(tmp_path: Path) -> TranslationUnit:
    (tmp_path / "inner.h").write_text("""#ifndef INNER_H
#define INNER_H
#include <stddef.h>
static inline void scale(int n, double *a, double b)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        a[i] *= b;
#if 0
#pragma tilek kernel
#endif
}
#endif
""")
    (tmp_path / "outer.h").write_text('#include "plain.h"\n#  include \\\n  "inner.h" /* why */\n')
    (tmp_path / "plain.h").write_text("typedef double number;\n")
    (tmp_path / "main.c").write_text("""#include <stdio.h>
#include "outer.h"
#include "inner.h"
void f(int n, number *a)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        a[i] = 0;
    scale(n, a, 2);
}
""")
    return read_file(tmp_path / "main.c")


def test_headers_with_directives_and_those_that_bring_them_in_are_files(
    headers: TranslationUnit, tmp_path: Path
) -> None:
    assert [Path(file.path).name for file in headers.files] == ["main.c", "outer.h", "inner.h"]
    assert [len(file.pragmas) for file in headers.files] == [1, 0, 1]
    assert [(Path(i.range.file).name, i.range.start.line, Path(i.included).name) for i in headers.inclusions] == [
        ("main.c", 2, "outer.h"),
        ("outer.h", 2, "inner.h"),
    ]
    first = headers.inclusions[1].range
    text = (tmp_path / "outer.h").read_bytes()[first.start.offset : first.end.offset]
    assert text == b'#  include \\\n  "inner.h" /* why */'


def test_kernels_of_headers_stand_in_their_file(headers: TranslationUnit) -> None:
    assert [(k.name, Path(k.range.file).name, k.range.start.line) for k in headers.kernels] == [
        ("f", "main.c", 7),
        ("scale", "inner.h", 7),
    ]
    assert headers.kernels[1].enclosing.function == "scale"


def test_dependencies_are_apart_from_those_of_the_system(headers: TranslationUnit) -> None:
    assert [Path(p).name for p in headers.dependencies] == ["main.c", "outer.h", "plain.h", "inner.h"]
    assert "stdio.h" in [Path(p).name for p in headers.system_dependencies]
    assert not set(headers.dependencies) & set(headers.system_dependencies)


LOOP = "#pragma tilek kernel\nfor (int i = 0; i < n; i++) a[i] = i;\n"


@pytest.mark.parametrize(
    ("header", "main", "message"),
    [
        (
            f"void NAME(int n, TYPE *a) {{\n{LOOP}}}\n",
            '#define NAME f\n#define TYPE int\n#include "part.h"\n#define NAME g\n#define TYPE float\n#include "part.h"\n',
            "is included more than once, each time with this text, which then stands for several kernels",
        ),
        (
            LOOP,
            'void f(int n, double *a) {\n#include "part.h"\n}\n',
            "'#pragma tilek kernel' stands in a file that is included inside a function, where no launch can be put around a loop",
        ),
    ],
)
def test_one_text_of_a_header_is_one_kernel_of_a_function_there(
    tmp_path: Path, header: str, main: str, message: str
) -> None:
    (tmp_path / "part.h").write_text(header)
    (tmp_path / "main.c").write_text(main)
    diagnostics = Diagnostics()
    parse_translation_unit(str(tmp_path / "main.c"), None, CompilerFlags(()), diagnostics)
    (refusal,) = [item for item in diagnostics if item.severity.value == "error"]
    assert refusal.message.endswith(message)
    assert Path(refusal.range.file).name == "part.h"


def test_parts_of_a_header_are_included_one_after_another(tmp_path: Path) -> None:
    body = LOOP.replace("a[i] = i;", "\n#if 0\n{\n#else\na[i] = i;\n#endif\n")
    parts = [f"#ifdef PART_{name}\nvoid {name}(int n, double *a) {{\n{body}}}\n#endif\n" for name in "fgh"]
    (tmp_path / "part.h").write_text("".join(parts) + f"#if 0\n{LOOP}#endif\n")
    includes = [f'#define PART_{name}\n#include "part.h"\n#undef PART_{name}\n' for name in "fh"]
    (tmp_path / "main.c").write_text("".join(includes))
    assert [k.name for k in read_file(tmp_path / "main.c").kernels] == ["f", "h"]


def test_macros_of_headers_stand_for_directives(tmp_path: Path) -> None:
    (tmp_path / "tiles.h").write_text("""#define PRAGMA(text) _Pragma(#text)
#define KERNEL _Pragma("tilek kernel")
#define PARALLEL PRAGMA(tilek loop independent)
""")
    (tmp_path / "main.c").write_text("""#include "tiles.h"
void f(int n, double *a)
{
    KERNEL
    PARALLEL
    for (int i = 0; i < n; i++)
        a[i] = 0;
    PRAGMA(tilek kernel name(second))
    for (int i = 0; i < n; i++)
        a[i] += 1;
}
""")
    unit = read_file(tmp_path / "main.c")
    assert [(k.name, k.range.start.line) for k in unit.kernels] == [("f", 6), ("second", 9)]
    (loop,) = unit.kernels[0].body.statements
    assert isinstance(loop, Loop)
    assert loop.directive is not None
    assert loop.directive.independent
    assert [len(file.pragmas) for file in unit.files] == [3]
