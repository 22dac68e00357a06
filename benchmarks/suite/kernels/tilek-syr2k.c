/* Listing 7c of the TileK paper: C = beta C + alpha (A B^T + B A^T). */
#include "suite.h"

static void kernel(int n, int m, real A[EXTENT(N, n)][EXTENT(M, m)], real B[EXTENT(N, n)][EXTENT(M, m)], real C[EXTENT(N, n)][EXTENT(N, n)], real alpha, real beta)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            C[i][j] *= beta;
            for (int k = 0; k < m; k++) {
                C[i][j] += alpha * A[i][k] * B[j][k];
                C[i][j] += alpha * B[i][k] * A[j][k];
            }
        }
#pragma endscop
}

#define ARRAYS(ARRAY) ARRAY(A, N, [M]) ARRAY(B, N, [M]) ARRAY(C, N, [N])

int main(void)
{
    SUITE_RUN(ARRAYS, kernel(N, M, A, B, C, REAL(1.5), REAL(0.75)));
    return 0;
}
