/* Each strategy once, at sizes that are small but larger than one of its tiles and divide nothing: 1, and the least that shows it. Run on every target,
 * with numbers as arguments, and under Oclgrind; tests/run/test_strategies.py says what each kernel must show. */
#include "check.h"

/* n is 1, then `largest`. */
#define EACH_SIZE(n, largest) for (size_t round_ = 0, n = 1; round_ < 2; ++round_, n = (largest))

// case launches: a launch for each time step on devices, diamonds on cores
static void launches(int steps, int n, int m, float a[n][m], float b[n][m])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                b[i][j] = 0.25f * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                a[i][j] = b[i][j];
    }
}
CASE(launches)
{
    EACH_SIZE(n, 19) {
        const size_t m = n + 16;
        float *const a = check_floats(n * m), *const b = check_floats(n * m);
        launches(3, (int)n, (int)m, (void *)a, (void *)b);
        check_record("a", a, n * m * sizeof *a);
        free(a), free(b);
    }
}

// case wavefronts: each point waits for its neighbours of the same time step; two levels of tiles
static void wavefronts(int steps, int n, double a[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = 0.2 * (a[i - 1][j] + a[i][j - 1] + a[i][j] + a[i][j + 1] + a[i + 1][j]);
}
CASE(wavefronts)
{
    EACH_SIZE(n, 21) {
        double *const a = check_doubles(n * n);
        wavefronts(3, (int)n, (void *)a);
        check_record("a", a, n * n * sizeof *a);
        free(a);
    }
}

// case transformed: what hyperplanes deal out at once, as a product of polynomials
static void transformed(int n, const double a[n], const double b[n], double c[2 * n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            c[i + j] += a[i] * b[j];
}
CASE(transformed)
{
    EACH_SIZE(n, 37) {
        double *const a = check_doubles(n), *const b = check_doubles(n), *const c = check_doubles(2 * n);
        transformed((int)n, a, b, c);
        check_record("c", c, 2 * n * sizeof *c);
        free(a), free(b), free(c);
    }
}

// case register_tiles: rows and columns of a result in registers, both updates of an element as one, a panel packed
static void register_tiles(int n, int p, double c[n][n], const double a[n][p], const double b[n][p])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < p; k++) {
                c[i][j] += a[i][k] * b[j][k];
                c[i][j] -= 0.5 * b[i][k] * a[j][k];
            }
}
CASE(register_tiles)
{
    EACH_SIZE(n, 35) {
        const size_t p = n + 4;
        double *const a = check_doubles(n * p), *const b = check_doubles(n * p), *const c = check_doubles(n * n);
        register_tiles((int)n, (int)p, (void *)c, (void *)a, (void *)b);
        check_record("c", c, n * n * sizeof *c);
        free(a), free(b), free(c);
    }
}

// case solved: sums side by side in registers, inside wavefronts
static void solved(int n, const double l[n][n], double x[n], const double b[n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        x[i] = b[i];
        for (int j = 0; j < i; j++)
            x[i] -= l[i][j] * x[j];
        x[i] = x[i] / (3 + l[i][i]);
    }
}
CASE(solved)
{
    EACH_SIZE(n, 75) {
        double *const l = check_doubles(n * n), *const x = check_doubles(n), *const b = check_doubles(n);
        solved((int)n, (void *)l, x, b);
        check_record("x", x, n * sizeof *x);
        free(l), free(x), free(b);
    }
}

// case in_strips: two sweeps that take turns on strips of a matrix's rows
static void in_strips(int n, int m, double s[n], double t[m], double a[n][m], double x[m])
{
#pragma tilek kernel
    {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                s[i] += a[i][j] * x[j];
        for (int j = 0; j < m; j++)
            for (int i = 0; i < n; i++)
                t[j] -= a[i][j] * s[i];
    }
}
CASE(in_strips)
{
    EACH_SIZE(n, 67) {
        const size_t m = n + 6;
        double *const a = check_doubles(n * m), *const s = check_doubles(n), *const t = check_doubles(m), *const x = check_doubles(m);
        in_strips((int)n, (int)m, s, t, (void *)a, x);
        check_record("s", s, n * sizeof *s), check_record("t", t, m * sizeof *t);
        free(a), free(s), free(t), free(x);
    }
}

// case expanded: a scratch row for each iteration, and old values from a copy
static void expanded(int n, int m, double a[n][m], double row[m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++)
            row[j] = a[i][j] * a[i][m - 1 - j];
        for (int j = 1; j < m; j++)
            a[i][j] += row[j - 1];
    }
}
static void copied(int n, double *a)
{
#pragma tilek kernel
    for (int i = 0; i < n - 1; i++)
        a[i] = a[i + 1] * 0.5 + a[i];
}
CASE(expanded)
{
    EACH_SIZE(n, 23) {
        const size_t m = n + 15;
        double *const a = check_doubles(n * m), *const row = check_doubles(m);
        expanded((int)n, (int)m, (void *)a, row);
        copied((int)(n * m), a);
        check_record("a", a, n * m * sizeof *a), check_record("row", row, m * sizeof *row);
        free(a), free(row);
    }
}

// case hoisted: a sum in a scalar, kept for each iteration, so that the product steps along rows; tiles copied ahead
static void hoisted(int n, int m, float *restrict c, const float *a, const float *b)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            float sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * m + j];
            c[i * m + j] = sum;
        }
}
CASE(hoisted)
{
    EACH_SIZE(n, 35) {
        const size_t m = n + 6;
        float *const a = check_floats(n * n), *const b = check_floats(n * m), *const c = check_floats(n * m);
        hoisted((int)n, (int)m, c, a, b);
        check_record("c", c, n * m * sizeof *c);
        free(a), free(b), free(c);
    }
}

// case filtered: a table of the file in constant memory, loops against the rows of memory
static const float weights[9] = {0.25f, 0.5f, 0.125f, 1, 2, 0.5f, 0.75f, 0.25f, 4};
static void filtered(int n, int m, const float a[n][m], float b[n][m])
{
#pragma tilek kernel
    for (int j = 4; j < m - 4; j++)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 9; k++)
                b[i][j] += weights[k] * a[i][j + k - 4];
}
CASE(filtered)
{
    EACH_SIZE(n, 29) {
        const size_t m = n + 8;
        float *const a = check_floats(n * m), *const b = check_floats(n * m);
        filtered((int)n, (int)m, (void *)a, (void *)b);
        check_record("b", b, n * m * sizeof *b);
        free(a), free(b);
    }
}

// case triangle: a triangular loop distributed over its box, and a sum over it
static void triangle(int n, double c[n][n], const double a[n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            c[i][j] = a[i][j] + a[j][i];
}
CASE(triangle)
{
    EACH_SIZE(n, 35) {
        double *const a = check_doubles(n * n), *const c = check_doubles(n * n);
        triangle((int)n, (void *)c, (void *)a);
        check_record("c", c, n * n * sizeof *c);
        free(a), free(c);
    }
}

// case stepped: loops in steps, whose iterations are counted; time steps between two planes of a fixed extent
enum { N = 26 };
static void stepped(int n, double a[n], const double b[n])
{
#pragma tilek kernel
    for (int i = n - 1; i >= 2; i -= 3)
        a[i] = a[i] * b[i - 2] + b[i - 1];
}
static void lifted(double a[N][N], double b[N][N])
{
#pragma tilek kernel
    for (int t = 0; t < 9; t += 1) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                b[i][j] = 0.5 * (a[i - 1][j] + a[i][j + 1]);
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                a[i][j] = b[i][j];
    }
}
CASE(stepped)
{
    EACH_SIZE(n, 71) {
        double *const a = check_doubles(n), *const b = check_doubles(n);
        stepped((int)n, a, b);
        check_record("a", a, n * sizeof *a);
        free(a), free(b);
    }
    double *const a = check_doubles(N * N), *const b = check_doubles(N * N);
    lifted((void *)a, (void *)b);
    check_record("lifted", a, N * N * sizeof *a);
    free(a), free(b);
}

// case rows_apart: an array with a stride of its own, tested at the launch; with rows that overlap the original runs
static void rows_apart(int n, int m, int stride, int *a)
{
#pragma tilek kernel
    for (int i = 1; i < n; i++)
        for (int j = 0; j < m; j++)
            a[i * stride + j] += a[(i - 1) * stride + j];
}
CASE(rows_apart)
{
    EACH_SIZE(n, 17) {
        int *const a = check_ints(17 * 40);
        rows_apart((int)n, (int)n + 3, (int)n + 5, a);
        check_record("a", a, 17 * 40 * sizeof *a);
        free(a);
    }
}

// case summed: a reduction over two loops that are distributed
static long summed(int n, int m, const int a[n][m])
{
    long sum = 3;
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            sum += a[i][j];
    return sum;
}
CASE(summed)
{
    EACH_SIZE(n, 29) {
        int *const a = check_ints(n * (n + 40));
        const long sum = summed((int)n, (int)n + 40, (void *)a);
        check_record("sum", &sum, sizeof sum);
        free(a);
    }
}
