/* Table 4.1 of the thesis: 1-D Jacobi, 3 points. */
#include "suite.h"

static void kernel(int steps, int n, real A[EXTENT(N, n)], real B[EXTENT(N, n)])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = REAL(0.333) * (A[i - 1] + A[i] + A[i + 1]);
        for (int i = 1; i < n - 1; i++)
            A[i] = B[i];
    }
#pragma endscop
}

#define ARRAYS(ARRAY) ARRAY(A, N, ) ARRAY(B, N, )

int main(void)
{
    SUITE_RUN(ARRAYS, kernel(STEPS, N, A, B));
    return 0;
}
