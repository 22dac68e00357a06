/* Univariate polynomial multiplication of the MetaFork slides. */
#include "suite.h"

static void kernel(int n, real a[EXTENT(N, n)], real b[EXTENT(N, n)], real c[2 * EXTENT(N, n)])
{
#pragma scop
    for (int i = 0; i < 2 * n - 1; i++)
        c[i] = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            c[i + j] += a[i] * b[j];
#pragma endscop
}

#define ARRAYS(ARRAY) ARRAY(a, N, ) ARRAY(b, N, ) ARRAY(c, 2 * N, )

int main(void)
{
    SUITE_RUN(ARRAYS, kernel(N, a, b, c));
    return 0;
}
