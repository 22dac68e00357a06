/* Kernels that touch each element once or twice: counted by benchmarks/gpu/sass.py. */
#include "static.h"

void axpy(int n, float a, float *restrict y, const float *restrict x)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        y[i] += a * x[i];
}

void reversal(int n, float *restrict to, const float *restrict from)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        to[i] = from[n - 1 - i];
}

void transpose(int n, float to[restrict n][n], float from[restrict n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            to[i][j] = from[j][i];
}

void gather(int n, float to[restrict n], float from[restrict n], int place[restrict n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        to[i] = from[place[i]];
}

float sum(int n, const float *x)
{
    float s = 0;
#pragma tilek kernel reduction(+: s)
    for (int i = 0; i < n; i++)
        s += x[i];
    return s;
}

int main(void)
{
    enum { N = 1 << 22, SIDE = 2048 };
    axpy(N, 2, FLOATS(N), FLOATS(N));
    reversal(N, FLOATS(N), FLOATS(N));
    transpose(SIDE, FLOATS(SIDE * SIDE), FLOATS(SIDE * SIDE));
    gather(N, FLOATS(N), FLOATS(N), INTS(N));
    (void)sum(N, FLOATS(N));
    return 0;
}
