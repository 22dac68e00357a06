/* Consecutive loops that devices run in one launch: they depend on none of each other, or only in later steps. */
#include "check.h"

static const int extents[] = {0, 1, 2, 9, 34, 70};
#define EACH_EXTENT(n)                                                                                    \
    for (size_t place_ = 0, n = 0; place_ < sizeof extents / sizeof extents[0] && (n = (size_t)extents[place_], 1); \
         ++place_)

// case shared: nests and a single statement whose iterators stand outside, by a macro, with an odd step downwards
#define UP(v, end) for (v = 0; v < (end); v++)
static void shared(int n, int m, float a[restrict n][m], float b[restrict n], float c[restrict m], float d[restrict 2])
{
    int i, j;
#pragma tilek kernel
    {
        UP(j, m) c[j] = 2 * j;
        UP(i, n) b[i] = 3 * i;
        for (i = n - 1; i >= 0; i -= 3)
            for (j = 1; j <= m - 1; j++)
                a[i][j] = i - j;
        d[0] = 4;
    }
}
CASE(shared)
{
    EACH_EXTENT(n) {
        const size_t m = 2 * n + 3;
        float *const a = check_floats(n * m + 1), *const b = check_floats(n + 1), *const c = check_floats(m), d[2] = {1, 2};
        shared((int)n, (int)m, (void *)a, b, c, d);
        check_record("a", a, n * m * sizeof *a);
        check_record("b", b, n * sizeof *b);
        check_record("c", c, m * sizeof *c);
        check_record("d", d, sizeof d);
        free(a), free(b), free(c);
    }
}

// case borders: the sides of a square, then its inside from another array, of other types and lengths
static void borders(int n, long m, double a[restrict n][m], float b[restrict m], double c[restrict n])
{
#pragma tilek kernel
    {
        for (long j = 0; j < m; j++)
            b[j] = 0.5f * b[j] + (float)j;
        for (int i = n - 1; i >= 0; i--)
            c[i] = 2.0 * c[i] - i;
        for (int i = 1; i < n - 1; i++)
            for (long j = 1; j < m - 1; j++)
                a[i][j] = 3.0 * a[i][j] + (double)(i * j);
        for (int i = 0; i < n; i += 3)
            a[i][0] = 1.0;
    }
}
CASE(borders)
{
    EACH_EXTENT(n) {
        const size_t m = 3 * n + 1;
        double *const a = check_doubles(n * m + 1), *const c = check_doubles(n + 1);
        float *const b = check_floats(m + 1);
        borders((int)n, (long)m, (void *)a, b, c);
        check_record("a", a, n * m * sizeof *a);
        check_record("b", b, m * sizeof *b);
        check_record("c", c, n * sizeof *c);
        free(a), free(b), free(c);
    }
}

// case chain: each loop reads what the one before it wrote, at other places
static void chain(int n, int a[restrict n], int b[restrict n], int c[restrict n])
{
#pragma tilek kernel
    {
        for (int i = 0; i < n; i++)
            a[i] = 3 * i;
        for (int i = 0; i < n; i++)
            b[i] = a[n - 1 - i] + 1;
        for (int i = 0; i < n; i++)
            c[i] = a[i] + c[i];
        for (int i = 1; i < n; i++)
            a[i] = b[i - 1];
    }
}
CASE(chain)
{
    EACH_EXTENT(n) {
        int *const a = check_ints(n + 1), *const b = check_ints(n + 1), *const c = check_ints(n + 1);
        chain((int)n, a, b, c);
        check_record("a", a, n * sizeof *a);
        check_record("b", b, n * sizeof *b);
        check_record("c", c, n * sizeof *c);
        free(a), free(b), free(c);
    }
}

// case volumes: a cube, a plane and a line in one launch
static void volumes(int n, float u[n][n][n], float v[n][n], float w[n])
{
#pragma tilek kernel
    {
        for (int i = 0; i < n; i++)
            w[i] = w[i] * 0.25f;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                v[j][i] = v[j][i] + 1.0f;
        for (int i = 1; i < n; i++)
            for (int j = 0; j < n; j++)
                for (int k = 2; k < n; k++)
                    u[i][j][k] = u[i][j][k] * 0.5f;
    }
}
CASE(volumes)
{
    EACH_EXTENT(extent) {
        const size_t n = extent / 2;
        float *const u = check_floats(n * n * n + 1), *const v = check_floats(n * n + 1), *const w = check_floats(n + 1);
        volumes((int)n, (void *)u, (void *)v, w);
        check_record("u", u, n * n * n * sizeof *u);
        check_record("v", v, n * n * sizeof *v);
        check_record("w", w, n * sizeof *w);
        free(u), free(v), free(w);
    }
}
