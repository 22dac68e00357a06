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

int main(void)
{
    const unsigned long long count = (unsigned long long)R * Q * P;
    real *const A = suite_array(count), *const sum = suite_array(count), *const C4 = suite_array((unsigned long long)P * P);
    polybench_timer_start();
    kernel(R, Q, P, (real(*)[Q][P])A, (real(*)[Q][P])sum, (real(*)[P])C4);
    polybench_timer_stop();
    polybench_free_data(A);
    polybench_free_data(sum);
    polybench_free_data(C4);
    return 0;
}
