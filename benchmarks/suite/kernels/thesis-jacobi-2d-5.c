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

int main(void)
{
    const unsigned long long count = (unsigned long long)N * N;
    real *const A = suite_array(count), *const B = suite_array(count);
    polybench_timer_start();
    kernel(STEPS, N, (real(*)[N])A, (real(*)[N])B);
    polybench_timer_stop();
    polybench_free_data(A);
    polybench_free_data(B);
    return 0;
}
