"""Escape analysis: gathers from allocations that no other pointer leads to run in parallel."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan

BEFORE = """
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
static double *global;
struct s { double *u; };
static void fill(double *p, int n) { for (int i = 0; i < n; i++) p[i] = i; }
static void fill_deep(double *p, int n) { fill(p + 1, n - 1); }
static void keep(double *p) { global = p; }
static void keep_deep(double *p) { keep(p); }
static void change(double **p) { *p = global; }
static double *same(double *p) { return p; }
void other(double *p);
"""


def gathers_in_parallel(code: str, declared: str = "*a = malloc(n * 8), *b = malloc(n * 8), *c = 0") -> bool:
    made = plan(f"""{BEFORE}
int f(int n, const int *index, double *given) {{
    double {declared};
    struct s t;
    {code}
#pragma tilek kernel
    for (int i = 0; i < n; i++) b[i] = a[index[i]];
    return (int)b[0];
}}""")
    return made.untransformed is None


@pytest.mark.parametrize(
    "code",
    [
        "",
        'fill(a, n); fill_deep(b, n); memset(a, 0, 8); printf("%g %p", a[1], (void *)b);',
        "if (a == 0 || b > a) return 1; c = given; free(a); a = (double *)calloc(n, sizeof *a);",
        "given[0] = a[0] + *b; c = given + (int)a[2]; t.u = c;",
        "a[1] = b[2]; same(given)[0] = a[3];",
    ],
)
def test_memory_that_is_kept_to_oneself_overlaps_nothing(code: str) -> None:
    assert gathers_in_parallel(code)


@pytest.mark.parametrize(
    "code",
    [
        "b = a + 1;",
        "c = a;",
        "c = n > 3 ? &b[2] : 0;",
        "b = given;",
        "keep(a);",
        "keep_deep(b + 2);",
        "other(a);",
        "c = same(a);",
        "change(&a);",
        "double **q = &a; *q = b;",
        "t.u = b;",
        "struct s v = {a};",
        "double *d = b;",
        "given = (double *)(void *)a;",
        "c = memcpy(a, given, 8);",
        "t = (struct s){b};",
        "void (*call)(double *) = keep; call(a);",
    ],
)
def test_memory_that_something_else_may_point_to_is_not_told_apart(code: str) -> None:
    assert not gathers_in_parallel(code)


def test_only_pointers_that_are_always_allocated_count() -> None:
    assert not gathers_in_parallel("", "*a = given, *b = malloc(n * 8), *c = 0")
    assert not gathers_in_parallel("", "*b = malloc(n * 8), *c = 0; static double *a; a = malloc(8 * n)")
    assert gathers_in_parallel("b = malloc(8 * n);", "*a = malloc(n * 8), *b = NULL, *c = 0")
