/* Functions that declare arrays of their own: of constant lengths on every target, of variable lengths on hosts only. TILEK_STRICT is off. */
#include "check.h"

enum { N = 700 };

// case constant_lengths: the median of three, products with small tables, an array that another function fills
static double median(const double *p)
{
    double t[3];
    for (int k = 0; k < 3; k++)
        t[k] = p[k];
    for (int last = 2; last > 0; last--)
        for (int k = 0; k < last; k++)
            if (t[k] > t[k + 1]) {
                const double greater = t[k];
                t[k] = t[k + 1];
                t[k + 1] = greater;
            }
    return t[1];
}

static void powers(double *t, int n, double x)
{
    for (int k = 0; k < n; k++)
        t[k] = k == 0 ? 1 : t[k - 1] * x;
}

static double polynomial(double x)
{
    const int n = 4;
    double t[n], weights[2][2] = {{1, 0.5}, {0.25, 0.125}};
    powers(t, n, x);
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += t[k] * weights[k / 2][k % 2];
    return sum;
}

CASE(constant_lengths)
{
    double *const a = check_doubles(N), *const b = check_doubles(N);
#pragma tilek kernel
    for (int i = 1; i < N - 1; i++)
        b[i] = median(&a[i - 1]) + polynomial(a[i]);
    check_record("b", b, N * sizeof *b);
    free(a);
    free(b);
}

// case variable_lengths: lengths by parameters, loops and iterations, in one and two dimensions, passed on
static double last_power(int n, double x)
{
    double t[n];
    powers(t, n, x);
    return t[n - 1];
}

static void fill(int n, int m, double t[n][m], double x)
{
    for (int k = 0; k < n; k++)
        for (int j = 0; j < m; j++)
            t[k][j] = x + k * j;
}

static double traces(int n, const double *p)
{
    double sum = 0;
    for (int m = 1; m <= n; m++) {
        double t[m][2 * m];
        fill(m, 2 * m, t, p[m - 1]);
        for (int k = 0; k < m; k++)
            sum += t[k][2 * k];
    }
    return sum;
}

static void smoothed(int n, int width, const double *a, double *b)
{
#pragma tilek kernel
    for (int i = 0; i < n - width; i++)
        b[i] = last_power(1 + i % width, a[i]) + traces(width, &a[i]);
}

CASE(variable_lengths)
{
    double *const a = check_doubles(N), *const b = check_doubles(N);
    smoothed(N, 5, a, b);
    check_record("b", b, N * sizeof *b);
    smoothed(N - 3, 1, a, b);
    check_record("one", b, N * sizeof *b);
    free(a);
    free(b);
}
