/* Table 4.1 of the thesis: 2-D Jacobi, 5 points. */
#include "suite.h"

static void kernel(int steps, int n, real A[EXTENT(N, n)][EXTENT(N, n)], real B[EXTENT(N, n)][EXTENT(N, n)])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                B[i][j] = REAL(0.2) * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i][j] = B[i][j];
    }
#pragma endscop
}

#define ARRAYS(ARRAY) ARRAY(A, N, [N]) ARRAY(B, N, [N])

int main(void)
{
    SUITE_RUN(ARRAYS, kernel(STEPS, N, A, B));
    return 0;
}
