"""Elements of arrays that are read where a launch begins: those that nothing in the region may write, and that are there to be read."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan

PROGRAM = """
typedef struct {{ int n[3], level; double *u; }} grid;
typedef struct {{ double re; int many; }} mixed;
static int whole[2][3], counters[9];
void f(int n, int k, int d[3], const int *p, int *restrict alone, long *longs, unsigned char *bytes, grid *g,
       double u[64][64], int v[64][64], mixed m[64]) {{
#pragma tilek kernel
    {}
}}"""
SET = "u[i][0] = 1;"


@pytest.mark.parametrize(
    ("loops", "read"),
    [
        (f"for (int i = 0; i < d[2]; i++) {SET}", {"d[2]"}),
        (f"for (int i = 0; i < p[k]; i++) {SET}", {"p[k]"}),
        (f"for (int i = 0; i < g->n[1]; i++) {SET}", {"g->n[1]"}),
        (f"for (int i = 0; i < whole[0][k]; i++) {SET}", {"whole[0][k]"}),
        ("for (int i = 0; i < d[0]; i++) for (int j = 0; j < d[2]; j++) u[i][j] = 1;", {"d[0]", "d[2]"}),
        ("for (int i = 0; i < p[2]; i++) for (int j = 0; j < p[1]; j++) u[i][j] = 1;", {"p[2]", "p[1]"}),
        ("for (int i = 0; i < p[1]; i++) for (int j = 0; j < p[2]; j++) u[i][j] = 1;", {"p[1]"}),
        ("for (int i = 0; i < n; i++) for (int j = 0; j < d[1]; j++) u[i][j] = 1;", set()),
        ("for (int i = 0; i < n; i++) for (int j = 0; j < whole[1][2]; j++) u[i][j] = 1;", {"whole[1][2]"}),
        (f"for (int i = 0; i < n; i++) if (i < whole[0][1]) {SET}", {"whole[0][1]"}),
        ("for (int i = 0; i < whole[0][0]; i++) u[i][i % 4 + whole[0][1]] = 1;", {"whole[0][0]", "whole[0][1]"}),
        ("for (int i = 0; i < d[2]; i++) v[i][0] = 1;", set()),
        ("for (int i = 0; i < d[2]; i++) bytes[i] = 1;", set()),
        ("for (int i = 0; i < d[2]; i++) m[i].re = 1;", set()),
        ("for (int i = 0; i < d[2]; i++) longs[i] = 1;", {"d[2]"}),
        ("for (int i = 0; i < d[2]; i++) alone[i] = 1;", {"d[2]"}),
        ("for (int i = 0; i < whole[0][0]; i++) counters[i % 9] = 1;", {"whole[0][0]"}),
        ("for (int i = 0; i < d[2]; i++) d[i % 2] = 1;", set()),
    ],
)
def test_elements_that_stay_what_they_are_are_read_at_launch(loops: str, read: set[str]) -> None:
    made = plan(PROGRAM.format(loops))
    assert {object_.host for object_ in made.kernel.objects if object_.is_element} == read


def test_extents_and_rows_may_depend_on_them() -> None:
    made = plan(
        """void f(const int d[3], double *restrict u) {
        #pragma tilek kernel
          for (int i = 0; i < d[2]; i++) for (int j = 0; j < d[1]; j++) u[i * d[1] + j] = i;
        }"""
    )
    assert made.untransformed is None
    assert made.storage == ("'u' is seen as u[][d[1]]: no access leaves its row",)
