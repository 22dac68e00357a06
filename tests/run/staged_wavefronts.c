/* Relaxations in place whose wavefronts' tiles lie in memory of gangs: a program that prints the results of one of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void nine(int steps, int n, double u[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                u[i][j] = (u[i - 1][j - 1] + u[i - 1][j] + u[i - 1][j + 1] + u[i][j - 1] + u[i][j] + u[i][j + 1] + u[i + 1][j - 1]
                           + u[i + 1][j] + u[i + 1][j + 1]) / 9.0;
}

static void five(int steps, int n, double omega, double u[n][n], const double f[n][n])
{
#pragma tilek kernel sor(wavefront)
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                u[i][j] += omega * 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - 4.0 * u[i][j] - f[i][j]);
}

static void once(int n, float v[n][n + 2])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            v[i][j] = 0.25f * (v[i - 1][j] + v[i + 1][j] + v[i][j - 1] + v[i][j + 1]);
}

static void back(int n, double u[n][n])
{
#pragma tilek kernel
    for (int i = n - 2; i > 0; i--)
        for (int j = n - 2; j > 0; j--)
            u[i][j] = 0.2 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] + u[i + 1][j + 1]);
}

static void line(int steps, int n, float *v)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 2; i < n - 1; i++)
            v[i] = 0.25f * v[i - 2] + 0.5f * v[i + 1] - 0.25f * v[i];
}

static void cube(int steps, int n, float v[n][n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    v[i][j][k] = 0.1f * (v[i - 1][j][k] + v[i + 1][j][k] + v[i][j - 1][k] + v[i][j + 1][k] + v[i][j][k - 1] + v[i][j][k + 1]);
}

int main(int argc, char **argv)
{
    const int n = argc > 2 ? atoi(argv[2]) : 0, steps = argc > 3 ? atoi(argv[3]) : 0;
    const size_t count = (size_t)(n + 2) * (size_t)(n + 2) * (size_t)n;
    double *const u = malloc((count + 1) * sizeof *u), *const f = malloc((count + 1) * sizeof *f);
    float *const v = malloc((count + 1) * sizeof *v);
    if (argc != 4 || u == NULL || f == NULL || v == NULL)
        return 2;
    for (size_t k = 0; k < count; k++) {
        u[k] = (double)(k * 7919 % 1009);
        f[k] = (double)(k * 31 % 17);
        v[k] = (float)(k * 7919 % 1009);
    }
    if (strcmp(argv[1], "nine") == 0)
        nine(steps, n, (void *)u);
    else if (strcmp(argv[1], "five") == 0)
        five(steps, n, 1.5, (void *)u, (void *)f);
    else if (strcmp(argv[1], "once") == 0)
        once(n, (void *)v);
    else if (strcmp(argv[1], "back") == 0)
        back(n, (void *)u);
    else if (strcmp(argv[1], "line") == 0)
        line(steps, n * n, v);
    else
        cube(steps, n, (void *)v);
    for (size_t k = 0; k < count; k++)
        printf("%a %a\n", u[k], (double)v[k]);
    free(u);
    free(f);
    free(v);
    return 0;
}
