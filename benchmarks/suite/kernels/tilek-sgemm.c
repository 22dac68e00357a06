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

int main(void)
{
    real *const A = suite_array((unsigned long long)N * P), *const B = suite_array((unsigned long long)P * M), *const C = suite_array((unsigned long long)N * M);
    polybench_timer_start();
    kernel(N, M, P, (real(*)[P])A, (real(*)[M])B, (real(*)[M])C, REAL(1.5), REAL(0.75));
    polybench_timer_stop();
    polybench_free_data(A);
    polybench_free_data(B);
    polybench_free_data(C);
    return 0;
}
