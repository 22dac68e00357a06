/* What the machine reaches on all cores: a copy of 2 x 512 MiB, and chains of multiply-adds that no memory hinders.
 * Prints bytes per second, then operations per second at double and at float, each the best of several tries. */
#define _POSIX_C_SOURCE 200809L
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TRIES = 20, CHAINS = 12, LENGTH = 2000000, VECTOR = 64 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double copied(void)
{
    const size_t count = (size_t)1 << 26;
    double *const from = malloc(count * sizeof *from), *const to = malloc(count * sizeof *to);
    if (from == NULL || to == NULL)
        exit(2);
#pragma omp parallel for schedule(static)
    for (size_t k = 0; k < count; ++k)
        from[k] = to[k] = (double)k;
    double best = 0.0;
    for (int try = 0; try < TRIES; ++try) {
        const double start = now();
#pragma omp parallel for schedule(static)
        for (size_t k = 0; k < count; ++k)
            to[k] = from[k];
        const double rate = 2.0 * (double)(count * sizeof *from) / (now() - start);
        best = rate > best ? rate : best;
    }
    const double keep = to[(size_t)best % count];
    free(from);
    free(to);
    return keep < 0.0 ? 0.0 : best;
}

#define MULTIPLY_ADDS(name, type)                                                                                  \
    typedef type name##_vector __attribute__((vector_size(VECTOR)));                                               \
    static double name(void)                                                                                       \
    {                                                                                                              \
        double best = 0.0;                                                                                         \
        volatile type sink = 0;                                                                                    \
        for (int try = 0; try < TRIES; ++try) {                                                                    \
            const double start = now();                                                                            \
            _Pragma("omp parallel")                                                                                \
            {                                                                                                      \
                const type seed = (type)(1 + omp_get_thread_num()) * (type)0.25;                                   \
                const name##_vector factor = (name##_vector){0} + (type)0.5, added = (name##_vector){0} + seed;    \
                name##_vector chains[CHAINS];                                                                      \
                for (int c = 0; c < CHAINS; ++c)                                                                   \
                    chains[c] = added * (type)c;                                                                   \
                for (int k = 0; k < LENGTH; ++k)                                                                   \
                    _Pragma("GCC unroll 12") for (int c = 0; c < CHAINS; ++c)                                      \
                        chains[c] = chains[c] * factor + added;                                                    \
                type sum = 0;                                                                                      \
                for (int c = 0; c < CHAINS; ++c)                                                                   \
                    sum += chains[c][0];                                                                           \
                _Pragma("omp critical") sink += sum;                                                               \
            }                                                                                                      \
            const double done = 2.0 * CHAINS * (VECTOR / sizeof(type)) * (double)LENGTH * omp_get_max_threads();   \
            const double rate = done / (now() - start);                                                            \
            best = rate > best ? rate : best;                                                                      \
        }                                                                                                          \
        return best;                                                                                               \
    }

MULTIPLY_ADDS(at_double, double)
MULTIPLY_ADDS(at_float, float)

int main(void)
{
    printf("%.6e %.6e %.6e\n", copied(), at_double(), at_float());
    return 0;
}
