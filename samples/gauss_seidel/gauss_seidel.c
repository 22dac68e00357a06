/* Gauss-Seidel relaxation in the plane: each point is replaced by the mean of itself and its neighbours, two of which are new already.
 * No loop of the three is parallel; diagonals across all of them are. */
#include "../common/sample.h"

static void relax(int steps, int n, int m, float A[n][m])
{
    int t, i, j;

#pragma tilek kernel
    for (t = 0; t < steps; t++)
        for (i = 1; i < n - 1; i++)
            for (j = 1; j < m - 1; j++)
                A[i][j] = 0.2f * (A[i - 1][j] + A[i][j - 1] + A[i][j] + A[i][j + 1] + A[i + 1][j]);
}

int main(int argc, char **argv)
{
    const int defaults[] = {1200, 1300, 25};
    sample run = sample_start(argc, argv, "gauss_seidel", "N M STEPS", 3, defaults);
    const int n = run.sizes[0], m = run.sizes[1], steps = run.sizes[2];
    const size_t count = (size_t)n * (size_t)m;
    float *const values = sample_allocate(count, sizeof *values);
    sample_fill(values, count, 1);

    const double start = sample_seconds();
    relax(steps, n, m, (float (*)[m])values);
    const double seconds = sample_seconds() - start;

    sample_record(&run, values, count);
    free(values);
    return sample_finish(&run, seconds);
}
