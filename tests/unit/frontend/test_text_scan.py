from __future__ import annotations

from tilepragma.frontend.pragma.text_scan import (
    declaration_start,
    header_semicolons,
    macro_use_end,
    next_statement,
    skip_blank,
    tokens,
)


def test_tokens_pass_over_all_that_is_no_code() -> None:
    text = b'a /* x */ += "s;\\"" // c\n# define X ; \\\n more\n\'}\' ; _Pragma("omp (") .5e-3'
    assert [token for _, token in tokens(text, 0)] == [b"a", b"+", b"=", b'"s;\\""', b"'}'", b";", b".5e-3"]


def test_next_statement_jumps_over_directives_and_skipped_text() -> None:
    text = b"AAAA /* c */ BBBB\n#if 0\nxx\n#endif\ny;"
    start = text.index(b"xx")
    assert next_statement(text, 0, {0: 4, 13: 17}, [(start, start + 3)]) == text.index(b"y;")
    assert next_statement(b"  // end", 0, {}, []) is None


def test_macro_use_end() -> None:
    assert macro_use_end(b"SIMD for (;;) ;", 0) == 4
    assert macro_use_end(b"OMP (for (a)) for (;;) ;", 0) == 13
    assert macro_use_end(b"else for (;;) ;", 0) is None
    assert macro_use_end(b"{ }", 0) is None


def test_header_semicolons() -> None:
    text = b"for (int i = f(';', (1)); i < 3; i++) { ; ; }"
    assert header_semicolons(text, 0) == (text.index(b"; i <"), text.index(b"; i++"))
    assert header_semicolons(b"FOR(i) x;", 0) is None
    text = b"for (\n#if 0\ni = 0;\n#endif\n; i < 3;) ;"
    skipped = [(text.index(b"#if"), text.index(b"#endif") + 6)]
    assert header_semicolons(text, 0) is None
    assert header_semicolons(text, 0, skipped) == (text.index(b"; i <"), text.index(b";) ;"))


def test_declaration_start_takes_attributes_and_storage_classes_in() -> None:
    text = b"int a;\n__attribute__((cold)) static inline void f(void)"
    assert declaration_start(text, text.index(b"void f")) == text.index(b"__attr")
    assert declaration_start(text, text.index(b"int a")) == 0


def test_declaration_start_is_in_front_of_conditions_on_attributes() -> None:
    text = b"#if A\nint a;\n#endif\n#define N 3\n#if B\n# if C\n__attribute__((cold)) // why\n# endif\n#endif\nstatic\nvoid f(void)"
    assert declaration_start(text, text.index(b"void f")) == text.index(b"#if B")
    text = b"#if A\nint a;\n#else\nstatic /* one */\n#define N 3\nvoid f(void)\n#endif"
    assert declaration_start(text, text.index(b"void f")) == text.index(b"static")


def test_skip_blank_at_the_end() -> None:
    assert skip_blank(b"a ", 1) == 2
