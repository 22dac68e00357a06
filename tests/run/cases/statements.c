#include "check.h"

#include <stdbool.h>

// case declarations: locals in bodies, arrays and shadowing among them
static void declarations(int n, int m, float *a)
{
    float x = 3.0f;
#pragma tilek kernel data(a[0:n*m], mode:rw) num_gangs(2) num_workers(3)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i) {
        float window[4] = {1.0f, x, 0.5f}, sum = 0.0f;
        int k, last = m - 1;
        for (k = 0; k < m; ++k) {
            const float x = a[i * m + k];
            window[k % 4] += x;
            sum += window[(k + 1) % 4];
        }
        a[i * m + last] = sum + x;
    }
}

CASE(declarations)
{
    const int n = 23, m = 9;
    float *const a = check_floats((size_t)(n * m));
    declarations(n, m, a);
    check_record("a", a, (size_t)(n * m) * sizeof *a);
    free(a);
}

// case conditions: if with and without else, else if, nested, conditional expressions
static void conditions(int n, const int *a, int *b)
{
#pragma tilek kernel data(a[0:n], mode:r, live:in) data(b[0:n], mode:rw) num_threads(3)
#pragma tilek loop tile(thread) tile(dynamic)
    for (int i = 0; i < n; ++i) {
        if (a[i] > 500)
            b[i] = 1;
        else if (a[i] > 0) {
            b[i] = a[i] % 2 ? a[i] / 2 : -a[i];
            if (b[i] < -100)
                b[i] += 7;
        } else
            b[i] -= a[i] == 0 || (a[i] < -500 && b[i] > 3) ? 11 : 13;
        if (!b[i])
            b[i] = ~a[i];
    }
}

CASE(conditions)
{
    const int n = 211;
    int *const a = check_ints((size_t)n), *const b = check_ints((size_t)n);
    a[17] = 0;
    conditions(n, a, b);
    check_record("b", b, (size_t)n * sizeof *b);
    free(a);
    free(b);
}

// case floating_conditions: floating numbers, pointers and NaN before ?, in if, loops and logical operators
static void floating_conditions(int n, const float *a, const double *d, const int *base, int *b, float *c)
{
#pragma tilek kernel
    for (int i = 0; i < n; ++i) {
        c[i] = a[i] ? -a[i] : 1.0f;
        b[i] = !a[i] + 2 * !d[i] + (a[i] && d[i]) * 4 + (a[i] || d[i]) * 8;
        b[i] += (a[i] - d[i] ? 16 : 0) + ((a[i] ? d[i] : 0.5f) ? 32 : 0) + (base ? 5 : 0);
        if (a[i])
            b[i] += 64;
        double rest = d[i];
        while (rest)
            rest = rest > 3 ? rest - 3 : 0;
        do
            b[i] += 128;
        while (rest ? 0 : (rest = a[i]) > 0);
    }
}

CASE(floating_conditions)
{
    const int n = 211;
    float *const a = check_floats((size_t)n), *const c = check_floats((size_t)n);
    double *const d = check_allocate((size_t)n, sizeof *d);
    int *const b = check_ints((size_t)n), *const base = check_ints((size_t)n);
    for (int i = 0; i < n; i++)
        d[i] = i % 5 ? a[i] : 0.0;
    for (int i = 0; i < n; i += 3)
        a[i] = i % 2 ? 0.0f : -0.0f;
    a[7] = c[7] / 0.0f - c[7] / 0.0f;
    floating_conditions(n, a, d, NULL, b, c);
    check_record("without", b, (size_t)n * sizeof *b);
    floating_conditions(n, a, d, base, b, c);
    check_record("b", b, (size_t)n * sizeof *b);
    check_record("c", c, (size_t)n * sizeof *c);
    free(a);
    free(b);
    free(base);
    free(c);
    free(d);
}

// case inner_loops: while, do, for with break and continue, loops that are not canonical
static void inner_loops(int n, const int *a, int *steps)
{
#pragma tilek kernel data(a[0:n], mode:r, live:in) data(steps[0:n], mode:rw) num_gangs(2) num_workers(3)
#pragma tilek loop tile(gang) tile(dynamic) tile(worker)
    for (int i = 0; i < n; ++i) {
        unsigned x = (unsigned)(a[i] < 0 ? -a[i] : a[i]) + 1u;
        int count = 0;
        while (x != 1) {
            x = x % 2 ? 3 * x + 1 : x / 2;
            if (++count == 200)
                break;
        }
        do {
            count--;
        } while (count > 50);
        for (int k = 0;; ++k) {
            if (k == 3)
                continue;
            if (k > i % 7)
                break;
            count += k * k;
        }
        for (int k = 1; k < 1000; k *= 2)
            count ^= k & a[i];
        steps[i] = count;
    }
}

CASE(inner_loops)
{
    const int n = 97;
    int *const a = check_ints((size_t)n), *const steps = check_ints((size_t)n);
    inner_loops(n, a, steps);
    check_record("steps", steps, (size_t)n * sizeof *steps);
    free(a);
    free(steps);
}

// case exact_mathematics: library functions whose results are exact, in float and double
static void exact_mathematics(int n, const double *a, double *d, float *f)
{
#pragma tilek kernel data(a[0:n], mode:r, live:in) data(d[0:n], f[0:n], mode:rw) num_gangs(2) num_workers(3)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i) {
        const float x = (float)a[i];
        d[i] = sqrt(fabs(a[i])) + floor(3.0 * a[i]) - ceil(a[i] / 7.0) + fmin(a[i], 0.1) * fmax(a[i], -0.2);
        d[i] += trunc(100.0 * a[i]) / 3.0;
        f[i] = sqrtf(fabsf(x)) / 3.0f + floorf(3.0f * x) - fminf(x, 0.25f) * fmaxf(x, 0.5f);
        f[i] += x < 0 ? 1.0f / x : x / 0.7f;
    }
}

CASE(exact_mathematics)
{
    const int n = 173;
    double *const a = check_doubles((size_t)n), *const d = check_doubles((size_t)n);
    float *const f = check_floats((size_t)n);
    exact_mathematics(n, a, d, f);
    check_record("d", d, (size_t)n * sizeof *d);
    check_record("f", f, (size_t)n * sizeof *f);
    free(a);
    free(d);
    free(f);
}

// case rounded_mathematics: functions that libraries round differently, compared to five digits
static void rounded_mathematics(int n, const double *a, double *d, float *f)
{
#pragma tilek kernel data(a[0:n], mode:r, live:in) data(d[0:n], f[0:n], mode:rw) num_gangs(2) num_workers(3)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i) {
        d[i] = exp(a[i]) + sin(3 * a[i]) * cos(a[i]) + log(2.0 + a[i]) + pow(1.5 + a[i], 2.5) + tanh(a[i]) + atan2(a[i], 0.3);
        f[i] = expf((float)a[i]) + sinf((float)a[i]) + powf(2.0f, (float)a[i]);
    }
}

CASE(rounded_mathematics)
{
    const int n = 64;
    double *const a = check_doubles((size_t)n), *const d = check_doubles((size_t)n);
    float *const f = check_floats((size_t)n);
    for (int i = 0; i < n; ++i)
        a[i] = (i - 20) / 32.0;
    rounded_mathematics(n, a, d, f);
    for (int i = 0; i < n; ++i) {
        /* Compared with the host's own values here; a rounding to digits could fall on either side. */
        const double x = a[i];
        const double expected = exp(x) + sin(3 * x) * cos(x) + log(2.0 + x) + pow(1.5 + x, 2.5) + tanh(x) + atan2(x, 0.3);
        const double single = exp(x) + sin(x) + pow(2.0, x);
        d[i] = fabs(d[i] - expected) <= 1e-12 * fabs(expected) + 1e-13;
        f[i] = fabs(f[i] - single) <= 1e-5 * fabs(single) + 1e-6;
    }
    check_record("d", d, (size_t)n * sizeof *d);
    check_record("f", f, (size_t)n * sizeof *f);
    free(a);
    free(d);
    free(f);
}

// case functions: functions of the same file, by value, by row, calling each other
static float blend(float a, float b, float t)
{
    if (t < 0.0f)
        return a;
    return a + t * (b - a);
}

static inline float smooth(const float *row, int j, int m)
{
    const float left = row[j > 0 ? j - 1 : j], right = row[j < m - 1 ? j + 1 : j];
    return blend(left, right, 0.25f) + blend(row[j], left, -1.0f);
}

static int collatz(unsigned x)
{
    int steps = 0;
    for (; x > 1; ++steps)
        x = x & 1u ? 3 * x + 1 : x >> 1;
    return steps;
}

static void scale_row(float *row, int m, float by)
{
    for (int j = 0; j < m; ++j)
        row[j] *= by;
}

static void functions(int n, int m, float A[n][m], float B[n][m], int *steps)
{
#pragma tilek kernel data(A[0:n][0:m], mode:r, live:in) data(B[0:n][0:m], steps[0:n], mode:rw) num_gangs(2) num_workers(3)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < m; ++j)
            B[i][j] += smooth(A[i], j, m);
        scale_row(B[i], m, blend(0.5f, 1.5f, (float)i / 16.0f));
        steps[i] = collatz((unsigned)i + 1u);
    }
}

CASE(functions)
{
    const int n = 16, m = 25;
    float *const a = check_floats((size_t)(n * m)), *const b = check_floats((size_t)(n * m));
    int *const steps = check_ints((size_t)n);
    functions(n, m, (float (*)[m])a, (float (*)[m])b, steps);
    check_record("b", b, (size_t)(n * m) * sizeof *b);
    check_record("steps", steps, (size_t)n * sizeof *steps);
    free(a);
    free(b);
    free(steps);
}

// case macros: in bounds, subscripts, statements and clauses, as PolyBench/C has them
#define DATA_TYPE float
#define SCALAR_VAL(x) x##f
#define POLYBENCH_LOOP_BOUND(x, y) y
#define PB_N POLYBENCH_LOOP_BOUND(1000, n)
#define PB_M POLYBENCH_LOOP_BOUND(1000, m)
#define POLYBENCH_2D(var, d1, d2) var[d1][d2]
#define AT(i, j) [(i)][(j)]
#define UPDATE(target, value)   \
    do {                        \
        (target) += (value);    \
        (target) *= SCALAR_VAL(0.75); \
    } while (0)
#define FOR(i, n) for (i = 0; i < (n); ++i)
#define GANGS 3

static void macros(int n, int m, DATA_TYPE POLYBENCH_2D(A, n, m), DATA_TYPE POLYBENCH_2D(B, n, m))
{
    int i, j;
#pragma tilek kernel data(A[0:PB_N][0:PB_M], mode:rw) data(B[0:PB_N][0:PB_M], mode:r, live:in) num_gangs(GANGS) num_workers(2 * GANGS)
#pragma tilek loop tile(gang) tile(dynamic)
    for (i = 1; i < PB_N - 1; i++)
#pragma tilek loop tile(worker) tile(dynamic)
        for (j = 1; j < PB_M - 1; j++)
            UPDATE(A AT(i, j), SCALAR_VAL(0.2) * (B[i][j] + B AT(i, j - 1) + B[i][1 + j] + B[1 + i][j] + B[i - 1][j]));
#pragma tilek kernel data(A[0:n][0:m], mode:rw) num_gangs(GANGS)
    {
#pragma tilek loop tile(gang) tile(dynamic)
        FOR(i, PB_N)
            FOR(j, PB_M)
                A[i][j] -= SCALAR_VAL(1.0);
    }
}

CASE(macros)
{
    const int n = 18, m = 21;
    float *const a = check_floats((size_t)(n * m)), *const b = check_floats((size_t)(n * m));
    macros(n, m, (float (*)[m])a, (float (*)[m])b);
    check_record("a", a, (size_t)(n * m) * sizeof *a);
    free(a);
    free(b);
}

// case integer_semantics: division, remainder, shifts, wrap-around, comparisons of mixed signedness, literals
enum colour { RED = 3, GREEN = -5, BLUE = 1 << 20 };

static void integer_semantics(int n, const int *a, long long *r)
{
#pragma tilek kernel data(a[0:n], mode:r, live:in) data(r[0:n], mode:rw) num_gangs(2) num_workers(3)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i) {
        const int x = a[i], y = x | 1;
        unsigned u = (unsigned)x;
        long long v = x / 7 + x % 7 * 1000 + (x >> 3);
        v += (long long)x * 4294967311LL;
        v ^= u * 0xdeadbeefu >> 7;
        v -= (u > 5u) + (-1 < (int)u) + (x == GREEN ? BLUE : RED);
        v += 0x7fffffff + 1u + 'z' + '\n' + 017 + (unsigned char)x;
        v += (100 / y) * (y % 10) - -x + +x;
        v = (long long)((unsigned long long)v << 3) | (v > 0);
        v &= ~0x10LL;
        r[i] = v + (short)x * 3 + (x ? !x : ~x) + (int)sizeof(long);
    }
}

CASE(integer_semantics)
{
    const int n = 131;
    int *const a = check_ints((size_t)n);
    long long *const r = check_allocate((size_t)n, sizeof *r);
    a[3] = -5;
    a[4] = 0;
    integer_semantics(n, a, r);
    check_record("r", r, (size_t)n * sizeof *r);
    free(a);
    free(r);
}

// case casts: conversions between floating and integer types
static void casts(int n, const double *a, float *f, int *k, unsigned char *c)
{
#pragma tilek kernel data(a[0:n], mode:r, live:in) data(f[0:n], k[0:n], c[0:n], mode:rw) num_threads(2)
#pragma tilek loop tile(thread) tile(dynamic)
    for (int i = 0; i < n; ++i) {
        f[i] = a[i] * 1.1 + 2;
        k[i] = a[i] * 1e6;
        k[i] += (int)(float)k[i] / 3 + (int)(long)a[i];
        c[i] = (unsigned char)(100.0 + 99.0 * a[i]);
        f[i] += (float)(i / 2) + i / 2.0f + k[i] + (bool)c[i];
        f[i] *= 1.0e-3 + 0x1p-4 + .5f;
    }
}

CASE(casts)
{
    const int n = 83;
    double *const a = check_doubles((size_t)n);
    float *const f = check_floats((size_t)n);
    int *const k = check_ints((size_t)n);
    unsigned char *const c = check_allocate((size_t)n, 1);
    casts(n, a, f, k, c);
    check_record("f", f, (size_t)n * sizeof *f);
    check_record("k", k, (size_t)n * sizeof *k);
    check_record("c", c, (size_t)n);
    free(a);
    free(f);
    free(k);
    free(c);
}

// case assignments: every compound assignment, chained assignments, the comma operator
static void assignments(int n, int *a, double *d)
{
#pragma tilek kernel data(a[0:n], d[0:n], mode:rw) num_gangs(2) num_workers(3)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i) {
        int x, y;
        x = y = a[i] & 0xff;
        x += 3, y -= 2;
        x *= y;
        x /= 3;
        x %= 1000;
        x &= 0x3ff;
        x <<= 2;
        y >>= 1;
        x &= 0xfff;
        x |= y;
        x ^= 0x55;
        a[i] = x++ - --y;
        a[i] += x-- > y++ ? x : y;
        d[i] /= 3.0;
        d[i] -= a[i] *= 2;
    }
}

CASE(assignments)
{
    const int n = 59;
    int *const a = check_ints((size_t)n);
    double *const d = check_doubles((size_t)n);
    assignments(n, a, d);
    check_record("a", a, (size_t)n * sizeof *a);
    check_record("d", d, (size_t)n * sizeof *d);
    free(a);
    free(d);
}

// case foreign_pragmas: other tools' pragmas stand in the way of nothing
static void foreign_pragmas(int n, float *a)
{
#pragma GCC ivdep
    for (int i = 0; i < n; ++i)
        a[i] += 1.0f;
#pragma tilek kernel data(a[0:n], mode:rw) num_threads(2)
#pragma tilek loop tile(thread) tile(dynamic)
#pragma GCC ivdep
    for (int i = 0; i < n; ++i)
        a[i] *= 2.0f;
}

CASE(foreign_pragmas)
{
    const int n = 71;
    float *const a = check_floats((size_t)n);
    foreign_pragmas(n, a);
    check_record("a", a, (size_t)n * sizeof *a);
    free(a);
}

// case pragma_operator: _Pragma, alone and out of a macro
#define TILED(clauses) _Pragma(#clauses)

static void pragma_operator(int n, float *a)
{
    _Pragma("tilek kernel data(a[0:n], mode:rw) num_gangs(2) num_workers(2)")
    _Pragma("tilek loop tile(gang) tile(worker) tile(dynamic)")
    for (int i = 0; i < n; ++i)
        a[i] += 0.5f;
    TILED(tilek kernel num_threads(2))
    TILED(tilek loop tile(thread) tile(dynamic))
    for (int i = 0; i < n; ++i)
        a[i] *= 1.5f;
}

CASE(pragma_operator)
{
    const int n = 43;
    float *const a = check_floats((size_t)n);
    pragma_operator(n, a);
    check_record("a", a, (size_t)n * sizeof *a);
    free(a);
}

// case imperfect: statements before and after the inner loop, order within each loop
static void imperfect(int n, int m, float *a, float *b)
{
    int i, j;
#pragma tilek kernel data(a[0:n*m], b[0:n], mode:rw) num_gangs(3)
#pragma tilek loop tile(gang) tile(dynamic)
    for (i = 0; i < n; ++i) {
        float sum = 0.0f;
        b[i] *= 0.5f;
#pragma tilek loop tile(static, 2) tile(dynamic)
        for (j = 0; j < m; ++j)
            sum += a[i * m + j];
        b[i] += sum;
#pragma tilek loop tile[1](static, 3) tile[0](dynamic)
        for (j = 0; j < m; ++j)
            a[i * m + j] -= sum / (float)m;
    }
}

CASE(imperfect)
{
    const int n = 16, m = 10;
    float *const a = check_floats((size_t)(n * m)), *const b = check_floats((size_t)n);
    imperfect(n, m, a, b);
    check_record("a", a, (size_t)(n * m) * sizeof *a);
    check_record("b", b, (size_t)n * sizeof *b);
    free(a);
    free(b);
}

// case statement_expressions: macros for the greater and the smaller of two that evaluate each once, in heads, conditions and values, of mixed types
#define GREATER(a, b) __extension__({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define SMALLER(a, b) __extension__({ __typeof__((a) + 0) a_ = (a); __typeof__((b) + 0) b_ = (b); a_ < b_ ? a_ : b_; })

static int statement_expressions(int n, int m, int turns, int *a, const short *b, unsigned char *c)
{
    int most = -1;
#pragma tilek kernel
    for (int i = GREATER(m - n, 1); i < SMALLER(n, 64); i++) {
        a[i] = GREATER(SMALLER(b[i], 100), i) + 3;
        c[i] = (unsigned char)(__extension__({ unsigned char low = (unsigned char)(b[i] * 3); low; }) + 1);
    }
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        most = GREATER(most, a[i]);
#pragma tilek kernel
    while (turns > 0) {
        for (int i = 0; i < n; i++)
            a[i] += c[i];
        turns -= GREATER(turns / 2, 1);
    }
    return most;
}

CASE(statement_expressions)
{
    enum { N = 77 };
    int a[N];
    short b[N];
    unsigned char c[N];
    for (int i = 0; i < N; i++) {
        a[i] = i * 37 % 91;
        b[i] = (short)(i * 57 % 301 - 90);
        c[i] = (unsigned char)i;
    }
    const int most = statement_expressions(N, 12, 5, a, b, c);
    check_record("most", &most, sizeof most);
    check_record("a", a, sizeof a);
    check_record("c", c, sizeof c);
}
