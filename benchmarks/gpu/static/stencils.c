/* Stencils of one sweep, and of several in one region: counted by benchmarks/gpu/sass.py. */
#include "static.h"

void five_points(int n, float b[restrict n][n], float a[restrict n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            b[i][j] = 0.2f * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
}

void five_points_double(int n, double b[restrict n][n], double a[restrict n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            b[i][j] = 0.2 * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
}

void nine_points(int n, float b[restrict n][n], float a[restrict n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            b[i][j] = 0.111f * (a[i - 1][j - 1] + a[i - 1][j] + a[i - 1][j + 1] + a[i][j - 1] + a[i][j] + a[i][j + 1] +
                                a[i + 1][j - 1] + a[i + 1][j] + a[i + 1][j + 1]);
}

void seven_points(int n, float b[restrict n][n][n], float a[restrict n][n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            for (int k = 1; k < n - 1; k++)
                b[i][j][k] = 0.142f * (a[i][j][k] + a[i - 1][j][k] + a[i + 1][j][k] + a[i][j - 1][k] + a[i][j + 1][k] +
                                       a[i][j][k - 1] + a[i][j][k + 1]);
}

#define ROW(i, j) (a[i][j][k - 1] + a[i][j][k] + a[i][j][k + 1])
#define PLANE(i) (ROW(i, j - 1) + ROW(i, j) + ROW(i, j + 1))

void box_27(int n, float b[restrict n][n][n], float a[restrict n][n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            for (int k = 1; k < n - 1; k++)
                b[i][j][k] = 0.037f * (PLANE(i - 1) + PLANE(i) + PLANE(i + 1));
}

void convolution(int n, float b[restrict n][n], float a[restrict n + 4][n + 4], float weight[restrict 5][5])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float s = 0;
            for (int k = 0; k < 5; k++)
                for (int l = 0; l < 5; l++)
                    s += weight[k][l] * a[i + k][j + l];
            b[i][j] = s;
        }
}

void jacobi(int steps, int n, float b[restrict n][n], float a[restrict n][n])
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

void fdtd(int steps, int n, float ex[restrict n][n], float ey[restrict n][n], float hz[restrict n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n; i++)
            for (int j = 0; j < n; j++)
                ey[i][j] -= 0.5f * (hz[i][j] - hz[i - 1][j]);
        for (int i = 0; i < n; i++)
            for (int j = 1; j < n; j++)
                ex[i][j] -= 0.5f * (hz[i][j] - hz[i][j - 1]);
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < n - 1; j++)
                hz[i][j] -= 0.7f * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
}

int main(void)
{
    enum { N = 2048, SIDE = 256, STEPS = 4 };
    five_points(N, FLOATS(N * N), FLOATS(N * N));
    five_points_double(N, DOUBLES(N * N), DOUBLES(N * N));
    nine_points(N, FLOATS(N * N), FLOATS(N * N));
    seven_points(SIDE, FLOATS(SIDE * SIDE * SIDE), FLOATS(SIDE * SIDE * SIDE));
    box_27(SIDE, FLOATS(SIDE * SIDE * SIDE), FLOATS(SIDE * SIDE * SIDE));
    convolution(N, FLOATS(N * N), FLOATS((N + 4) * (N + 4)), FLOATS(25));
    jacobi(STEPS, N, FLOATS(N * N), FLOATS(N * N));
    fdtd(STEPS, N, FLOATS(N * N), FLOATS(N * N), FLOATS(N * N));
    return 0;
}
