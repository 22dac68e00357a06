/* Listing 7b: single-precision matrix product, C = beta C + alpha A B. */
#include "../common/sample.h"

static void sgemm(
    int n, int m, int p,
    float **A, float **B, float **C,
    float alpha, float beta
) {
    int i, j, k;

#pragma tilek kernel data(A[0:n][0:p], B[0:p][0:m], mode:r, live:in) \
                     data(C[0:n][0:m], mode:rw, live:inout)
    {
#pragma tilek loop independent
        for (i = 0; i < n; i++) {
#pragma tilek loop independent
            for (j = 0; j < m; j++) {
                C[i][j] *= beta;
                for (k = 0; k < p; k++) {
                    C[i][j] += alpha * A[i][k] * B[k][j];
                }
            }
        }
    }
}

int main(int argc, char **argv)
{
    const int defaults[] = {1000, 1000, 1000};
    sample run = sample_start(argc, argv, "sgemm", "N M P", 3, defaults);
    const int n = run.sizes[0], m = run.sizes[1], p = run.sizes[2];
    float **const A = sample_matrix(n, p, 1), **const B = sample_matrix(p, m, 2), **const C = sample_matrix(n, m, 3);

    const double start = sample_seconds();
    sgemm(n, m, p, A, B, C, 1.5f, 0.75f);
    const double seconds = sample_seconds() - start;

    sample_record_matrix(&run, C, n, m);
    sample_free_matrix(A, n);
    sample_free_matrix(B, p);
    sample_free_matrix(C, n);
    return sample_finish(&run, seconds);
}
