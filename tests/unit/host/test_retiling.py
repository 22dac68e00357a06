"""Other tiles of a kernel's two outermost loops, in its source."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilepragma.base.refusals import RefusalError
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.driver.texts import retiling

LOOPS = """\
    for (int i = 0; i < n; i++)
{inner}        for (int j = 0; j < n; j++)
            a[i][j] = 1;
"""
NEW = ("num_threads(3)", "tile[1](dynamic)", "tile(thread) tile[0](dynamic)")


def other(folder: Path, directives: str, loops: str) -> str:
    source = folder / "a.c"
    source.write_text(f"void f(int n, float a[n][n])\n{{\n{directives}{loops}}}\n")
    result = translate(TranslateRequest(str(source), last="choose_sizes"))
    return retiling(result, result.plans[0]).retiled(*NEW).decode()


@pytest.mark.parametrize(
    ("directives", "inner"),
    [
        ("#pragma tilek kernel\n", ""),
        ("#pragma tilek kernel \\\n  num_threads(7)\n#pragma tilek loop tile(thread) tile(dynamic)\n", ""),
        ("#pragma tilek kernel loop tile(size, 5) independent\n", "#pragma tilek loop tile[2](dynamic)\n"),
    ],
)
def test_tiles_take_the_place_of_others(tmp_path: Path, directives: str, inner: str) -> None:
    text = other(tmp_path, directives, LOOPS.format(inner=inner))
    (tmp_path / "b.c").write_text(text)
    result = translate(TranslateRequest(str(tmp_path / "b.c"), last="verify"))
    assert result.succeeded, text
    [plan] = result.plans
    assert [count.count.text for count in plan.kernel.directive.counts] == ["3"]
    kinds = [
        [(tile.kind.value, tile.order) for tile in loop.directive.tiles]
        for loop in (plan.kernel.body.statements[0], plan.kernel.body.statements[0].body.statements[0])
    ]
    assert kinds == [[("dynamic", 1)], [("thread", None), ("dynamic", 0)]]
    assert plan.kernel.directive.independent == ("independent" in directives) or "loop" in directives


@pytest.mark.parametrize(
    ("directives", "loops", "message"),
    [
        ("#pragma tilek kernel\n", "    for (int i = 0; i < n; i++) a[i][i] = 1;\n", "does not begin with two loops"),
        ('_Pragma("tilek kernel")\n', LOOPS.format(inner=""), "has a directive that is no line"),
        (
            "#define EACH(i) for (int i = 0; i < n; i++)\n#pragma tilek kernel\n",
            "EACH(i) EACH(j) a[i][j] = 1;\n",
            "out of macros",
        ),
    ],
)
def test_kernels_whose_tiles_cannot_be_replaced(tmp_path: Path, directives: str, loops: str, message: str) -> None:
    with pytest.raises(RefusalError, match=message):
        other(tmp_path, directives, loops)


def test_counts_take_the_place_of_others(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text(
        f"void f(int n, float a[n][n])\n{{\n#pragma tilek kernel num_threads(7) independent\n{LOOPS.format(inner='')}}}\n"
    )
    result = translate(TranslateRequest(str(source), last="choose_sizes"))
    text = retiling(result, result.plans[0]).recounted("num_workers(16, 4)")
    assert b"#pragma tilek kernel  independent num_workers(16, 4)\n" in text


def test_innermost_loops_are_unrolled(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text(f"void f(int n, float a[n][n])\n{{\n#pragma tilek kernel\n{LOOPS.format(inner='')}}}\n")
    result = translate(TranslateRequest(str(source), last="choose_sizes"))
    source.write_bytes(retiling(result, result.plans[0]).unrolled(4))
    again = translate(TranslateRequest(str(source), last="verify"))
    assert again.succeeded
    assert source.read_text().count("#pragma tilek loop unroll(4)\nfor (int j") == 1
    with pytest.raises(RefusalError, match="has an 'unroll' clause already"):
        retiling(again, again.plans[0]).unrolled(2)
