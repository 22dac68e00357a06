"""Arrays that are read at places that data say: which kernels run without their extent."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.directives import Target

SPARSE = """
static double known[100];
struct matrix {{ const int *restrict row; const double *restrict a; }};
void f(int n, struct matrix *m, {}) {{
{}
#pragma tilek kernel
    for (int i = 0; i < n; i++) {{ {} }}
}}"""
ROWS = "for (int k = row[i]; k < row[i + 1]; k++) y[i] += a[k] * x[col[k]];"
CSR = "const int *restrict row, const int *restrict col, const double *restrict a, const double *restrict x, double *restrict y"


@pytest.mark.parametrize(
    ("parameters", "before", "body", "gathered"),
    [
        (CSR, "", ROWS, {"a", "col", "x"}),
        (CSR, "", "double s = 0; " + ROWS.replace("y[i]", "s") + " y[i] = s;", {"a", "col", "x"}),
        (CSR.replace("*restrict y", "y[n]"), "", ROWS, {"a", "col", "x"}),
        (CSR, "", "known[i] = x[col[i]];", {"x"}),
        (CSR, "", "y[i] = known[col[i]];", set()),
        (CSR, "", "y[i] = x[(int)(a[i] * 0.5)] + x[i];", {"x"}),
        ("const int *restrict at, const float (*restrict q)[3], float *restrict r", "", "r[i] = q[at[i]][2];", {"q"}),
        ("double *restrict y", "", "for (int k = m->row[i]; k < m->row[i + 1]; k++) y[i] += m->a[k];", {"m_a"}),
        (
            "const int *restrict col, double *restrict x, double *restrict y",
            "double *restrict z = x + n;",
            "z[i] = x[col[i]];",
            {"x"},
        ),
    ],
)
def test_cores_need_no_extent_of_what_is_only_read(parameters: str, before: str, body: str, gathered: set[str]) -> None:
    made = plan(SPARSE.format(parameters, before, body))
    assert made.untransformed is None
    assert {array.object.name for array in made.arrays if array.is_gathered} == gathered
    assert all(array.doubt is not None and not array.writes for array in made.arrays if array.is_gathered)


@pytest.mark.parametrize(
    ("parameters", "before", "body", "advice"),
    [
        (CSR.replace("*restrict x", "*x"), "", "y[i] = x[col[i]];", "'x'"),
        (CSR.replace("*restrict y", "*y"), "", "y[i] = x[col[i]];", "'y'"),
        ("const int *col, double *restrict x", "double *z = x;", "z[i] = x[col[i]];", "'z'"),
        ("const int *col, const double *x, double *y", "", "y[i] = x[col[i]];", "'x' and 'y'"),
        ("const int *restrict col, double *restrict x", "", "x[i] = x[col[i]];", None),
        ("const int *restrict col, const double *restrict x, double **restrict y", "", "y[0][i] = x[col[i]];", None),
        ("const int *restrict col, double *restrict *restrict x, double *restrict y", "", "y[i] = x[col[i]][0];", None),
    ],
)
def test_what_may_be_written_is_read_as_written(parameters: str, before: str, body: str, advice: str | None) -> None:
    made = plan(SPARSE.format(parameters, before, body))
    assert made.untransformed is not None
    said = [note.message for obstacle in made.obstacles for note in obstacle.notes if "restrict" in note.message]
    assert said == ([] if advice is None else [f"or declare {advice} restrict, {RESTRICT}"])
    others = [note.message for obstacle in made.obstacles for note in obstacle.notes if "independent" in note.message]
    assert others == ([] if advice is None else [INDEPENDENT])


@pytest.mark.parametrize("column", ["const int *col", "const int *restrict col"])
def test_independent_loops_gather_without_more_words(column: str) -> None:
    source = SPARSE.format(f"{column}, const double *x, double *y", "", "y[i] = x[col[i]];")
    made = plan(source.replace("tilek kernel", "tilek kernel loop independent"))
    assert made.untransformed is None
    assert not made.assumes_disjoint, "nothing is known of x and y, so no pointer is restrict"


HELPERS = """
static double *shared;
static void put(double *o, double v) { *o = v; }
static void put_both(double *o, double *p, double v) { put(o, v); put(p, v); }
static void put_const(const double *o, double v) { *(double *)o = v; }
static void put_restrict(double *restrict o, double v) { *o = v; }
static void put_row(double (*o)[4], double v) { (*o)[1] = v; }
static void put_shared(double v) { *shared = v; }
"""


@pytest.mark.parametrize(
    ("body", "gathered"),
    [
        ("put(&y[i], x[col[i]]);", True),
        ("put(y + 2 * i, x[col[i]]);", True),
        ("put_both(&y[2 * i], &y[2 * i + 1], x[col[i]]);", True),
        ("put_const(&y[i], x[col[i]]);", True),
        ("put(&x[i], x[col[i]]);", False),
        ("double *z = x + 1; put(z + i, x[col[i]]);", False),
        ("put_both(&y[i], &x[i], x[col[i]]);", False),
        ("put(&z[i], x[col[i]]);", False),
        ("put_both(&y[i], &z[i], x[col[i]]);", False),
        ("put_const(&z[i], x[col[i]]);", False),
        ("put_restrict(&z[i], x[col[i]]);", False),
        ("put_row(&q[i], q[col[i]][1]);", False),
        ("put_row(&q[0], q[1][col[i]]);", False),
        ("put_row(r + i, x[col[i]]);", False),
        ("put_shared(x[col[i]]);", False),
    ],
)
def test_arrays_speak_for_the_parameters_of_functions_that_write_them(body: str, gathered: bool) -> None:
    parameters = (
        "const int *restrict col, double *restrict x, double *restrict y, double *z, double (*restrict q)[4], "
        "double (*r)[4]"
    )
    made = plan(HELPERS + SPARSE.format(parameters, "", body))
    assert (made.untransformed is None) == gathered
    assert {array.object.name for array in made.arrays if array.is_gathered} == ({"x"} if gathered else set())
    said = [note.message for obstacle in made.obstacles for note in obstacle.notes if "restrict" in note.message]
    assert all("'o'" not in message and "'p'" not in message for message in said)


INDEPENDENT = "or put '#pragma tilek loop independent' before a loop in which no iteration reads what another writes: cores need no extent then"
RESTRICT = "if nothing that the kernel writes is read through another of its pointers: cores need no extent then"


def test_a_bare_name_in_a_clause_leaves_nothing_open() -> None:
    source = SPARSE.format(CSR, "", "y[i] = x[col[i]];").replace("tilek kernel", "tilek kernel data(x[:])")
    assert plan(source).untransformed is not None


def test_the_plan_is_for_devices_too() -> None:
    made = plan(SPARSE.format(CSR, "", ROWS))
    assert {Target.OPENCL, Target.CUDA} <= set(made.targets)
    assert made.device
