#include "check.h"

#include <limits.h>
#include <stdbool.h>

#pragma GCC diagnostic ignored "-Wsign-compare"

static const int sizes[] = {0, 1, 2, 37};
#define EACH_SIZE(n) for (size_t size_ = 0, n = 0; size_ < sizeof sizes / sizeof sizes[0] && (n = (size_t)sizes[size_], 1); ++size_)

// case last_values: scalars and iterators read after the kernel
static void last_values(int n, int *a)
{
    int last = -5, i, j = 99, found = -1;
#pragma tilek kernel data(a[0:n])
    for (i = 0; i < n; i++) {
        last = a[i];
        if (a[i] > 900) found = i;
        for (j = 0; j < 3; j++) a[i] += j;
    }
    check_record("last", &last, sizeof last); check_record("found", &found, sizeof found);
    check_record("i", &i, sizeof i); check_record("j", &j, sizeof j);
    double t;
#pragma tilek kernel data(a[0:n]) independent
    for (i = 0; i < n; i += 3) {
        t = a[i] * 0.5;
        a[i] = (int)t;
    }
    check_record("i3", &i, sizeof i);
}
CASE(last_values)
{
    EACH_SIZE(n) {
        int *a = check_ints(n);
        last_values((int)n, a);
        check_record("a", a, n * 4);
        free(a);
    }
}

// case shared_nests: nests of one kernel that share arrays; scalars between
static void shared_nests(int n, int m, float A[n][m], float B[m][n], float *r)
{
#pragma tilek kernel data(r[0:n]) independent
    {
        const float half = 0.5f, third = half / 1.5f;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                B[j][i] = A[i][j] * half;
        for (int i = 0; i < n; i++) {
            r[i] = 0;
            for (int j = 0; j < m; j++)
                r[i] += B[j][i] * third;
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                A[i][j] -= r[i];
    }
}
CASE(shared_nests)
{
    EACH_SIZE(n) {
        float *a = check_floats(n * 9), *b = check_floats(n * 9), *r = check_floats(n);
        if (n > 0) shared_nests((int)n, 9, (float (*)[9])a, (float (*)[n])b, r);
        check_record("a", a, n * 36); check_record("b", b, n * 36); check_record("r", r, n * 4);
        free(a); free(b); free(r);
    }
}

// case data_recursion: a recursive function whose data regions nest
static void refine(int n, double *u, int depth)
{
    if (depth == 0)
        return;
#pragma tilek data copy(u[0:n])
    {
#pragma tilek kernel data(u[0:n]) independent
        for (int i = 0; i < n; i++)
            u[i] = 0.5 * u[i] + depth;
        refine(n, u, depth - 1);
#pragma tilek kernel data(u[0:n])
        for (int i = 1; i < n; i++)
            u[i] += 0.25 * u[i - 1];
#pragma tilek kernel data(u[0:n]) independent
        for (int i = 0; i < n; i++)
            u[i] *= 0.75;
    }
}
CASE(data_recursion)
{
    EACH_SIZE(n) {
        double *u = check_doubles(n);
        refine((int)n, u, 3);
        check_record("u", u, n * 8);
        free(u);
    }
}

// case as_written_in_data: kernels that run as written between kernels on the device
static void as_written_in_data(int n, float *a, float *b, float **c, double *total)
{
    double sum = 0;
#pragma tilek data copy(a[0:n], c[0:n][0:n]) copyin(b[0:n])
    {
#pragma tilek kernel data(a[0:n], b[0:n]) independent
        for (int i = 0; i < n; i++) { a[i] += b[i]; b[i] = a[i] * 2; }
#pragma tilek kernel data(c[0:n][0:n], a[0:n]) independent
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) c[i][j] += a[j];
#pragma tilek kernel
        for (int i = 1; i < n; i++) {
            a[i] += a[i - 1];
            b[i] -= b[i - 1] * 0.5f;
            c[i][i] += c[i - 1][i - 1];
            sum += a[i];
        }
#pragma tilek kernel data(a[0:n], b[0:n], c[0:n][0:n]) independent
        for (int i = 0; i < n; i++) { a[i] = a[i] * b[i]; c[i][0] += a[i]; }
    }
    *total = sum;
}
CASE(as_written_in_data)
{
    EACH_SIZE(n) {
        float *a = check_floats(n), *b = check_floats(n), **c = check_matrix(n, n);
        double total;
        as_written_in_data((int)n, a, b, c, &total);
        check_record("a", a, n * 4); check_record("total", &total, sizeof total);
        check_record_rows("c", (void *const *)c, n, n * sizeof **c);
        free(a); free(b); check_free_matrix(c, n);
    }
}

// case conditional_access: accesses under conditions, sections given
static void conditional_access(int n, const int *index, double *a, const double *maybe)
{
#pragma tilek kernel data(index[0:n], a[0:n]) data(maybe[0:n], mode:r) independent
    for (int i = 0; i < n; i++)
        if (index[i] > 0 && i > 0)
            a[i] = maybe[i - 1];
        else if (i + 1 < n)
            a[i] -= index[i] < -500 ? maybe[i + 1] : 0;
}
CASE(conditional_access)
{
    EACH_SIZE(n) {
        int *k = check_ints(n); double *a = check_doubles(n), *b = check_doubles(n + 3);
        conditional_access((int)n, k, a, b);
        check_record("a", a, n * 8);
        free(k); free(a); free(b);
    }
}

// case scatter: independent writes at places that data say, whose extents a data region knows
static void scatter(int n, const int *places, const double *from, double *to)
{
#pragma tilek kernel
#pragma tilek loop independent
    for (int i = 0; i < n; i++) {
        to[places[i]] = 2.0 * from[i];
        to[places[i] + n] += from[places[n - 1 - i]];
    }
}

CASE(scatter)
{
    const int n = 613;
    double *const from = check_doubles((size_t)n), *const to = check_doubles(2 * (size_t)n);
    int *const places = check_ints((size_t)n);
    for (int i = 0; i < n; i++)
        places[i] = i * 100 % n;
#pragma tilek data copy(to[0:2*n]) copyin(from[0:n], places[0:n])
    {
        scatter(n, places, from, to);
        scatter(n, places, from, to);
    }
    check_record("to", to, 2 * (size_t)n * sizeof *to);
    free(from), free(to), free(places);
}
