/* Relaxations in place, in wavefronts of tiles. */
#include "kernel_run.h"

void gauss_seidel(int steps, int n, float a[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = 0.2f * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
}
RUN(gauss_seidel, MATRIX, gauss_seidel(steps, n, A(0)),
    for (int t = 0; t < steps; t++)
        for (int diagonal = 3; diagonal <= 3 * (n - 2); diagonal++)
            LINE("gauss_seidel", n - 2, VALUE(int, diagonal), BUFFER(0)))

void sor3d(int steps, int n, float a[n][n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    a[i][j][k] = 0.142f * (a[i][j][k] + a[i - 1][j][k] + a[i + 1][j][k] + a[i][j - 1][k] +
                                           a[i][j + 1][k] + a[i][j][k - 1] + a[i][j][k + 1]);
}
RUN(sor3d, CUBE, sor3d(steps, n, A(0)), NOT_BY_HAND)
