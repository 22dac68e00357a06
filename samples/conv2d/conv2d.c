/* Listing 7a: a 2-D convolution with nine hard-coded terms (as printed: A[i-1][j+1] twice, A[i+1][j+1] never). */
#include "../common/sample.h"

static void conv2d(
    int n, int m,
    float **A, float **B
) {
    int i, j;

#pragma tilek kernel data(A[0:n][0:m], mode:r, live:in) \
                     data(B[0:n][0:m], mode:w, live:inout)
    {
#pragma tilek loop independent
        for (i = 1; i < n-1; i++) {
#pragma tilek loop independent
            for (j = 1; j < m-1; j++) {
                B[i][j] = 2.34 * A[i-1][j-1]
                        + 4.64 * A[i-1][j+1]
                        - 7.93 * A[i-1][j  ]
                        + 1.26 * A[i  ][j-1]
                        + 0.64 * A[i+1][j  ]
                        + 1.34 * A[i  ][j+1]
                        - 2.17 * A[i-1][j+1]
                        + 7.22 * A[i+1][j-1]
                        - 9.59 * A[i  ][j  ];
            }
        }
    }
}

int main(int argc, char **argv)
{
    const int defaults[] = {4000, 4000, 40};
    sample run = sample_start(argc, argv, "conv2d", "N M REPEATS", 3, defaults);
    const int n = run.sizes[0], m = run.sizes[1], repeats = run.sizes[2];
    float **const A = sample_matrix(n, m, 1), **const B = sample_matrix(n, m, 2);

    double seconds = 0.0;
#pragma tilek data copyin(A[0:n][0:m]) copy(B[0:n][0:m])
    for (int repeat = 0; repeat < repeats; ++repeat) {
        const double start = sample_seconds();
        conv2d(n, m, A, B);
        seconds += sample_seconds() - start;
    }

    sample_record_matrix(&run, B, n, m);
    sample_free_matrix(A, n);
    sample_free_matrix(B, n);
    return sample_finish(&run, seconds);
}
