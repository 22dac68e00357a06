/* Stencils that can be tiled in several ways. With ONLY_ONE the first alone. */
#ifndef TESTS_STENCILS_H
#define TESTS_STENCILS_H

static void star_order_1(int steps, int n, double a[n][n], double b[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                b[i][j] = 0.2 * (a[i][j] + a[i][j - 1] + a[i][j + 1] + a[i + 1][j] + a[i - 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = 0.2 * (b[i][j] + b[i][j - 1] + b[i][j + 1] + b[i + 1][j] + b[i - 1][j]);
    }
}

#ifndef ONLY_ONE
static void star_order_3(int steps, int n, double a[n][n], double b[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 3; i < n - 3; i++)
            for (int j = 3; j < n - 3; j++)
                b[i][j] = 0.2 * (a[i][j] + a[i][j - 3] + a[i][j + 2] + a[i + 3][j] + a[i - 3][j]);
        for (int i = 3; i < n - 3; i++)
            for (int j = 3; j < n - 3; j++)
                a[i][j] = b[i][j];
    }
}

/* The border moves too. */
static void fields(int steps, int n, double ex[n][n], double ey[n][n], double hz[n][n], double f[steps + 1])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int j = 0; j < n; j++)
            ey[0][j] = f[t];
        for (int i = 1; i < n; i++)
            for (int j = 0; j < n; j++)
                ey[i][j] = ey[i][j] - 0.5 * (hz[i][j] - hz[i - 1][j]);
        for (int i = 0; i < n; i++)
            for (int j = 1; j < n; j++)
                ex[i][j] = ex[i][j] - 0.5 * (hz[i][j] - hz[i][j - 1]);
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < n - 1; j++)
                hz[i][j] = hz[i][j] - 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
}
#endif

#endif
