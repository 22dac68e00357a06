/* What has to be copied to a device and back, found by the engine: test_data_motion.py counts the bytes of every kernel here. */
#include "check.h"

enum { N = 40, M = 24 };

// case overwritten: every element is written, none is read: nothing comes in but the source
static void overwrite(int n, int m, double a[n][m], double b[n][m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            b[i][j] = 2 * a[i][j];
}

CASE(overwritten)
{
    double *const a = check_doubles(N * M), *const b = check_doubles(N * M);
    overwrite(N, M, (double (*)[M])a, (double (*)[M])b);
    check_record("b", b, N * M * sizeof *b);
    overwrite(0, M, (double (*)[M])a, (double (*)[M])b);
    overwrite(N, 0, (double (*)[M])a, (double (*)[M])b);
    check_record("still", b, N * M * sizeof *b);
    free(a);
    free(b);
}

// case assigned_first: a sum that starts with an assignment needs no old value
static void product(int n, int m, double *restrict c, const double *a, const double *b)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            c[i * n + j] = 0;
            for (int k = 0; k < m; k++)
                c[i * n + j] += a[i * m + k] * b[k * n + j];
        }
}

CASE(assigned_first)
{
    double *const a = check_doubles(N * M), *const b = check_doubles(N * M), *const c = check_doubles(N * N + 5);
    product(N, M, c, a, b);
    product(N, 0, c, a, b);
    check_record("c", c, (N * N + 5) * sizeof *c);
    free(a);
    free(b);
    free(c);
}

// case interior: the ends of the array stay the user's
static void smooth(int n, float *restrict to, const float *from)
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        to[i] = 0.5f * (from[i - 1] + from[i + 1]);
}

CASE(interior)
{
    float *const a = check_floats(N), *const b = check_floats(N);
    smooth(N, b, a);
    smooth(2, b, a);
    smooth(-3, b, a);
    check_record("b", b, N * sizeof *b);
    free(a);
    free(b);
}

// case rows: some rows of a larger array, and every other row, between which lie the user's
static void some_rows(int n, int lo, int hi, double a[n][M], double b[n][M])
{
#pragma tilek kernel
    for (int i = lo; i < hi; i++)
        for (int j = 0; j < M; j++)
            a[i][j] = b[i][j] + 1;
}

static void every_other(int n, double a[n][M])
{
#pragma tilek kernel
    for (int i = 0; i < n; i += 2)
        for (int j = 0; j < M; j++)
            a[i][j] = i;
}

CASE(rows)
{
    double *const a = check_doubles(N * M), *const b = check_doubles(N * M);
    some_rows(N, 7, 19, (double (*)[M])a, (double (*)[M])b);
    some_rows(N, 9, 9, (double (*)[M])a, (double (*)[M])b);
    every_other(N, (double (*)[M])a);
    check_record("a", a, N * M * sizeof *a);
    free(a);
    free(b);
}

// case block: a block inside an array leaves what is around it alone
static void block(int n, int m, int h, int w, int r, int c, float a[n][m])
{
#pragma tilek kernel
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++)
            a[r + i][c + j] = (float)(i - j);
}

CASE(block)
{
    float *const a = check_floats(N * M);
    block(N, M, 5, 6, 3, 8, (float (*)[M])a);
    check_record("a", a, N * M * sizeof *a);
    free(a);
}

// case triangle: half of a matrix is written, the other half is the user's
static void triangle(int n, double a[n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            a[i][j] = i * j;
}

CASE(triangle)
{
    double *const a = check_doubles(N * N);
    triangle(N, (double (*)[N])a);
    check_record("a", a, N * N * sizeof *a);
    free(a);
}

// case two_halves: two nests write all of it together, and a third reads it
static void halves(int n, const float *x, float *restrict y, float *restrict z)
{
#pragma tilek kernel
    {
        for (int i = 0; i < n; i++)
            y[i] = x[i] + 1;
        for (int i = n; i < 2 * n; i++)
            y[i] = x[i - n] - 1;
        for (int i = 0; i < 2 * n; i++)
            z[i] = y[2 * n - 1 - i];
    }
}

CASE(two_halves)
{
    float *const x = check_floats(N), *const y = check_floats(2 * N), *const z = check_floats(2 * N);
    halves(N, x, y, z);
    halves(0, x, y, z);
    check_record("y", y, 2 * N * sizeof *y);
    check_record("z", z, 2 * N * sizeof *z);
    free(x);
    free(y);
    free(z);
}

// case branches: whichever branch is taken writes; where only one does, the old value counts
static void both_branches(int n, const float *x, float *restrict y)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        if (i % 3 == 0)
            y[i] = x[i];
        else
            y[i] = -x[i];
}

static void one_branch(int n, const float *x, float y[n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        if (x[i] > 0)
            y[i] = x[i];
}

CASE(branches)
{
    float *const x = check_floats(N), *const y = check_floats(N), *const z = check_floats(N);
    both_branches(N, x, y);
    one_branch(N, x, z);
    check_record("y", y, N * sizeof *y);
    check_record("z", z, N * sizeof *z);
    free(x);
    free(y);
    free(z);
}

// case said_out: live:out with a proof, with sections in the user's own words
static void said_out(int n, const double *x, double *y)
{
#pragma tilek kernel data(x[0:n], live:in) data(y[0:2*n+1], live:out) independent
    for (int i = 0; i <= 2 * n; i++)
        y[i] = x[i / 2 < n ? i / 2 : 0];
}

CASE(said_out)
{
    double *const x = check_doubles(N), *const y = check_doubles(2 * N + 1);
    said_out(N, x, y);
    check_record("y", y, (2 * N + 1) * sizeof *y);
    free(x);
    free(y);
}

// case members: both members of each record are written
struct complex_number {
    double re, im;
};

static void members(int n, const double *x, struct complex_number *restrict z)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        z[i].re = x[i];
        z[i].im = z[i].re / 2;
    }
}

static void one_member(int n, const double *x, struct complex_number *restrict z)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        z[i].im = x[i];
}

CASE(members)
{
    double *const x = check_doubles(N), *const z = check_doubles(2 * N), *const w = check_doubles(2 * N);
    members(N, x, (struct complex_number *)(void *)z);
    one_member(N, x, (struct complex_number *)(void *)w);
    check_record("z", z, 2 * N * sizeof *z);
    check_record("w", w, 2 * N * sizeof *w);
    free(x);
    free(z);
    free(w);
}

// case wide_indices: subscripts of mixed types, computed in 64 bits
static void wide(int n, unsigned m, const float *x, float *restrict y)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (unsigned j = 0; j < m; j++)
            y[(size_t)i * m + j] = x[(unsigned long)i * (unsigned long)m + j] + 1;
}

CASE(wide_indices)
{
    float *const x = check_floats(N * M), *const y = check_floats(N * M);
    wide(N, M, x, y);
    wide(-2, M, x, y);
    check_record("y", y, N * M * sizeof *y);
    free(x);
    free(y);
}

// case until_still: a loop on the host around two kernels, arrays that change places: once to the device and once back, and a number each turn
static int until_still(int n, int most, double *x, double *y)
{
    double change = 1;
    int it = 0;
#pragma tilek kernel
    while (change > 0 && it < most) {
        for (int i = 1; i < n - 1; i++)
            y[i] = (x[i - 1] + x[i + 1]) / 2;
        change = 0;
        for (int i = 1; i < n - 1; i++)
            change = fmax(change, fabs(y[i] - x[i]));
        double *const last = x;
        x = y;
        y = last;
        it++;
    }
    return it;
}

CASE(until_still)
{
    double *const x = check_doubles(N), *const y = check_doubles(N);
    for (int most = 0; most < 9; most += 4) {
        const int turns = until_still(N, most, x, y);
        check_record("turns", &turns, sizeof turns);
    }
    check_record("x", x, N * sizeof *x);
    check_record("y", y, N * sizeof *y);
    free(x);
    free(y);
}
