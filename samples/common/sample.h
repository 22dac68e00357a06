/* sample.h: what every sample program shares: its command line, a clock, reproducible data, a checksum, a dump.
 *
 * Include it before any system header. The last two lines that a sample prints:
 *     NAME: SIZE… seconds S
 *     checksum HEX
 * S is the time of the kernel region alone. HEX hashes the bit patterns of all outputs, so equal checksums mean
 * bitwise equal results. `--dump FILE` writes the outputs raw, so that differences can be measured. */
#ifndef SAMPLE_H
#define SAMPLE_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLE_SIZES = 4 };

typedef struct sample {
    const char *name;
    int size_count;
    int sizes[SAMPLE_SIZES];
    FILE *dump;
    uint64_t hash;
} sample;

/* Ends the program for a reason that the user can do something about. */
static inline void sample_fail(const char *name, const char *problem, const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", name, problem, what);
    exit(2);
}

/* NAME [SIZE…] [--dump FILE]; sizes left out keep their defaults. `names` is for the usage line. */
static inline sample sample_start(int argc, char **argv, const char *name, const char *names, int count, const int defaults[])
{
    sample run = {.name = name, .size_count = count, .hash = UINT64_C(14695981039346656037)};
    memcpy(run.sizes, defaults, (size_t)count * sizeof defaults[0]);
    int given = 0;
    for (int a = 1; a < argc; ++a) {
        if (strcmp(argv[a], "--help") == 0) {
            printf("usage: %s [%s] [--dump FILE]\n", name, names);
            exit(0);
        }
        if (strcmp(argv[a], "--dump") == 0) {
            if (++a == argc)
                sample_fail(name, "a file name must follow", "--dump");
            run.dump = fopen(argv[a], "wb");
            if (run.dump == NULL)
                sample_fail(name, strerror(errno), argv[a]);
            continue;
        }
        char *end;
        const long value = strtol(argv[a], &end, 10);
        if (given == count || end == argv[a] || *end != '\0' || value < 0 || value > INT_MAX)
            sample_fail(name, "not a size (see --help)", argv[a]);
        run.sizes[given++] = (int)value;
    }
    return run;
}

static inline double sample_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* calloc that never returns NULL, not even for nothing. Every page is touched: the system gives it here, and not while a kernel is timed. */
static inline void *sample_allocate(size_t count, size_t size)
{
    enum { PAGE = 4096 };
    void *const memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL)
        sample_fail("sample", "out of memory", strerror(errno));
    for (size_t place = 0; place < count * size; place += PAGE)
        ((volatile char *)memory)[place] = 0;
    return memory;
}

/* Values spread over [-1, 1), a pure function of seed and position (SplitMix64). */
static inline void sample_fill(float *values, size_t count, uint64_t seed)
{
    for (size_t k = 0; k < count; ++k) {
        uint64_t z = (seed << 40) + (k + 1) * UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        values[k] = (float)(int32_t)(z >> 32) * 0x1p-31f;
    }
}

/* A matrix as C programs often hold it: pointers to rows, each row an allocation of its own. Seed 0 leaves zeros. */
static inline float **sample_matrix(int rows, int columns, uint64_t seed)
{
    float **const matrix = sample_allocate((size_t)rows, sizeof *matrix);
    for (int i = 0; i < rows; ++i) {
        matrix[i] = sample_allocate((size_t)columns, sizeof **matrix);
        if (seed != 0)
            sample_fill(matrix[i], (size_t)columns, seed * 65536 + (uint64_t)i);
    }
    return matrix;
}

static inline void sample_free_matrix(float **matrix, int rows)
{
    for (int i = 0; i < rows; ++i)
        free(matrix[i]);
    free(matrix);
}

/* Takes `count` results into the checksum (FNV-1a over 32-bit words) and the dump. */
static inline void sample_record(sample *run, const float *values, size_t count)
{
    for (size_t k = 0; k < count; ++k) {
        uint32_t bits;
        memcpy(&bits, &values[k], sizeof bits);
        run->hash = (run->hash ^ bits) * UINT64_C(1099511628211);
    }
    if (run->dump != NULL && fwrite(values, sizeof *values, count, run->dump) != count)
        sample_fail(run->name, strerror(errno), "--dump");
}

/* The same for doubles: the checksum takes all of their bits, the dump gets them rounded to 32-bit floats. */
static inline void sample_record_double(sample *run, const double *values, size_t count)
{
    for (size_t k = 0; k < count; ++k) {
        uint64_t bits;
        memcpy(&bits, &values[k], sizeof bits);
        run->hash = (run->hash ^ (bits & UINT32_MAX)) * UINT64_C(1099511628211);
        run->hash = (run->hash ^ (bits >> 32)) * UINT64_C(1099511628211);
        const float rounded = (float)values[k];
        if (run->dump != NULL && fwrite(&rounded, sizeof rounded, 1, run->dump) != 1)
            sample_fail(run->name, strerror(errno), "--dump");
    }
}

static inline void sample_record_matrix(sample *run, float *const *matrix, int rows, int columns)
{
    for (int i = 0; i < rows; ++i)
        sample_record(run, matrix[i], (size_t)columns);
}

/* Prints the two lines; returns main's exit status. */
static inline int sample_finish(sample *run, double seconds)
{
    printf("%s:", run->name);
    for (int s = 0; s < run->size_count; ++s)
        printf(" %d", run->sizes[s]);
    printf(" seconds %.6f\nchecksum %016llx\n", seconds, (unsigned long long)run->hash);
    if (run->dump != NULL && fclose(run->dump) != 0)
        sample_fail(run->name, strerror(errno), "--dump");
    return 0;
}

#endif
