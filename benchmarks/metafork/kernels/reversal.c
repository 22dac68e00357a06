/* Reversing a one-dimensional array: the slides' first table. */
#include "metafork.h"

static __attribute__((noipa)) void kernel(int n, int b, const real a[n], real c[n])
{
    (void)b; /* read by the pragmas only */
#ifdef BLOCKS_OF_B
#pragma tilek kernel num_gangs(BLOCKS(n, b)) num_workers(b) data(a[0:n], mode:r) data(c[0:n])
#pragma tilek loop tile(gang) tile(worker)
#else
#pragma tilek kernel data(a[0:n], mode:r) data(c[0:n])
#endif
    for (int i = 0; i < n; i++)
        c[n - 1 - i] = a[i];
}

#define ARRAYS(ARRAY) ARRAY(a, N, ) ARRAY(c, N, )

int main(void)
{
    SUITE_RUN(ARRAYS, kernel(N, B, a, c));
    return 0;
}
