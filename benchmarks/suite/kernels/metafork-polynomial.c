/* Univariate polynomial multiplication of the MetaFork slides. */
#include "suite.h"

static void kernel(int n, real a[EXTENT(N, n)], real b[EXTENT(N, n)], real c[2 * EXTENT(N, n)])
{
#pragma scop
    for (int i = 0; i < 2 * n - 1; i++)
        c[i] = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            c[i + j] += a[i] * b[j];
#pragma endscop
}

int main(void)
{
    real *const a = suite_array(N), *const b = suite_array(N), *const c = suite_array(2ull * N);
    polybench_timer_start();
    kernel(N, a, b, c);
    polybench_timer_stop();
    polybench_free_data(a);
    polybench_free_data(b);
    polybench_free_data(c);
    return 0;
}
