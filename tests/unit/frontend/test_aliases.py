"""Pointers declared inside kernels: they stand for what they were set to, or are refused."""

from __future__ import annotations

import pytest
from frontend_text import in_kernel, last_value, messages, nodes, text

from tilepragma.ir.expressions import Assignment
from tilepragma.ir.loop_tree import Declaration

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
    ("code", "reason"),
    [
        ("double *p = a; p++; a[i] = *p;", "it is changed after its declaration"),
        ("double *p; p = a; a[i] = *p;", "it has no value from the start"),
        ("double *p = a; double **q = &p; a[i] = *p;", "it is changed after its declaration"),
        ("void *p = 0; a[i] = 0;", "it is not set to the address of an element"),
        ("float *p = a; a[i] = *p;", "it is not set to the address of an element"),
        ("void *p = a; a[i] = 0;", "it is not set to the address of an element"),
        (
            "double *p = a + idx[i]; a[i] = *p;",
            "its index depends on 'idx', which may change while the pointer is used",
        ),
        (
            "int k = 1; double *p = a + k; k = 2; a[i] = *p;",
            "its index depends on 'k', which may change while the pointer is used",
        ),
        (
            "double *p = a + g->w; g->w = 3; a[i] = *p;",
            "its index depends on 'g->w', which may change while the pointer is used",
        ),
        (
            "double *p = a + n++; a[i] = *p;",
            "its index depends on a call or an assignment, which may change while the pointer is used",
        ),
    ],
)
def test_pointers_that_may_change_are_refused(code: str, reason: str) -> None:
    source = f"{TYPES}\nvoid f({PARAMETERS}) {{\n#pragma tilek kernel\nfor (int i = 0; i < m; i++) {{ {code} }} }}"
    results = [m for m in messages(source) if "'p'" in m]
    assert results[0] == f"error: the pointer 'p' cannot be used in a kernel: {reason}"


def test_an_index_may_change_outside_of_the_pointers_block() -> None:
    result = in_kernel("int k = 0; { double *p = a + k; p[0] = 1; } k = 2; a[k] = 0;")
    assert [text(n) for n in nodes(result.body, Assignment)] == ["a[k] = 1", "k = 2", "a[k] = 0"]
