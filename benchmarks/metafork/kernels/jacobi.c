/* 1-D Jacobi of three points: the slides' second table. */
#include "metafork.h"

static __attribute__((noipa)) void kernel(int steps, int n, int b, real a[n], real c[n])
{
    (void)b; /* read by the pragmas only */
#ifdef BLOCKS_OF_B
#pragma tilek data copy(a[0:n], c[0:n])
    for (int t = 0; t < steps; t++) {
#pragma tilek kernel num_gangs(BLOCKS(n - 2, b)) num_workers(b)
        {
#pragma tilek loop tile(gang) tile(worker)
            for (int i = 1; i < n - 1; i++)
                c[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
#pragma tilek loop tile(gang) tile(worker)
            for (int i = 1; i < n - 1; i++)
                a[i] = c[i];
        }
    }
#else
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            c[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
        for (int i = 1; i < n - 1; i++)
            a[i] = c[i];
    }
#endif
}

#define ARRAYS(ARRAY) ARRAY(a, N, ) ARRAY(c, N, )

int main(void)
{
    SUITE_RUN(ARRAYS, kernel(STEPS, N, B, a, c));
    return 0;
}
