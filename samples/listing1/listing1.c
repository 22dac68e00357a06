/* Listing 1: each loop is cut into a static and a dynamic tile; the order numbers interchange them. */
#include "../common/sample.h"

static void add(int n, int m, float A[n][m], float b)
{
    int i, j;

#pragma tilek kernel data(A[0:n][0:m], \
                          mode:rw, \
                          live:inout)
    {
#pragma tilek loop tile[0](static, 2) \
                   tile[2](dynamic)
        for (i = 0; i < n; i++)
#pragma tilek loop tile[1](static, 3) \
                   tile[3](dynamic)
            for (j = 0; j < m; j++)
                A[i][j] += b;
    }
}

int main(int argc, char **argv)
{
    const int defaults[] = {16, 1056000, 200};
    sample run = sample_start(argc, argv, "listing1", "N M REPEATS", 3, defaults);
    const int n = run.sizes[0], m = run.sizes[1], repeats = run.sizes[2];
    const size_t count = (size_t)n * (size_t)m;
    float *const values = sample_allocate(count, sizeof *values);
    float (*const A)[m] = (float (*)[m])values;
    sample_fill(values, count, 1);

    double seconds = 0.0;
#pragma tilek data copy(A[0:n][0:m])
    for (int repeat = 0; repeat < repeats; ++repeat) {
        const double start = sample_seconds();
        add(n, m, A, 0.1f * (float)(repeat + 1));
        seconds += sample_seconds() - start;
    }

    sample_record(&run, values, count);
    free(values);
    return sample_finish(&run, seconds);
}
