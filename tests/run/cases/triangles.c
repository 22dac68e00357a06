/* Triangular products: devices run them over the rectangle around the triangle, stage what points of a row or a column
 * share, and leave tiles without a point at once. Extents lie below, at and beyond tiles. */
#include "check.h"

static const int extents[] = {0, 1, 7, 33, 70};
static const int lengths[] = {1, 21};
#define EACH_SIZE(n, m)                                                                                   \
    for (size_t place_ = 0, n = 0; place_ < sizeof extents / sizeof extents[0] && (n = (size_t)extents[place_], 1); \
         ++place_)                                                                                        \
        for (size_t length_ = 0, m = 0;                                                                   \
             length_ < sizeof lengths / sizeof lengths[0] && (m = (size_t)lengths[length_], 1); ++length_)

// case lower: a product of a matrix with its transpose below the diagonal, in place
static void lower(int n, int m, float c[restrict n][n], float a[restrict n][m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            for (int k = 0; k < m; k++)
                c[i][j] += a[i][k] * a[j][k];
}
CASE(lower)
{
    EACH_SIZE(n, m) {
        float *const a = check_floats(n * m + 1), *const c = check_floats(n * n + 1);
        lower((int)n, (int)m, (void *)c, (void *)a);
        check_record("c", c, n * n * sizeof *c);
        free(a);
        free(c);
    }
}

// case upper: above the diagonal, with a sum in a scalar, in doubles
static void upper(int n, int m, double c[restrict n][n], double a[restrict n][m], double b[restrict n][m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            double s = 0;
            for (int k = 0; k < m; k++)
                s += a[i][k] * b[j][k];
            c[i][j] = s;
        }
}
CASE(upper)
{
    EACH_SIZE(n, m) {
        double *const a = check_doubles(n * m + 1), *const b = check_doubles(n * m + 1);
        double *const c = check_doubles(n * n + 1);
        upper((int)n, (int)m, (void *)c, (void *)a, (void *)b);
        check_record("c", c, n * n * sizeof *c);
        free(a);
        free(b);
        free(c);
    }
}

// case below: without the diagonal; the first row has no point
static void below(int n, int m, float c[restrict n][n], float a[restrict n][m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            for (int k = 0; k < m; k++)
                c[i][j] += a[i][k] * a[j][k];
}
CASE(below)
{
    EACH_SIZE(n, m) {
        float *const a = check_floats(n * m + 1), *const c = check_floats(n * n + 1);
        below((int)n, (int)m, (void *)c, (void *)a);
        check_record("c", c, n * n * sizeof *c);
        free(a);
        free(c);
    }
}

// case mirrored: a covariance, which is written on both sides of the diagonal
static void mirrored(int n, int m, float c[restrict n][n], float a[restrict m][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            c[i][j] = 0;
            for (int k = 0; k < m; k++)
                c[i][j] += a[k][i] * a[k][j];
            c[i][j] /= (float)m;
            c[j][i] = c[i][j];
        }
}
CASE(mirrored)
{
    EACH_SIZE(n, m) {
        float *const a = check_floats(n * m + 1), *const c = check_floats(n * n + 1);
        mirrored((int)n, (int)m, (void *)c, (void *)a);
        check_record("c", c, n * n * sizeof *c);
        free(a);
        free(c);
    }
}

// case tested: the user's own condition on both loops, of integers
static void tested(int n, int m, int c[restrict n][n], int a[restrict n][m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (i + j >= n - 1)
                for (int k = 0; k < m; k++)
                    c[i][j] += a[i][k] * a[j][k];
}
CASE(tested)
{
    EACH_SIZE(n, m) {
        int *const a = check_ints(n * m + 1), *const c = check_ints(n * n + 1);
        tested((int)n, (int)m, (void *)c, (void *)a);
        check_record("c", c, n * n * sizeof *c);
        free(a);
        free(c);
    }
}

// case wrapping: an unsigned difference, which is large below the diagonal
static void wrapping(unsigned n, unsigned m, float c[restrict n][n], float a[restrict n][m])
{
#pragma tilek kernel
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < n; j++)
            if (j - i <= 5u)
                for (unsigned k = 0; k < m; k++)
                    c[i][j] += a[i][k] * a[j][k];
}
CASE(wrapping)
{
    EACH_SIZE(n, m) {
        float *const a = check_floats(n * m + 1), *const c = check_floats(n * n + 1);
        wrapping((unsigned)n, (unsigned)m, (void *)c, (void *)a);
        check_record("c", c, n * n * sizeof *c);
        free(a);
        free(c);
    }
}

// case banded: two conditions, of which each may fail where the other holds
static void banded(int n, int m, float c[restrict n][n], float a[restrict n][m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (j <= i + 5 && i <= j + 3)
                for (int k = 0; k < m; k++)
                    c[i][j] += a[i][k] * a[j][k];
}
CASE(banded)
{
    EACH_SIZE(n, m) {
        float *const a = check_floats(n * m + 1), *const c = check_floats(n * n + 1);
        banded((int)n, (int)m, (void *)c, (void *)a);
        check_record("c", c, n * n * sizeof *c);
        free(a);
        free(c);
    }
}

// case in_place: a product that reads the rows below, as they were, and scales what it adds to
static void in_place(int n, int m, float b[restrict n][m], float a[restrict n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            for (int k = i + 1; k < n; k++)
                b[i][j] += a[k][i] * b[k][j];
            b[i][j] = 0.75f * b[i][j];
        }
}
CASE(in_place)
{
    EACH_SIZE(n, m) {
        float *const a = check_floats(n * n + 1), *const b = check_floats(n * m + 1);
        in_place((int)n, (int)m, (void *)b, (void *)a);
        check_record("b", b, n * m * sizeof *b);
        free(a);
        free(b);
    }
}
