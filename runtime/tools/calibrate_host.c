/* calibrate_host.c: what the cores do, all of them together, on the runtime's own threads. */
#define _POSIX_C_SOURCE 200809L
#include "tools/calibrate.h"

#include "base/message.h"
#include "host/thread_pool.h"

#include <stdlib.h>

#if defined(__AVX512F__)
enum { VECTOR = 64 };
#elif defined(__AVX__)
enum { VECTOR = 32 };
#else
enum { VECTOR = 16 };
#endif

typedef float floats __attribute__((vector_size(VECTOR)));
typedef double doubles __attribute__((vector_size(VECTOR)));

/* What every core does at once; the first thing that a body's own context has. */
typedef struct everywhere {
    int64_t cores, repeats; /* the body does its work `repeats` times */
    void (*body)(void *context, int64_t part);
} everywhere;

static tilek_status run_on_all(void *context, int64_t repeats, tilek_message *why)
{
    everywhere *job = context;
    (void)why;
    job->repeats = repeats;
    tilek_parallel(job->cores, job->body, job);
    return TILEK_OK;
}

/* ---- Clock and vectors ----------------------------------------------------------------------- */

/* Additions that wait for one another: one a cycle on all known processors. */
static tilek_status add_in_a_chain(void *context, int64_t repeats, tilek_message *why)
{
    uint64_t sum = *(uint64_t *)context;
    (void)why;
    for (int64_t repeat = 0; repeat < repeats; ++repeat)
        for (int step = 0; step < 1000; step += 10) {
#define ADD sum += (uint64_t)repeat; __asm__ __volatile__("" : "+r"(sum));
            ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD
#undef ADD
        }
    *(uint64_t *)context = sum;
    return TILEK_OK;
}

tilek_status tilek_measure_clock(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                 tilek_message *why)
{
    uint64_t sum = 1;
    const tilek_status status = tilek_take_samples(subject, add_in_a_chain, &sum, samples, why);
    (void)argument;
    tilek_as_rates(samples, 1000);
    return status;
}

/* What the compiler computes at once where it may use all that this processor has. */
tilek_status tilek_measure_vector(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                  tilek_message *why)
{
    (void)subject;
    (void)argument;
    (void)why;
    samples->values[0] = VECTOR;
    samples->count = 1;
    return TILEK_OK;
}

/* ---- Rates ----------------------------------------------------------------------------------- */

/* Chains: more than the latency of a multiply-add times the units that do them, and few enough for
 * 16 registers. */
enum { CHAINS = 12, ROUNDS = 1000 };

#define DEFINE_FUSED(name, vector, number)                                                                             \
    static number name(int64_t rounds, number seed)                                                                    \
    {                                                                                                                  \
        const vector factor = (vector){0} + (number)0.999, term = (vector){0} + (number)0.001;                         \
        vector a0 = (vector){0} + seed, a1 = a0 + 1, a2 = a0 + 2, a3 = a0 + 3, a4 = a0 + 4, a5 = a0 + 5, a6 = a0 + 6;  \
        vector a7 = a0 + 7, a8 = a0 + 8, a9 = a0 + 9, a10 = a0 + 10, a11 = a0 + 11;                                    \
        for (int64_t round = 0; round < rounds; ++round) {                                                             \
            a0 = a0 * factor + term, a1 = a1 * factor + term, a2 = a2 * factor + term, a3 = a3 * factor + term;        \
            a4 = a4 * factor + term, a5 = a5 * factor + term, a6 = a6 * factor + term, a7 = a7 * factor + term;        \
            a8 = a8 * factor + term, a9 = a9 * factor + term, a10 = a10 * factor + term, a11 = a11 * factor + term;    \
        }                                                                                                              \
        a0 = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11;                                              \
        return a0[0];                                                                                                  \
    }
DEFINE_FUSED(fused_floats, floats, float)
DEFINE_FUSED(fused_doubles, doubles, double)

typedef struct arithmetic {
    everywhere all;
    int is_double;
    /* of the calling thread and of the others: nobody reads them, but the compiler cannot know */
    volatile double results[2];
} arithmetic;

static void compute(void *context, int64_t part)
{
    arithmetic *job = context;
    const int64_t rounds = job->all.repeats * ROUNDS;
    const double result = job->is_double ? fused_doubles(rounds, (double)part)
                                         : (double)fused_floats(rounds, (float)part);
    if (part == 0) job->results[0] = result;
    else if (result < 0) job->results[1] = result; /* never: the sums are of positive numbers */
}

tilek_status tilek_measure_host_rate(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                     tilek_message *why)
{
    arithmetic job = {{subject->units, 0, compute}, argument == (int64_t)sizeof(double), {0, 0}};
    tilek_status status;
    if (argument != (int64_t)sizeof(float) && argument != (int64_t)sizeof(double)) {
        tilek_say(why, "there are no numbers of %lld bytes", (long long)argument);
        return TILEK_INVALID;
    }
    status = tilek_take_samples(subject, run_on_all, &job, samples, why);
    tilek_as_rates(samples, 2.0 * CHAINS * ROUNDS * (double)(VECTOR / argument) * (double)subject->units);
    return status;
}

/* ---- Streams --------------------------------------------------------------------------------- */

/* Each core has two arrays in one stretch of its own; between them a gap, so that equal indices do
 * not lie whole pages apart. */
enum { GAP = 2112, ALIGNMENT = 64 };

typedef struct streams {
    everywhere all;
    size_t count;  /* floats of one array */
    size_t stride; /* bytes from one core's stretch to the next */
    char *block;
} streams;

static float *stretch_of(const streams *job, int64_t part)
{
    return (float *)(void *)(job->block + (size_t)part * job->stride);
}

/* Two reads and a write of 4 bytes each; what is written was read, so that a cache fetches nothing
 * more. */
static void update(size_t count, const float *restrict x, float *restrict y)
{
    for (size_t index = 0; index < count; ++index) y[index] += 0.5f * x[index];
}

static const float *second_of(const streams *job, const float *first)
{
    return (const float *)(const void *)((const char *)first + job->count * sizeof(float) + GAP);
}

static void stream(void *context, int64_t part)
{
    const streams *job = context;
    float *y = stretch_of(job, part);
    const float *x = second_of(job, y);
    for (int64_t repeat = 0; repeat < job->all.repeats; ++repeat) update(job->count, x, y);
}

/* The core that streams touches its stretch first: its pages lie near it. */
static void fill(void *context, int64_t part)
{
    const streams *job = context;
    float *place = stretch_of(job, part);
    for (size_t index = 0; index < job->stride / sizeof *place; ++index) place[index] = 0.0f;
}

tilek_status tilek_measure_host_stream(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                       tilek_message *why)
{
    streams job = {{subject->units, 0, stream},
                   (size_t)argument / (2 * ALIGNMENT) * ALIGNMENT / sizeof(float),
                   0,
                   NULL};
    void *block = NULL;
    tilek_status status;
    job.stride = 2 * job.count * sizeof(float) + 2 * GAP;
    if (job.count == 0 || posix_memalign(&block, ALIGNMENT, job.stride * (size_t)job.all.cores) != 0) {
        tilek_say(why, "there is no memory for streams of %lld bytes a core", (long long)argument);
        return TILEK_NO_MEMORY;
    }
    job.block = block;
    tilek_parallel(job.all.cores, fill, &job);
    status = tilek_take_samples(subject, run_on_all, &job, samples, why);
    tilek_as_rates(samples, 3.0 * (double)(job.count * sizeof(float)) * (double)job.all.cores);
    free(block);
    return status;
}
