/* LU decomposition without pivots, in place: the slides' fourth table. Its first kernel has blocks of B, its second of D x E. */
#include "metafork.h"

static __attribute__((noipa)) void kernel(int n, int b, int d, int e, real a[n][n])
{
    (void)b, (void)d, (void)e; /* read by the pragmas only */
#ifdef BLOCKS_OF_B
#pragma tilek data copy(a[0:n][0:n])
    for (int k = 0; k < n - 1; k++) {
#pragma tilek kernel num_gangs(BLOCKS(n - k - 1, b)) num_workers(b)
#pragma tilek loop tile(gang) tile(worker)
        for (int i = k + 1; i < n; i++)
            a[i][k] /= a[k][k];
#pragma tilek kernel num_gangs(BLOCKS(n - k - 1, e), BLOCKS(n - k - 1, d)) num_workers(e, d)
#pragma tilek loop tile(gang, 1) tile(worker, 1)
        for (int i = k + 1; i < n; i++)
#pragma tilek loop tile(gang, 0) tile(worker, 0)
            for (int j = k + 1; j < n; j++)
                a[i][j] -= a[i][k] * a[k][j];
    }
#else
#pragma tilek kernel
    for (int k = 0; k < n - 1; k++) {
        for (int i = k + 1; i < n; i++)
            a[i][k] /= a[k][k];
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++)
                a[i][j] -= a[i][k] * a[k][j];
    }
#endif
}

#define ARRAYS(ARRAY) ARRAY(a, N, [N])

int main(void)
{
    SUITE_RUN(ARRAYS, kernel(N, B, D, E, a));
    return 0;
}
