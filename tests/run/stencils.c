/* Stencils whose tiles of time steps can begin together: order 1 to 4, star and box, one to three dimensions, several arrays. Prints a hash
 * of every result: PROGRAM N T. */
#include "hashes.h"
#include "stencils.h"

static void line_order_1(int steps, int n, double a[n], double b[n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = 0.33 * (a[i - 1] + a[i] + a[i + 1]);
        for (int i = 1; i < n - 1; i++)
            a[i] = 0.33 * (b[i - 1] + b[i] + b[i + 1]);
    }
}

static void line_order_4(int steps, int n, double a[n], double b[n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 4; i < n - 4; i++)
            b[i] = 0.1 * (a[i - 4] + a[i - 3] + a[i - 1] + a[i] + a[i + 2] + a[i + 4]);
        for (int i = 4; i < n - 4; i++)
            a[i] = b[i];
    }
}

/* One statement, every time step kept. */
static void line_in_time(int steps, int n, double a[steps + 1][n])
{
#pragma tilek kernel
    for (int t = 1; t <= steps; t++)
        for (int i = 2; i < n - 1; i++)
            a[t][i] = 0.25 * (a[t - 1][i - 2] + a[t - 1][i] + a[t - 1][i + 1]);
}

static void box_order_1(int steps, int n, double a[n][n], double b[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                b[i][j] = 0.125 * (a[i - 1][j - 1] + a[i - 1][j] + a[i - 1][j + 1] + a[i][j - 1] + a[i][j] + a[i][j + 1] +
                                   a[i + 1][j - 1] + a[i + 1][j] + a[i + 1][j + 1]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
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
                    a[i][j][k] = 0.125 * (b[i + 1][j][k] - 2.0 * b[i][j][k] + b[i - 1][j][k] + b[i][j + 1][k] + b[i][j - 1][k] +
                                          b[i][j][k + 1] + b[i][j][k - 1]);
    }
}

int main(int count, char **arguments)
{
    const int n = count > 1 ? atoi(arguments[1]) : 33, steps = count > 2 ? atoi(arguments[2]) : 7;
    const int m = n < 24 ? n : 24;
    const size_t line = (size_t)n, square = line * line, whole = (size_t)m * m * m;
    double *a, *b, *c;

    a = numbers(line), b = numbers(line);
    line_order_1(steps, n, a, b);
    record("line_order_1", a, line * sizeof *a), record("line_order_1", b, line * sizeof *b);
    a = numbers(line), b = numbers(line);
    line_order_4(steps, n, a, b);
    record("line_order_4", a, line * sizeof *a), record("line_order_4", b, line * sizeof *b);
    a = numbers(line * (steps + 1));
    line_in_time(steps, n, (void *)a);
    record("line_in_time", a, line * (steps + 1) * sizeof *a);
    a = numbers(square), b = numbers(square);
    star_order_1(steps, n, (void *)a, (void *)b);
    record("star_order_1", a, square * sizeof *a), record("star_order_1", b, square * sizeof *b);
    a = numbers(square), b = numbers(square);
    star_order_3(steps, n, (void *)a, (void *)b);
    record("star_order_3", a, square * sizeof *a), record("star_order_3", b, square * sizeof *b);
    a = numbers(square), b = numbers(square);
    box_order_1(steps, n, (void *)a, (void *)b);
    record("box_order_1", a, square * sizeof *a), record("box_order_1", b, square * sizeof *b);
    a = numbers(square), b = numbers(2 * square), c = numbers(line + steps + 1);
    fields(steps, n, (void *)a, (void *)b, (void *)(b + square), c);
    record("fields", a, square * sizeof *a), record("fields", b, 2 * square * sizeof *b), free(c);
    a = numbers(whole), b = numbers(whole);
    cube(steps, m, (void *)a, (void *)b);
    record("cube", a, whole * sizeof *a), record("cube", b, whole * sizeof *b);
    return 0;
}
