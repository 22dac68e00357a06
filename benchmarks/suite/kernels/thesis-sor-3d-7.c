/* Section 5.5 of the thesis: 3-D SOR, 7 points. */
#include "suite.h"

static void kernel(int steps, int n, real A[EXTENT(N, n)][EXTENT(N, n)][EXTENT(N, n)])
{
#pragma scop
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    A[i][j][k] = REAL(0.142) * (A[i][j][k] + A[i][j][k - 1] + A[i][j][k + 1] + A[i][j - 1][k] + A[i][j + 1][k]
                                 + A[i - 1][j][k] + A[i + 1][j][k]);
#pragma endscop
}

#define ARRAYS(ARRAY) ARRAY(A, N, [N][N])

int main(void)
{
    SUITE_RUN(ARRAYS, kernel(STEPS, N, A));
    return 0;
}
