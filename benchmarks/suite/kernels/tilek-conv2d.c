/* Listing 7a of the TileK paper, its nine terms as printed, several times on the same data. */
#include "suite.h"

static __attribute__((noipa)) void kernel(int n, int m, real A[EXTENT(N, n)][EXTENT(M, m)], real B[EXTENT(N, n)][EXTENT(M, m)])
{
#pragma scop
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
            B[i][j] = REAL(2.34) * A[i - 1][j - 1] + REAL(4.64) * A[i - 1][j + 1] - REAL(7.93) * A[i - 1][j] + REAL(1.26) * A[i][j - 1]
                    + REAL(0.64) * A[i + 1][j] + REAL(1.34) * A[i][j + 1] - REAL(2.17) * A[i - 1][j + 1] + REAL(7.22) * A[i + 1][j - 1]
                    - REAL(9.59) * A[i][j];
#pragma endscop
}

int main(void)
{
    const unsigned long long count = (unsigned long long)N * M;
    real *const A = suite_array(count), *const B = suite_array(count);
    polybench_timer_start();
#pragma tilek data copyin(A[0:count]) copy(B[0:count])
    for (int repeat = 0; repeat < REPEATS; repeat++)
        kernel(N, M, (real(*)[M])A, (real(*)[M])B);
    polybench_timer_stop();
    polybench_free_data(A);
    polybench_free_data(B);
    return 0;
}
