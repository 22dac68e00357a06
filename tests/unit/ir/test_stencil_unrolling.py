"""Short loops with their rounds written out: the same statements in the same order, and which loops stay."""

from __future__ import annotations

import pytest

from tests.support.scops import kernel_of
from tilepragma.ir.loop_tree import ExpressionStatement, Kernel
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.stencil_unrolling import with_unrolled_stencil_loops
from tilepragma.ir.traversal import loops_in, walk


def region(inside: str, before: str = "", after: str = "") -> Kernel:
    body = f"{before}for (int i = 2; i < n - 2; i++) {{\ndouble s = 0;\n{inside}\na[i] = s;\n}}\n{after}"
    return kernel_of("int n, double a[n], double b[n]", body)


def updates(kernel: Kernel) -> list[str]:
    """What is added, statement by statement."""
    result = (node.expression for node in walk(kernel.body) if isinstance(node, ExpressionStatement))
    return [text.removeprefix("s += ") for each in result if "s +=" in (text := expression_text(each))]


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("for (int k = -1; k <= 1; k++) s += k * a[i + k];", ["-1 * a[i + -1]", "0 * a[i + 0]", "1 * a[i + 1]"]),
        ("for (int k = 2; k > 0; k -= 1) s += b[k - 1];", ["b[1]", "b[0]"]),
        ("for (int k = 0; k != 2; k++) if (k) s += a[i]; else s += b[k];", ["b[0]", "a[i]"]),
        ("for (int k = 0; k < 3; k++) if (k < 1 || !(k != 2)) s += b[k];", ["b[0]", "b[2]"]),
        ("for (int k = 0; k < 2; k++) for (int l = 0; l < k; l++) s += b[l];", ["b[l]"]),
        ("for (int k = 0; k < 2; k++) for (int l = k; l < 2; l++) s += b[l];", ["b[l]"]),
        (
            "for (int k = 0; k < 2; k++) for (int l = 0; l < 2; l++) { if (k != l && b[i] > 0) s += b[l]; }",
            ["b[1]", "b[0]"],
        ),
        ("for (int k = 3; k < 2; k++) s += b[k];", []),
    ],
)
def test_rounds_in_their_order(inside: str, expected: list[str]) -> None:
    changed = with_unrolled_stencil_loops(region(inside))
    assert updates(changed) == expected
    assert len(list(loops_in(changed.body))) == (3 if "b[l]" in expected and len(expected) == 1 else 1)


@pytest.mark.parametrize(
    "kernel",
    [
        region("for (int k = 0; k < 8; k++) s += b[k];"),
        region("for (int k = 0; k < n; k++) s += b[k];"),
        region("for (int k = 0; k < 3; k++) b[k] = i;"),
        region("for (int k = 0; k < 3; k++) { double t = b[k]; s += t; }"),
        region("for (int k = 0; k < 3; k++) { if (b[k] > 0) continue; s += b[k]; }"),
        region(
            "for (int k = 0; k < 7; k++) { s += 1; s += 2; s += 3; s += 4; s += 5; s += 6; s += 7; s += 8; s += 9; s += 0; }"
        ),
        region("for (k = 0; k < 3; k++) s += b[k];", "int k;\n", "b[0] = k;"),
    ],
)
def test_what_stays(kernel: Kernel) -> None:
    assert with_unrolled_stencil_loops(kernel) is kernel


def test_updates_of_elements_that_stay_the_same() -> None:
    sums = "for (int k = 0; k < 2; k++) s += b[k];"
    kernel = region(f"{sums}\nfor (int k = 0; k < 2; k++) b[i] += a[i + k];\nfor (int k = 0; k < 2; k++) b[k] += a[i];")
    changed = with_unrolled_stencil_loops(kernel, elements=True)
    statements = (node.expression for node in walk(changed.body) if isinstance(node, ExpressionStatement))
    texts = [expression_text(each) for each in statements]
    assert texts == ["s += b[k]", "b[i] += a[i + 0]", "b[i] += a[i + 1]", "b[k] += a[i]", "a[i] = s"]


def test_loops_with_a_directive_stay() -> None:
    kernel = region("#pragma tilek loop seq\nfor (int k = 0; k < 2; k++) b[i] += a[i + k];")
    assert with_unrolled_stencil_loops(kernel, elements=True) is kernel
