/* Tiles of several time steps, by TILEK_TILES=overlapped: counted by benchmarks/gpu/sass.py. */
#include "static.h"

void jacobi_overlapped(int steps, int n, float b[restrict n][n], float a[restrict n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                b[i][j] = 0.2f * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = 0.2f * (b[i][j] + b[i - 1][j] + b[i + 1][j] + b[i][j - 1] + b[i][j + 1]);
    }
}

int main(void)
{
    enum { N = 2048, STEPS = 12 };
    jacobi_overlapped(STEPS, N, FLOATS(N * N), FLOATS(N * N));
    return 0;
}
