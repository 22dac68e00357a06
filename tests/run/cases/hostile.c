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

// case aliases (a check fails): one array under two names, apart, by one element, by halves, whole
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

// case parts (a check fails): members of one struct, and pointers into them
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

// case tiny: fixed arrays smaller than any tile, of which all but one run as written
static void tiny(const double a[3][3], const double b[3][3], double c[3][3], double d[1])
{
#pragma tilek kernel
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                c[i][j] += a[i][k] * b[k][j];
#pragma tilek kernel
    for (int i = 0; i < 1; i++)
        d[i] += c[2][i];
#pragma tilek kernel independent
    for (int i = 0; i < 2; i++)
        c[0][i] += d[0];
#pragma tilek kernel
    for (int t = 0; t < 2; t++)
        for (int i = 1; i < 2; i++)
            for (int j = 1; j < 2; j++)
                c[i][j] = 0.25 * (c[i - 1][j] + c[i + 1][j] + c[i][j - 1] + c[i][j + 1]);
}

CASE(tiny)
{
    double *const a = check_doubles(9), *const b = check_doubles(9), *const c = check_doubles(9), *const d = check_doubles(1);
    tiny((void *)a, (void *)b, (void *)c, d);
    check_record("c", c, 9 * sizeof *c);
    check_record("d", d, sizeof *d);
    free(a), free(b), free(c), free(d);
}

// case odd_places: sections and rows that begin where no vector does
static void odd_sections(int n, const float *a, float *b, const short *c, signed char *d)
{
#pragma tilek kernel independent data(a[1:n + 2]) data(b[3:n]) data(c[5:n]) data(d[7:n])
    for (int i = 0; i < n; i++) {
        b[3 + i] = a[i + 1] + a[i + 2] + a[i + 3];
        d[7 + i] = (signed char)(c[5 + i] >> 3);
    }
}
static void odd_rows(int n, int m, int from, const float *restrict a, float *restrict b)
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
            b[from + i * m + j] =
                a[from + i * m + j - 1] + a[from + i * m + j + 1] + a[from + (i - 1) * m + j] + a[from + (i + 1) * m + j];
}

CASE(odd_places)
{
    enum { MOST = 41 };
    float *const a = check_floats(MOST * MOST + 20), *const b = check_floats(MOST * MOST + 20);
    short c[MOST + 20];
    signed char d[MOST + 20] = {0};
    for (int k = 0; k < MOST + 20; k++)
        c[k] = (short)(k * 7);
    for (int from = 1; from < 4; from += 2) {
        odd_sections(MOST, a + from, b + from, c + from, d + from);
        odd_rows(MOST - 2, MOST, from, a + from, b + from);
    }
    odd_sections(0, a, b, c, d);
    odd_rows(1, 1, 1, a, b);
    check_record("b", b, (MOST * MOST + 20) * sizeof *b);
    check_record("d", d, sizeof d);
    free(a), free(b);
}

// case strides: a factor of the subscript that the launch says, of either sign and 0, and one that leaves no box to stage
static void by_parameter(int n, int m, int s, const float *restrict a, float *restrict b)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            b[i * m + j] = a[s * (i + j)] + a[s * (i + j + 1)];
}
static void every_ninth(int n, int m, const float a[n][9 * m], float b[n][m])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 0; j < m; j++)
            b[i][j] = a[i - 1][9 * j] + a[i][9 * j + 1] + a[i + 1][9 * j + 5];
}

CASE(strides)
{
    enum { ROWS = 9, LENGTH = 35 };
    float *const a = check_floats(9 * ROWS * LENGTH), *const b = check_floats(ROWS * LENGTH);
    static const int factors[] = {7, 0, -7};
    for (int k = 0; k < 3; k++) {
        by_parameter(ROWS, LENGTH, factors[k], a + (factors[k] < 0 ? 1000 : 0), b);
        check_record("by_parameter", b, ROWS * LENGTH * sizeof *b);
    }
    every_ninth(ROWS, LENGTH, (void *)a, (void *)b);
    check_record("every_ninth", b, ROWS * LENGTH * sizeof *b);
    free(a), free(b);
}

// case named_like_ours: macros of the user that are named like what generated text declares
struct span_of_cells {
    int start, cells;
};
#define first (box->start)
#define count (box->cells)
#define last (first + count)
static void named_like_ours(const struct span_of_cells *box, float *values)
{
#pragma tilek kernel
    for (int trip = first; trip < last; trip++)
        values[trip] = values[trip] * 2 + (float)trip;
}
#define kernel 3
# /* over two lines, behind a comment */ define \
    bytes (count * 2)
static void named_in_clauses(const struct span_of_cells *box, float *values)
{
#pragma tilek kernel num_gangs(count) num_workers(2) data(values[0:first + bytes])
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int trip = first; trip < last; trip++)
        values[trip] = values[trip] * kernel + (float)bytes;
}
#undef first
#undef count
#undef last
#undef bytes
#undef kernel
static float by_words(float value, int length, const int *base) { return value * (float)length + (float)base[length % 2]; }
static const int bases[2] = {5, 9};
#define length 50
#define base (length + 1)
#define sizes 1
#define axes 8
static void words_in_clauses(float *values)
{
#pragma tilek data copy(values[0:base * 2])
    {
#pragma tilek kernel data(values[0:length * 2]) if (sizes) num_gangs(axes) num_workers(2)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (int i = 0; i < length; i++)
            values[i] = by_words(values[i], i, bases) + (float)base;
    }
}
#undef length
#undef base
#undef sizes
#undef axes

CASE(named_like_ours)
{
    float *const values = check_floats(200);
    const struct span_of_cells box = {7, 50};
    named_like_ours(&box, values);
    named_in_clauses(&box, values);
    words_in_clauses(values);
    check_record("values", values, 200 * sizeof *values);
    free(values);
}

// case macro_braces: braces that macros and both branches of an #if open, numbers that go on in the next line, macros defined in regions
#define BEGIN {
#define END }
#define ASSIGN(to, value) to = value
static int macro_braces(int n, int *restrict a, int *restrict b)
{
    int after = 0;
#ifdef NEVER
#pragma tilek kernel num_gangs(2)
    {
#pragma tilek loop tile(gang) tile(dynamic)
        for (int i = 0; i < n; i++)
#else
#pragma tilek kernel
    {
        for (int i = 0; i < n; i++)
#endif
            a[i] = 1\
2 + '}'; /* } */
    }
    after += 1;
#pragma tilek kernel
    for (int i = 0; i < n; i++) BEGIN
#define WEIGHT 3
        b[i] = WEIGHT * i; END
    after += WEIGHT;
    if (n > 3)
#pragma tilek kernel
        for (int i = 0; i < n; i++)
            ASSIGN(a[i], a[i] + b[i]);
    else
        after = 100;
#pragma tilek kernel
    for (
#if 0
        int i = 0; {;
#endif
        int i = 1;
        i < n; i++)
        a[i] -= i
#if 0
                ; }
#endif
        ;
    after += 5;
    return after;
}

static int macro_order(int n, double (*u)[8])
{
#ifdef NEVER
    {
#else
#pragma tilek kernel sor(redblack)
    {
#endif
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < 7; j++) {
#define RATE 0.25
                u[i][j] += RATE * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - 4 * u[i][j]);
            }
    }
    return (int)(8 * RATE);
}

CASE(macro_braces)
{
    int *const a = check_ints(N), *const b = check_ints(N);
    int after = macro_braces(N, a, b) + macro_braces(2, a, b);
    double *const u = check_doubles(N * 8);
    after += macro_order(N, (double (*)[8])u);
    check_record("after", &after, sizeof after);
    check_record("a", a, N * sizeof *a);
    check_record("b", b, N * sizeof *b);
    free(a);
    free(b);
    free(u);
}

// case vouched_gathers: independent loops over a sparse matrix in a struct, of extents that nothing tells; the result may be what is read
struct sparse {
    int n, *row, *column;
    double *value;
};

static void multiply(const struct sparse *s, const double *x, double *y)
{
    const int n = s->n, *row = s->row, *column = s->column;
    const double *value = s->value;
#pragma tilek data copyin(row[0:n+1]) copyin(column[0:3*n]) copyin(value[0:3*n]) copy(x[0:n]) copy(y[0:n])
    {
#pragma tilek kernel loop independent
        for (int i = 0; i < n; i++) {
            y[i] *= 0.5;
            for (int k = row[i]; k < row[i + 1]; k++)
                y[i] += value[k] * x[column[k]];
        }
    }
}

CASE(vouched_gathers)
{
    struct sparse s = {N, check_allocate(N + 1, sizeof *s.row), check_allocate(3 * N, sizeof *s.column), check_doubles(3 * N)};
    double *const x = check_doubles(N), *const y = check_doubles(N);
    for (int i = 0; i <= N; i++)
        s.row[i] = 3 * i;
    for (int k = 0; k < 3 * N; k++)
        s.column[k] = k * 31 % N;
    multiply(&s, x, y);
    for (int k = 0; k < 3 * N; k++)
        s.column[k] = k / 3;
    multiply(&s, x, x);
    check_record("x", x, N * sizeof *x);
    check_record("y", y, N * sizeof *y);
    free(s.row);
    free(s.column);
    free(s.value);
    free(x);
    free(y);
}

// case beyond_long: numbers of unsigned long long that no long has, in bounds and subscripts
static void beyond_long(unsigned long long low, unsigned long long high, unsigned long long step, int a[])
{
#pragma tilek kernel
    for (unsigned long long i = low - 14914566399556683430ULL; i < 12; i += step)
        a[i] += 1 + (int)i;
#pragma tilek kernel
    for (int k = 0; k < 9; k++)
        for (unsigned long long i = high - 18446744073709551615ULL; i < 12; i += 2)
            a[12 * (unsigned)k + i] += 5;
}

CASE(beyond_long)
{
    int *const a = check_ints(N);
    beyond_long(14914566399556683430ULL, 18446744073709551615ULL, 3, a);
    check_record("a", a, N * sizeof *a);
    free(a);
}
