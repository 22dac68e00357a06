from __future__ import annotations

import pytest
from frontend_text import in_kernel, kernel, last_value, nodes, object_text, read, text

from tilepragma.ir.expressions import Access, Call

TYPES = """
typedef struct { double x, y; int v[3]; } point_t;
union both { int whole; float part; };
struct grid { int nx; double *u; double **rows; double fixed[4][8]; point_t origin; struct grid *next; union both b; };
"""
PARAMETERS = (
    "int n, int m, double *a, double A[n][m], double F[8][9], double (*P)[m], double **R, double ***C3, double *L[n], "
    "point_t *ps, point_t s, struct grid *g, struct grid w, const float *restrict c"
)


def value(expression: str) -> str:
    return last_value(in_kernel(f"a[0] = {expression};", PARAMETERS, TYPES))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a[i]", "a[i]"),
        ("i[a]", "a[i]"),
        ("*a", "a[0]"),
        ("*(a + i)", "a[i]"),
        ("*(i + a)", "a[i]"),
        ("*(a - i)", "a[-i]"),
        ("(a + i)[m]", "a[((long)i + m)]"),
        ("(&a[i])[-1]", "a[((long)i + -1)]"),
        ("*&a[i]", "a[i]"),
        ("A[i][i]", "A[i][i]"),
        ("*(*(A + i) + 1)", "A[i][1]"),
        ("(*(A + i))[1]", "A[i][1]"),
        ("*A[i]", "A[i][0]"),
        ("**A", "A[0][0]"),
        ("F[i][2]", "F[i][2]"),
        ("P[i][2]", "P[i][2]"),
        ("(*P)[2]", "P[0][2]"),
        ("R[i][2]", "R[i][2]"),
        ("*(R[i] + 2)", "R[i][2]"),
        ("C3[i][2][3]", "C3[i][2][3]"),
        ("L[i][3]", "L[i][3]"),
        ("ps[i].x", "ps[i].x"),
        ("(ps + i)->y", "ps[i].y"),
        ("ps[i].v[i % 3]", "ps[i].v[(i % 3)]"),
        ("ps->x", "ps_x"),
        ("(*ps).x", "ps_x"),
        ("ps->v[i]", "ps_v[i]"),
        ("s.x", "s_x"),
        ("(s).v[1]", "s_v[1]"),
        ("(&s)->y", "s.y"),
        ("g->u[i * g->nx + 1]", "g_u[((i * g_nx) + 1)]"),
        ("(*g).u[i]", "g_u[i]"),
        ("g->rows[i][1]", "g_rows[i][1]"),
        ("g->fixed[i][1]", "g_fixed[i][1]"),
        ("g->origin.y", "g_origin_y"),
        ("g->next->u[i]", "g_next_u[i]"),
        ("g->b.part", "g_b.part"),
        ("w.u[i]", "w_u[i]"),
        ("w.next->nx", "w_next_nx"),
        ("c[i]", "c[i]"),
        ("*(double *)&a[i]", "a[i]"),
    ],
)
def test_every_spelling_has_one_form(expression: str, expected: str) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a[i]", "contiguous double a[]"),
        ("A[i][0]", "contiguous double A[n][m]"),
        ("F[i][0]", "contiguous double F[8][9]"),
        ("P[i][0]", "contiguous double P[][m]"),
        ("R[i][0]", "rows double R[][]"),
        ("C3[i][0][0]", "rows double C3[][][]"),
        ("L[i][0]", "rows double L[][]"),
        ("ps[i].x", "contiguous point_t ps[]"),
        ("s.v[i]", "contiguous int s.v[3]"),
        ("g->u[i]", "contiguous double g->u[]"),
        ("g->fixed[i][0]", "contiguous double g->fixed[4][8]"),
        ("g->nx", "scalar int g->nx"),
    ],
)
def test_objects_know_their_storage_and_lengths(expression: str, expected: str) -> None:
    result = in_kernel(f"a[0] = {expression};", PARAMETERS, TYPES)
    assert expected in [object_text(n.object) for n in nodes(result.body, Access)]


def test_const_and_restrict_are_kept() -> None:
    result = in_kernel("a[0] = c[i];", PARAMETERS, TYPES)
    (c,) = [o for o in result.objects if o.name == "c"]
    assert (c.const, c.restrict) == (True, True)
    (a,) = [o for o in result.objects if o.name == "a"]
    assert (a.const, a.restrict) == (False, False)


def test_restrict_inside_brackets_counts() -> None:
    result = in_kernel("a[i][0] = b[i][0];", "int n, double a[restrict n][n], double b[n][n]")
    assert {o.name: o.restrict for o in result.objects if o.rank} == {"a": True, "b": False}


def test_a_variable_used_as_a_whole_is_one_object_also_where_its_members_are_used() -> None:
    result = in_kernel("point_t t = s; a[i] = t.x + s.y + ps->x + ps[i].y;", PARAMETERS, TYPES)
    assert last_value(result) == "(((t.x + s.y) + ps[0].x) + ps[i].y)"


def test_whole_structs_are_assigned() -> None:
    result = in_kernel("point_t t; t = ps[i]; ps[i] = t; a[i] = 0;", PARAMETERS, TYPES)
    assert [record.spelling for record in result.records] == ["point_t"]


def test_lengths_are_expressions_over_outside_objects_that_need_not_be_used() -> None:
    source = """void f(int n, int m) { double A[n + 1][2 * m];
#pragma tilek kernel
for (int i = 0; i < n; i++) A[i][0] = 1;
}"""
    result = kernel(source)
    assert [object_text(o) for o in result.objects] == ["scalar int n", "contiguous double A[(n + 1)][(2 * m)]"]


def test_the_first_length_is_dropped_where_its_variable_changed() -> None:
    source = """void f(int n, int m, double A[n][m]) { n = n - 1;
#pragma tilek kernel
for (int i = 0; i < n; i++) A[i][0] = 1;
}"""
    assert "contiguous double A[][m]" in [object_text(o) for o in kernel(source).objects]


def test_polybench_declarations_and_heap_arrays() -> None:
    source = """
#include <stdlib.h>
#define N 100
#define DATA_TYPE double
#define POLYBENCH_2D(var, d1, d2, dd1, dd2) var[d1 + 0][d2 + 0]
#define POLYBENCH_LOOP_BOUND(x, y) y
#define _PB_N POLYBENCH_LOOP_BOUND(N, n)
#define SCALAR_VAL(x) x
void kernel_x(int n, DATA_TYPE POLYBENCH_2D(A, N, N, n, n)) {
  int i, j;
  double (*B)[N][N]; B = (double (*)[N][N]) malloc(sizeof *B);
#pragma tilek kernel
  for (i = 1; i < _PB_N - 1; i++)
    for (j = 1; j < _PB_N - 1; j++)
      A[i][j] = SCALAR_VAL(0.2) * (*B)[i][j];
}"""
    result = kernel(source)
    assert last_value(result) == "(0.2 * B[0][i][j])"
    assert "contiguous double A[100][100]" in [object_text(o) for o in result.objects]
    assert "contiguous double B[][100][100]" in [object_text(o) for o in result.objects]
    assert result.read_after == frozenset()


def test_rows_and_addresses_are_passed_to_functions() -> None:
    before = (
        "static double sum(const double *v, int k) { double s = 0; for (int q = 0; q < k; q++) s += v[q]; return s; }"
    )
    result = in_kernel(
        "double t[2] = {0, 1}, z = 0; a[i] = sum(A[i], m) + sum(a, 3) + sum(a + i, 2) + sum(&A[i][1], 2) + sum(t, 2) + sum(&z, 1) + sum(R[i], 2);",
        PARAMETERS,
        TYPES + before,
    )
    calls = [text(call) for call in nodes(result.body, Call)]
    assert calls == [
        "sum(A[i], m)",
        "sum(a, 3)",
        "sum(&a[i], 2)",
        "sum(&A[i][1], 2)",
        "sum(t, 2)",
        "sum(&z, 1)",
        "sum(R[i], 2)",
    ]


def test_members_of_nameless_structs_are_members_of_the_struct_around() -> None:
    types = "struct flat { char tag; struct { double x; struct { int q; char c; }; }; struct { int in; } named; };"
    found = in_kernel(
        "p[i].q = p[i].named.in + s.c + s.x + t.c;", "int n, struct flat *p, struct flat s, struct flat t", types
    )
    assert last_value(found) == "(((p[i].named.in + s_c) + s_x) + t_c)"
    (flat,) = (record for record in found.records if record.tag == "flat")
    places = [(field.name, field.offset) for field in flat.fields]
    assert places == [("tag", 0), ("x", 8), ("q", 16), ("c", 20), ("named", 24)]


def test_clauses_name_members_of_nameless_structs_and_unions() -> None:
    source = """struct view { int n; union { double v[64]; struct { double x, y; }; }; };
void f(struct view *s) {
#pragma tilek data copy(s->v[0:64])
{
#pragma tilek kernel
for (int i = 0; i < 64; i++) s->v[i] = s->n;
}
}"""
    (region,) = read(source).data_regions
    assert [object_.host for _, object_ in region.objects] == ["s->v"]
