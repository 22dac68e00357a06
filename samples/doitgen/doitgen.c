/* Listing 7d: doitgen, the multiresolution kernel of MADNESS. */
#include "../common/sample.h"

static void doitgen(
    int R, int Q, int P,
    float ***A, float ***sum, float **C4
) {
    int r, q, p, s;

#pragma tilek kernel data(A[0:R][0:Q][0:P], sum[0:R][0:Q][0:P], mode:rw, live:inout) \
                     data(C4[0:P][0:P], mode:r, live:in)
    {
#pragma tilek loop independent
        for (r = 0; r < R; r++) {
#pragma tilek loop independent
            for (q = 0; q < Q; q++) {
                for (p = 0; p < P; p++) {
                    sum[r][q][p] = 0;
                    for (s = 0; s < P; s++)
                        sum[r][q][p] += A[r][q][s] * C4[s][p];
                }
                for (p = 0; p < P; p++)
                    A[r][q][p] = sum[r][q][p];
            }
        }
    }
}

int main(int argc, char **argv)
{
    const int defaults[] = {160, 160, 200};
    sample run = sample_start(argc, argv, "doitgen", "R Q P", 3, defaults);
    const int R = run.sizes[0], Q = run.sizes[1], P = run.sizes[2];
    float ***const A = sample_allocate((size_t)R, sizeof *A), ***const sum = sample_allocate((size_t)R, sizeof *sum);
    float **const C4 = sample_matrix(P, P, 1);
    for (int r = 0; r < R; ++r) {
        A[r] = sample_matrix(Q, P, 2 + (uint64_t)r);
        sum[r] = sample_matrix(Q, P, 0);
    }

    const double start = sample_seconds();
    doitgen(R, Q, P, A, sum, C4);
    const double seconds = sample_seconds() - start;

    for (int r = 0; r < R; ++r) {
        sample_record_matrix(&run, A[r], Q, P);
        sample_record_matrix(&run, sum[r], Q, P);
        sample_free_matrix(A[r], Q);
        sample_free_matrix(sum[r], Q);
    }
    free(A);
    free(sum);
    sample_free_matrix(C4, P);
    return sample_finish(&run, seconds);
}
