#include "check.h"

#include <limits.h>
#include <stddef.h>

enum { ROOM = 96, ORIGIN = 40 };

static int *visits;

static void begin(void)
{
    visits = check_allocate(ROOM, sizeof *visits);
}

static void end(long long last)
{
    check_record("visits", visits, ROOM * sizeof *visits);
    check_record("last", &last, sizeof last);
    free(visits);
}

// case increments: every spelling of an increasing loop's increment
static void increments(int n, int s, int *v)
{
    int i;
#pragma tilek kernel data(v[0:96]) num_gangs(2) num_workers(3)
    {
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = 0; i < n; ++i)
            v[i] += 1;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = 0; i < n; i++)
            v[i] += 10;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = 0; i < n; i += 2)
            v[i] += 100;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = 1; i < n; i = i + 3)
            v[i] += 1000;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = 2; i < n; i = 2 + i)
            v[i] += 10000;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = 0; i < n; i += s)
            v[i] += 100000;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = 0; i < n; i = i + (s + 2))
            v[i] += 1000000;
    }
    v[95] = i;
}

CASE(increments)
{
    begin();
    increments(37, 4, visits);
    end(0);
}

// case decreasing: loops that count down, in every spelling
static void decreasing(int n, int s, int *v)
{
    int i;
#pragma tilek kernel data(v[0:96]) num_gangs(2) num_workers(3)
    {
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = n - 1; i >= 0; --i)
            v[i] += 1;
#pragma tilek loop tile(dynamic) tile(gang) tile(worker)
        for (i = n; i > 0; i--)
            v[i] += 10;
#pragma tilek loop tile(gang) tile(dynamic) tile(worker)
        for (i = n; i > 3; i -= 2)
            v[i] += 100;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = n; i >= 1; i = i - 3)
            v[i] += 1000;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = n; i >= 0; i -= s)
            v[i] += 10000;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = n; 5 < i; i = i + -s)
            v[i] += 100000;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = n; i != 0; --i)
            v[i] += 1000000;
    }
    v[95] = i;
}

CASE(decreasing)
{
    begin();
    decreasing(41, 4, visits);
    end(0);
}

// case bounds_on_either_side: the iterator on the right of the comparison, <= and >=
static void bounds_on_either_side(int n, int *v)
{
    int i;
#pragma tilek kernel data(v[0:96]) num_threads(3)
    {
#pragma tilek loop tile(thread) tile(dynamic)
        for (i = 0; n > i; ++i)
            v[i] += 1;
#pragma tilek loop tile(thread) tile(dynamic)
        for (i = 1; n >= i; ++i)
            v[i] += 10;
#pragma tilek loop tile(dynamic) tile(thread)
        for (i = 1; i <= n - 1; ++i)
            v[i] += 100;
#pragma tilek loop tile(dynamic) tile(thread)
        for (i = n; 2 <= i; --i)
            v[i] += 1000;
#pragma tilek loop tile(dynamic) tile(thread)
        for (i = 3; i != n; ++i)
            v[i] += 10000;
#pragma tilek loop tile(dynamic) tile(thread)
        for (i = 3; n != i; i += 1)
            v[i] += 100000;
    }
    v[95] = i;
}

CASE(bounds_on_either_side)
{
    begin();
    bounds_on_either_side(29, visits);
    end(0);
}

// case declared_iterators: iterators of several types, declared in the init
static void declared_iterators(size_t n, int *v)
{
#pragma tilek kernel data(v[0:96]) num_gangs(2) num_workers(2)
    {
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (size_t i = 0; i < n; ++i)
            v[i] += 1;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (unsigned i = 0; i < n; i += 2)
            v[i] += 10;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (long i = 3; i < (long)n; ++i)
            v[i] += 100;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (short i = 3; i < 31; ++i)
            v[i] += 1000;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (unsigned char i = 1; i < 31; i++)
            v[i] += 10000;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (unsigned long long i = n; i > 0; --i)
            v[i] += 100000;
    }
}

CASE(declared_iterators)
{
    begin();
    declared_iterators(33, visits);
    end(0);
}

// case wide_iterators: 64-bit iterators far beyond 32 bits, and an int near INT_MAX
static void wide_iterators(int64_t start, int *v)
{
    int64_t i;
    int k;
#pragma tilek kernel data(v[0:96]) num_gangs(2) num_workers(3)
    {
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = start; i < start + 37; ++i)
            v[i - start] += 1;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = -start; i > -start - 37; i -= 3)
            v[-(i + start)] += 10;
    }
#pragma tilek kernel data(v[0:96]) num_gangs(2) num_workers(3)
#pragma tilek loop tile(static, 2) tile(gang) tile(worker) tile(dynamic)
    for (k = INT_MAX - 50; k < INT_MAX - 39; ++k)
        v[INT_MAX - k] += 100;
}

CASE(wide_iterators)
{
    begin();
    wide_iterators(INT64_C(5000000000), visits);
    end(0);
}

// case zero_trips: loops that never run leave everything as it was
static void zero_trips(int n, unsigned u, int *v)
{
    int i, j;
    unsigned k;
#pragma tilek kernel data(v[0:96]) num_gangs(2) num_workers(3) independent
    {
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = 0; i < n; ++i)
            v[i] += 1;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = 5; i < n - 3; ++i)
            v[i] += 10;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (k = u; k > 0; --k)
            v[k] += 100;
#pragma tilek loop tile(gang) tile(dynamic)
        for (i = 3; i < 9; ++i)
#pragma tilek loop tile(worker) tile(dynamic)
            for (j = 0; j < n; ++j)
                v[i + j] += 1000;
    }
    v[95] = i;
}

CASE(zero_trips)
{
    begin();
    zero_trips(0, 0, visits);
    zero_trips(-4, 0, visits);
    end(0);
}

// case negative_bounds: lower bounds that are neither zero nor positive
static void negative_bounds(int low, int high, int *v)
{
    int i;
#pragma tilek kernel data(v[0:96]) num_gangs(2) num_workers(3)
    {
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = low; i < high; ++i)
            v[ORIGIN + i] += 1;
#pragma tilek loop tile(gang) tile(dynamic) tile(worker)
        for (i = low; i <= high; i += 3)
            v[ORIGIN + i] += 10;
#pragma tilek loop tile(dynamic) tile(gang) tile(worker)
        for (i = high; i >= low; i -= 5)
            v[ORIGIN + i] += 100;
    }
    v[95] = i;
}

CASE(negative_bounds)
{
    begin();
    negative_bounds(-17, 20, visits);
    end(0);
}

// case triangular: inner bounds that depend on the outer iterator, tiled inside too
static void triangular(int n, float *a)
{
    int i, j;
#pragma tilek kernel data(a[0:n*n]) num_gangs(3) num_workers(4)
    {
#pragma tilek loop tile(gang) tile(dynamic)
        for (i = 0; i < n; ++i)
#pragma tilek loop tile(worker) tile(dynamic)
            for (j = i; j < n; ++j)
                a[i * n + j] += 1.5f * (float)j;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = 0; i < n; ++i)
            for (j = 0; j <= i; ++j)
                a[i * n + j] *= 1.25f;
#pragma tilek loop tile(gang) tile(dynamic)
        for (i = n - 1; i >= 0; --i)
#pragma tilek loop tile(static, 3) tile(dynamic)
            for (j = n - 1; j > i; j -= 2)
                a[i * n + j] -= (float)i;
    }
}

CASE(triangular)
{
    const int n = 23;
    float *const a = check_floats((size_t)(n * n));
    triangular(n, a);
    check_record("a", a, (size_t)(n * n) * sizeof *a);
    free(a);
}

// case final_values: iterators read after the kernel
static void final_values(int n, int m, int *v, int *last)
{
    int i, j = -1, k;
    long step;
#pragma tilek kernel data(v[0:96]) num_gangs(2) num_workers(2) independent
    {
#pragma tilek loop tile(gang) tile(dynamic)
        for (i = 2; i < n; i += 3)
#pragma tilek loop tile(worker) tile(dynamic)
            for (j = m; j > 0; j -= 4)
                v[i + j] += 1;
    }
#pragma tilek kernel data(v[0:96]) num_threads(2)
#pragma tilek loop tile(thread) tile(dynamic)
    for (k = 7; k <= n; ++k)
        v[k] += 100;
#pragma tilek kernel data(v[0:96]) num_threads(2)
#pragma tilek loop tile(thread) tile(dynamic)
    for (step = 90; step >= n; step -= 7)
        v[step] += 1000;
    last[0] = i;
    last[1] = j;
    last[2] = k;
    last[3] = (int)step;
}

CASE(final_values)
{
    int last[4];
    begin();
    /* each (i, j) of the first nest hits v[i + j]: a stride of 3 against 4 never meets itself within these bounds */
    final_values(9, 9, visits, last);
    check_record("last", last, sizeof last);
    end(0);
}

// case size_tiles: tile(size, e) gives the extent of one tile
static void size_tiles(int n, int s, int *v)
{
    int i;
#pragma tilek kernel data(v[0:96]) num_gangs(2) num_workers(2)
    {
#pragma tilek loop tile(size, 8) tile(gang) tile(worker) tile(dynamic)
        for (i = 0; i < n; ++i)
            v[i] += 1;
#pragma tilek loop tile(gang) tile(size, s) tile(dynamic)
        for (i = 0; i < n; ++i)
            v[i] += 10;
#pragma tilek loop tile(dynamic) tile(size, s)
        for (i = 0; i < n; ++i)
            v[i] += 100 + s;
    }
}

CASE(size_tiles)
{
    begin();
    size_tiles(61, 5, visits);
    size_tiles(5, 9, visits);
    end(0);
}

// case six_dimensions: three gang and three worker dimensions at once
static void six_dimensions(int n, int m, int p, float *a)
{
    int i, j, k;
#pragma tilek kernel data(a[0:n*m*p]) num_gangs(2, 3, 2) num_workers(2, 2, 3)
#pragma tilek loop tile(gang, 0) tile(worker, 0) tile(dynamic)
    for (i = 0; i < n; ++i)
#pragma tilek loop tile(gang, 1) tile(worker, 1) tile(dynamic)
        for (j = 0; j < m; ++j)
#pragma tilek loop tile(gang, 2) tile(worker, 2) tile(dynamic)
            for (k = 0; k < p; ++k)
                a[(i * m + j) * p + k] += (float)(i + 10 * j + 100 * k);
}

CASE(six_dimensions)
{
    const int n = 11, m = 13, p = 17;
    float *const a = check_floats((size_t)(n * m * p));
    six_dimensions(n, m, p, a);
    check_record("a", a, (size_t)(n * m * p) * sizeof *a);
    free(a);
}

// case no_dynamic: only counted tiles, enough of them and too few
static void no_dynamic(int n, int *v)
{
    int i;
#pragma tilek kernel data(v[0:96]) num_gangs(8) num_workers(4)
    {
#pragma tilek loop tile(gang) tile(worker)
        for (i = 0; i < n; ++i)
            v[i] += 1;
#pragma tilek loop tile(static, 3) tile(gang) tile(worker)
        for (i = 0; i < n; ++i)
            v[i] += 10;
#pragma tilek loop tile(worker) tile(gang)
        for (i = 0; i < n; ++i)
            v[i] += 100;
    }
}

CASE(no_dynamic)
{
    begin();
    no_dynamic(29, visits);
    no_dynamic(77, visits);
    end(0);
}

// case collapse_nothing: alone on a loop, the directive leaves the tiles to the translator
static void loop_alone(int n, int m, float *a)
{
    int i, j;
#pragma tilek kernel data(a[0:n*m])
#pragma tilek loop independent
    for (i = 0; i < n; ++i)
#pragma tilek loop independent
        for (j = 0; j < m; ++j)
            a[i * m + j] = 2.0f * a[i * m + j] + 1.0f;
}

static void kernel_loop(int n, float *a)
{
#pragma tilek kernel loop data(a[0:n]) num_threads(2) tile(thread) tile(dynamic)
    for (int i = 0; i < n; ++i)
        a[i] *= 0.3f;
}

static void kernel_alone(int n, float *a)
{
#pragma tilek kernel
    for (int i = 1; i < n; ++i)
        a[i] += 0.5f * a[i - 1];
}

CASE(collapse_nothing)
{
    const int n = 31, m = 19;
    float *const a = check_floats((size_t)(n * m));
    loop_alone(n, m, a);
    kernel_loop(n * m, a);
    kernel_alone(n * m, a);
    check_record("a", a, (size_t)(n * m) * sizeof *a);
    free(a);
}

// case unroll_and_seq: hints that change no result
static void unroll_and_seq(int n, int m, float *a)
{
    int i, j;
#pragma tilek kernel data(a[0:n*m]) num_gangs(3)
#pragma tilek loop tile(gang) tile(dynamic)
    for (i = 0; i < n; ++i)
#pragma tilek loop seq unroll(4)
        for (j = 1; j < m; ++j)
            a[i * m + j] += 0.5f * a[i * m + j - 1];
}

CASE(unroll_and_seq)
{
    const int n = 17, m = 22;
    float *const a = check_floats((size_t)(n * m));
    unroll_and_seq(n, m, a);
    check_record("a", a, (size_t)(n * m) * sizeof *a);
    free(a);
}

// case empty_first: a nest without iterations takes no others with it
static void together(int n, int m, float *a, float *b)
{
#pragma tilek kernel data(a[0:m], b[0:m]) target(serial)
    {
#pragma tilek loop tile(static, 4) tile(dynamic)
        for (int i = 0; i < n; ++i)
            a[i] += 1.0f;
#pragma tilek loop tile(static, 4) tile(dynamic)
        for (int i = 0; i < m; ++i)
            b[i] += 2.0f;
    }
}

static void either(int n, int m, float *a)
{
#pragma tilek kernel data(a[0:m]) num_gangs(4)
    {
        {
#pragma tilek loop tile(gang) tile(dynamic)
            for (int i = 0; i < n; ++i)
                a[i] += 3.0f;
#pragma tilek loop tile(gang) tile(dynamic)
            for (int i = 0; i < m; ++i)
                a[i] *= 0.5f;
        }
    }
}

CASE(empty_first)
{
    float *const a = check_floats(20), *const b = check_floats(20);
    together(0, 20, a, b);
    either(0, 20, a);
    check_record("a", a, 20 * sizeof *a);
    check_record("b", b, 20 * sizeof *b);
    free(a);
    free(b);
}
