/* Loops that are split at the element which one iteration writes and the others read. */
#include <stdbool.h>

#include "check.h"

enum { N = 43 };

// case shortest_paths: negative edges, so that row and column k change while step k reads them
static void shortest_paths(int n, double d[n][n])
{
#pragma tilek kernel
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                d[i][j] = d[i][j] < d[i][k] + d[k][j] ? d[i][j] : d[i][k] + d[k][j];
}

CASE(shortest_paths)
{
    double *const d = check_doubles(N * N);
    shortest_paths(N, (void *)d);
    check_record("d", d, N * N * sizeof *d);
    free(d);
}

// case from_the_first: the outermost loop meets its first iteration, if it has any
static void from_the_first(int n, double *a)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) a[i] = a[0] * a[i] + 1.0;
}

CASE(from_the_first)
{
    double *const a = check_doubles(N);
    from_the_first(0, a);
    from_the_first(-2, NULL);
    from_the_first(1, a);
    from_the_first(N, a);
    check_record("a", a, N * sizeof *a);
    free(a);
}

// case few_steps: fewer steps than rows, more than rows below the matrix's start; the last steps meet no column of it
static void few_steps(int n, int steps, int d[n][n])
{
#pragma tilek kernel
    for (int k = 0; k < steps; k++)
        for (int i = 2; i < n; i++)
            for (int j = 0; j < n - 3; j++)
                d[i][j] = d[i][j] ^ (d[i][k] * 3 + d[k][j]) % 1000;
}

CASE(few_steps)
{
    int *const d = check_ints(N * N);
    for (int i = 0; i < N * N; i++)
        d[i] %= 1000;
    few_steps(N, 5, (void *)d);
    few_steps(N, N, (void *)d);
    few_steps(N, 0, (void *)d);
    few_steps(3, 3, (void *)d);
    check_record("d", d, N * N * sizeof *d);
    free(d);
}

// case closure: a row of flags under a condition on data, the iterators wanted afterwards
static int closure(int n, bool reach[n][n])
{
    int i = 0, j = 0, k = 0;
#pragma tilek kernel
    for (k = 0; k < n; k++)
        for (i = 0; i < n; i++)
            for (j = 0; j <= n - 1; j++)
                if (reach[i][k] && reach[k][j])
                    reach[i][j] = true;
    return i + 100 * j + 10000 * k;
}

CASE(closure)
{
    int *const drawn = check_ints(N * N);
    bool *const reach = malloc(N * N * sizeof *reach);
    for (int i = 0; i < N * N; i++)
        reach[i] = drawn[i] % 19 == 0;
    const int last = closure(N, (void *)reach);
    check_record("reach", reach, N * N * sizeof *reach);
    check_record("last", &last, sizeof last);
    free(drawn);
    free(reach);
}

// case flat_paths: a flat array, a local of the innermost loop
static void flat_paths(int n, float *d)
{
#pragma tilek kernel
    for (int k = 0; k < n; ++k)
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                const float through = d[i * n + k] + d[k * n + j];
                if (through < d[i * n + j])
                    d[i * n + j] = through;
            }
}

CASE(flat_paths)
{
    float *const d = check_floats(N * N);
    flat_paths(N, d);
    check_record("d", d, N * N * sizeof *d);
    free(d);
}

// case symmetric: every element meets the one across the diagonal, which has changed for one half
static void symmetric(int n, double a[n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i][j] = 0.5 * (a[i][j] + a[j][i]) + 0.25 * a[i][j];
}

CASE(symmetric)
{
    double *const a = check_doubles(N * N);
    symmetric(N, (void *)a);
    check_record("a", a, N * N * sizeof *a);
    free(a);
}

// case pivot: a row and a column that may lie outside the loops, below, inside and above
static void pivot(int n, int first, int last, int row, int column, double a[n][n])
{
#pragma tilek kernel
    for (int i = first; i < last; i++) {
        const double factor = a[i][column] * 0.001;
        for (int j = 0; j < n; j++)
            a[i][j] -= factor * a[row][j];
    }
}

CASE(pivot)
{
    double *const a = check_doubles(N * N);
    pivot(N, 0, N, 7, 3, (void *)a);
    pivot(N, 3, N - 2, 0, N - 1, (void *)a);
    pivot(N, 0, N - 4, N - 1, 0, (void *)a);
    pivot(N, 5, 6, 5, 5, (void *)a);
    pivot(N, 9, 2, 5, 5, (void *)a);
    check_record("a", a, N * N * sizeof *a);
    free(a);
}

// case behind: the element lies one behind the outer loop, met in all of its iterations but the first
static void behind(int n, double a[n][n], double *b)
{
#pragma tilek kernel
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++) {
            b[i] = b[i] * 0.5 + b[k - 1 < 0 ? 0 : k - 1] * 0.25;
            for (int j = 0; j < n; j++)
                a[i][j] += a[i][k] * b[j] * 0.125;
        }
}

CASE(behind)
{
    double *const a = check_doubles(N * N), *const b = check_doubles(N);
    behind(N, (void *)a, b);
    check_record("a", a, N * N * sizeof *a);
    check_record("b", b, N * sizeof *b);
    free(a);
    free(b);
}
