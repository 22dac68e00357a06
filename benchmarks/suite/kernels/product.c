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

int main(void)
{
    const unsigned long long count = (unsigned long long)N * N;
    real *const A = suite_array(count), *const B = suite_array(count), *const C = suite_array(count);
    polybench_timer_start();
    kernel(N, (real(*)[N])A, (real(*)[N])B, (real(*)[N])C);
    polybench_timer_stop();
    polybench_free_data(A);
    polybench_free_data(B);
    polybench_free_data(C);
    return 0;
}
