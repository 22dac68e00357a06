/* Nests that no loop of the user's own makes parallel: hyperplanes of Algorithm 4.1. Prints a hash of every result: PROGRAM N T. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "hashes.h"

static int *letters(size_t count)
{
    int *const values = malloc((count + 1) * sizeof *values);
    for (size_t k = 0; k < count; ++k)
        values[k] = (int)((k * k * 7 + k * 13 + 5) % 11 % 4);
    return values;
}

/* Makes a matrix of order n solvable without pivots. */
static double *dominant(int n)
{
    double *const a = numbers((size_t)n * n);
    for (int i = 0; i < n; i++)
        a[(size_t)i * n + i] += 2 * n;
    return a;
}

static void sor1d(int steps, int n, double a[n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            a[i] = 0.3 * a[i - 1] + 0.4 * a[i] + 0.3 * a[i + 1];
}

static void seidel2d(int steps, int n, double a[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = (a[i - 1][j - 1] + a[i - 1][j] + a[i - 1][j + 1] + a[i][j - 1] + a[i][j] + a[i][j + 1] + a[i + 1][j - 1] +
                           a[i + 1][j] + a[i + 1][j + 1]) /
                          9.0;
}

static void seidel3d(int steps, int n, float a[n][n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    a[i][j][k] = (a[i - 1][j][k] + a[i][j - 1][k] + a[i][j][k - 1] + a[i][j][k + 1] + a[i][j + 1][k] + a[i + 1][j][k]) / 6.0f;
}

static void lu(int n, double a[n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                a[i][j] -= a[i][k] * a[k][j];
            a[i][j] /= a[j][j];
        }
        for (int j = i; j < n; j++)
            for (int k = 0; k < i; k++)
                a[i][j] -= a[i][k] * a[k][j];
    }
}

static void cholesky(int n, double a[n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                a[i][j] -= a[i][k] * a[j][k];
            a[i][j] /= a[j][j];
        }
        for (int k = 0; k < i; k++)
            a[i][i] -= a[i][k] * a[i][k];
        a[i][i] = sqrt(a[i][i]);
    }
}

/* The sums go through one scalar, as in textbooks: it ties every statement of a row's element together. */
static void crout(int n, double a[n][n])
{
    double w;
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            w = a[i][j];
            for (int k = 0; k < j; k++)
                w -= a[i][k] * a[k][j];
            a[i][j] = w / a[j][j];
        }
        for (int j = i; j < n; j++) {
            w = a[i][j];
            for (int k = 0; k < i; k++)
                w -= a[i][k] * a[k][j];
            a[i][j] = w;
        }
    }
}

static void triangular_product(int n, int m, double alpha, double a[n][n], double b[n][m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            for (int k = i + 1; k < n; k++)
                b[i][j] += a[k][i] * b[k][j];
            b[i][j] = alpha * b[i][j];
        }
}

static void normal_product(int n, int m, double a[n][m], double x[m], double y[m], double tmp[n])
{
    int i, j;
#pragma tilek kernel
    {
        for (i = 0; i < m; i++)
            y[i] = 0;
        for (i = 0; i < n; i++) {
            tmp[i] = 0.0;
            for (j = 0; j < m; j++)
                tmp[i] = tmp[i] + a[i][j] * x[j];
            for (j = 0; j < m; j++)
                y[j] = y[j] + a[i][j] * tmp[i];
        }
    }
}

static void symmetric_product(int n, int m, double alpha, double c[n][m], double a[n][n], double b[n][m])
{
    double sum;
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            sum = 0;
            for (int k = 0; k < i; k++) {
                c[k][j] += alpha * b[i][j] * a[i][k];
                sum += b[k][j] * a[i][k];
            }
            c[i][j] = 0.5 * c[i][j] + alpha * b[i][j] * a[i][i] + alpha * sum;
        }
}

/* The best way to bracket a string: maxima over pairs and over splits. */
static void brackets(int n, const int letter[n], int best[n][n])
{
#pragma tilek kernel
    for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {
            best[i][j] = best[i][j - 1] > best[i][j] ? best[i][j - 1] : best[i][j];
            if (i + 1 < n)
                best[i][j] = best[i + 1][j] > best[i][j] ? best[i + 1][j] : best[i][j];
            if (i + 1 < n && i < j - 1) {
                int both = best[i + 1][j - 1] + (letter[i] + letter[j] == 3 ? 1 : 0);
                best[i][j] = both > best[i][j] ? both : best[i][j];
            }
            for (int k = i + 1; k < j; k++)
                best[i][j] = best[i][k] + best[k + 1][j] > best[i][j] ? best[i][k] + best[k + 1][j] : best[i][j];
        }
}

static void shortest_paths(int n, int d[n][n])
{
    int i, j, k;
#pragma tilek kernel
    for (k = 0; k < n; k++)
        for (i = 0; i < n; i++)
            for (j = 0; j < n; j++)
                d[i][j] = d[i][j] < d[i][k] + d[k][j] ? d[i][j] : d[i][k] + d[k][j];
}

static void alignment(int n, int m, const int p[n], const int q[m], int h[n + 1][m + 1])
{
#pragma tilek kernel
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int score = h[i - 1][j - 1] + (p[i - 1] == q[j - 1] ? 3 : -2);
            if (h[i - 1][j] - 1 > score)
                score = h[i - 1][j] - 1;
            if (h[i][j - 1] - 1 > score)
                score = h[i][j - 1] - 1;
            h[i][j] = score > 0 ? score : 0;
        }
}

static void pascal(int n, unsigned c[n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n; i++)
        for (int k = 1; k < n; k++)
            c[i][k] = c[i - 1][k] + c[i][k - 1];
}

static void polynomial_product(int n, const double a[n + 1], const double b[n + 1], double c[2 * n + 1])
{
#pragma tilek kernel
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= n; j++)
            c[i + j] += a[i] * b[j];
}

static void triangular_solution(int n, double l[n][n], double x[n], const double b[n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        x[i] = b[i];
        for (int j = 0; j < i; j++)
            x[i] -= l[i][j] * x[j];
        x[i] = x[i] / l[i][i];
    }
}

/* A band whose second loop counts down, with a stride in the first. */
static void backwards(int n, double a[n][n])
{
#pragma tilek kernel
    for (int i = 2; i < n; i += 2)
        for (int j = n - 2; j >= 0; j--)
            a[i][j] = 0.5 * (a[i - 2][j] + a[i][j + 1]);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 37, steps = argc > 2 ? atoi(argv[2]) : 5, m = n + n / 3, small = n < 24 ? n : 24;
    const size_t square = (size_t)n * n, oblong = (size_t)n * m, cube = (size_t)small * small * small;
    double *a = numbers(n), *b, *c, *d;
    int *p, *q, *h;
    sor1d(steps, n, a);
    record("sor1d", a, n * sizeof *a);
    a = numbers(square);
    seidel2d(steps, n, (double (*)[n])a);
    record("seidel2d", a, square * sizeof *a);
    float *const f = malloc((cube + 1) * sizeof *f);
    for (size_t k = 0; k < cube; ++k)
        f[k] = (float)(k * k % 1009) / 1009;
    seidel3d(steps, small, (float (*)[small][small])f);
    record("seidel3d", f, cube * sizeof *f);
    a = dominant(n);
    lu(n, (double (*)[n])a);
    record("lu", a, square * sizeof *a);
    a = dominant(n);
    cholesky(n, (double (*)[n])a);
    record("cholesky", a, square * sizeof *a);
    a = dominant(n);
    crout(n, (double (*)[n])a);
    record("crout", a, square * sizeof *a);
    a = numbers(square), b = numbers(oblong);
    triangular_product(n, m, 1.5, (double (*)[n])a, (double (*)[m])b);
    record("triangular_product", b, oblong * sizeof *b);
    b = numbers(oblong), c = numbers(oblong);
    symmetric_product(n, m, 1.5, (double (*)[m])c, (double (*)[n])a, (double (*)[m])b);
    record("symmetric_product", c, oblong * sizeof *c);
    free(a), free(b);
    a = numbers(oblong), b = numbers(m), c = numbers(m), d = numbers(n);
    normal_product(n, m, (double (*)[m])a, b, c, d);
    record("normal_product", c, m * sizeof *c);
    free(a), free(b), free(d);
    p = letters(n), q = letters(m), h = calloc(square + 1, sizeof *h);
    brackets(n, p, (int (*)[n])h);
    record("brackets", h, square * sizeof *h);
    h = letters(square);
    for (size_t k = 0; k < square; ++k)
        h[k] = (int)(k * 31 % 101) + 1;
    shortest_paths(n, (int (*)[n])h);
    record("shortest_paths", h, square * sizeof *h);
    h = calloc((size_t)(n + 1) * (m + 1), sizeof *h);
    alignment(n, m, p, q, (int (*)[m + 1])h);
    record("alignment", h, (size_t)(n + 1) * (m + 1) * sizeof *h);
    free(p), free(q);
    unsigned *const u = malloc((square + 1) * sizeof *u);
    for (size_t k = 0; k < square; ++k)
        u[k] = 1;
    pascal(n, (unsigned (*)[n])u);
    record("pascal", u, square * sizeof *u);
    a = numbers(n + 1), b = numbers(n + 1), c = calloc(2 * n + 1, sizeof *c);
    polynomial_product(n, a, b, c);
    record("polynomial_product", c, (2 * n + 1) * sizeof *c);
    free(a), free(b);
    a = dominant(n), b = numbers(n), c = numbers(n);
    triangular_solution(n, (double (*)[n])a, c, b);
    record("triangular_solution", c, n * sizeof *c);
    free(a), free(b);
    a = numbers(square);
    backwards(n, (double (*)[n])a);
    record("backwards", a, square * sizeof *a);
    return 0;
}
