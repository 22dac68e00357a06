/* 3-D Jacobi, 7 points, from one array to the other and back: a step reads and writes each element once. */
#include "suite.h"

static void kernel(int pairs, int n, real A[EXTENT(N, n)][EXTENT(N, n)][EXTENT(N, n)], real B[EXTENT(N, n)][EXTENT(N, n)][EXTENT(N, n)])
{
#pragma scop
    for (int t = 0; t < pairs; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    B[i][j][k] = REAL(0.142) * (A[i][j][k] + A[i][j][k - 1] + A[i][j][k + 1] + A[i][j - 1][k] + A[i][j + 1][k]
                                 + A[i - 1][j][k] + A[i + 1][j][k]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    A[i][j][k] = REAL(0.142) * (B[i][j][k] + B[i][j][k - 1] + B[i][j][k + 1] + B[i][j - 1][k] + B[i][j + 1][k]
                                 + B[i - 1][j][k] + B[i + 1][j][k]);
    }
#pragma endscop
}

#define ARRAYS(ARRAY) ARRAY(A, N, [N][N]) ARRAY(B, N, [N][N])

int main(void)
{
    SUITE_RUN(ARRAYS, kernel(STEPS / 2, N, A, B));
    return 0;
}
