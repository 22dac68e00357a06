/* What the programs of PolyBench/C link against here in place of their own polybench.c, so that one process runs many sizes,
 * random data can replace the initial ones, and every array is written out whole, bit for bit.
 *
 * Programs are compiled with -DPOLYBENCH_TIME (polybench_timer_start stands between initial data and kernel, polybench_timer_stop
 * after it), -DPOLYBENCH_INTER_ARRAY_PADDING_FACTOR=0 (frees are polybench_free_data), -Dmain=polybench_main, and sizes as polybench_size("N"). Usage: PROGRAM DUMP RUN…, a run being a list of settings
 * such as type=double,seed=1,N=30. With seed=0 the data stay as PolyBench makes them. An array is one record of the dump: a line
 * "RUN ARRAY WIDTH BYTES", then the bytes. DUMP may be "-" for none. A run with time=1 starts with cold caches and prints a line
 * "RUN SECONDS HASH…", one hash of the bits of each array that is left. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int polybench_main(int argc, char **argv);

enum { MOST_ARRAYS = 16, FLUSHED_BYTES = 1 << 26 };

static struct {
    void *base;
    size_t count, size;
} arrays[MOST_ARRAYS];
static int array_count, run_number;
static const char *settings;
static FILE *dump; /* NULL: none */
static double started;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(2);
}

/* The text after `name=` among the settings, or NULL. */
const char *polybench_setting(const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = settings; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    }
    return NULL;
}

static const char *setting(const char *name)
{
    const char *const found = polybench_setting(name);
    if (found == NULL)
        fail(name, "no such setting");
    return found;
}

int polybench_size(const char *name)
{
    return atoi(setting(name));
}

void *polybench_alloc_data(unsigned long long count, int size)
{
    if (array_count == MOST_ARRAYS)
        fail("polybench_alloc_data", "too many arrays");
    void *const base = calloc(count > 0 ? (size_t)count : 1, (size_t)size);
    if (base == NULL)
        fail("polybench_alloc_data", strerror(errno));
    arrays[array_count].base = base;
    arrays[array_count].count = (size_t)count;
    arrays[array_count].size = (size_t)size;
    ++array_count;
    return base;
}

void polybench_free_data(void *base)
{
    for (int a = 0; a < array_count; ++a)
        if (arrays[a].base == base)
            arrays[a].base = NULL;
    free(base);
}

/* SplitMix64, a function of its position alone. */
static uint64_t random_bits(uint64_t position)
{
    uint64_t z = (position + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Values in [1/16, 1), all bits in use; square arrays get a dominant diagonal, since solvers and factorisations divide by it. */
static double random_value(size_t k, size_t side, uint64_t bits)
{
    const double value = 0x1p-4 + (double)(bits >> 11) * 0x1.ep-54;
    return side > 0 && k % (side + 1) == 0 ? value + (double)side : value;
}

static void randomise(uint64_t seed)
{
    const char *const type = setting("type");
    for (int a = 0; a < array_count; ++a) {
        const size_t count = arrays[a].base == NULL ? 0 : arrays[a].count, root = (size_t)(sqrt((double)count) + 0.5);
        const size_t side = root > 1 && root * root == count ? root : 0;
        for (size_t k = 0; k < count; ++k) {
            const uint64_t bits = random_bits((seed << 48) + ((uint64_t)a << 40) + k);
            if (arrays[a].size == 1)
                ((unsigned char *)arrays[a].base)[k] = (unsigned char)(bits % 4);
            else if (arrays[a].size == sizeof(double))
                ((double *)arrays[a].base)[k] = random_value(k, side, bits);
            else if (*type == 'i')
                ((int *)arrays[a].base)[k] = (int)(bits % 1000) + 1;
            else
                ((float *)arrays[a].base)[k] = (float)random_value(k, side, bits);
        }
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int timed(void)
{
    const char *const said = polybench_setting("time");
    return said != NULL && *said == '1';
}

/* Drives what the initialisation left in the caches out of them. */
static void flush_caches(void)
{
    volatile unsigned char *const memory = malloc(FLUSHED_BYTES);
    if (memory == NULL)
        fail("flush_caches", strerror(errno));
    for (size_t k = 0; k < FLUSHED_BYTES; k += 64)
        memory[k] = (unsigned char)k;
    free((void *)memory);
}

/* FNV-1a over words of 8 bytes, the last one filled up with zeros. */
static uint64_t hashed(const unsigned char *data, size_t bytes)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t k = 0; k < bytes; k += sizeof hash) {
        uint64_t word = 0;
        memcpy(&word, data + k, bytes - k < sizeof word ? bytes - k : sizeof word);
        hash = (hash ^ word) * UINT64_C(1099511628211);
        hash ^= hash >> 32;
    }
    return hash;
}

void polybench_timer_start(void)
{
    const int seed = atoi(setting("seed"));
    if (seed != 0)
        randomise((uint64_t)seed);
    if (timed())
        flush_caches();
    started = now();
}

void polybench_timer_stop(void)
{
    const double seconds = now() - started;
    if (timed()) {
        printf("%d %.9f", run_number, seconds);
        for (int a = 0; a < array_count; ++a)
            if (arrays[a].base != NULL)
                printf(" %016llx", (unsigned long long)hashed(arrays[a].base, arrays[a].count * arrays[a].size));
        printf("\n");
        fflush(stdout);
    }
    for (int a = 0; a < array_count && dump != NULL; ++a) {
        if (arrays[a].base == NULL)
            continue;
        const size_t bytes = arrays[a].count * arrays[a].size;
        fprintf(dump, "%d %d %zu %zu\n", run_number, a, arrays[a].size, bytes);
        if (fwrite(arrays[a].base, 1, bytes, dump) != bytes)
            fail("dump", strerror(errno));
    }
    if (dump != NULL)
        fflush(dump);
}

void polybench_timer_print(void)
{
}

int main(int argc, char **argv)
{
    if (argc < 3)
        fail(argv[0], "usage: PROGRAM DUMP RUN...");
    if (strcmp(argv[1], "-") != 0) {
        dump = fopen(argv[1], "wb");
        if (dump == NULL)
            fail(argv[1], strerror(errno));
    }
    for (run_number = 0; run_number < argc - 2; ++run_number) {
        settings = argv[run_number + 2];
        array_count = 0;
        const int status = polybench_main(1, argv);
        if (status != 0)
            return status;
    }
    return dump != NULL && fclose(dump) != 0;
}
