/* Table 4.1 of the thesis: 1-D Jacobi, 3 points. */
#include "suite.h"

static void kernel(int steps, int n, real A[EXTENT(N, n)], real B[EXTENT(N, n)])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = REAL(0.333) * (A[i - 1] + A[i] + A[i + 1]);
        for (int i = 1; i < n - 1; i++)
            A[i] = B[i];
    }
#pragma endscop
}

int main(void)
{
    const unsigned long long count = N;
    real *const A = suite_array(count), *const B = suite_array(count);
    polybench_timer_start();
    kernel(STEPS, N, A, B);
    polybench_timer_stop();
    polybench_free_data(A);
    polybench_free_data(B);
    return 0;
}
