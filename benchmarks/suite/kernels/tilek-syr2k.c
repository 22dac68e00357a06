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

int main(void)
{
    real *const A = suite_array((unsigned long long)N * M), *const B = suite_array((unsigned long long)N * M), *const C = suite_array((unsigned long long)N * N);
    polybench_timer_start();
    kernel(N, M, (real(*)[M])A, (real(*)[M])B, (real(*)[N])C, REAL(1.5), REAL(0.75));
    polybench_timer_stop();
    polybench_free_data(A);
    polybench_free_data(B);
    polybench_free_data(C);
    return 0;
}
