/* The kernels with tilek's lines alone. */
#include "kernels.h"

void axpy(int n, float s, const float x[restrict n], float y[restrict n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        y[i] = s * x[i] + y[i];
}

void reversal(int n, const float x[restrict n], float y[restrict n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        y[i] = x[n - 1 - i];
}

void gather(int n, const int place[restrict n], const float x[restrict n], float y[restrict n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        y[i] = x[place[i]];
}

void transposition(int n, float a[restrict n][n], float b[restrict n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            b[i][j] = a[j][i];
}

void star2d1r(int n, float a[restrict n][n], float b[restrict n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            b[i][j] = 0.2f * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
}

void star2d1r_double(int n, double a[restrict n][n], double b[restrict n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            b[i][j] = 0.2 * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
}

void box2d1r(int n, float a[restrict n][n], float b[restrict n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            b[i][j] = (a[i - 1][j - 1] + a[i - 1][j] + a[i - 1][j + 1] + a[i][j - 1] + a[i][j] + a[i][j + 1] +
                       a[i + 1][j - 1] + a[i + 1][j] + a[i + 1][j + 1]) * 0.111f;
}

void star3d1r(int n, float a[restrict n][n][n], float b[restrict n][n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            for (int k = 1; k < n - 1; k++)
                b[i][j][k] = 0.14f * (a[i][j][k] + a[i - 1][j][k] + a[i + 1][j][k] + a[i][j - 1][k] + a[i][j + 1][k] +
                                      a[i][j][k - 1] + a[i][j][k + 1]);
}

void box3d1r(int n, float a[restrict n][n][n], float b[restrict n][n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            for (int k = 1; k < n - 1; k++)
                b[i][j][k] =
                    (a[i - 1][j - 1][k - 1] + a[i - 1][j - 1][k] + a[i - 1][j - 1][k + 1] + a[i - 1][j][k - 1] +
                     a[i - 1][j][k] + a[i - 1][j][k + 1] + a[i - 1][j + 1][k - 1] + a[i - 1][j + 1][k] +
                     a[i - 1][j + 1][k + 1] + a[i][j - 1][k - 1] + a[i][j - 1][k] + a[i][j - 1][k + 1] +
                     a[i][j][k - 1] + a[i][j][k] + a[i][j][k + 1] + a[i][j + 1][k - 1] + a[i][j + 1][k] +
                     a[i][j + 1][k + 1] + a[i + 1][j - 1][k - 1] + a[i + 1][j - 1][k] + a[i + 1][j - 1][k + 1] +
                     a[i + 1][j][k - 1] + a[i + 1][j][k] + a[i + 1][j][k + 1] + a[i + 1][j + 1][k - 1] +
                     a[i + 1][j + 1][k] + a[i + 1][j + 1][k + 1]) * 0.037f;
}

void convolution(int n, float w[restrict 5][5], float a[restrict n][n], float b[restrict n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n - 4; i++)
        for (int j = 0; j < n - 4; j++) {
            float sum = 0;
            for (int k = 0; k < 5; k++)
                for (int l = 0; l < 5; l++)
                    sum += w[k][l] * a[i + k][j + l];
            b[i][j] = sum;
        }
}

void vector_product(int n, float a[restrict n][n], const float x[restrict n], float y[restrict n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            y[i] += a[i][j] * x[j];
}

void transposed_product(int n, float a[restrict n][n], const float x[restrict n], float y[restrict n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            y[i] += a[j][i] * x[j];
}

void product(int n, float a[restrict n][n], float b[restrict n][n], float c[restrict n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                c[i][j] += a[i][k] * b[k][j];
}

void rank_update(int n, float a[restrict n][n], float c[restrict n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            for (int k = 0; k < n; k++)
                c[i][j] += a[i][k] * a[j][k];
}

void bodies(int n, const float x[restrict n], const float y[restrict n], const float m[restrict n],
            float fx[restrict n], float fy[restrict n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        fx[i] = 0;
        fy[i] = 0;
        for (int j = 0; j < n; j++) {
            float dx = x[j] - x[i], dy = y[j] - y[i];
            float s = m[j] / (dx * dx + dy * dy + 0.01f);
            fx[i] += s * dx;
            fy[i] += s * dy;
        }
    }
}

void jacobi(int n, int steps, float a[restrict n][n], float b[restrict n][n])
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

void seidel(int n, int steps, float a[restrict n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = (a[i - 1][j] + a[i][j - 1] + a[i][j] + a[i][j + 1] + a[i + 1][j]) * 0.2f;
}
