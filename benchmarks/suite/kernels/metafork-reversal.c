/* Array reversal of the MetaFork slides. */
#include "suite.h"

static __attribute__((noipa)) void kernel(int n, real a[EXTENT(N, n)], real b[EXTENT(N, n)])
{
#pragma scop
    for (int i = 0; i < n; i++)
        b[n - 1 - i] = a[i];
#pragma endscop
}

int main(void)
{
    real *const a = suite_array(N), *const b = suite_array(N);
    polybench_timer_start();
#pragma tilek data copyin(a[0:N]) copy(b[0:N])
    for (int repeat = 0; repeat < REPEATS; repeat++)
        kernel(N, a, b);
    polybench_timer_stop();
    polybench_free_data(a);
    polybench_free_data(b);
    return 0;
}
