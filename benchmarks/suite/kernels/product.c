/* A matrix product in the order in which rows stream: C += A B. */
#include "suite.h"

static void kernel(int n, real A[EXTENT(N, n)][EXTENT(N, n)], real B[EXTENT(N, n)][EXTENT(N, n)], real C[EXTENT(N, n)][EXTENT(N, n)])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                C[i][j] += A[i][k] * B[k][j];
#pragma endscop
}

#define ARRAYS(ARRAY) ARRAY(A, N, [N]) ARRAY(B, N, [N]) ARRAY(C, N, [N])

int main(void)
{
    SUITE_RUN(ARRAYS, kernel(N, A, B, C));
    return 0;
}
