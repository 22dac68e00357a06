/* Listing 7b of the TileK paper: C = beta C + alpha A B. */
#include "suite.h"

static void kernel(int n, int m, int p, real A[EXTENT(N, n)][EXTENT(P, p)], real B[EXTENT(P, p)][EXTENT(M, m)], real C[EXTENT(N, n)][EXTENT(M, m)], real alpha, real beta)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            C[i][j] *= beta;
            for (int k = 0; k < p; k++)
                C[i][j] += alpha * A[i][k] * B[k][j];
        }
#pragma endscop
}

#define ARRAYS(ARRAY) ARRAY(A, N, [P]) ARRAY(B, P, [M]) ARRAY(C, N, [M])

int main(void)
{
    SUITE_RUN(ARRAYS, kernel(N, M, P, A, B, C, REAL(1.5), REAL(0.75)));
    return 0;
}
