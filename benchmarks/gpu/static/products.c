/* Products and sums over pairs: counted by benchmarks/gpu/sass.py. */
#include <math.h>

#include "static.h"

void matrix_vector(int n, float *restrict y, float a[restrict n][n], const float *restrict x)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        y[i] = 0;
        for (int j = 0; j < n; j++)
            y[i] += a[i][j] * x[j];
    }
}

void transposed_vector(int n, float *restrict y, float a[restrict n][n], const float *restrict x)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        y[i] = 0;
        for (int j = 0; j < n; j++)
            y[i] += a[j][i] * x[j];
    }
}

void mvt(int n, float *restrict x1, float *restrict x2, float a[restrict n][n], const float *restrict y1,
         const float *restrict y2)
{
#pragma tilek kernel
    {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                x1[i] += a[i][j] * y1[j];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                x2[i] += a[j][i] * y2[j];
    }
}

void sgemm(int n, float c[restrict n][n], float a[restrict n][n], float b[restrict n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float s = 0;
            for (int k = 0; k < n; k++)
                s += a[i][k] * b[k][j];
            c[i][j] = s;
        }
}

void syrk(int n, float c[restrict n][n], float a[restrict n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            for (int k = 0; k < n; k++)
                c[i][j] += a[i][k] * a[j][k];
}

void nbody(int n, float *restrict ax, float *restrict ay, const float *restrict x, const float *restrict y)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        ax[i] = 0;
        ay[i] = 0;
        for (int j = 0; j < n; j++) {
            float dx = x[j] - x[i], dy = y[j] - y[i];
            float w = 1 / sqrtf(dx * dx + dy * dy + 0.01f);
            ax[i] += dx * w;
            ay[i] += dy * w;
        }
    }
}

int main(void)
{
    enum { N = 2048 };
    matrix_vector(N, FLOATS(N), FLOATS(N * N), FLOATS(N));
    transposed_vector(N, FLOATS(N), FLOATS(N * N), FLOATS(N));
    mvt(N, FLOATS(N), FLOATS(N), FLOATS(N * N), FLOATS(N), FLOATS(N));
    sgemm(N, FLOATS(N * N), FLOATS(N * N), FLOATS(N * N));
    syrk(N, FLOATS(N * N), FLOATS(N * N));
    nbody(N, FLOATS(N), FLOATS(N), FLOATS(N), FLOATS(N));
    return 0;
}
