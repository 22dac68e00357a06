/* Array reversal of the MetaFork slides. */
#include "suite.h"

static __attribute__((noipa)) void kernel(int n, real a[EXTENT(N, n)], real b[EXTENT(N, n)])
{
#pragma scop
    for (int i = 0; i < n; i++)
        b[n - 1 - i] = a[i];
#pragma endscop
}

static void run(real a[N], real b[N])
{
#pragma tilek data copyin(a[0:N]) copy(b[0:N])
    for (int repeat = 0; repeat < REPEATS; repeat++)
        kernel(N, a, b);
}

#define ARRAYS(ARRAY) ARRAY(a, N, ) ARRAY(b, N, )

int main(void)
{
    SUITE_RUN(ARRAYS, run(a, b));
    return 0;
}
