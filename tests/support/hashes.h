/* Reproducible input, and results as hashes of their bits, of programs that print one line for each kernel. */
#ifndef TESTS_HASHES_H
#define TESTS_HASHES_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static double *numbers(size_t count)
{
    double *const values = malloc((count + 1) * sizeof *values);
    uint64_t state = 88172645463325252u;
    for (size_t k = 0; k < count; ++k) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        values[k] = (double)(state >> 11) * 0x1p-53;
    }
    return values;
}

static void record(const char *name, void *values, size_t bytes)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t k = 0; k < bytes; ++k)
        hash = (hash ^ ((unsigned char *)values)[k]) * 1099511628211u;
    printf("%s %016llx\n", name, (unsigned long long)hash);
    free(values);
}

#endif
