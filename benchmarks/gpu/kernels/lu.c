/* LU factors in place, without pivots: two launches a column, which are short at the end and all short where the matrix is small. */
#include "suite.h"

static void kernel(int n, real A[EXTENT(N, n)][EXTENT(N, n)])
{
#pragma scop
    for (int k = 0; k < n; k++) {
        for (int i = k + 1; i < n; i++)
            A[i][k] /= A[k][k];
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++)
                A[i][j] -= A[i][k] * A[k][j];
    }
#pragma endscop
}

/* The diagonal outweighs the rest, so that no pivot is small. */
static void strengthen(int n, real A[EXTENT(N, n)][EXTENT(N, n)])
{
    for (int i = 0; i < n; i++)
        A[i][i] += REAL(2.0) * (real)n;
}

#define ARRAYS(ARRAY) ARRAY(A, N, [N])

int main(void)
{
    SUITE_RUN(ARRAYS, (strengthen(N, A), kernel(N, A)));
    return 0;
}
