"""Last values of iterators against counting: triangles, steps, conditions, several loops over one iterator."""

from __future__ import annotations

import itertools

import pytest

from tests.support.scops import kernel_of
from tilepragma.ir.expressions import Access, Binary, Call, Cast, Conditional, Expression, IntegerLiteral, Unary
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Loop
from tilepragma.ir.polynomial import expression, number, polynomial
from tilepragma.ir.traversal import walk
from tilepragma.poly.iterator_values import is_loop_end, loop_end

PYTHON = {"&&": "and", "||": "or", "/": "//"}


def text(value: Expression) -> str:
    """The expression as Python; quotients here have dividends that are not negative."""
    if isinstance(value, IntegerLiteral):
        return str(value.value)
    if isinstance(value, Access):
        return value.object.host
    if isinstance(value, Cast):
        return text(value.operand)
    if isinstance(value, Unary):
        return f"({'not ' if value.operator == '!' else value.operator}{text(value.operand)})"
    if isinstance(value, Conditional):
        return f"({text(value.then)} if {text(value.condition)} else {text(value.otherwise)})"
    if isinstance(value, Call):
        arguments = [text(argument) for argument in value.arguments]
        if value.function == "tilek_floor_quotient":
            return f"({arguments[0]} // {arguments[1]})"
        if value.function == "tilek_ceiling_quotient":
            return f"(-(-{arguments[0]} // {arguments[1]}))"
        return f"{value.function.removeprefix('tilek_')[:3]}({', '.join(arguments)})"
    assert isinstance(value, Binary)
    return f"({text(value.left)} {PYTHON.get(value.operator, value.operator)} {text(value.right)})"


@pytest.mark.parametrize(
    ("body", "python"),
    [
        (
            "for (int i = 0; i < n; i++) for (k = i; k < m; k++) a[k] = 0;",
            "for i in range(n):\n k = i\n while k < m: k += 1",
        ),
        (
            "for (int i = n; i > 0; i--) for (int j = i; j < m; j += 3) for (k = j; k >= i; k -= 2) a[k] = 0;",
            "for i in range(n, 0, -1):\n for j in range(i, m, 3):\n  k = j\n  while k >= i: k -= 2",
        ),
        (
            "for (int i = 0; i < n; i++) { if (i < m) for (k = 0; k < i; k++) a[k] = 0; else a[i] = 1; }",
            "for i in range(n):\n if i < m:\n  k = 0\n  while k < i: k += 1",
        ),
        (
            "for (int i = 0; i < n; i++) { for (k = 0; k < i; k += 2) a[k] = 0; if (i % 2 == 0) for (k = 9; k > m; k--) a[k] = 1; }",
            "for i in range(n):\n k = 0\n while k < i: k += 2\n if i % 2 == 0:\n  k = 9\n  while k > m: k -= 1",
        ),
        (
            "for (k = 0; k < n; k++) a[k] = 0; for (int i = 1; i < m; i++) for (k = i; k < i + 3; k++) a[k] = 1;",
            "k = 0\nwhile k < n: k += 1\nfor i in range(1, m):\n k = i\n while k < i + 3: k += 1",
        ),
    ],
)
def test_the_last_loop_entered_counts(body: str, python: str) -> None:
    kernel = kernel_of("int n, int m, int k, double *a", body)
    (iterator,) = {node.iterator for node in walk(kernel.body) if isinstance(node, Loop) and node.iterator.host == "k"}
    statements, written = kernel.body.statements, written_objects(kernel)
    result = loop_end(statements, iterator, written)
    assert result is not None
    end, condition = result
    for n, m in itertools.product(range(-2, 9), repeat=2):
        wanted = {"n": n, "m": m, "k": 77}
        exec(python, {}, wanted)
        holds = condition is None or eval(text(condition), {}, {"n": n, "m": m})
        value = eval(text(end), {"min": min, "max": max}, {"n": n, "m": m}) if holds else 77
        assert value == wanted["k"], (n, m, text(end))
    assert is_loop_end(end, condition, statements, iterator, written)
    other = expression(polynomial(end) + number(1))
    assert not is_loop_end(other, condition, statements, iterator, written)
    if condition is not None:
        assert not is_loop_end(end, None, statements, iterator, written)


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < n; i++) if (a[i] > 0) for (k = 0; k < i; k++) a[k] = 0;",
        "for (int i = 0; i < n; i++) { for (k = 0; k < i; k++) a[k] = 0; if (i > 2) k = 3; }",
        "for (int i = 0; i < n; i++) for (k = 0; k < i; k++) if (a[k] > 0) break;",
        "for (int i = 0; i < n; i++) for (k = 0; k < i * i; k++) a[k] = 0;",
        "int l = 0; while (l < n) { for (k = 0; k < l; k++) a[k] = 0; l++; }",
    ],
)
def test_what_data_decide_is_not_known(body: str) -> None:
    kernel = kernel_of("int n, int m, int k, double *a", body)
    (iterator,) = {
        node.iterator for node in walk(kernel.body) if isinstance(node, Loop) and node.iterator.host == "k"
    } or {use for use in kernel.objects if use.host == "k"}
    assert loop_end(kernel.body.statements, iterator, written_objects(kernel)) is None
