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

static void run(real a[N][N], real x[N], real y[N], real z[N], real w[N])
{
#pragma tilek data copyin(a[0:N][0:N], y[0:N], w[0:N]) copy(x[0:N], z[0:N])
    for (int repeat = 0; repeat < REPEATS; repeat++)
        kernel(N, a, x, y, z, w);
}

#define ARRAYS(ARRAY) ARRAY(a, N, [N]) ARRAY(x, N, ) ARRAY(y, N, ) ARRAY(z, N, ) ARRAY(w, N, )

int main(void)
{
    SUITE_RUN(ARRAYS, run(a, x, y, z, w));
    return 0;
}
