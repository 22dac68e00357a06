"""Nests as users write them, each with what is recognised in it: the table of
`test_recognition.py`.

`facts` of a relaxation: the array, its points and dimensions; the sweeps; the loop around them;
factor and right-hand side; what is accumulated and what varies; coefficients with their offsets. Of
what is none: the line within the body, and why.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NestCase:
    """A region's body in a function with these parameters."""

    name: str
    parameters: str
    body: str
    facts: str


MESH = "int n, int steps, double w, double h2, double tol, double u[n][n], const double f[n][n]"
FIVE = "u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1]"
IJ = "for (int i = 1; i < n - 1; i++)\nfor (int j = 1; j < n - 1; j++)"
BACK = "for (int i = n - 2; i >= 1; i--)\nfor (int j = n - 2; j >= 1; j--)"
TIMES = "for (int t = 0; t < steps; t++)"

RELAXATIONS = (
    NestCase(
        "sor_of_poisson",
        MESH,
        f"{TIMES}\n{IJ}\nu[i][j] = (1-w)*u[i][j] + w*0.25*({FIVE} - h2*f[i][j]);",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, fixed
        factor w, right-hand side -0.25*h2*w*f[i][j]
        0.25*w at -1 0, 0 -1, 0 1, 1 0
        1 - w at 0 0
        """,
    ),
    NestCase(
        "sor_as_an_increment",
        MESH,
        f"{TIMES}\n{IJ}\nu[i][j] += w*(({FIVE} - h2*f[i][j])/4 - u[i][j]);",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, fixed
        factor w, right-hand side -0.25*h2*w*f[i][j]
        0.25*w at -1 0, 0 -1, 0 1, 1 0
        1 - w at 0 0
        """,
    ),
    NestCase(
        "sor_with_a_residual",
        MESH,
        f"double sum = 2 * tol;\nwhile (sum > tol) {{\nsum = 0;\n{IJ} {{\n"
        f"double r = ({FIVE} - h2*f[i][j])/4.0 - u[i][j];\nu[i][j] += w*r;\nsum += r*r;\n}}\n}}",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, convergence sum > tol
        factor w, right-hand side -0.25*h2*w*f[i][j]
        0.25*w at -1 0, 0 -1, 0 1, 1 0
        1 - w at 0 0
        accumulates sum by +
        """,
    ),
    NestCase(
        "greatest_change_by_if",
        MESH,
        f"double res;\ndo {{\nres = 0;\n{IJ} {{\ndouble old = u[i][j];\nu[i][j] = 0.25*({FIVE});\n"
        f"if (fabs(u[i][j] - old) > res)\nres = fabs(u[i][j] - old);\n}}\n}} while (res > tol);",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, convergence res > tol
        factor 1, right-hand side 0
        0.25 at -1 0, 0 -1, 0 1, 1 0
        accumulates res by max
        """,
    ),
    NestCase(
        "greatest_change_by_fmax_and_break",
        MESH,
        f"double res;\n{TIMES} {{\nres = 0;\n{IJ} {{\ndouble d = 0.25*({FIVE}) - u[i][j];\n"
        f"res = fmax(res, fabs(d));\nu[i][j] = u[i][j] + w*d;\n}}\nif (res < tol) break;\n}}",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, convergence res < tol
        factor w, right-hand side 0
        0.25*w at -1 0, 0 -1, 0 1, 1 0
        1 - w at 0 0
        accumulates res by max
        """,
    ),
    NestCase(
        "residual_in_loops_of_its_own",
        MESH,
        f"double res = 1;\nint it;\nfor (it = 0; it < steps && res > tol; it++) {{\n{IJ}\n"
        f"u[i][j] = (1-w)*u[i][j] + w*(h2*f[i][j] + {FIVE})/4;\nres = 0;\n{IJ}\n"
        f"res += fabs(h2*f[i][j] + {FIVE} - 4*u[i][j]);\nres = res / n;\n}}",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, convergence (it < steps) && (res > tol)
        factor w, right-hand side 0.25*h2*w*f[i][j]
        0.25*w at -1 0, 0 -1, 0 1, 1 0
        1 - w at 0 0
        accumulates res by +
        """,
    ),
    NestCase(
        "seidel_2d_of_polybench",
        "int n, int tsteps, double A[n][n]",
        "int t, i, j;\nfor (t = 0; t <= tsteps - 1; t++)\nfor (i = 1; i <= n - 2; i++)\nfor (j = 1; j <= n - 2; j++)\n"
        "A[i][j] = (A[i-1][j-1] + A[i-1][j] + A[i-1][j+1]\n+ A[i][j-1] + A[i][j] + A[i][j+1]\n+ A[i+1][j-1] + A[i+1][j] + A[i+1][j+1])/9.0;",
        """
        A, 9 points of radius 1, 2-D
        forward, dimensions in order 0 1, fixed
        factor 8/9, right-hand side 0
        1/9 at -1 -1, -1 0, -1 1, 0 -1, 0 0, 0 1, 1 -1, 1 0, 1 1
        """,
    ),
    NestCase(
        "line_of_the_thesis",
        "int J, int I, float A[I+2]",
        "for (int j = 1; j <= J; j++)\nfor (int i = 1; i <= I; i++)\nA[i] = 0.333*(A[i-1]+A[i]+A[i+1]);",
        """
        A, 3 points of radius 1, 1-D
        forward, dimensions in order 0, fixed
        factor 0.667, right-hand side 0
        0.333 at -1, 0, 1
        """,
    ),
    NestCase(
        "flattened_by_hand",
        "int n, int m, float w, float *u, const float *f",
        "for (int i = 1; i < n - 1; i++)\nfor (int j = 1; j < m - 1; j++)\n"
        "u[i*m+j] = (1.0f-w)*u[i*m+j] + w*0.25f*(u[(i-1)*m+j]+u[(i+1)*m+j]+u[i*m+j-1]+u[i*m+j+1]-f[i*m+j]);",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, once
        factor w, right-hand side -0.25*w*f[(i * m) + j]
        0.25*w at -1 0, 0 -1, 0 1, 1 0
        1 - w at 0 0
        """,
    ),
    NestCase(
        "flattened_with_a_variable",
        "int n, double *u",
        "for (int i = 1; i <= n; i++)\nfor (int j = 1; j <= n; j++) {\nconst int c = i*(n+2) + j;\nint up;\nup = c - (n + 2);\n"
        "u[c] = 0.25*(u[up] + u[c+n+2] + u[c-1] + u[c+1]);\n}",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, once
        factor 1, right-hand side 0
        0.25 at -1 0, 0 -1, 0 1, 1 0
        """,
    ),
    NestCase(
        "flattened_with_a_number",
        "double *u",
        "for (int i = 1; i < 99; i++)\nfor (int j = 1; j < 99; j++)\n"
        "u[100*i+j] = 0.25*(u[100*i+j-100] + u[100*i+j+100] + u[100*i+j-1] + u[100*i+j+1]);",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, once
        factor 1, right-hand side 0
        0.25 at -1 0, 0 -1, 0 1, 1 0
        """,
    ),
    NestCase(
        "flattened_in_space",
        "int n, int m, int l, double *u",
        "for (int i = 1; i < n-1; i++)\nfor (int j = 1; j < m-1; j++)\nfor (int k = 1; k < l-1; k++)\n"
        "u[(i*m+j)*l+k] = (u[((i-1)*m+j)*l+k] + u[((i+1)*m+j)*l+k] + u[(i*m+j-1)*l+k] + u[(i*m+j+1)*l+k] + u[(i*m+j)*l+k-1] + u[(i*m+j)*l+k+1])/6;",
        """
        u, 7 points of radius 1, 3-D
        forward, dimensions in order 0 1 2, once
        factor 1, right-hand side 0
        1/6 at -1 0 0, 0 -1 0, 0 0 -1, 0 0 1, 0 1 0, 1 0 0
        """,
    ),
    NestCase(
        "seven_points",
        "int n, double w, double u[n][n][n]",
        "for (int i = 1; i < n-1; i++)\nfor (int j = 1; j < n-1; j++)\nfor (int k = 1; k < n-1; k++)\n"
        "u[i][j][k] += w/6*(u[i-1][j][k] + u[i+1][j][k] + u[i][j-1][k] + u[i][j+1][k] + u[i][j][k-1] + u[i][j][k+1] - 6*u[i][j][k]);",
        """
        u, 7 points of radius 1, 3-D
        forward, dimensions in order 0 1 2, once
        factor w, right-hand side 0
        1/6*w at -1 0 0, 0 -1 0, 0 0 -1, 0 0 1, 0 1 0, 1 0 0
        1 - w at 0 0 0
        """,
    ),
    NestCase(
        "twenty_seven_points",
        "int n, double w, double u[n][n][n]",
        "for (int i = 1; i < n-1; i++)\nfor (int j = 1; j < n-1; j++)\nfor (int k = 1; k < n-1; k++) {\ndouble s = -u[i][j][k];\n"
        + "\n".join(
            f"s += u[i+{i}][j+{j}][k+{k}];".replace("+-", "-")
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
            for k in (-1, 0, 1)
        )
        + "\nu[i][j][k] = (1 - w)*u[i][j][k] + w*s/26;\n}",
        f"""
        u, 27 points of radius 1, 3-D
        forward, dimensions in order 0 1 2, once
        factor w, right-hand side 0
        1/26*w at {", ".join(f"{i} {j} {k}" for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if (i, j, k) != (0, 0, 0))}
        1 - w at 0 0 0
        """,
    ),
    NestCase(
        "backward",
        MESH,
        f"{TIMES}\n{BACK}\nu[i][j] = (1-w)*u[i][j] + w/4*({FIVE});",
        """
        u, 5 points of radius 1, 2-D
        backward, dimensions in order 0 1, fixed
        factor w, right-hand side 0
        0.25*w at -1 0, 0 -1, 0 1, 1 0
        1 - w at 0 0
        """,
    ),
    NestCase(
        "symmetric",
        MESH,
        f"int i, j, k;\n{TIMES} {{\n{IJ}\nu[i][j] = (1-w)*u[i][j] + w/4*({FIVE});\n{BACK}\nu[i][j] = (1-w)*u[i][j] + w/4*({FIVE});\n}}",
        """
        u, 5 points of radius 1, 2-D
        forward backward, dimensions in order 0 1, fixed
        factor w, right-hand side 0
        0.25*w at -1 0, 0 -1, 0 1, 1 0
        1 - w at 0 0
        """,
    ),
    NestCase(
        "mixed_directions",
        MESH,
        f"for (int i = 1; i < n-1; i++)\nfor (int j = n-2; j > 0; j--)\nu[i][j] = 0.25*({FIVE});",
        """
        u, 5 points of radius 1, 2-D
        mixed, dimensions in order 0 1, once
        factor 1, right-hand side 0
        0.25 at -1 0, 0 -1, 0 1, 1 0
        """,
    ),
    NestCase(
        "columns_first",
        MESH,
        f"for (int j = 1; j < n-1; j++)\nfor (int i = 1; i < n-1; i++)\nu[i][j] = 0.25*({FIVE});",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 1 0, once
        factor 1, right-hand side 0
        0.25 at -1 0, 0 -1, 0 1, 1 0
        """,
    ),
    NestCase(
        "unlike_steps_along_x_and_y",
        "int n, double hx2, double hy2, double u[n][n], const double f[n][n]",
        f"{IJ}\nu[i][j] = (hy2*(u[i-1][j]+u[i+1][j]) + hx2*(u[i][j-1]+u[i][j+1]) - hx2*hy2*f[i][j])/(2*(hx2+hy2));",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, once
        factor 1, right-hand side -hx2*hy2*f[i][j]/(2 * (hx2 + hy2))
        hy2/(2 * (hx2 + hy2)) at -1 0, 1 0
        hx2/(2 * (hx2 + hy2)) at 0 -1, 0 1
        """,
    ),
    NestCase(
        "coefficients_vary_in_space",
        "int n, double u[n][n], const double c[n][n]",
        f"{IJ}\nu[i][j] += c[i][j]*({FIVE} - 4*u[i][j]);",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, once
        factor 4*c[i][j], right-hand side 0
        c[i][j] at -1 0, 0 -1, 0 1, 1 0
        1 - 4*c[i][j] at 0 0
        varies over space with c[i][j]
        """,
    ),
    NestCase(
        "factor_of_each_sweep",
        "int n, int steps, double w, double rho, double u[n][n]",
        f"{TIMES} {{\n{IJ}\nu[i][j] += 0.25*w*({FIVE} - 4*u[i][j]);\nw = 1/(1 - 0.25*rho*rho*w);\n}}",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, fixed
        factor w, right-hand side 0
        0.25*w at -1 0, 0 -1, 0 1, 1 0
        1 - w at 0 0
        varies over sweep with w
        """,
    ),
    NestCase(
        "assigned_in_two_statements",
        MESH,
        f"{IJ} {{\nu[i][j] *= 1 - w;\nu[i][j] += w*0.25*({FIVE});\n}}",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, once
        factor w, right-hand side 0
        0.25*w at -1 0, 0 -1, 0 1, 1 0
        1 - w at 0 0
        """,
    ),
    NestCase(
        "summed_in_a_variable",
        MESH,
        f"{IJ} {{\ndouble s = 0;\ns += u[i-1][j] + u[i+1][j];\ns += u[i][j-1] + u[i][j+1];\nu[i][j] = s/4;\n}}",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, once
        factor 1, right-hand side 0
        0.25 at -1 0, 0 -1, 0 1, 1 0
        """,
    ),
    NestCase(
        "a_wide_stencil",
        "int n, double a[n]",
        "for (int i = 2; i < n - 2; i++)\na[i] = (16*(a[i-1] + a[i+1]) - a[i-2] - a[i+2])/30;",
        """
        a, 5 points of radius 2, 1-D
        forward, dimensions in order 0, once
        factor 1, right-hand side 0
        -1/30 at -2, 2
        8/15 at -1, 1
        """,
    ),
    NestCase(
        "no_factor_divides",
        MESH,
        f"{IJ}\nu[i][j] = w*u[i][j] + 0.25*({FIVE});",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, once
        factor none, right-hand side 0
        0.25 at -1 0, 0 -1, 0 1, 1 0
        w at 0 0
        """,
    ),
    NestCase(
        "a_diagonal_of_zero",
        MESH,
        f"{IJ}\nu[i][j] = u[i][j] + 0.25*({FIVE});",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, once
        factor none, right-hand side 0
        0.25 at -1 0, 0 -1, 0 1, 1 0
        1 at 0 0
        """,
    ),
    NestCase(
        "a_layer_of_an_array",
        "int n, double v[2][n]",
        "for (int i = 1; i < n - 1; i++)\nv[1][i] = 0.5*(v[1][i-1] + v[1][i+1]);",
        """
        v, 3 points of radius 1, 1-D
        forward, dimensions in order 0, once
        factor 1, right-hand side 0
        0.5 at -1, 1
        """,
    ),
    NestCase(
        "counted_from_the_end",
        "int n, double a[n]",
        "for (int i = 1; i < n - 1; i++)\na[n-1-i] = 0.5*(a[n-i] + a[n-2-i]);",
        """
        a, 3 points of radius 1, 1-D
        backward, dimensions in order 0, once
        factor 1, right-hand side 0
        0.5 at -1, 1
        """,
    ),
    NestCase(
        "a_function_of_the_place",
        MESH,
        f"{IJ}\nu[i][j] = 0.25*({FIVE} - h2*sin(h2*i));",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, once
        factor 1, right-hand side -0.25*h2*sin(h2 * i)
        0.25 at -1 0, 0 -1, 0 1, 1 0
        """,
    ),
    NestCase(
        "some_elements_only",
        MESH,
        f"{TIMES}\n{IJ}\nif (f[i][j] < tol) {{\nint c = j;\nu[i][c] = 0.25*({FIVE});\n}}",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, fixed
        factor 1, right-hand side 0
        0.25 at -1 0, 0 -1, 0 1, 1 0
        where f[i][j] < tol
        """,
    ),
    NestCase(
        "some_elements_left_out",
        MESH + ", int solid[n][n]",
        f"double s = 0;\n{IJ} {{\nif (solid[i][j] || f[i][j] > tol)\ncontinue;\nif (i == n / 2 && j > 3) {{\n}} else {{\n"
        f"double r = ({FIVE})/4 - u[i][j];\ns += r;\nu[i][j] += w*r;\n}}\n}}",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, once
        factor w, right-hand side 0
        0.25*w at -1 0, 0 -1, 0 1, 1 0
        1 - w at 0 0
        accumulates s by +
        where !(solid[i][j] || (f[i][j] > tol))
        where !((i == (n / 2)) && (j > 3))
        """,
    ),
    NestCase(
        "two_equations",
        MESH + ", int wet[n][n]",
        f"{IJ} {{\nif (wet[i][j])\nu[i][j] = 0.25*({FIVE} + h2);\nelse\nu[i][j] = 0.25*({FIVE});\n}}",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, once
        factor 1, right-hand side 0.25*h2*wet[i][j]
        0.25 at -1 0, 0 -1, 0 1, 1 0
        """,
    ),
    NestCase(
        "mirrored_at_the_ends",
        "int n, double a[n]",
        "for (int i = 0; i < n; i++) {\nint left = i - 1, right = i < n - 1 ? i + 1 : n - 2;\nif (left < 0)\nleft = 1;\n"
        "a[i] = 0.5*(a[left] + a[right]);\n}",
        """
        a, 3 points of radius 1, 1-D
        forward, dimensions in order 0, once
        factor 1, right-hand side 0
        1 - 0.5*((i - 1) < 0) - 0.5*(i < (n - 1)) at -1
        0.5*((i - 1) < 0) + 0.5*(i < (n - 1)) at 1
        varies over space with i
        """,
    ),
    NestCase(
        "periodic_by_remainders",
        "int n, double a[n]",
        "for (int i = 0; i < n; i++)\na[i] = 0.5*(a[(i - 1 + n) % n] + a[(i + 1) % n]);",
        """
        a, 3 points of radius 1, 1-D
        forward, dimensions in order 0, once
        factor 1, right-hand side 0
        0.5 at -1, 1
        periodic
        """,
    ),
    NestCase(
        "periodic_by_conditions",
        "int n, double a[n]",
        "for (int i = 0; i < n; i++) {\nint left = i == 0 ? n - 1 : i - 1;\na[i] = 0.5*(a[left] + a[i == n - 1 ? 0 : i + 1]);\n}",
        """
        a, 3 points of radius 1, 1-D
        forward, dimensions in order 0, once
        factor 1, right-hand side 0
        0.5 at -1, 1
        periodic
        """,
    ),
    NestCase(
        "borders_between_sweeps",
        MESH,
        f"{TIMES} {{\n{IJ}\nu[i][j] = 0.25*({FIVE});\nfor (int i = 0; i < n; i++)\nu[i][0] = u[i][1];\nu[0][0] = tol;\n}}",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, fixed
        factor 1, right-hand side 0
        0.25 at -1 0, 0 -1, 0 1, 1 0
        border on line 5
        border on line 7
        """,
    ),
    NestCase(
        "divided_by_a_sum",
        "int n, double w, double u[n][n], const double c[n][n]",
        f"{IJ} {{\ndouble east = c[i][j] + 1, all = 3 + east;\n"
        "u[i][j] += w*((u[i-1][j] + u[i+1][j] + u[i][j-1] + east*u[i][j+1])/all - u[i][j]);\n}",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, once
        factor w, right-hand side 0
        w/(3 + (c[i][j] + 1)) at -1 0, 0 -1, 1 0
        1 - w at 0 0
        w/(3 + (c[i][j] + 1)) + w*c[i][j]/(3 + (c[i][j] + 1)) at 0 1
        varies over space with c[i][j]
        """,
    ),
    NestCase(
        "loops_over_the_stencil",
        "int n, double u[n][n], const double c[3][3]",
        f"int di, dj;\n{IJ} {{\ndouble s = 0;\nfor (di = -1; di <= 1; di++)\nfor (dj = -1; dj < 2; ++dj)\nif (di != 0 || dj)\n"
        "s += c[di+1][dj+1]*u[i+di][j+dj];\nu[i][j] = s/c[1][1];\n}",
        f"""
        u, 9 points of radius 1, 2-D
        forward, dimensions in order 0 1, once
        factor 1, right-hand side 0
        {chr(10).join(" " * 8 + f"c[{i + 1}][{j + 1}]/c[1][1] at {i} {j}" for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j).strip()}
        """,
    ),
    NestCase(
        "points_that_still_move",
        MESH,
        f"int done = 1, count = 0;\n{IJ} {{\ndouble old = u[i][j];\nu[i][j] = 0.25*({FIVE});\nif (fabs(u[i][j] - old) > tol) {{\n"
        "count++;\ndone = 0;\n}\n}",
        """
        u, 5 points of radius 1, 2-D
        forward, dimensions in order 0 1, once
        factor 1, right-hand side 0
        0.25 at -1 0, 0 -1, 0 1, 1 0
        accumulates count by +
        """,
    ),
)
