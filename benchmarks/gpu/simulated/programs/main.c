/* Runs one kernel: PROGRAM KERNEL N [STEPS]. The last line is "RESULT" and a hash of the bits that it
 * leaves in its arrays. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "kernels.h"
#ifdef NAIVE
#include "cuda_launch.h"
#endif

run_array run_arrays[MOST_ARRAYS];
int run_array_count;
static uint32_t state = 1;

/* Numerical Recipes' generator, the upper bits. */
static uint32_t next(void)
{
    state = 1664525u * state + 1013904223u;
    return state >> 8;
}

/* `count` values of a type: f float, d double, i places below `n`. */
static void make_array(char type, size_t count, int n)
{
    const size_t width = type == 'd' ? sizeof(double) : type == 'f' ? sizeof(float) : sizeof(int);
    void *const base = run_array_count < MOST_ARRAYS ? malloc(count * width) : NULL;
    if (base == NULL) {
        fprintf(stderr, "no memory for an array of %zu elements\n", count);
        exit(2);
    }
    for (size_t k = 0; k < count; ++k)
        if (type == 'd')
            ((double *)base)[k] = (double)next() / 16777216.0;
        else if (type == 'f')
            ((float *)base)[k] = (float)next() / 16777216.0f;
        else
            ((int *)base)[k] = (int)(next() % (uint32_t)n);
    run_arrays[run_array_count++] = (run_array){base, count * width};
}

#define RUN(name, ...)                                          \
    static void run_##name(int n, int steps, run_array *array)  \
    {                                                           \
        (void)steps;                                            \
        name(__VA_ARGS__);                                      \
    }
#define A(k) array[k].base
RUN(axpy, n, 1.7f, A(0), A(1))
RUN(reversal, n, A(0), A(1))
RUN(gather, n, A(0), A(1), A(2))
RUN(transposition, n, A(0), A(1))
RUN(star2d1r, n, A(0), A(1))
RUN(star2d1r_double, n, A(0), A(1))
RUN(box2d1r, n, A(0), A(1))
RUN(star3d1r, n, A(0), A(1))
RUN(box3d1r, n, A(0), A(1))
RUN(convolution, n, A(0), A(1), A(2))
RUN(vector_product, n, A(0), A(1), A(2))
RUN(transposed_product, n, A(0), A(1), A(2))
RUN(product, n, A(0), A(1), A(2))
RUN(rank_update, n, A(0), A(1))
RUN(bodies, n, A(0), A(1), A(2), A(3), A(4))
RUN(jacobi, n, steps, A(0), A(1))
RUN(seidel, n, steps, A(0))

/* The arrays in their order: a type and the number of dimensions, each n long; 5 x 5 for w. */
static const struct { const char *name, *arrays; void (*run)(int, int, run_array *); } kernels[] = {
    {"axpy", "f1f1", run_axpy},
    {"reversal", "f1f1", run_reversal},
    {"gather", "i1f1f1", run_gather},
    {"transposition", "f2f2", run_transposition},
    {"star2d1r", "f2f2", run_star2d1r},
    {"star2d1r_double", "d2d2", run_star2d1r_double},
    {"box2d1r", "f2f2", run_box2d1r},
    {"star3d1r", "f3f3", run_star3d1r},
    {"box3d1r", "f3f3", run_box3d1r},
    {"convolution", "w2f2f2", run_convolution},
    {"vector_product", "f2f1f1", run_vector_product},
    {"transposed_product", "f2f1f1", run_transposed_product},
    {"product", "f2f2f2", run_product},
    {"rank_update", "f2f2", run_rank_update},
    {"bodies", "f1f1f1f1f1", run_bodies},
    {"jacobi", "f2f2", run_jacobi},
    {"seidel", "f2", run_seidel},
};

static int run(const char *name, int n, int steps)
{
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; ++k) {
        if (strcmp(kernels[k].name, name) != 0)
            continue;
        for (const char *type = kernels[k].arrays; *type != '\0'; type += 2) {
            const size_t length = *type == 'w' ? 5 : (size_t)n;
            size_t count = 1;
            for (char dimension = '0'; dimension < type[1]; ++dimension)
                count *= length;
            make_array(*type == 'w' ? 'f' : *type, count, n);
        }
        kernels[k].run(n, steps, run_arrays);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t hash = 14695981039346656037u;
    const int n = argc > 2 ? atoi(argv[2]) : 0;
    if (n < 6 || !run(argv[1], n, argc > 3 ? atoi(argv[3]) : 1)) {
        fprintf(stderr, "usage: PROGRAM KERNEL N [STEPS], N at least 6\n");
        return 2;
    }
#ifdef NAIVE
    cuda_copy_back();
#endif
    for (int k = 0; k < run_array_count; ++k)
        for (size_t byte = 0; byte < run_arrays[k].bytes; ++byte)
            hash = (hash ^ ((const unsigned char *)run_arrays[k].base)[byte]) * 1099511628211u;
    printf("\nRESULT %016llx\n", (unsigned long long)hash);
    return 0;
}
