/* Both products of ICS'08, mv and tmv, with one matrix. */
#include "suite.h"

static __attribute__((noipa)) void kernel(int n, real a[EXTENT(N, n)][EXTENT(N, n)], real x[EXTENT(N, n)], real y[EXTENT(N, n)], real z[EXTENT(N, n)], real w[EXTENT(N, n)])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        x[i] = 0;
        for (int j = 0; j < n; j++)
            x[i] += a[i][j] * y[j];
    }
    for (int i = 0; i < n; i++) {
        z[i] = 0;
        for (int j = 0; j < n; j++)
            z[i] += a[j][i] * w[j];
    }
#pragma endscop
}

int main(void)
{
    const unsigned long long count = (unsigned long long)N * N;
    real *const a = suite_array(count), *const x = suite_array(N), *const y = suite_array(N), *const z = suite_array(N), *const w = suite_array(N);
    polybench_timer_start();
#pragma tilek data copyin(a[0:count], y[0:N], w[0:N]) copy(x[0:N], z[0:N])
    for (int repeat = 0; repeat < REPEATS; repeat++)
        kernel(N, (real(*)[N])a, x, y, z, w);
    polybench_timer_stop();
    polybench_free_data(a);
    polybench_free_data(x);
    polybench_free_data(y);
    polybench_free_data(z);
    polybench_free_data(w);
    return 0;
}
