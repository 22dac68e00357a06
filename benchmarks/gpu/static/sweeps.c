/* Relaxations in place, in wavefronts of tiles: counted by benchmarks/gpu/sass.py. */
#include "static.h"

void gauss_seidel(int steps, int n, float a[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = 0.2f * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
}

void sor_3d(int steps, int n, float a[n][n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    a[i][j][k] = 0.142f * (a[i][j][k] + a[i - 1][j][k] + a[i + 1][j][k] + a[i][j - 1][k] +
                                           a[i][j + 1][k] + a[i][j][k - 1] + a[i][j][k + 1]);
}

int main(void)
{
    enum { N = 1024, SIDE = 128, STEPS = 16 };
    gauss_seidel(STEPS, N, FLOATS(N * N));
    sor_3d(STEPS, SIDE, FLOATS(SIDE * SIDE * SIDE));
    return 0;
}
