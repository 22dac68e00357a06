/* Arrays that several iterations use in turn, and old values that writes would overwrite: kernels get storage of their own for them. */
#include "check.h"

static void check_matrix_and_row(void (*kernel)(int n, int m, double a[n][m], double *row), int n, int m)
{
    double *const a = check_doubles((size_t)n * m), *const row = check_doubles(m);
    kernel(n, m, (void *)a, row);
    check_record("a", a, (size_t)n * m * sizeof *a);
    check_record("row", row, m * sizeof *row);
    free(a);
    free(row);
}

// case channels: a scratch row that is an argument, so that its last values are wanted
static void channels(int nr, int nq, int np, double a[nr][nq][np], double c[np][np], double *sum)
{
#pragma tilek kernel
    for (int r = 0; r < nr; r++)
        for (int q = 0; q < nq; q++) {
            for (int p = 0; p < np; p++) {
                sum[p] = 0.0;
                for (int s = 0; s < np; s++)
                    sum[p] += a[r][q][s] * c[s][p];
            }
            for (int p = 0; p < np; p++)
                a[r][q][p] = sum[p];
        }
}

CASE(channels)
{
    static const int sizes[][3] = {{7, 5, 9}, {1, 1, 1}, {0, 5, 9}, {7, 0, 9}, {7, 5, 0}, {13, 11, 6}};
    for (int k = 0; k < 6; k++) {
        const int nr = sizes[k][0], nq = sizes[k][1], np = sizes[k][2];
        double *const a = check_doubles((size_t)nr * nq * np), *const c = check_doubles((size_t)np * np), *const sum = check_doubles(9);
        if (nq > 0 && np > 0)
            channels(nr, nq, np, (void *)a, (void *)c, sum);
        check_record("a", a, (size_t)nr * nq * np * sizeof *a);
        check_record("sum", sum, 9 * sizeof *sum);
        free(a);
        free(c);
        free(sum);
    }
}

// case rows_of_coefficients: alternating directions, both sweeps with the same two scratch rows, which nobody reads afterwards
#define GRID 31
static void rows_of_coefficients(int steps, double u[GRID][GRID], double v[GRID][GRID])
{
    double c[GRID], d[GRID];
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < GRID - 1; i++) {
            c[0] = 0;
            d[0] = 1;
            for (int j = 1; j < GRID - 1; j++) {
                c[j] = -0.25 / (0.125 * c[j - 1] + 2);
                d[j] = (u[j][i - 1] + 2 * u[j][i] - u[j][i + 1] + 0.5 * d[j - 1]) / (c[j - 1] + 3);
            }
            v[GRID - 1][i] = 1;
            for (int j = GRID - 2; j >= 1; j--)
                v[j][i] = c[j] * v[j + 1][i] + d[j];
        }
        for (int i = 1; i < GRID - 1; i++) {
            c[0] = 0;
            d[0] = 1;
            for (int j = 1; j < GRID - 1; j++) {
                c[j] = -0.5 / (0.25 * c[j - 1] + 2);
                d[j] = (v[i - 1][j] + 2 * v[i][j] - v[i + 1][j] + 0.5 * d[j - 1]) / (c[j - 1] + 3);
            }
            u[i][GRID - 1] = 1;
            for (int j = GRID - 2; j >= 1; j--)
                u[i][j] = c[j] * u[i][j + 1] + d[j];
        }
    }
}

CASE(rows_of_coefficients)
{
    for (int steps = 0; steps < 4; steps++) {
        double *const u = check_doubles(GRID * GRID), *const v = check_doubles(GRID * GRID);
        rows_of_coefficients(steps, (void *)u, (void *)v);
        check_record("u", u, GRID * GRID * sizeof *u);
        check_record("v", v, GRID * GRID * sizeof *v);
        free(u);
        free(v);
    }
}

// case region_scratch: the scratch row is declared in the region; bounds that begin below zero
static void region_scratch(int n, int m, int low, double a[n][m])
{
#pragma tilek kernel
    {
        double row[64];
        for (int i = low; i < n + low; i++) {
            for (int j = 0; j < m; j++)
                row[j] = a[i - low][j] * 2;
            for (int j = 1; j < m; j++)
                a[i - low][j] = row[j - 1] + row[j];
        }
    }
}

CASE(region_scratch)
{
    static const int lows[] = {0, -7, 12};
    for (int k = 0; k < 3; k++) {
        double *const a = check_doubles(23 * 41);
        region_scratch(23, 41, lows[k], (void *)a);
        check_record("a", a, 23 * 41 * sizeof *a);
        free(a);
    }
}

// case triangular_scratch: rows of different lengths, whose last writers differ from element to element
static void triangular_scratch(int n, double a[n][n], double *row)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n - i; j++)
            row[j] = a[i][j] + j;
        for (int j = 0; j < n - i; j++)
            a[i][j] = row[j] * row[n - 1 - i - j];
    }
}

CASE(triangular_scratch)
{
    static const int sizes[] = {29, 1, 0, 8};
    for (int k = 0; k < 4; k++) {
        const int n = sizes[k];
        double *const a = check_doubles((size_t)n * n), *const row = check_doubles(30);
        if (n > 0)
            triangular_scratch(n, (void *)a, row);
        check_record("a", a, (size_t)n * n * sizeof *a);
        check_record("row", row, 30 * sizeof *row);
        free(a);
        free(row);
    }
}

// case conditional_reads: a scratch row that is read only where data say so
static void conditional_reads(int n, int m, double a[n][m], double *row)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++)
            row[j] = 3 * a[i][j];
        for (int j = 0; j < m; j++)
            if (a[i][j] > 0)
                a[i][j] = row[m - 1 - j];
    }
}

CASE(conditional_reads) { check_matrix_and_row(conditional_reads, 19, 33); }

// case partly_written: one element of the row comes from the iteration before, so the rows cannot be kept apart
static void partly_written(int n, int m, double a[n][m], double *row)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        for (int j = 1; j < m; j++)
            row[j] = a[i][j] + row[j - 1];
        for (int j = 0; j < m - 1; j++)
            a[i][j] = row[j] - row[j + 1];
        row[0] = a[i][0];
    }
}

CASE(partly_written) { check_matrix_and_row(partly_written, 17, 21); }

// case written_where_data_say_so: what a row holds may be an earlier iteration's
static void written_where_data_say_so(int n, int m, double a[n][m], double *row)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++)
            if (a[i][j] > 0)
                row[j] = a[i][j];
        for (int j = 0; j < m; j++)
            a[i][j] = row[j] + 1;
    }
}

CASE(written_where_data_say_so) { check_matrix_and_row(written_where_data_say_so, 17, 21); }

// case shift: old values of the neighbour, once and in a loop over time
static void shift(int steps, int n, double *a, double *b)
{
    int i = -1;
#pragma tilek kernel
    for (i = 0; i < n - 1; i++)
        a[i] = a[i + 1] * 0.5 + a[i];
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int j = 2; j < n - 2; j++)
            b[j] = b[j + 1] - 0.25 * b[j + 2] + b[j];
    a[n] = i;
}

CASE(shift)
{
    static const int sizes[] = {101, 1, 2, 5};
    for (int k = 0; k < 4; k++) {
        double *const a = check_doubles(102), *const b = check_doubles(102);
        shift(6, sizes[k], a, b);
        check_record("a", a, 102 * sizeof *a);
        check_record("b", b, 102 * sizeof *b);
        free(a);
        free(b);
    }
}

// case upwind: old values in two dimensions, downwards and to the right, integers and records too
typedef struct cell {
    float flow;
    int age;
} cell;
static void upwind(int n, int m, float a[n][m], cell b[n][m], long *left)
{
#pragma tilek kernel
    for (int i = 0; i < n - 1; i++)
        for (int j = 0; j < m - 1; j++)
            a[i][j] = 0.5f * a[i + 1][j] + 0.25f * a[i][j + 1] + a[i + 1][j + 1] - a[i][j];
#pragma tilek kernel
    for (int i = 0; i < n - 1; i++)
        for (int j = 0; j < m; j++)
            b[i][j] = b[i + 1][j];
#pragma tilek kernel
    for (int i = n - 1; i > 0; i--)
        left[i] = left[i - 1] + i;
}

CASE(upwind)
{
    enum { N = 27, M = 35 };
    float *const a = check_floats(N * M);
    cell *const b = check_allocate(N * M, sizeof *b);
    long *const left = check_allocate(N, sizeof *left);
    for (int k = 0; k < N * M; k++)
        b[k] = (cell){a[k], k * 7 % 13};
    for (int k = 0; k < N; k++)
        left[k] = k * k % 17;
    upwind(N, M, (void *)a, (void *)b, left);
    check_record("a", a, N * M * sizeof *a);
    check_record("b", b, N * M * sizeof *b);
    check_record("left", left, N * sizeof *left);
    free(a);
    free(b);
    free(left);
}

// case old_rows: pointers to rows, and a copy that is made again in each iteration of the loop around
static void old_rows(int steps, int n, double **a)
{
#pragma tilek kernel
    for (int t = 1; t < steps; t++)
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < n; j++)
                a[i][j] += a[i + 1][j] * t;
}

CASE(old_rows)
{
    enum { N = 18 };
    double *rows[N], *const values = check_doubles(N * N);
    for (int i = 0; i < N; i++)
        rows[i] = values + (N - 1 - i) * N;
    old_rows(5, N, rows);
    check_record("values", values, N * N * sizeof *values);
    free(values);
}

// case to_and_fro: a copy in each step of the loop around, of part of the array, of rows behind pointers too
static void to_and_fro(int steps, int n, double *a, double **rows)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = t; i < n - 1; i++)
            a[i] = 0.5 * a[i + 1] + 0.25 * a[i];
        for (int i = n - 1; i > 0; i--)
            a[i] = 0.5 * a[i - 1] + 0.25 * a[i];
    }
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < n - 1; j++)
                rows[i][j] -= 0.5 * rows[i + 1][j + 1];
        for (int i = n - 1; i > 0; i--)
            for (int j = n - 1; j > 0; j--)
                rows[i][j] -= 0.5 * rows[i - 1][j - 1];
    }
}

CASE(to_and_fro)
{
    enum { N = 23 };
    static const int sizes[][2] = {{6, N}, {30, N}, {4, 1}, {0, N}, {3, 2}};
    for (int k = 0; k < 5; k++) {
        double *rows[N], *const values = check_doubles(N * N), *const a = check_doubles(N);
        for (int i = 0; i < N; i++)
            rows[i] = values + (N - 1 - i) * N;
        to_and_fro(sizes[k][0], sizes[k][1], a, rows);
        check_record("a", a, N * sizeof *a);
        check_record("values", values, N * N * sizeof *values);
        free(values);
        free(a);
    }
}

// case summed_in_a_scalar: a scalar ties the statements of a body together; kept for each iteration, the product steps along rows
static void summed_in_a_scalar(int n, int m, double c[n][m], double a[n][n], double b[n][m])
{
    double sum;
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

CASE(summed_in_a_scalar)
{
    static const int sizes[][2] = {{37, 29}, {1, 1}, {3, 71}, {41, 2}};
    for (int k = 0; k < 4; k++) {
        const int n = sizes[k][0], m = sizes[k][1];
        double *const a = check_doubles((size_t)n * n), *const b = check_doubles((size_t)n * m), *const c = check_doubles((size_t)n * m);
        summed_in_a_scalar(n, m, (void *)c, (void *)a, (void *)b);
        check_record("c", c, (size_t)n * m * sizeof *c);
        free(a);
        free(b);
        free(c);
    }
}
