/* LU decomposition in place, without pivoting. One line is all that the nest needs: the engine finds that only the loop over k has an order,
 * keeps it on the host with the matrix on the device, and launches what is left of both nests. */
#include "../common/sample.h"

static void decompose(int n, float A[n][n])
{
    int i, j, k;

#pragma tilek kernel
    for (k = 0; k < n; k++) {
        for (i = k + 1; i < n; i++)
            A[i][k] /= A[k][k];
        for (i = k + 1; i < n; i++)
            for (j = k + 1; j < n; j++)
                A[i][j] -= A[i][k] * A[k][j];
    }
}

int main(int argc, char **argv)
{
    const int defaults[] = {1500};
    sample run = sample_start(argc, argv, "lu", "N", 1, defaults);
    const int n = run.sizes[0];
    const size_t count = (size_t)n * (size_t)n;
    float *const values = sample_allocate(count, sizeof *values);
    float (*const A)[n] = (float (*)[n])values;
    sample_fill(values, count, 1);
    for (int i = 0; i < n; ++i)
        A[i][i] += (float)n; /* no pivot comes near zero */

    const double start = sample_seconds();
    decompose(n, A);
    const double seconds = sample_seconds() - start;

    sample_record(&run, values, count);
    free(values);
    return sample_finish(&run, seconds);
}
