/* Kernels that touch each element once or twice. */
#include "kernel_run.h"

void axpy(int n, float a, float *restrict y, const float *restrict x)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        y[i] += a * x[i];
}
RUN(axpy, VECTOR VECTOR, axpy(n, 2, A(0), A(1)), LINE("axpy", n, VALUE(float, 2), BUFFER(0), BUFFER(1)))

void reversal(int n, float *restrict to, const float *restrict from)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        to[i] = from[n - 1 - i];
}
RUN(reversal, VECTOR VECTOR, reversal(n, A(0), A(1)), LINE("reversal", n, BUFFER(0), BUFFER(1)))

void transpose(int n, float to[restrict n][n], float from[restrict n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            to[i][j] = from[j][i];
}
RUN(transpose, MATRIX MATRIX, transpose(n, A(0), A(1)),
    PLANE("transpose", n, BUFFER(0), BUFFER(1)))

void gather(int n, float to[restrict n], float from[restrict n], int place[restrict n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        to[i] = from[place[i]];
}
RUN(gather, VECTOR VECTOR PLACES, gather(n, A(0), A(1), A(2)),
    LINE("gather", n, BUFFER(0), BUFFER(1), BUFFER(2)))

float sum(int n, const float *x)
{
    float s = 0;
#pragma tilek kernel reduction(+: s)
    for (int i = 0; i < n; i++)
        s += x[i];
    return s;
}
RUN(sum, VECTOR, (void)sum(n, A(0)), NOT_BY_HAND)
