/* Products and sums over pairs, with the names of BLAS and PolyBench. */
#include <math.h>

#include "kernel_run.h"

void gemv(int n, float *restrict y, float a[restrict n][n], const float *restrict x)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        y[i] = 0;
        for (int j = 0; j < n; j++)
            y[i] += a[i][j] * x[j];
    }
}
RUN(gemv, VECTOR MATRIX VECTOR, gemv(n, A(0), A(1), A(2)),
    LINE("gemv", n, BUFFER(0), BUFFER(1), BUFFER(2)))

void gemv_transposed(int n, float *restrict y, float a[restrict n][n], const float *restrict x)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        y[i] = 0;
        for (int j = 0; j < n; j++)
            y[i] += a[j][i] * x[j];
    }
}
RUN(gemv_transposed, VECTOR MATRIX VECTOR, gemv_transposed(n, A(0), A(1), A(2)),
    LINE("gemv_transposed", n, BUFFER(0), BUFFER(1), BUFFER(2)))

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
RUN(mvt, VECTOR VECTOR MATRIX VECTOR VECTOR, mvt(n, A(0), A(1), A(2), A(3), A(4)),
    NOT_BY_HAND)

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
RUN(sgemm, MATRIX MATRIX MATRIX, sgemm(n, A(0), A(1), A(2)), PLANE("sgemm", n, BUFFER(0), BUFFER(1), BUFFER(2)))
RUN(sgemm_tiled, MATRIX MATRIX MATRIX, sgemm(n, A(0), A(1), A(2)),
    LAUNCH("sgemm_tiled", n, n, 1, 16, 16, BUFFER(0), BUFFER(1), BUFFER(2)))

void syrk(int n, float c[restrict n][n], float a[restrict n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            for (int k = 0; k < n; k++)
                c[i][j] += a[i][k] * a[j][k];
}
RUN(syrk, MATRIX MATRIX, syrk(n, A(0), A(1)), PLANE("syrk", n, BUFFER(0), BUFFER(1)))

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
RUN(nbody, VECTOR VECTOR VECTOR VECTOR, nbody(n, A(0), A(1), A(2), A(3)),
    LINE("nbody", n, BUFFER(0), BUFFER(1), BUFFER(2), BUFFER(3)))
