"""Pointers declared inside kernels: they stand for what they were set to, or are refused."""

from __future__ import annotations

import pytest
from frontend_text import in_kernel, last_value, messages, nodes, text

from tilepragma.ir.expressions import Assignment
from tilepragma.ir.loop_tree import Declaration, Declarator, ExpressionStatement

PARAMETERS = "int n, int m, double *a, double **A, point *ps, const int *idx, struct grid *g"
TYPES = "typedef struct { double x; double v[3]; } point; struct grid { int w; double *u; };"


@pytest.mark.parametrize(
    ("declaration", "use", "expected"),
    [
        ("double *p = a;", "p[i]", "a[i]"),
        ("double *p = A[i];", "p[1] + *p", "(A[i][1] + A[i][0])"),
        ("const double *p = &a[i * m];", "p[1]", "a[((long)(i * m) + 1)]"),
        ("const double *const p = a + i, *q = p - 1;", "*q", "a[((long)i - 1)]"),
        ("point *p = ps + i;", "p->x + (*p).v[2] + p[1].x", "((ps[i].x + ps[i].v[2]) + ps[((long)i + 1)].x)"),
        ("double *p = g->u + i * g->w;", "p[1]", "g_u[((long)(i * g_w) + 1)]"),
        ("double t[4]; double *p = t;", "p[1]", "t[1]"),
        ("double s = 1; double *p = &s;", "*p", "s"),
        ("int k = i * 2; double *p = a + k;", "p[1]", "a[((long)k + 1)]"),
    ],
)
def test_a_pointer_stands_for_its_element(declaration: str, use: str, expected: str) -> None:
    assert last_value(in_kernel(f"{declaration} a[0] = {use};", PARAMETERS, TYPES)) == expected


def test_writes_through_a_pointer_are_writes_of_the_array() -> None:
    result = in_kernel("double *row = A[i]; for (int j = 0; j < m; j++) row[j] += 1;", PARAMETERS, TYPES)
    assert [text(n) for n in nodes(result.body, Assignment)] == ["A[i][j] += 1"]
    assert nodes(result.body, Declaration) == []


def test_pointers_of_called_functions() -> None:
    before = "static double at(const double *v, int k) { const double *p = v + k; return *p; }"
    result = in_kernel("a[i] = at(a, i);", before=before)
    (function,) = result.functions
    assert text(function.body.statements[0].value) == "v[k]"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("double *p = a; p++; a[i] = *p;", ["p = 0l", "p++", "a[i] = a[p]"]),
        ("double *p; p = a + i; a[i] = *p;", ["p", "p = (long)i", "a[i] = a[p]"]),
        ("double *p = a + idx[i]; a[i] = *p;", ["p = (long)idx[i]", "a[i] = a[p]"]),
        ("int k = 1; double *p = a + k; k = 2; a[i] = *p;", ["k = 1", "p = (long)k", "k = 2", "a[i] = a[p]"]),
        ("double *p = a + n++; a[i] = p[1];", ["p = (long)n++", "a[i] = a[(p + 1)]"]),
        ("double *p = &a[i]; p -= m; a[i] = p[-1];", ["p = (long)i", "p -= m", "a[i] = a[(p + -1)]"]),
        ("double *p = A[i]; *p++ = 1;", ["p = 0l", "A[i][p++] = 1"]),
        ("double *p = A[idx[i]]; p[1] = 0;", ["p_row = (long)idx[i]", "A[p_row][1] = 0"]),
        (
            "int k = i; double *p = A[k]; k = 0; *p++ = 1;",
            ["k = i", "p_row = (long)k", "p = 0l", "k = 0", "A[p_row][p++] = 1"],
        ),
        (
            "double t[3][4]; double *p = t[0]; t[1][0] = *p++;",
            ["t", "p = 0l", "t[1][0] = t[0][p++]"],
        ),
        (
            "double *p = a, *r = p + 3; p++; r = p < r ? r - 1 : p; a[r - p] = 0;",
            ["p = 0l", "r = (p + 3)", "p++", "r = ((p < r) ? (r - 1) : p)", "a[(r - p)] = 0"],
        ),
    ],
)
def test_a_pointer_that_changes_is_the_number_of_its_element(code: str, expected: list[str]) -> None:
    result = in_kernel(code, PARAMETERS, TYPES)
    declared = [part for part in nodes(result.body, Declarator) if part.object.host != "i"]
    parts = [*declared, *nodes(result.body, ExpressionStatement)]
    assert sorted(map(written, parts)) == sorted(expected)


def written(part: Declarator | ExpressionStatement) -> str:
    if isinstance(part, ExpressionStatement):
        return text(part.expression)
    return part.object.host if part.value is None else f"{part.object.host} = {text(part.value)}"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("double *p; a[i] = 0;", "it has no value"),
        ("double *p = a; p = A[i]; a[i] = *p;", "it is set to an address that is no element of a named array"),
        ("double *p = a; if (i) p = g->u; a[i] = *p;", "it is set to elements of several arrays"),
        ("double *p = i ? a : g->u; a[i] = *p;", "it is set to elements of several arrays"),
        ("double *p = a; double **q = &p; a[i] = *p;", "its address is taken"),
        ("void *p = 0; a[i] = 0;", "it is not set to the address of an element"),
        ("float *p = a; a[i] = *p;", "it is not set to the address of an element"),
        ("void *p = a; a[i] = 0;", "it is not set to the address of an element"),
    ],
)
def test_pointers_that_may_change_are_refused(code: str, reason: str) -> None:
    source = f"{TYPES}\nvoid f({PARAMETERS}) {{\n#pragma tilek kernel\nfor (int i = 0; i < m; i++) {{ {code} }} }}"
    results = [m for m in messages(source) if "'p'" in m]
    assert results[0] == f"error: the pointer 'p' cannot be used in a kernel: {reason}"


def test_an_index_may_change_outside_of_the_pointers_block() -> None:
    result = in_kernel("int k = 0; { double *p = a + k; p[0] = 1; } k = 2; a[k] = 0;")
    assert [text(n) for n in nodes(result.body, Assignment)] == ["a[k] = 1", "k = 2", "a[k] = 0"]
