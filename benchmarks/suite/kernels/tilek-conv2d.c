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

static void run(real A[N][M], real B[N][M])
{
#pragma tilek data copyin(A[0:N][0:M]) copy(B[0:N][0:M])
    for (int repeat = 0; repeat < REPEATS; repeat++)
        kernel(N, M, A, B);
}

#define ARRAYS(ARRAY) ARRAY(A, N, [M]) ARRAY(B, N, [M])

int main(void)
{
    SUITE_RUN(ARRAYS, run(A, B));
    return 0;
}
