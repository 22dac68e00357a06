/* Listing 7d of the TileK paper: doitgen with a sum for each (r, q). */
#include "suite.h"

static void kernel(int nr, int nq, int np, real A[EXTENT(R, nr)][EXTENT(Q, nq)][EXTENT(P, np)], real sum[EXTENT(R, nr)][EXTENT(Q, nq)][EXTENT(P, np)], real C4[EXTENT(P, np)][EXTENT(P, np)])
{
#pragma scop
    for (int r = 0; r < nr; r++)
        for (int q = 0; q < nq; q++) {
            for (int p = 0; p < np; p++) {
                sum[r][q][p] = 0;
                for (int s = 0; s < np; s++)
                    sum[r][q][p] += A[r][q][s] * C4[s][p];
            }
            for (int p = 0; p < np; p++)
                A[r][q][p] = sum[r][q][p];
        }
#pragma endscop
}

#define ARRAYS(ARRAY) ARRAY(A, R, [Q][P]) ARRAY(sum, R, [Q][P]) ARRAY(C4, P, [P])

int main(void)
{
    SUITE_RUN(ARRAYS, kernel(R, Q, P, A, sum, C4));
    return 0;
}
