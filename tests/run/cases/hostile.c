/* Nests that are hard on an automatic plan: what cannot be known before the launch, and numbers far apart. */
#include "check.h"

#include <limits.h>

enum { N = 150 };

// case gathers: subscripts read from memory, and products of iterators
static void gather(int n, const int *index, const float *from, float *restrict to)
{
#pragma tilek kernel data(from[0:n])
    for (int i = 0; i < n; i++)
        to[i] = from[index[i]] + 1;
}

static void scatter(int n, const int *index, const float *from, float *restrict to)
{
#pragma tilek kernel data(to[0:n])
    for (int i = 0; i < n; i++)
        to[index[i]] = from[i];
}

static void squares(int n, float *restrict to, const float from[N])
{
#pragma tilek kernel data(to[0:n])
    for (int i = 0; i * i < n; i++)
        to[i * i] = from[i] + to[i];
#pragma tilek kernel
    for (int i = 0; i < 12; i++)
        to[i] = from[i * i];
}

CASE(gathers)
{
    float *const a = check_floats(N), *const b = check_floats(N), *const c = check_floats(N);
    int index[N];
    for (int k = 0; k < N; k++)
        index[k] = (int)(check_random((uint64_t)k) % N);
    gather(N, index, a, b);
    scatter(N, index, a, c);
    check_record("gathered", b, N * sizeof *b);
    check_record("scattered", c, N * sizeof *c);
    squares(N, b, a);
    check_record("squares", b, N * sizeof *b);
    free(a);
    free(b);
    free(c);
}

// case aliases: one array under two names, apart, by one element, by halves, whole
static void shift(int n, const double *from, double *to)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        to[i] = from[i] * 0.5 + 1;
}

static void backwards(int n, double *from, double *to)
{
#pragma tilek kernel
    for (int i = n - 1; i >= 0; i--)
        to[i] = from[n - 1 - i] - 1;
}

static void sum_of(int n, const double *x, const double *y, double *restrict sum)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        sum[i] = x[i] + y[n - 1 - i];
}

CASE(aliases)
{
    double *const a = check_doubles(N), *const b = check_doubles(N);
    shift(50, a, a + 50);
    shift(50, a, a + 49);
    shift(50, a + 49, a);
    shift(50, a + 50, a);
    shift(50, a, a);
    shift(1, a, a);
    check_record("shifted", a, N * sizeof *a);
    backwards(50, a, a);
    backwards(75, a + 75, a);
    backwards(76, a + 74, a);
    check_record("backwards", a, N * sizeof *a);
    sum_of(N, a, a, b);
    check_record("sum", b, N * sizeof *b);
    free(a);
    free(b);
}

// case parts: members of one struct, and pointers into them
struct state {
    int n;
    float u[40], v[40];
    struct {
        float w[8][5];
    } inner;
};

static void inside(struct state *s, const float *also)
{
#pragma tilek kernel
    for (int i = 1; i < 39; i++)
        s->v[i] = s->u[i - 1] + s->u[i + 1] + also[i];
#pragma tilek kernel
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 5; j++)
            s->inner.w[i][j] = s->v[i * 5 + j - (i * 5 + j == 40)] + 1;
}

CASE(parts)
{
    static struct state s;
    s.n = 40;
    check_fill_float(s.u, 40);
    check_fill_float(s.v, 40);
    inside(&s, s.u);
    check_record("other_member", &s, sizeof s);
    inside(&s, s.v);
    check_record("same_member", &s, sizeof s);
    inside(&s, (const float *)(const void *)&s + 40); /* the last of u, then v */
    check_record("one_before", &s, sizeof s);
}

// case empty: loops that do not run, sizes below nothing, in every place
static void none(int n, int m, int lo, int hi, double *a, double *restrict b)
{
#pragma tilek kernel
    for (int i = lo; i < hi; i++)
        for (int j = 0; j < m; j++)
            a[i * 10 + j] = i + j;
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        b[i] = 0;
        for (int j = i; j < m; j++)
            b[i] += a[j];
    }
}

CASE(empty)
{
    double *const a = check_doubles(N), *const b = check_doubles(N);
    none(0, 0, 0, 0, a, b);
    none(-5, 3, 4, 4, a, b);
    none(3, -5, 4, 2, a, b);
    none(-1, -1, INT_MAX, INT_MIN, a, b);
    check_record("nothing", a, N * sizeof *a);
    none(5, 3, 2, 4, a, b);
    none(3, 5, 7, 6, a, b);
    check_record("a", a, N * sizeof *a);
    check_record("b", b, N * sizeof *b);
    free(a);
    free(b);
}

// case coefficients: great factors in subscripts, which lie in the array all the same
static void great(int n, long k, float *restrict a, const float *b)
{
#pragma tilek kernel data(a[0:N]) data(b[0:N])
    for (int i = 0; i < n; i++)
        a[1000000007L * i % N] = b[i] + a[1000000007L * i % N];
#pragma tilek kernel
    for (int i = 0; i < 1; i++)
        a[1000000007L * i] = b[4611686018427387904L * i];
#pragma tilek kernel
    for (long i = k; i < k + 3; i++)
        a[3000000000L * (i - k) - 2999999999L * (i - k)] = b[i - k] + 5;
}

CASE(coefficients)
{
    float *const a = check_floats(N), *const b = check_floats(N);
    great(N, 1L << 60, a, b);
    great(N, -(1L << 60), a, b);
    check_record("a", a, N * sizeof *a);
    free(a);
    free(b);
}

// case narrow: iterators of small types, and bounds of larger ones
static void small(unsigned char n, short m, long long p, int *restrict a, signed char *restrict c)
{
#pragma tilek kernel
    for (unsigned char i = 0; i < n; i++)
        for (short j = 0; j < m; j++)
            a[i * m + j] = i - j;
#pragma tilek kernel
    for (int i = 0; i < p; i++)
        c[i] = (signed char)(i * 3);
}

CASE(narrow)
{
    int *const a = check_ints(N);
    signed char c[N] = {0};
    small(10, 15, N, a, c);
    small(0, 15, -1, a, c);
    small(3, -1, LLONG_MIN, a, c);
    check_record("a", a, N * sizeof *a);
    check_record("c", c, sizeof c);
    free(a);
}
