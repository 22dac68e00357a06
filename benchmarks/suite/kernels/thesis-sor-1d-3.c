/* Table 4.1 of the thesis: 1-D SOR, 3 points. */
#include "suite.h"

static void kernel(int steps, int n, real A[EXTENT(N, n)])
{
#pragma scop
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            A[i] = REAL(0.333) * (A[i - 1] + A[i] + A[i + 1]);
#pragma endscop
}

#define ARRAYS(ARRAY) ARRAY(A, N, )

int main(void)
{
    SUITE_RUN(ARRAYS, kernel(STEPS, N, A));
    return 0;
}
