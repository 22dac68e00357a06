/* Numbers at the ends of their types. What a target cannot run, the user's own loop runs, after one warning: TILEK_STRICT is off. */
#include "check.h"

#include <limits.h>

enum { N = 150 };

// case ends_of_types: bounds next to the greatest and least values, counted up and down
static void at_the_top(int *a)
{
#pragma tilek kernel
    for (int i = INT_MAX - 20; i < INT_MAX; i++)
        a[INT_MAX - i] = i;
}

static void at_the_bottom(long *a, long from)
{
#pragma tilek kernel
    for (long i = from; i < from + 30; i++)
        a[i - from] = i;
#pragma tilek kernel
    for (long i = from + 27; i > from; i -= 3)
        a[i - from] = i / 2;
}

static void unsigned_bounds(unsigned n, unsigned lower, float *restrict a, const float *b)
{
#pragma tilek kernel data(a[0:N]) data(b[0:N])
    for (unsigned i = lower - 5; i < n; i++)
        a[i] = b[i] + 1;
}

static void wide_sizes(int n, int from, float *restrict a, const float *b)
{
#pragma tilek kernel
    for (long i = (long)n * n - from; i < (long)n * n; i++)
        a[i - (long)n * n + from] = b[(long)n * n - 1 - i];
}

CASE(ends_of_types)
{
    int *const a = check_ints(N);
    long longs[30] = {0};
    float *const f = check_floats(N), *const g = check_floats(N);
    at_the_top(a);
    check_record("top", a, N * sizeof *a);
    at_the_bottom(longs, LONG_MIN);
    check_record("bottom", longs, sizeof longs);
    at_the_bottom(longs, LONG_MIN + 1);
    at_the_bottom(longs, -3);
    check_record("bottom_too", longs, sizeof longs);
    unsigned_bounds(N, 5, f, g);
    check_record("unsigned", f, N * sizeof *f);
    unsigned_bounds(20, 3, f, g);
    check_record("wrapped", f, N * sizeof *f);
    wide_sizes(60000, 40, f, g);
    check_record("wide", f, N * sizeof *f);
    free(a);
    free(f);
    free(g);
}

// case steps: steps known at launch, among them 0 where the loop does not run at all
static void strided(int n, int step, float *restrict a, const float *b)
{
#pragma tilek kernel data(a[0:N]) data(b[0:N])
    for (int i = 0; i < n; i += step)
        a[i] = b[i] * 2;
}

CASE(steps)
{
    float *const a = check_floats(N), *const b = check_floats(N);
    strided(N, 1, a, b);
    strided(N, 7, a, b);
    strided(N, INT_MAX - N, a, b);
    strided(0, 0, a, b);
    strided(-4, 0, a, b);
    strided(0, -3, a, b);
    check_record("a", a, N * sizeof *a);
    free(a);
    free(b);
}

// case wrapping: unsigned bounds that wrap, and comparisons that convert a negative iterator
static void from_below(unsigned n, unsigned lower, float *restrict a, const float *b)
{
#pragma tilek kernel
    for (unsigned i = lower - 5; i < n; i++)
        a[i] = b[i] + 1;
}

static void the_last(size_t n, size_t k, float *restrict a, const float *b)
{
#pragma tilek kernel
    for (size_t i = n - k; i < n; i++)
        a[i] = b[i] + 1;
}

static void mixed(int from, unsigned long n, float *restrict a, const float *b)
{
#pragma tilek kernel
    for (int i = from; (unsigned long)i < n; i++)
        a[i] = b[i] + 1;
#pragma tilek kernel
    for (int i = 0; i < 3; i++)
        for (int j = i - 1; (unsigned long)j < n; j++)
            a[10 * i + j] = b[j] - 1;
}

static void product(unsigned n, unsigned m, float *restrict a, const float *b)
{
#pragma tilek kernel
    for (unsigned i = 0; i < n * m; i++)
        a[i] = b[i] * 3;
}

CASE(wrapping)
{
    float *const a = check_floats(N), *const b = check_floats(N);
    float *const x = a + N / 2;
    const float *const y = b + N / 2;
    from_below(20, 3, x, y);
    from_below(20, 7, x, y);
    the_last(20, 25, x, y);
    the_last(20, 5, x, y);
    mixed(-4, 10, x, y);
    mixed(4, 10, x, y);
    product(65536, 65536, x, y);
    product(5, 7, x, y);
    check_record("a", a, N * sizeof *a);
    free(a);
    free(b);
}

// case far_times: sweeps at numbers of 64 bits, which sums of tile numbers must hold too
static void sweeps(long first, long last, int n, float a[n][n])
{
#pragma tilek kernel
    for (long t = first; t < last; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = 0.25f * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]) + (float)(t & 3);
}

CASE(far_times)
{
    enum { SIDE = 40 };
    const long firsts[] = {-3000000007, 1L << 39, (1L << 40) - 5, 1L << 60, -(1L << 61), LONG_MAX - 5};
    static float a[SIDE][SIDE];
    check_fill_float(&a[0][0], SIDE * SIDE);
    for (int k = 0; k < 6; k++) {
        sweeps(firsts[k], firsts[k] + 5, SIDE, a);
        check_record("swept", a, sizeof a);
    }
}

// case far_rows: pointers to rows, and columns of them, whose numbers are beyond 2^31; the rows that are packed are few
static void far_rows(long from, long at, signed char **a, signed char **b)
{
#pragma tilek kernel data(a[from:9][at:100]) data(b[from:9][at - 1:102])
    for (long i = from; i < from + 9; i++)
        for (long j = at; j < at + 100; j++)
            a[i][j] = (signed char)(a[i][j] / 2 + b[i][j + 1] / 4 + b[i][j - 1] / 4 + j % 7 + i % 3);
}

CASE(far_rows)
{
    enum { ROWS = 9, LENGTH = 110, BEFORE = 5 };
    static signed char rows[2][ROWS][LENGTH], *pointers[2][ROWS];
    const long places[][2] = {{0, 1}, {3000000000, 3500000000}, {3000000000, 1}, {2, 5000000000}, {-3000000000, -3000000000}};
    for (int k = 0; k < 5; k++) {
        const long from = places[k][0], at = places[k][1];
        for (int i = 0; i < ROWS; i++)
            for (int which = 0; which < 2; which++) {
                for (int j = 0; j < LENGTH; j++)
                    rows[which][i][j] = (signed char)((i + k) * 3 + j * (2 + which));
                pointers[which][i] = (signed char *)((uintptr_t)&rows[which][i][BEFORE] - (uintptr_t)at);
            }
        far_rows(from, at, (signed char **)((uintptr_t)pointers[0] - (uintptr_t)from * sizeof(void *)),
                 (signed char **)((uintptr_t)pointers[1] - (uintptr_t)from * sizeof(void *)));
        check_record("rows", rows, sizeof rows);
    }
}

// case far: rows beyond 2^31 elements of an array, which positions of 32 bits do not reach; and beside them an array near its start
static void far(long n, int m, int first, signed char a[n][m], short b[3][m])
{
#pragma tilek kernel
    for (int i = first; i < first + 3; i++)
        for (int j = 0; j < m; j++)
            a[i][j] = (signed char)(a[i][j] / 2 + b[i - first][j] + i);
}

CASE(far)
{
    enum { ROWS = 60000, LENGTH = 40000, AT = 59000 };
    signed char *const a = malloc((size_t)ROWS * LENGTH), *const row = a == NULL ? NULL : a + (size_t)AT * LENGTH;
    short *const b = malloc(3 * LENGTH * sizeof *b);
    if (row == NULL || b == NULL)
        exit(3);
    for (int k = 0; k < 3 * LENGTH; k++) {
        row[k] = (signed char)(k * 7);
        b[k] = (short)(k % 100);
    }
    far(ROWS, LENGTH, AT, (void *)a, (void *)b);
    check_record("rows", row, 3 * LENGTH);
    far(ROWS, LENGTH, 1, (void *)a, (void *)b); /* only these rows are on the device now: a program for short positions */
    check_record("near", a + LENGTH, 3 * LENGTH);
    free(a);
    free(b);
}
