/* Kernels without a word on tiles or independence: the engine proves what may be distributed; all else runs as written. */
#include "check.h"

// case shifted_copy (a check fails): arrays that are one array at some launches, which only the launch can see
static void shifted_copy(int n, const float *from, float *to)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        to[i] = 0.5f * from[i] + 1.0f;
}

CASE(shifted_copy)
{
    const size_t n = 1013;
    float *const a = check_floats(n), *const b = check_floats(n);
    shifted_copy((int)n, a, b);
    check_record("apart", b, n * sizeof *b);
    shifted_copy((int)n - 1, a, a + 1);
    check_record("overlapping", a, n * sizeof *a);
    shifted_copy(500, b, b + 500);
    check_record("halves", b, n * sizeof *b);
    free(a);
    free(b);
}

// case relaxed: the first nest is parallel, the second carries a dependence, so that the region runs as written
static void relaxed(int n, int m, float a[n][m], float b[n][m])
{
    int i, j;
#pragma tilek kernel
    {
        for (i = 1; i < n - 1; i++)
            for (j = 1; j < m - 1; j++)
                b[i][j] = 0.25f * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
        for (i = 1; i < n; i++)
            for (j = 0; j < m - 1; j++)
                a[i][j] = a[i - 1][j + 1] + b[i][j];
    }
}

CASE(relaxed)
{
    enum { N = 37, M = 53 };
    float *const a = check_floats(N * M), *const b = check_floats(N * M);
    relaxed(N, M, (float (*)[M])a, (float (*)[M])b);
    check_record("a", a, N * M * sizeof *a);
    check_record("b", b, N * M * sizeof *b);
    free(a);
    free(b);
}

// case nests: several parallel nests: private scalars, steps, a triangle, decreasing loops, subscripts by hand
static void nests(int n, double *a, const double *x, double *restrict y, int *last)
{
    int i = 0, j = 0;
    double t;
#pragma tilek kernel
    {
        for (i = n - 1; i >= 0; i -= 2)
            for (j = 0; j < n; j++)
                a[i * n + j] = x[j] * (i + 1);
        for (i = 0; i < n; i++)
            for (j = 0; j <= i; j++)
                a[i * n + j] += a[i * n + j] * 0.5;
        for (i = 0; i < n; i++) {
            double sum = 0;
            for (j = 0; j < n; j++)
                sum += a[i * n + j];
            y[i] = sum;
        }
        for (i = 0; i < n; i++) {
            t = y[i] * 2;
            y[i] = t + (i % 3 == 0 ? 1 : t * t);
        }
    }
    last[0] = i;
    last[1] = j;
}

CASE(nests)
{
    enum { N = 45 };
    double *const a = check_doubles(N * N), *const x = check_doubles(N), *const y = check_doubles(N);
    int last[2];
    nests(N, a, x, y, last);
    check_record("a", a, N * N * sizeof *a);
    check_record("y", y, N * sizeof *y);
    check_record("last", last, sizeof last);
    free(a);
    free(x);
    free(y);
}

// case recurrences: what is not parallel runs as written
static void recurrences(int n, const int *index, float *a, float *b)
{
#pragma tilek kernel
    for (int j = 1; j <= 3; j++)
        for (int i = 1; i < n - 1; i++)
            a[i] = 0.5f * (a[i] + a[i + 1]);
#pragma tilek kernel data(index[0:n]) data(b[0:n])
    for (int i = 0; i < n; i++)
        b[index[i]] = b[index[i]] * 0.5f + (float)i;
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.9f)
            break;
        a[i] = 2;
    }
}

CASE(recurrences)
{
    enum { N = 301 };
    float *const a = check_floats(N), *const b = check_floats(N);
    int index[N];
    for (int k = 0; k < N; k++)
        index[k] = (k * 7) % 20;
    recurrences(N, index, a, b);
    check_record("a", a, N * sizeof *a);
    check_record("b", b, N * sizeof *b);
    free(a);
    free(b);
}

// case strided: even elements from odd ones, and members of one record from each other
struct pair {
    float x, y;
};

static void strided(int n, float *a, struct pair *p)
{
#pragma tilek kernel
    for (int i = 0; i < n / 2; i++)
        a[2 * i] = a[2 * i + 1] * 3;
#pragma tilek kernel data(p[0:n])
    for (int i = 1; i < n; i++)
        p[i].x = p[i - 1].y + 1;
}

CASE(strided)
{
    enum { N = 400 };
    float *const a = check_floats(2 * N), *const p = check_floats(2 * N);
    strided(N, a, (struct pair *)(void *)p);
    check_record("a", a, 2 * N * sizeof *a);
    check_record("p", p, 2 * N * sizeof *p);
    free(a);
    free(p);
}

// case masked_rows: rows and lines that data leave out, in nests whose loops carry dependences
static void masked_rows(int n, double u[n][n], const int *solid, double *sums)
{
#pragma tilek kernel
    for (int i = 1; i < n; i++) {
        if (solid[i] < 0)
            continue;
        u[i][0] = 0.5 * u[i - 1][0];
        for (int j = 1; j < n; j++)
            u[i][j] = 0.25 * u[i][j] + 0.375 * (u[i - 1][j] + u[i][j - 1]);
    }
#pragma tilek kernel data(sums[0:n])
    for (int i = 0; i < n; i++)
        if (solid[i] > 0 && sums[i] < 0.5) {
            for (int j = 0; j < n; j++)
                sums[i] += u[i][j];
        }
}

CASE(masked_rows)
{
    for (int n = 0; n < 40; n += 13) {
        double *const u = check_doubles((size_t)n * (size_t)n), *const sums = check_doubles((size_t)n);
        int *const solid = check_ints((size_t)n);
        masked_rows(n, (void *)u, solid, sums);
        check_record("u", u, (size_t)n * (size_t)n * sizeof *u);
        check_record("sums", sums, (size_t)n * sizeof *sums);
        free(u);
        free(sums);
        free(solid);
    }
}

// case updates_of_elements: short loops that add to one element, of which none becomes a sweep of its own
static void updates_of_elements(int n, double in[n][n], double out[n][n])
{
    const double weight[5][5] = {{0, 0, 1, 0, 0}, {0, 0, 2, 0, 0}, {1, 2, 8, 2, 1}, {0, 0, 2, 0, 0}, {0, 0, 1, 0, 0}};
    int i, j, k;
#pragma tilek kernel independent
    for (i = 2; i < n - 2; i++)
        for (j = 2; j < n - 2; j++) {
            for (k = -2; k <= 2; k++) out[i][j] += weight[2][2 + k] * in[i][j + k];
            for (k = -2; k < 0; k++) out[i][j] += weight[2 + k][2] * in[i + k][j];
            for (k = 1; k <= 2; k++) out[i][j] += weight[2 + k][2] * in[i + k][j];
        }
#pragma tilek kernel
    for (i = 2; i < n - 2; i++)
        for (j = 2; j < n - 2; j++)
            for (int y = -1; y <= 1; y++)
                for (int x = -1; x <= 1; x++)
                    if (x || y) in[i][j] += out[i + y][j + x] / (1 + y * y);
}

CASE(updates_of_elements)
{
    for (int n = 0; n < 60; n += 19) {
        double *const in = check_doubles((size_t)n * (size_t)n), *const out = check_doubles((size_t)n * (size_t)n);
        updates_of_elements(n, (void *)in, (void *)out);
        check_record("in", in, (size_t)n * (size_t)n * sizeof *in);
        check_record("out", out, (size_t)n * (size_t)n * sizeof *out);
        free(in);
        free(out);
    }
}
