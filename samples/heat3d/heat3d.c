/* The heat equation in space, seven points, explicit steps from one array to the other and back. */
#include "../common/sample.h"

static void diffuse(int steps, int n, float A[n][n][n], float B[n][n][n])
{
    int t, i, j, k;

#pragma tilek kernel
    for (t = 0; t < steps; t++) {
        for (i = 1; i < n - 1; i++)
            for (j = 1; j < n - 1; j++)
                for (k = 1; k < n - 1; k++)
                    B[i][j][k] = A[i][j][k] + 0.1f * (A[i - 1][j][k] + A[i + 1][j][k] + A[i][j - 1][k] + A[i][j + 1][k] +
                                                      A[i][j][k - 1] + A[i][j][k + 1] - 6.0f * A[i][j][k]);
        for (i = 1; i < n - 1; i++)
            for (j = 1; j < n - 1; j++)
                for (k = 1; k < n - 1; k++)
                    A[i][j][k] = B[i][j][k] + 0.1f * (B[i - 1][j][k] + B[i + 1][j][k] + B[i][j - 1][k] + B[i][j + 1][k] +
                                                      B[i][j][k - 1] + B[i][j][k + 1] - 6.0f * B[i][j][k]);
    }
}

int main(int argc, char **argv)
{
    const int defaults[] = {130, 40};
    sample run = sample_start(argc, argv, "heat3d", "N STEPS", 2, defaults);
    const int n = run.sizes[0], steps = run.sizes[1];
    const size_t count = (size_t)n * (size_t)n * (size_t)n;
    float *const values = sample_allocate(count, sizeof *values), *const other = sample_allocate(count, sizeof *other);
    sample_fill(values, count, 1);
    memcpy(other, values, count * sizeof *values);

    const double start = sample_seconds();
    diffuse(steps, n, (float (*)[n][n])values, (float (*)[n][n])other);
    const double seconds = sample_seconds() - start;

    sample_record(&run, values, count);
    free(values);
    free(other);
    return sample_finish(&run, seconds);
}
