/* What other translators get wrong without a word: objects of the region, decreasing loops, bands that may not be interchanged, iterators
 * read after the region. */
#include "check.h"

#include <limits.h>

enum { N = 37 };

// case local_scalars: scalars declared in the region, at each level, and assigned ones that are declared before it; runs as written
static void local_scalars(int n, double a[n][n], double *x, double *out)
{
    double carried = 0.25, fresh, kept = 0;
#pragma tilek kernel
    {
        double outer = 1.5;
        for (int i = 1; i < n; i++) {
            double row = x[i] * outer;
            fresh = row * 0.5;
            for (int j = 0; j < n; j++) {
                const double cell = a[i - 1][j] * 0.5 + row;
                row = row * 0.25 + fresh;
                a[i][j] = cell + row;
            }
            carried = carried * 0.5 + row;
            x[i] = carried;
            kept = fresh;
        }
        outer = carried;
        x[0] = outer;
    }
    out[0] = carried;
    out[1] = kept;
}

CASE(local_scalars)
{
    double *const a = check_doubles(N * N), *const x = check_doubles(N);
    double out[2];
    local_scalars(N, (void *)a, x, out);
    check_record("a", a, N * N * sizeof *a);
    check_record("x", x, N * sizeof *x);
    check_record("out", out, sizeof out);
    free(a);
    free(x);
}

// case local_arrays: arrays declared in the region, and an array before it that each iteration uses again
static void local_arrays(int n, float a[n][n], float b[n][n])
{
    float line[N];
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        float window[3] = {0};
        for (int j = 0; j < n; j++)
            line[j] = a[i][j] * 0.5f;
        for (int j = 1; j < n - 1; j++) {
            for (int d = 0; d < 3; d++)
                window[d] = line[j + d - 1] + window[d] * 0.25f;
            b[i][j] = window[0] + window[1] * 2 + window[2];
        }
    }
    for (int j = 0; j < n; j++)
        b[0][j] += line[j];
}

CASE(local_arrays)
{
    float *const a = check_floats(N * N), *const b = check_floats(N * N);
    local_arrays(N, (void *)a, (void *)b);
    check_record("a", a, N * N * sizeof *a);
    check_record("b", b, N * N * sizeof *b);
    free(a);
    free(b);
}

// case sweeps: lines eliminated forward and substituted backward (decreasing loops), in both directions, as in alternating directions
static void sweeps(int steps, int n, double u[n][n], double v[n][n], double p[n][n], double q[n][n])
{
    int t, i, j;
#pragma tilek kernel
    for (t = 1; t <= steps; t++) {
        for (i = 1; i < n - 1; i++) {
            v[0][i] = 1.0;
            p[i][0] = 0.0;
            q[i][0] = v[0][i];
            for (j = 1; j < n - 1; j++) {
                p[i][j] = 0.3 / (0.4 * p[i][j - 1] + 1.7);
                q[i][j] = (0.2 * u[j][i - 1] + 0.6 * u[j][i] + 0.2 * u[j][i + 1] + 0.4 * q[i][j - 1]) / (0.4 * p[i][j - 1] + 1.7);
            }
            v[n - 1][i] = 1.0;
            for (j = n - 2; j >= 1; j--)
                v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
        }
        for (i = 1; i < n - 1; i++) {
            u[i][0] = 1.0;
            p[i][0] = 0.0;
            q[i][0] = u[i][0];
            for (j = 1; j < n - 1; j++) {
                p[i][j] = 0.3 / (0.4 * p[i][j - 1] + 1.7);
                q[i][j] = (0.2 * v[i - 1][j] + 0.6 * v[i][j] + 0.2 * v[i + 1][j] + 0.4 * q[i][j - 1]) / (0.4 * p[i][j - 1] + 1.7);
            }
            u[i][n - 1] = 1.0;
            for (j = n - 2; j >= 1; j--)
                u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
        }
    }
}

CASE(sweeps)
{
    static const int sides[] = {1, 2, 3, 19, N};
    for (size_t side = 0; side < sizeof sides / sizeof sides[0]; side++) {
        const int n = sides[side];
        const size_t count = (size_t)n * (size_t)n;
        double *const u = check_doubles(count), *const v = check_doubles(count), *const p = check_doubles(count), *const q = check_doubles(count);
        sweeps(5, n, (void *)u, (void *)v, (void *)p, (void *)q);
        check_record("u", u, count * sizeof *u);
        check_record("v", v, count * sizeof *v);
        check_record("p", p, count * sizeof *p);
        check_record("q", q, count * sizeof *q);
        free(u);
        free(v);
        free(p);
        free(q);
    }
}

// case decreasing: every direction and stride of a carried loop, in place
static void decreasing(int n, int *a, int b[n][n])
{
    int i, j;
#pragma tilek kernel
    {
        for (i = n - 1; i > 0; i -= 3)
            a[i] = a[i - 1] + a[i] * 2;
        for (i = n - 2; i >= 0; --i)
            a[i] += a[i + 1] & 255;
        for (i = n - 2; i >= 1; i--)
            for (j = i; j < n - 1; j += 2)
                b[i][j] = b[i + 1][j] / 2 + b[i][j - 1] / 2;
        for (j = n - 2; j > 0; j = j - 2)
            for (i = n - 2; i >= j; i--)
                b[i][j] += b[i + 1][j + 1] - b[i - 1][j - 1] / 4;
    }
}

CASE(decreasing)
{
    for (int n = 1; n <= N; n += 9) {
        const size_t count = (size_t)n;
        int *const a = check_ints(count), *const b = check_ints(count * count);
        decreasing(n, a, (void *)b);
        check_record("a", a, count * sizeof *a);
        check_record("b", b, count * count * sizeof *b);
        free(a);
        free(b);
    }
}

// case not_permutable: dependences (1, -1) and (2, -3), which no rectangular tile keeps; and one that no skewing makes parallel
static void not_permutable(int n, double a[n][n], double b[n][n], double *c)
{
#pragma tilek kernel
    {
        for (int i = 1; i < n; i++)
            for (int j = 0; j < n - 1; j++)
                a[i][j] = 0.5 * a[i - 1][j + 1] + 0.25 * a[i][j];
        for (int i = 2; i < n; i++)
            for (int j = 1; j < n - 3; j++)
                b[i][j] = 0.5 * b[i - 2][j + 3] + 0.25 * b[i][j - 1];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                c[n - 1 - j] = c[j] * 0.5 + c[i] * 0.25;
    }
}

CASE(not_permutable)
{
    double *const a = check_doubles(N * N), *const b = check_doubles(N * N), *const c = check_doubles(N);
    not_permutable(N, (void *)a, (void *)b, c);
    check_record("a", a, N * N * sizeof *a);
    check_record("b", b, N * N * sizeof *b);
    check_record("c", c, N * sizeof *c);
    free(a);
    free(b);
    free(c);
}

// case iterators_after: iterators read after the region, of loops that ran, that did not, that stand in others, that share a name
static void iterators_after(int n, int m, double a[n + 1][n + 1], int *last)
{
    int i = -5, j = -6, k = -7, t = -8;
#pragma tilek kernel
    {
        for (t = 0; t < m; t++)
            for (i = n - 1; i > 2; i -= 2) {
                for (j = i; j <= n; j++)
                    a[i][j] = 0.5 * a[i - 1][j] + 0.25 * a[i][j];
                for (k = 1; k < i; k += 3)
                    a[k][i] = a[k - 1][i] + 1.0;
            }
        for (j = n; j < m; j++)
            a[0][0] += 1.0;
    }
    last[0] = i;
    last[1] = j;
    last[2] = k;
    last[3] = t;
}

CASE(iterators_after)
{
    for (int n = 0; n <= N; n += 6)
        for (int m = 0; m < 8; m += 3) {
            const size_t count = (size_t)(n + 1) * (size_t)(n + 1);
            double *const a = check_doubles(count);
            int last[4];
            iterators_after(n, m, (void *)a, last);
            check_record("a", a, count * sizeof *a);
            check_record("last", last, sizeof last);
            free(a);
        }
}

// case last_values: iterators of loops whose bounds the loop around decides, read afterwards
static void last_values(int n, double *x, double *y, int *last)
{
    int i = -1, j = -2, k = -3;
#pragma tilek kernel
    {
        for (i = 2; i < n - 1; i++)
            for (j = i; j < (i + 3 < n ? i + 3 : n); j++)
                x[j - 1] = -0.5 * x[j - 1];
        for (i = n; i >= 1; i--)
            for (k = i; k <= n; k += 2)
                y[k - 1] += x[i - 1];
    }
    last[0] = i;
    last[1] = j;
    last[2] = k;
}

CASE(last_values)
{
    for (int n = 0; n < 12; n++) {
        double *const x = check_doubles(N), *const y = check_doubles(N);
        int last[3];
        last_values(n, x, y, last);
        check_record("x", x, N * sizeof *x);
        check_record("y", y, N * sizeof *y);
        check_record("last", last, sizeof last);
        free(x);
        free(y);
    }
}

// case data_conditions: conditions on data, on iterators, nested, around statements of a carried loop
static void data_conditions(int n, float a[n][n], int *best)
{
    int i, j, where = -1;
    float greatest = -2.0f;
#pragma tilek kernel
    for (i = 1; i < n; i++)
        for (j = 1; j < n; j++) {
            if (a[i][j] > 0.0f)
                a[i][j] = a[i - 1][j] * 0.5f;
            else if (i % 3 == 1 && j != i)
                a[i][j] = a[i][j - 1] + 0.125f;
            if (a[i][j] > greatest) {
                greatest = a[i][j];
                where = i * n + j;
            }
        }
    best[0] = where;
    memcpy(&best[1], &greatest, sizeof greatest);
}

CASE(data_conditions)
{
    float *const a = check_floats(N * N);
    int best[2];
    data_conditions(N, (void *)a, best);
    check_record("a", a, N * N * sizeof *a);
    check_record("best", best, sizeof best);
    free(a);
}

// case one_buffer (a check fails): rows of one allocation under two names, so that a proof for arrays apart must not be believed
static void shifted(int n, double *from, double *to)
{
#pragma tilek kernel
    for (int t = 0; t < 4; t++)
        for (int i = 1; i < n - 1; i++)
            to[i] = 0.5 * (from[i - 1] + from[i + 1]);
}

CASE(one_buffer)
{
    double *const a = check_doubles(4 * N);
    shifted(2 * N, a, a + 2 * N);
    shifted(3 * N, a, a + 1);
    shifted(N, a + 2, a);
    check_record("a", a, 4 * N * sizeof *a);
    free(a);
}

// case divided_by_nothing: quotients by 0 in bounds and subscripts that no iteration asks for, though the launch wants to know what is touched
static void divided_by_nothing(int n, int d, int *a, const int *b)
{
#pragma tilek kernel data(a[0:400])
    {
        for (int i = 0; i < n; i++)
            if (d > 0)
                a[i + n / d] = b[i];
        for (int i = 1; i < d; i++)
            for (int j = 1; j < n / d; j++)
                a[i * n + j] = (a[(i - 1) * n + j] + a[i * n + j - 1]) & 1023;
        for (int t = 0; t < 2; t++)
            if (d != 0)
                for (int i = n % d; i < n; i++)
                    a[i] = a[i] * 3 + b[i];
    }
}
CASE(divided_by_nothing)
{
    static const int divisors[] = {3, 1, 0, -2};
    for (size_t k = 0; k < sizeof divisors / sizeof divisors[0]; k++) {
        int a[400] = {0}, b[40];
        for (int i = 0; i < 40; i++)
            b[i] = i * 7;
        divided_by_nothing(37, divisors[k], a, b);
        check_record("a", a, sizeof a);
    }
}

// case divided_wavefronts: the same around wavefronts of tiles, and by one side of a choice
static void divided_wavefronts(int n, int d, int *a, const int *b)
{
#pragma tilek kernel
    for (int i = 1; i < d; i++)
        for (int j = 1; j < n / d; j++)
            a[i * n + j] = (a[(i - 1) * n + j] + a[i * n + j - 1] + b[d > 0 ? j + n % d : j]) & 1023;
}
CASE(divided_wavefronts)
{
    static const int divisors[] = {3, 1, 0, -2};
    for (size_t k = 0; k < sizeof divisors / sizeof divisors[0]; k++) {
        int a[400] = {0}, b[40];
        for (int i = 0; i < 400; i++)
            a[i] = i % 13;
        for (int i = 0; i < 40; i++)
            b[i] = i * 7;
        divided_wavefronts(37, divisors[k], a, b);
        check_record("a", a, sizeof a);
    }
}

// case divided_least: the least numbers by -1, whose quotients have no type: nothing asks for them, but the launch
static void divided_least(int n, int m, int d, long wide, long by, int *a, const int *b)
{
#pragma tilek kernel data(a[0:400])
    {
        for (int i = 0; i < n; i++)
            if (d > 0)
                a[i + m / d] = b[i];
        for (int i = 1; i < d; i++)
            for (int j = 1; j < m / d; j++)
                a[i * n + j] = (a[(i - 1) * n + j] + a[i * n + j - 1]) & 1023;
        for (int t = 0; t < 2; t++)
            if (by > 0)
                for (long i = wide % by; i < n; i++)
                    a[i] = a[i] * 3 + b[i];
    }
}
CASE(divided_least)
{
    static const int divisors[] = {3, -1, 0};
    for (size_t k = 0; k < sizeof divisors / sizeof divisors[0]; k++) {
        const int d = divisors[k];
        int a[400] = {0}, b[40];
        for (int i = 0; i < 40; i++)
            b[i] = i * 7;
        divided_least(37, d > 0 ? 37 : INT_MIN, d, d > 0 ? 37 : LONG_MIN, d, a, b);
        check_record("a", a, sizeof a);
    }
}
