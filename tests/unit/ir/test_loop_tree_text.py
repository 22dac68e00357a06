"""The readable form of LoopTrees."""

from __future__ import annotations

import textwrap

from tests.support.translation_units import parse_translation_unit
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.frontend.clang.compiler import CompilerFlags
from tilepragma.ir.loop_tree_text import statement_text
from tilepragma.ir.traversal import walk


def dumped(body: str) -> str:
    source = f"""
    #include <math.h>
    struct point {{ double x, y[2]; }};
    double twice(double v) {{ return v * 2; }}
    void f(int n, double *a, struct point *p) {{
    #pragma tilek kernel
      {{ {body} }}
    }}"""
    diagnostics = Diagnostics()
    unit = parse_translation_unit("t.c", textwrap.dedent(source).encode(), CompilerFlags(), diagnostics)
    assert unit is not None and not diagnostics.has_errors, [item.message for item in diagnostics]
    (kernel,) = unit.kernels
    assert list(walk(kernel.body))
    return statement_text(kernel.body)


def test_loops_and_conditions() -> None:
    text = dumped("for (int i = n - 1; i >= 0; i--) { if (a[i] > 0) a[i] = -a[i]; else { a[i] += 1; } }")
    assert text == textwrap.dedent(
        """\
        for (i = n - 1; i >= 0; i += -1)
          if (a[i] > 0)
            a[i] = -(a[i]);
          else
            a[i] += 1;
        """
    ).replace("-(a[i])", "-a[i]")


def test_other_statements() -> None:
    text = dumped(
        "for (int i = 0; i < n; i++) { double t[2] = {1, 2}; int k = 0;"
        " while (k < 3) { k++; if (k == 2) break; else continue; } do { --k; } while (k > 0);"
        " for (int q = 1; q < n; q *= 2) a[q] = 0; a[i] = t[0]; }"
    )
    for line in ("double t[2] = {1, 2};", "while (k < 3)", "break;", "continue;", "do … while (k > 0)", "--k;"):
        assert line in [line.strip() for line in text.splitlines()]
    assert "for, not canonical" in text


def test_expressions() -> None:
    text = dumped(
        "for (int i = 0; i < n; i++)"
        " a[i] = twice(sqrt(p[i].y[1])) + (float)(p[i].x * 2) - (i > 2 && !i ? 1 : (a[0]++, 2)) * ~i;"
    )
    expected = "a[i] = twice(sqrt(p[i].y[1])) + (float)(p[i].x * 2) - "
    assert text.splitlines()[1].strip().startswith(expected)
    assert "(a[0]++, 2)" in text
    assert "~i" in text
