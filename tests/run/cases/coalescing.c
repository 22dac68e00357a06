/* Loops of which neighbouring workers take another than the innermost, or that reach memory in strides: at awkward sizes. */
#include "check.h"

// case columns: loops in column order, one backwards, with a step in the other
static void columns(int n, int m, float a[n][m], float b[n][m])
{
#pragma tilek kernel
    for (int j = 0; j < m; j++)
        for (int i = n - 1; i >= 0; i--)
            a[i][j] = a[i][j] * 0.5f + j;
#pragma tilek kernel
    for (int j = m - 1; j >= 1; j -= 2)
        for (int i = 0; i < n; i += 3)
            b[i][j] = b[i][j - 1] + a[i][j];
}

CASE(columns)
{
    static const int sizes[][2] = {{1, 1}, {37, 53}, {5, 257}, {129, 2}, {0, 7}, {7, 0}};
    for (int k = 0; k < 6; k++) {
        const int n = sizes[k][0], m = sizes[k][1];
        float *const a = check_floats(n * m + 1), *const b = check_floats(n * m + 1);
        columns(n, m, (void *)a, (void *)b);
        check_record("a", a, (n * m + 1) * sizeof *a);
        check_record("b", b, (n * m + 1) * sizeof *b);
        free(a);
        free(b);
    }
}

// case dimensions: of four and five loops that run at once, three are distributed
static void dimensions(int n, int m, double a[n][n][n][m], int *restrict b)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                for (int l = 0; l < m; l++)
                    a[i][j][k][l] = a[i][j][k][l] * 3 + i + 2 * j + 4 * k + 8 * l;
#pragma tilek kernel independent data(b[0:n*n*n*n*m])
    for (int l = 0; l < m; l++)
        for (int h = 0; h < n; h++)
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                    for (int k = 0; k < n; k++)
                        b[(((h * n + i) * n + j) * n + k) * m + l] += h + i * j - k * l;
}

CASE(dimensions)
{
    static const int sizes[][2] = {{1, 1}, {3, 67}, {5, 2}, {2, 33}};
    for (int s = 0; s < 4; s++) {
        const int n = sizes[s][0], m = sizes[s][1];
        double *const a = check_doubles(n * n * n * m);
        int *const b = check_ints(n * n * n * n * m);
        dimensions(n, m, (void *)a, b);
        check_record("a", a, n * n * n * m * sizeof *a);
        check_record("b", b, n * n * n * n * m * sizeof *b);
        free(a);
        free(b);
    }
}

// case triangles: a loop whose bounds the host does not know stands between two that are distributed, and is distributed over its box, or is not
static void triangles(int n, int m, float a[n][n][m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            for (int k = 0; k < m; k++)
                a[i][j][k] = a[i][j][k] * 0.25f + i;
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j += 2)
            for (int k = 0; k < m; k++)
                a[i][j][k] = a[j][i][k] + 0.5f * k;
}

CASE(triangles)
{
    static const int sizes[][2] = {{1, 1}, {9, 35}, {33, 3}, {2, 130}};
    for (int s = 0; s < 4; s++) {
        const int n = sizes[s][0], m = sizes[s][1];
        float *const a = check_floats(n * n * m);
        triangles(n, m, (void *)a);
        check_record("a", a, n * n * m * sizeof *a);
        free(a);
    }
}

// case boxes: inner loops whose ends follow the loops around, distributed over the box of all iterations
static void lower_left(int n, const double a[n][n], double b[n][n])
{
#pragma tilek kernel
    for (int r = 0; r < n; r++)
        for (int c = 0; c <= r; c++)
            b[r][c] = 2 * a[r][c] + a[c][r];
}

static void upper_right(size_t n, const double a[n][n], double b[n][n])
{
#pragma tilek kernel
    for (size_t r = 0; r < n; r++) {
        b[r][r] = 7 + (double)r;
        for (size_t c = r + 1; c < n; c++)
            b[r][c] = 3 * a[c][r] - a[r][c];
    }
}

static void corner(int n, int from, double b[n][n])
{
#pragma tilek kernel
    for (int r = 2; r < n; r++)
        for (int c = from; c < n - r; c++)
            for (int k = 0; k < 3; k++)
                b[r][c] = b[r][c] * 0.5 + k;
}

static void pyramid(int n, const double a[n][n], double b[n][n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            for (int k = i - j; k < n; k++)
                b[i][j][k] = a[i][j] + a[j][k];
}

static void band(int n, int width, double b[n][n])
{
#pragma tilek kernel
    for (int r = 0; r < n - width; r++)
        for (int c = r; c <= r + width; c++)
            b[r][c] += c;
}

CASE(boxes)
{
    static const int sizes[] = {0, 1, 2, 7, 33, 50};
    for (int s = 0; s < 6; s++) {
        const int n = sizes[s];
        double *const a = check_doubles(n * n), *const b = check_doubles(n * n), *const c = check_doubles(n * n * n);
        lower_left(n, (void *)a, (void *)b);
        check_record("lower_left", b, n * n * sizeof *b);
        upper_right(n, (void *)a, (void *)b);
        corner(n, 1, (void *)b);
        corner(n, n + 3, (void *)b);
        band(n, 2, (void *)b);
        check_record("others", b, n * n * sizeof *b);
        if (n > 0)
            pyramid(n, (void *)a, (void *)c);
        check_record("pyramid", c, n * n * n * sizeof *c);
        free(a);
        free(b);
        free(c);
    }
}

// case vectors: ICS'08's mv, tmv and mvt, with tmv by rows too
static void vectors(int n, int m, float a[n][m], float *x, float *y, float *z, float *w)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        x[i] = 0;
        for (int j = 0; j < m; j++)
            x[i] += a[i][j] * y[j];
    }
#pragma tilek kernel
    for (int j = 0; j < m; j++) {
        z[j] = 0;
        for (int i = 0; i < n; i++)
            z[j] += a[i][j] * x[i];
    }
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            z[j] += a[i][j] * x[i];
#pragma tilek kernel
    {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                x[i] += a[i][j] * z[j];
        for (int j = 0; j < m; j++) {
            w[j] = 0;
            for (int i = 0; i < n; i++)
                w[j] += a[i][j] * x[i];
        }
    }
}

CASE(vectors)
{
    static const int sizes[][2] = {{1, 1}, {37, 53}, {257, 3}, {2, 300}};
    for (int s = 0; s < 4; s++) {
        const int n = sizes[s][0], m = sizes[s][1];
        float *const a = check_floats(n * m), *const x = check_floats(n), *const y = check_floats(m), *const z = check_floats(m),
              *const w = check_floats(m);
        vectors(n, m, (void *)a, x, y, z, w);
        check_record("x", x, n * sizeof *x);
        check_record("z", z, m * sizeof *z);
        check_record("w", w, m * sizeof *w);
        free(a);
        free(x);
        free(y);
        free(z);
        free(w);
    }
}
