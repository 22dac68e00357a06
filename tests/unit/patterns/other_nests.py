"""Nests that look like relaxations in place and are none: the other part of `test_recognition.py`'s table (relaxation_cases.py)."""

from __future__ import annotations

from tests.unit.patterns.relaxation_cases import BACK, FIVE, IJ, MESH, TIMES, NestCase

OTHERS = (
    NestCase(
        "a_moved_number_of_the_element",
        "int n, double *u",
        "for (int i = 1; i < n - 1; i++) {\nint c = i;\nc += 1;\nu[c] = 0.5*(u[i-1] + u[i+1]);\n}",
        "4, far: along i, u[c] is computed from neighbours on one side only; a relaxation has them on both",
    ),
    NestCase(
        "an_integer_of_many_steps",
        "int n, double *u",
        "for (int i = 1; i < n - 1; i++) {\nint c = i;\n" + "c = c*c - c;\n" * 6 + "u[c] = 0.5*(u[c-1] + u[c+1]);\n}",
        "6, near: 'c' is computed in too many steps",
    ),
    NestCase(
        "assigned_within",
        "int n, double *u",
        "for (int i = 1; i < n - 1; i++) {\nint c = i, d = c++;\nu[c] = 0.5*(u[c-1] + u[c+1]) + d;\n}",
        "2, near: this changes 'c' within an expression",
    ),
    NestCase(
        "jacobi",
        "int n, double a[n], double b[n]",
        "for (int i = 1; i < n-1; i++)\nb[i] = 0.333*(a[i-1] + a[i] + a[i+1]);",
        "2, far: b[i] is computed from no other element of 'b'",
    ),
    NestCase(
        "a_recurrence",
        "int n, double a[n]",
        "for (int i = 1; i < n; i++)\na[i] = 0.5*a[i-1] + a[i];",
        "2, far: along i, a[i] is computed from neighbours on one side only; a relaxation has them on both",
    ),
    NestCase(
        "one_dimension_of_two",
        MESH,
        f"{IJ}\nu[i][j] = 0.5*(u[i][j-1] + u[i][j+1]);",
        "3, near: along i, u[i][j] is computed from no neighbour; a relaxation has them on both",
    ),
    NestCase(
        "coloured_by_steps",
        MESH,
        f"for (int c = 0; c < 2; c++)\nfor (int i = 1; i < n-1; i++)\nfor (int j = 1 + (i + c) % 2; j < n-1; j += 2)\nu[i][j] = 0.25*({FIVE});",
        "3, near: the loop over j counts in steps of 2, so that it leaves elements out",
    ),
    NestCase(
        "coloured_by_a_condition",
        MESH,
        f"for (int c = 0; c < 2; c++)\n{IJ}\nif ((i + j) % 2 == c)\nu[i][j] = 0.25*({FIVE});",
        "4, near: the condition ((i + j) % 2) == c skips elements by their position",
    ),
    NestCase(
        "a_triangle",
        MESH,
        f"for (int i = 1; i < n-1; i++)\nfor (int j = 1; j < i; j++)\nu[i][j] = 0.25*({FIVE});",
        "2, near: the bounds of the loop over j depend on 'i', so that the mesh is no box",
    ),
    NestCase(
        "a_product",
        MESH,
        f"{IJ}\nu[i][j] = u[i-1][j]*u[i+1][j] + u[i][j-1] + u[i][j+1];",
        "3, near: the new value of u[i][j] multiplies or divides elements of 'u'",
    ),
    NestCase(
        "a_maximum",
        MESH,
        f"{IJ}\nu[i][j] = fmax(u[i-1][j], u[i+1][j]) + u[i][j-1] + u[i][j+1];",
        "3, near: the new value of u[i][j] is no linear form of elements of 'u': fmax(u[i - 1][j], u[i + 1][j])",
    ),
    NestCase(
        "a_quotient",
        MESH,
        f"{IJ}\nu[i][j] = ({FIVE})/(u[i][j] + 4);",
        "3, near: the new value of u[i][j] is no linear form of elements of 'u': u[i][j] + 4",
    ),
    NestCase(
        "a_limited_variable",
        MESH,
        f"{IJ} {{\ndouble r = fabs({FIVE});\nu[i][j] = 0.25*r;\n}}",
        "3, near: the new value of u[i][j] is no linear form of elements of 'u': fabs(u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1])",
    ),
    NestCase(
        "integers",
        "int n, int a[n]",
        "for (int i = 1; i < n-1; i++)\na[i] = (a[i-1] + a[i+1])/2;",
        "2, far: elements of 'a' are no floating-point numbers",
    ),
    NestCase(
        "two_arrays",
        MESH + ", double v[n][n]",
        f"{IJ} {{\nu[i][j] = 0.25*({FIVE});\nv[i][j] = u[i][j];\n}}",
        "4, near: it writes 'v' besides 'u'",
    ),
    NestCase(
        "another_array_between_sweeps",
        MESH + ", double v[n]",
        f"{TIMES} {{\n{IJ}\nu[i][j] = 0.25*({FIVE});\nfor (int i = 1; i < n; i++)\nv[i] = v[i - 1];\n}}",
        "6, near: along i, v[i] is computed from neighbours on one side only; a relaxation has them on both",
    ),
    NestCase(
        "a_value_decides",
        MESH,
        f"{IJ} {{\ndouble s = {FIVE};\nif (s > 0)\nu[i][j] = 0.25*s;\n}}",
        "4, near: a condition on elements of 'u' decides what u[i][j] becomes",
    ),
    NestCase(
        "gaussian_elimination",
        "int n, double a[n][n]",
        "for (int k = 0; k < n; k++)\nfor (int i = k+1; i < n; i++)\nfor (int j = k+1; j < n; j++)\na[i][j] -= a[i][k]*a[k][j];",
        "2, far: the bounds of the loop over i depend on 'k', so that the mesh is no box",
    ),
    NestCase(
        "a_mirrored_neighbour",
        "int n, double a[n]",
        "for (int i = 1; i < n-1; i++)\na[i] = 0.3*(a[i-1] + a[i+1] + a[n-1-i]);",
        "2, near: a[n - 1 - i] does not lie at the same distance from a[i] everywhere",
    ),
    NestCase(
        "carried_through_a_scalar",
        "int n, double last, double a[n]",
        "for (int i = 1; i < n-1; i++) {\na[i] = 0.5*(a[i-1] + a[i+1]) + last;\nlast = a[i];\n}",
        "2, near: 'last' carries a value from one element to the next, and is no sum, minimum or maximum",
    ),
    NestCase(
        "two_loops_around",
        MESH,
        f"for (int c = 0; c < 9; c++)\n{TIMES}\n{IJ}\nu[i][j] = 0.25*({FIVE});",
        "2, near: the loop over t is a second one around sweeps",
    ),
    NestCase(
        "sweeps_that_differ",
        MESH,
        f"{TIMES} {{\n{IJ}\nu[i][j] = 0.25*({FIVE});\n{BACK}\nu[i][j] += 0.25*w*({FIVE} - 4*u[i][j]);\n}}",
        "7, near: this sweep computes something else than that of line 9",
    ),
    NestCase(
        "parts_of_the_mesh",
        MESH,
        f"{TIMES} {{\n{IJ}\nu[i][j] = 0.25*({FIVE});\nfor (int i = 1; i < n/2; i++)\nfor (int j = 1; j < n/2; j++)\nu[i][j] = 0.25*({FIVE});\n}}",
        "7, near: this sweep goes over another part of the mesh than that of line 9",
    ),
    NestCase(
        "a_sweep_in_turn",
        MESH,
        f"{TIMES} {{\nif (t % 2) {{\n{IJ}\nu[i][j] = 0.25*({FIVE});\n}}\n}}",
        "2, near: a sweep depends on a condition",
    ),
    NestCase(
        "a_shrinking_mesh",
        MESH,
        f"{TIMES}\nfor (int i = 1 + t; i < n-1; i++)\nfor (int j = 1; j < n-1; j++)\nu[i][j] = 0.25*({FIVE});",
        "2, near: the bounds of the loop over i depend on 't', so that the mesh is no box",
    ),
    NestCase(
        "summed_across_points",
        "int n, double s, double a[n]",
        "for (int i = 1; i < n-1; i++) {\ns += a[i];\na[i] = s*(a[i-1] + a[i+1]);\n}",
        "2, near: 's' carries a value from one element to the next, and is no sum, minimum or maximum",
    ),
    NestCase(
        "factor_that_the_sweep_changes",
        "int n, double s, double w, double a[n]",
        "for (int i = 1; i < n-1; i++) {\na[i] = s*(a[i-1] + a[i+1]);\ns += w;\n}",
        "2, near: 's' carries a value from one element to the next, and is no sum, minimum or maximum",
    ),
    NestCase(
        "only_sums",
        "int n, double s, const double a[n]",
        "for (int t = 0; t < 9; t++)\nfor (int i = 1; i < n-1; i++)\ns += a[i];",
        "1, far: it sweeps over no array",
    ),
)
