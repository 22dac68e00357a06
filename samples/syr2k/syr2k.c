/* Listing 7c: symmetric rank-2k operation, C = beta C + alpha (A B^T + B A^T). */
#include "../common/sample.h"

static void syr2k(
    int n, int m,
    float **A, float **B, float **C,
    float alpha, float beta
) {
    int i, j, k;

#pragma tilek kernel data(A[0:n][0:m], B[0:n][0:m], mode:r, live:in) \
                     data(C[0:n][0:n], mode:rw, live:inout)
    {
#pragma tilek loop independent
        for (i = 0; i < n; i++) {
#pragma tilek loop independent
            for (j = 0; j < n; j++) {
                C[i][j] *= beta;
                for (k = 0; k < m; k++) {
                    C[i][j] += alpha * A[i][k] * B[j][k];
                    C[i][j] += alpha * B[i][k] * A[j][k];
                }
            }
        }
    }
}

int main(int argc, char **argv)
{
    const int defaults[] = {900, 900};
    sample run = sample_start(argc, argv, "syr2k", "N M", 2, defaults);
    const int n = run.sizes[0], m = run.sizes[1];
    float **const A = sample_matrix(n, m, 1), **const B = sample_matrix(n, m, 2), **const C = sample_matrix(n, n, 3);

    const double start = sample_seconds();
    syr2k(n, m, A, B, C, 1.5f, 0.75f);
    const double seconds = sample_seconds() - start;

    sample_record_matrix(&run, C, n, n);
    sample_free_matrix(A, n);
    sample_free_matrix(B, n);
    sample_free_matrix(C, n);
    return sample_finish(&run, seconds);
}
