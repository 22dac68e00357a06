"""Which lines before a loop stay before it in kernels."""

from __future__ import annotations

import pytest

from tilepragma.base.source_ranges import Position, SourceRange
from tilepragma.frontend.pragma.loop_pragmas import loop_pragmas
from tilepragma.ir.loop_tree import LoopPragma, PragmaClause


def place(first: int, last: int) -> SourceRange:
    return SourceRange(Position("a.c", 1, 1, first), Position("a.c", 1, 1, last))


def read(lines: str) -> tuple[LoopPragma, ...]:
    text = f"x = 1;\n{lines}\n    for (;;) ;\n".encode()
    return loop_pragmas(text, text.index(b"for"), place)


@pytest.mark.parametrize(
    ("line", "pragma"),
    [
        ("#pragma omp simd", LoopPragma("omp simd")),
        ("  #  pragma omp   simd safelen(8), simdlen( 4 ) // wide", LoopPragma("omp simd safelen(8) simdlen( 4 )")),
        (
            "#pragma omp simd reduction(+ : s, t) \\\n  private(k) aligned(a, b : 64)",
            LoopPragma(
                "omp simd",
                (
                    PragmaClause("reduction", "+", ("s", "t"), ""),
                    PragmaClause("private", "", ("k",), ""),
                    PragmaClause("aligned", "", ("a", "b"), ": 64"),
                ),
            ),
        ),
        ("#pragma GCC ivdep", LoopPragma("GCC ivdep")),
        ("#pragma GCC unroll 4\n\n/* four rows */", LoopPragma("GCC unroll 4")),
        ("#ifdef A\n#pragma clang loop vectorize(enable) unroll_count(2)\n#endif",
         LoopPragma("clang loop vectorize(enable) unroll_count(2)")),
        ("#pragma omp simd safelen(WIDTH)", None),  # a macro may mean something else where the kernel stands
        ("#pragma omp simd reduction(my_add : s)", None),
        ("#pragma omp simd collapse(2)", None),
        ("#pragma omp simd private(k : 64)", None),
        ("#pragma omp simd aligned(a", None),
        ("#pragma omp parallel for simd", None),
        ("#pragma tilek kernel", None),
        ("#pragma omp simd\ny = 2;", None),
        ("#pragma omp simd\ny = 2; if (y)\\", None),
    ],
)  # fmt: skip
def test_lines_before_a_loop(line: str, pragma: LoopPragma | None) -> None:
    assert read(line) == (() if pragma is None else (pragma,))


def test_several_lines_stand_in_their_order() -> None:
    lines = read("#pragma GCC ivdep\n#pragma tilek loop\n#pragma GCC unroll 2")
    assert [line.text for line in lines] == ["GCC ivdep", "GCC unroll 2"]
    assert lines[0].range.start.offset == len("x = 1;\n")


def test_a_loop_behind_other_text_of_its_line_has_none() -> None:
    text = b"#pragma omp simd\nif (n) for (;;) ;\n"
    assert loop_pragmas(text, text.index(b"for"), place) == ()
