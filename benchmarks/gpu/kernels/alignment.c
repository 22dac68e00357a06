/* Smith and Waterman's local alignment of two sequences of numbers: scores in one sweep, each of three neighbours before it. */
#include "suite.h"

static void kernel(int n, real score[EXTENT(N, n)][EXTENT(N, n)], const real a[EXTENT(N, n)], const real b[EXTENT(N, n)])
{
#pragma scop
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++) {
            score[i][j] = score[i - 1][j - 1] + (a[i] - b[j] < REAL(0.1) ? REAL(0.3) : -REAL(0.2));
            if (score[i][j] < score[i - 1][j] - REAL(0.1))
                score[i][j] = score[i - 1][j] - REAL(0.1);
            if (score[i][j] < score[i][j - 1] - REAL(0.1))
                score[i][j] = score[i][j - 1] - REAL(0.1);
        }
#pragma endscop
}

#define ARRAYS(ARRAY) ARRAY(score, N, [N]) ARRAY(a, N, ) ARRAY(b, N, )

int main(void)
{
    SUITE_RUN(ARRAYS, kernel(N, score, a, b));
    return 0;
}
