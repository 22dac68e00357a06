/* Table 4.1 of the thesis: 2-D FDTD. */
#include "suite.h"

static void kernel(int steps, int n, real ex[EXTENT(N, n)][EXTENT(N, n)], real ey[EXTENT(N, n)][EXTENT(N, n)], real hz[EXTENT(N, n)][EXTENT(N, n)])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n; i++)
            for (int j = 0; j < n; j++)
                ey[i][j] = ey[i][j] - REAL(0.5) * (hz[i][j] - hz[i - 1][j]);
        for (int i = 0; i < n; i++)
            for (int j = 1; j < n; j++)
                ex[i][j] = ex[i][j] - REAL(0.5) * (hz[i][j] - hz[i][j - 1]);
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < n - 1; j++)
                hz[i][j] = hz[i][j] - REAL(0.7) * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
#pragma endscop
}

#define ARRAYS(ARRAY) ARRAY(ex, N, [N]) ARRAY(ey, N, [N]) ARRAY(hz, N, [N])

int main(void)
{
    SUITE_RUN(ARRAYS, kernel(STEPS, N, ex, ey, hz));
    return 0;
}
