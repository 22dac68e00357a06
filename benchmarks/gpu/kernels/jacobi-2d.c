/* 2-D Jacobi, 5 points, from one array to the other and back: a step reads and writes each element once. */
#include "suite.h"

static void kernel(int pairs, int n, real A[EXTENT(N, n)][EXTENT(N, n)], real B[EXTENT(N, n)][EXTENT(N, n)])
{
#pragma scop
    for (int t = 0; t < pairs; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                B[i][j] = REAL(0.2) * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i][j] = REAL(0.2) * (B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j] + B[i - 1][j]);
    }
#pragma endscop
}

#define ARRAYS(ARRAY) ARRAY(A, N, [N]) ARRAY(B, N, [N])

int main(void)
{
    SUITE_RUN(ARRAYS, kernel(STEPS / 2, N, A, B));
    return 0;
}
