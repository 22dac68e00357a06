/* Sources that ask which compiler reads them: kernels have what that compiler, and not the translator's, finds. */
#include "check.h"

#if defined __clang__ && __clang_major__ >= 3
enum { FACTOR = 7 };
#elif defined __GNUC__ && __GNUC__ >= 5
enum { FACTOR = 9 };
#else
enum { FACTOR = 11 };
#endif

#ifdef __OPTIMIZE__
#define STEP 1
#else
#define STEP 2
#endif

// case compilers_factor: bounds, steps and numbers chosen by the compiler's macros
static void compilers_factor(int n, long a[n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i += STEP)
        a[i] = FACTOR * (long)i + __GNUC__;
}
CASE(compilers_factor)
{
    enum { N = 1003 };
    long *a = check_allocate(N, sizeof *a);
    compilers_factor(N, a);
    check_record("a", a, N * sizeof *a);
    free(a);
}
