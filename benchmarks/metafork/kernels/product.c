/* Matrix multiplication: the slides' third table. */
#include "metafork.h"

static __attribute__((noipa)) void kernel(int n, int b, int d, real x[n][n], real y[n][n], real z[n][n])
{
    (void)b, (void)d; /* read by the pragmas only */
#ifdef BLOCKS_OF_B
#pragma tilek kernel num_gangs(BLOCKS(n, d), BLOCKS(n, b)) num_workers(d, b)
#pragma tilek loop tile(gang, 1) tile(worker, 1)
#else
#pragma tilek kernel
#endif
    for (int i = 0; i < n; i++)
#ifdef BLOCKS_OF_B
#pragma tilek loop tile(gang, 0) tile(worker, 0)
#endif
        for (int j = 0; j < n; j++) {
            z[i][j] = 0;
            for (int k = 0; k < n; k++)
                z[i][j] += x[i][k] * y[k][j];
        }
}

#define ARRAYS(ARRAY) ARRAY(x, N, [N]) ARRAY(y, N, [N]) ARRAY(z, N, [N])

int main(void)
{
    SUITE_RUN(ARRAYS, kernel(N, B, D, x, y, z));
    return 0;
}
