/* The matrix-vector product of ICS'08, Figure 3. */
#include "suite.h"

static __attribute__((noipa)) void kernel(int n, real a[EXTENT(N, n)][EXTENT(N, n)], real x[EXTENT(N, n)], real y[EXTENT(N, n)])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        x[i] = 0;
        for (int j = 0; j < n; j++)
            x[i] += a[i][j] * y[j];
    }
#pragma endscop
}

static void run(real a[N][N], real x[N], real y[N])
{
#pragma tilek data copyin(a[0:N][0:N], y[0:N]) copy(x[0:N])
    for (int repeat = 0; repeat < REPEATS; repeat++)
        kernel(N, a, x, y);
}

#define ARRAYS(ARRAY) ARRAY(a, N, [N]) ARRAY(x, N, ) ARRAY(y, N, )

int main(void)
{
    SUITE_RUN(ARRAYS, run(a, x, y));
    return 0;
}
