/* Stencils whose tiles of time steps overlap: order 1 to 4, star and box, one to three dimensions, several arrays. Prints a hash of every
 * result: PROGRAM N T. With ONLY_ONE the first kernel alone. */
#include "hashes.h"
#include "stencils.h"

#ifndef ONLY_ONE
/* Not as far to one side as to the other. */
static void line_order_4(int steps, int n, double *a, double *b)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 4; i < n - 2; i++)
            b[i] = 0.1 * (a[i - 4] + a[i - 3] + a[i - 1] + a[i] + a[i + 2]);
        for (int i = 4; i < n - 2; i++)
            a[i] = b[i];
    }
}

/* Elements of one statement are those of the other moved by one. */
static void line_moved(int steps, int n, double a[n], double b[n])
{
#pragma tilek kernel
    for (int t = 1; t <= steps; t++) {
        for (int i = 1; i < n; i++)
            b[i - 1] = 0.5 * (a[i] + a[i - 1]);
        for (int i = 2; i <= n - 2; i++)
            a[i + 1] = b[i] - b[i - 2];
    }
}

/* With coefficients that no step writes. */
static void box_order_2(int steps, int n, float a[n][n], float b[n][n], const float c[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 2; i < n - 2; i++)
            for (int j = 2; j < n - 2; j++)
                b[i][j] = c[i][j] * (a[i - 2][j - 2] + a[i - 1][j + 2] + a[i][j] + a[i + 1][j - 1] + a[i + 2][j + 2]);
        for (int i = 2; i < n - 2; i++)
            for (int j = 2; j < n - 2; j++)
                a[i][j] = b[i][j];
    }
}

static void cube(int steps, int n, double a[n][n][n], double b[n][n][n])
{
#pragma tilek kernel
    for (int t = 1; t <= steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    b[i][j][k] = 0.125 * (a[i + 1][j][k] - 2.0 * a[i][j][k] + a[i - 1][j][k] + a[i][j + 1][k] + a[i][j - 1][k] +
                                          a[i][j][k + 1] + a[i][j][k - 1]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    a[i][j][k] = 0.125 * (b[i + 1][j][k] - b[i][j][k] + b[i - 1][j][k] + b[i][j + 1][k] + b[i][j][k - 1]);
    }
}

/* Of order 4, and its border left out on one side. */
static void cube_order_4(int steps, int n, double a[n][n][n], double b[n][n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 4; i < n - 4; i++)
            for (int j = 4; j < n - 4; j++)
                for (int k = 4; k < n - 4; k++)
                    b[i][j][k] = 0.25 * (a[i + 4][j][k] + a[i - 4][j][k] + a[i][j + 4][k] + a[i][j - 3][k] + a[i][j][k + 4] - a[i][j][k - 4]);
        for (int i = 4; i < n - 4; i++)
            for (int j = 4; j < n - 4; j++)
                for (int k = 4; k < n - 4; k++)
                    a[i][j][k] = b[i][j][k];
    }
}

/* All 27 neighbours, and two that move the grid. */
static void cube_box(int steps, int n, float a[n][n][n], float b[n][n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    b[i - 1][j][k] = 0.3f * (a[i - 1][j - 1][k - 1] + a[i + 1][j + 1][k + 1] + a[i + 1][j - 1][k + 1] - a[i][j][k]);
        for (int i = 2; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    a[i][j][k] = 0.5f * (b[i - 2][j][k] + b[i - 1][j][k]);
    }
}

/* What lies beyond a tile may be 0 there, and is no divisor. */
static void quotients(int steps, int n, int a[n][n], int b[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                b[i][j] = 1 + (a[i - 1][j] + a[i + 1][j] + a[i][j + 1]) / a[i][j];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = 1 + (7 * b[i - 1][j] + b[i][j - 1]) % (b[i][j] + b[i + 1][j]);
    }
}

static void narrow(double *from, float *to, size_t count)
{
    for (size_t k = 0; k < count; ++k)
        to[k] = (float)from[k];
}
#endif

int main(int count, char **arguments)
{
    const int n = count > 1 ? atoi(arguments[1]) : 33, steps = count > 2 ? atoi(arguments[2]) : 7;
    const size_t line = (size_t)n, square = line * line;
    double *a = numbers(square), *b = numbers(square);
    star_order_1(steps, n, (void *)a, (void *)b);
    record("star_order_1", a, square * sizeof *a), record("star_order_1", b, square * sizeof *b);
#ifndef ONLY_ONE
    const int m = n < 24 ? n : 24;
    const size_t whole = (size_t)m * m * m;
    double *c;
    float *e, *f, *g;
    a = numbers(line), b = numbers(line);
    line_order_4(steps, n, a, b);
    record("line_order_4", a, line * sizeof *a), record("line_order_4", b, line * sizeof *b);
    a = numbers(line), b = numbers(line);
    line_moved(steps, n, a, b);
    record("line_moved", a, line * sizeof *a), record("line_moved", b, line * sizeof *b);
    a = numbers(square), b = numbers(square);
    star_order_3(steps, n, (void *)a, (void *)b);
    record("star_order_3", a, square * sizeof *a), record("star_order_3", b, square * sizeof *b);
    a = numbers(3 * square), e = malloc((square + 1) * sizeof *e), f = malloc((square + 1) * sizeof *f);
    g = malloc((square + 1) * sizeof *g);
    narrow(a, e, square), narrow(a + square, f, square), narrow(a + 2 * square, g, square), free(a);
    box_order_2(steps, n, (void *)e, (void *)f, (void *)g);
    record("box_order_2", e, square * sizeof *e), record("box_order_2", f, square * sizeof *f), free(g);
    a = numbers(square), b = numbers(2 * square), c = numbers(line + steps + 1);
    fields(steps, n, (void *)a, (void *)b, (void *)(b + square), c);
    record("fields", a, square * sizeof *a), record("fields", b, 2 * square * sizeof *b), free(c);
    a = numbers(whole), b = numbers(whole);
    cube(steps, m, (void *)a, (void *)b);
    record("cube", a, whole * sizeof *a), record("cube", b, whole * sizeof *b);
    a = numbers(whole), b = numbers(whole);
    cube_order_4(steps, m, (void *)a, (void *)b);
    record("cube_order_4", a, whole * sizeof *a), record("cube_order_4", b, whole * sizeof *b);
    a = numbers(2 * whole), e = malloc((whole + 1) * sizeof *e), f = malloc((whole + 1) * sizeof *f);
    narrow(a, e, whole), narrow(a + whole, f, whole), free(a);
    cube_box(steps, m, (void *)e, (void *)f);
    record("cube_box", e, whole * sizeof *e), record("cube_box", f, whole * sizeof *f);
    int *whole_numbers = malloc((2 * square + 1) * sizeof *whole_numbers);
    for (size_t k = 0; k < 2 * square; ++k)
        whole_numbers[k] = 1 + (int)(k * 7 % 13);
    quotients(steps, n, (void *)whole_numbers, (void *)(whole_numbers + square));
    record("quotients", whole_numbers, 2 * square * sizeof *whole_numbers);
#endif
    return 0;
}
