/* The product of a transposed matrix and a vector of ICS'08, Figure 3. */
#include "suite.h"

static __attribute__((noipa)) void kernel(int n, real a[EXTENT(N, n)][EXTENT(N, n)], real x[EXTENT(N, n)], real y[EXTENT(N, n)])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        x[i] = 0;
        for (int j = 0; j < n; j++)
            x[i] += a[j][i] * y[j];
    }
#pragma endscop
}

int main(void)
{
    const unsigned long long count = (unsigned long long)N * N;
    real *const a = suite_array(count), *const x = suite_array(N), *const y = suite_array(N);
    polybench_timer_start();
#pragma tilek data copyin(a[0:count], y[0:N]) copy(x[0:N])
    for (int repeat = 0; repeat < REPEATS; repeat++)
        kernel(N, (real(*)[N])a, x, y);
    polybench_timer_stop();
    polybench_free_data(a);
    polybench_free_data(x);
    polybench_free_data(y);
    return 0;
}
