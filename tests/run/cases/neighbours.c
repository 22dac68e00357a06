/* Neighbours counted in small loops, under conditions on these loops and on data: the game of life, as it is usually written. */
#include "check.h"

static const int sizes[][2] = {{0, 0}, {2, 5}, {3, 3}, {4, 3}, {37, 41}, {64, 101}};
#define EACH_SIZE(h, w) for (size_t s_ = 0, h = 0, w = 0; s_ < sizeof sizes / sizeof sizes[0] && (h = (size_t)sizes[s_][0], w = (size_t)sizes[s_][1], 1); ++s_)

static void alive(size_t n, int *cells)
{
    for (size_t i = 0; i < n; i++)
        cells[i] = (i * i + i / 7) % 3 == 0;
}

// case skipped_by_condition: the middle is left out by a condition on small loops; flat arrays with rows of a parameter's length
static void skipped_by_condition(int h, int w, const int *a, int *b)
{
#pragma tilek kernel
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int sum = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++)
                    if (dx != 0 || dy != 0)
                        sum += a[(y + dy) * w + x + dx];
            b[y * w + x] = sum == 3 || (sum == 2 && a[y * w + x]);
        }
}
CASE(skipped_by_condition)
{
    EACH_SIZE(h, w) {
        int *a = check_ints(h * w), *b = check_ints(h * w);
        alive(h * w, a);
        skipped_by_condition((int)h, (int)w, a, b);
        check_record("b", b, h * w * sizeof *b);
        free(a); free(b);
    }
}

// case skipped_by_continue: the middle is left out by a continue; each branch writes the cell
static void skipped_by_continue(int h, int w, const int *a, int *b)
{
#pragma tilek kernel
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int sum = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    if (dx == 0 && dy == 0)
                        continue;
                    sum += a[(y + dy) * w + (x + dx)];
                }
            if (a[y * w + x] && (sum < 2 || sum > 3))
                b[y * w + x] = 0;
            else if (sum == 3)
                b[y * w + x] = 1;
            else
                b[y * w + x] = a[y * w + x];
        }
}
CASE(skipped_by_continue)
{
    EACH_SIZE(h, w) {
        int *a = check_ints(h * w), *b = check_ints(h * w);
        alive(h * w, a);
        skipped_by_continue((int)h, (int)w, a, b);
        check_record("b", b, h * w * sizeof *b);
        free(a); free(b);
    }
}

// case rows_of_numbers: rows of a length that the text says
static void rows_of_numbers(int h, const int *a, int *b)
{
#pragma tilek kernel
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < 63; x++) {
            int sum = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++)
                    if (!(dx == 0 && dy == 0))
                        sum += a[(y + dy) * 64 + (x + dx)];
            b[y * 64 + x] = sum == 3 || (sum == 2 && a[y * 64 + x]);
        }
}
CASE(rows_of_numbers)
{
    for (int h = 0; h < 40; h += 13) {
        int *a = check_ints((size_t)h * 64), *b = check_ints((size_t)h * 64);
        alive((size_t)h * 64, a);
        rows_of_numbers(h, a, b);
        check_record("b", b, (size_t)h * 64 * sizeof *b);
        free(a); free(b);
    }
}

// case branches: elements that both branches touch after all, and some that only one does
static void branches(int n, int *a, const int *b, int *restrict c)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        int k = i;
        if (b[i] > 0) {
            a[i] = 1;
        } else {
            k = a[i] + i;
            a[i] = 2 + k;
        }
        if (a[i] > 1)
            c[2 * i] += k;
        else
            c[2 * i] -= k;
    }
}
CASE(branches)
{
    for (size_t n = 0; n < 400; n += 133) {
        int *a = check_ints(n), *b = check_ints(n), *c = check_ints(2 * n);
        for (size_t i = 0; i < n; i++) {
            a[i] %= 1000, c[2 * i] %= 1000;
            b[i] = (int)(i % 3) - 1;
        }
        branches((int)n, a, b, c);
        check_record("a", a, n * sizeof *a);
        check_record("c", c, 2 * n * sizeof *c);
        free(a); free(b); free(c);
    }
}

// case reached: functions that get an element's address and read others around it
static double mean_of_five(const double *v)
{
    return (v[-2] + v[-1] + v[0] + v[1] + v[2]) / 5;
}

static double product(const double *a, const double *b, int count, int stride)
{
    double sum = 0;
    for (int k = 0; k < count; k++)
        sum += a[k] * b[k * stride];
    return sum;
}

static double two_on(const double *v)
{
    return mean_of_five(v + 2) + mean_of_five(&v[3]);
}

static void reached(int n, const double *a, const double *b, double *c, double *means, const double m[n][n])
{
#pragma tilek kernel
    for (int i = 2; i < n * n - 2; i++)
        means[i] = mean_of_five(&a[i]);
#pragma tilek kernel
    for (int i = 0; i < n * n - 5; i++)
        means[i] += two_on(a + i);
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            c[i * n + k] = product(&a[i * n], &b[k], n, n);
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int k = 2; k < n - 2; k++)
            means[i * n + k] -= mean_of_five(&m[i][k]);
}

CASE(reached)
{
    enum { N = 30 };
    double *const a = check_doubles(N * N), *const b = check_doubles(N * N), *const c = check_doubles(N * N), *const means = check_doubles(N * N);
    double *const m = check_doubles(N * N);
    reached(N, a, b, c, means, (void *)m);
    check_record("means", means, N * N * sizeof *means);
    check_record("c", c, N * N * sizeof *c);
    free(a);
    free(b);
    free(c);
    free(means);
    free(m);
}

// case handed_out: helpers that get elements' addresses, in statements and in conditions
typedef struct { float x, y, z; } vector;

static inline void accelerate(vector *v, const vector *a) { v->x += a->x; v->y += a->y; v->z += a->z; }

static void sum_and_difference(double *sum, double *difference, double x, double y)
{
    *sum = x + y;
    difference[0] = x - y;
}

static int next_is_greater(const int *p) { return p[1] > p[0]; }

static void handed_out(int n, vector *v, const vector *a, double *sums, double *differences, int *steps)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        accelerate(&v[i], a + i);
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        sum_and_difference(&sums[i], &differences[n - 1 - i], v[i].x, v[i].y);
#pragma tilek kernel
    for (int i = 0; i < n - 1; i++)
        if (next_is_greater(&steps[i]))
            steps[i] = steps[i] % 7 - 100;
}

CASE(handed_out)
{
    enum { N = 3000 };
    vector *const v = check_allocate(N, sizeof *v), *const a = check_allocate(N, sizeof *a);
    double *const sums = check_doubles(N), *const differences = check_doubles(N);
    int *const steps = check_ints(N);
    check_fill_float(&v[0].x, 3 * N);
    check_fill_float(&a[0].x, 3 * N);
    handed_out(N, v, a, sums, differences, steps);
    check_record("v", v, N * sizeof *v);
    check_record("sums", sums, N * sizeof *sums);
    check_record("differences", differences, N * sizeof *differences);
    check_record("steps", steps, N * sizeof *steps);
    free(v); free(a); free(sums); free(differences); free(steps);
}
