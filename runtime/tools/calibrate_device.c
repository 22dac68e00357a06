/* calibrate_device.c: what a device's own programs do: streams, shared memory, barriers,
 * arithmetic. One text for OpenCL and CUDA, one program a measurement (a barrier in a program makes
 * processors take all of it apart). */
#define _POSIX_C_SOURCE 200809L
#include "tools/calibrate.h"

#include "base/message.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- The programs ---------------------------------------------------------------------------- */

static const char opencl_words[] = "#define ENTRY __kernel\n"
                                   "#define GLOBAL __global\n"
                                   "#define SHARED __local\n"
                                   "#define RESTRICT restrict\n"
                                   "#define WIDE long\n"
                                   "#define LANE ((WIDE)get_local_id(0))\n"
                                   "#define LANES ((WIDE)get_local_size(0))\n"
                                   "#define GROUP ((WIDE)get_group_id(0))\n"
                                   "#define GROUPS ((WIDE)get_num_groups(0))\n"
                                   "#define BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)\n";
static const char cuda_words[] = "#define ENTRY extern \"C\" __global__\n"
                                 "#define GLOBAL\n"
                                 "#define SHARED __shared__\n"
                                 "#define RESTRICT __restrict__\n"
                                 "#define WIDE long long\n"
                                 "#define LANE ((WIDE)threadIdx.x)\n"
                                 "#define LANES ((WIDE)blockDim.x)\n"
                                 "#define GROUP ((WIDE)blockIdx.x)\n"
                                 "#define GROUPS ((WIDE)gridDim.x)\n"
                                 "#define BARRIER __syncthreads()\n";

/* Every entry takes an array of floats, its length, and a number of rounds. What workers compute
 * they write to elements of their own. */
#define HEAD "ENTRY void calibrate(GLOBAL float *RESTRICT a, const WIDE count, const WIDE rounds)\n{\n"

/* Two reads and a write, as on cores. Zeros stay zeros. Of one worker a gang (a processor's form)
 * each goes through a stretch. */
static const char stream_text[] = HEAD
    "    const WIDE half_count = count / 2, all = GROUPS * LANES, me = GROUP * LANES + LANE;\n"
    "    GLOBAL float *RESTRICT y = a;\n"
    "    const GLOBAL float *RESTRICT x = a + half_count;\n"
    "    for (WIDE round = 0; round < rounds; ++round) {\n"
    "        if (LANES == 1)\n"
    "            for (WIDE i = half_count * me / all, end = half_count * (me + 1) / all; i < end; ++i)\n"
    "                y[i] += 0.5f * x[i];\n"
    "        else\n"
    "            for (WIDE i = me; i < half_count; i += all) y[i] += 0.5f * x[i];\n"
    "    }\n"
    "}\n";

/* Reads alone: each gang goes through all of the array, so that its own nearest cache is of no use.
 * `count` is a power of 2. */
static const char cached_text[] = HEAD
    "    const WIDE all = GROUPS * LANES, me = GROUP * LANES + LANE, mask = count - 1;\n"
    "    float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;\n"
    "    WIDE i = me;\n"
    "    for (WIDE round = 0; round < rounds; ++round) {\n"
    "        s0 += a[i & mask];\n"
    "        s1 += a[(i + all + LANES) & mask];\n"
    "        s2 += a[(i + 2 * (all + LANES)) & mask];\n"
    "        s3 += a[(i + 3 * (all + LANES)) & mask];\n"
    "        i += 4 * (all + LANES);\n"
    "    }\n"
    "    if (s0 + s1 + s2 + s3 > 1.0f) a[me & mask] = s0;\n"
    "}\n";

static const char shared_text[] = HEAD
    "    SHARED float s[2048];\n"
    "    float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;\n"
    "    for (WIDE i = LANE; i < 2048; i += LANES) s[i] = 0.0f;\n"
    "    BARRIER;\n"
    "    for (int round = 0; round < (int)rounds; ++round) {\n"
    "        const int i = ((int)LANE + round) & 1023;\n"
    "        s0 += s[i] + s[i + 512];\n"
    "        s1 += s[i + 128] + s[i + 640];\n"
    "        s2 += s[i + 256] + s[i + 768];\n"
    "        s3 += s[i + 384] + s[i + 896];\n"
    "    }\n"
    "    if (s0 + s1 + s2 + s3 > 1.0f) a[GROUP * LANES + LANE] = s0;\n"
    "}\n";

/* A value of each worker's lives across the barriers, as in programs that need some. */
static const char barrier_text[] = HEAD
    "    float value = (float)LANE;\n"
    "    for (WIDE round = 0; round < rounds; ++round) {\n"
    "        value = value * 0.5f + 1.0f;\n"
    "        BARRIER;\n"
    "    }\n"
    "    a[GROUP * LANES + LANE] = value;\n"
    "}\n";

/* Eight chains a worker, unrolled by four. NUMBER is the type. */
#define FUSE_ALL                                                                                                       \
    "        a0 = a0 * f + t; a1 = a1 * f + t; a2 = a2 * f + t; a3 = a3 * f + t;\n"                                    \
    "        a4 = a4 * f + t; a5 = a5 * f + t; a6 = a6 * f + t; a7 = a7 * f + t;\n"
static const char rate_text[] = HEAD
    "    const NUMBER f = (NUMBER)0.999f, t = (NUMBER)0.001f;\n"
    "    NUMBER a0 = (NUMBER)LANE, a1 = a0 + 1, a2 = a0 + 2, a3 = a0 + 3;\n"
    "    NUMBER a4 = a0 + 4, a5 = a0 + 5, a6 = a0 + 6, a7 = a0 + 7;\n"
    "    for (int round = 0; round < (int)rounds; ++round) {\n" FUSE_ALL FUSE_ALL FUSE_ALL FUSE_ALL "    }\n"
    "    a0 = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7;\n"
    "    a[GROUP * LANES + LANE] = (float)a0;\n"
    "}\n";
enum { RATE_OPERATIONS = 2 * 8 * 4 };

/* ---- Running them ---------------------------------------------------------------------------- */

typedef struct running {
    const tilek_subject *subject;
    tilek_program *program;
    tilek_entry *entry;
    tilek_buffer data;
    int64_t count, rounds; /* arguments of the entry */
    int rounds_grow;       /* repeats are rounds of one launch; else launches of `rounds` each */
    int64_t groups[3], group[3];
} running;

static tilek_status launch(running *job, int64_t rounds, tilek_message *why)
{
    const tilek_argument arguments[] = {{TILEK_ARGUMENT_BUFFER, &job->data, NULL, 0},
                                        {TILEK_ARGUMENT_VALUE, NULL, &job->count, sizeof job->count},
                                        {TILEK_ARGUMENT_VALUE, NULL, &rounds, sizeof rounds}};
    return job->subject->backend->run(job->subject->device, 0, job->entry, 3, arguments, job->groups, job->group, NULL,
                                      why);
}

enum { MOST_WAITING = 256 };

static tilek_status run(void *context, int64_t repeats, tilek_message *why)
{
    running *job = context;
    const int64_t launches = job->rounds_grow ? 1 : repeats;
    tilek_status status = TILEK_OK;
    for (int64_t index = 0; index < launches && status == TILEK_OK; ++index) {
        status = launch(job, job->rounds_grow ? repeats : job->rounds, why);
        if (status == TILEK_OK && (index % MOST_WAITING == MOST_WAITING - 1 || index == launches - 1))
            status = job->subject->backend->wait(job->subject->device, 0, why);
    }
    return status;
}

static tilek_status zero(running *job, tilek_message *why)
{
    enum { PIECE = 1 << 20 };
    char *zeros = calloc(1, PIECE);
    tilek_status status = zeros != NULL ? TILEK_OK : TILEK_NO_MEMORY;
    if (zeros == NULL) tilek_say(why, "memory is exhausted");
    for (size_t offset = 0; offset < job->data.bytes && status == TILEK_OK; offset += PIECE) {
        const size_t left = job->data.bytes - offset;
        status = job->subject->backend->write(job->subject->device, 0, &job->data, offset, zeros,
                                              left < PIECE ? left : PIECE, why);
    }
    free(zeros);
    return status;
}

/* Builds `text`, whose NUMBER has `bytes` bytes, with an array of `count` floats for it; `workers`
 * are at most so many in the end. */
static tilek_status prepare(running *job, const char *text, int64_t bytes, int64_t workers, tilek_message *why)
{
    const tilek_subject *subject = job->subject;
    const char *const words = subject->target == TILEK_CUDA ? cuda_words : opencl_words;
    const char *const number = bytes == (int64_t)sizeof(double) ? "double" : "float";
    const size_t room = sizeof opencl_words + sizeof cuda_words + 4096;
    char *source = malloc(room);
    int64_t most = 1;
    int unused = 0;
    tilek_status status = TILEK_OK;
    if (source == NULL || (size_t)snprintf(source, room, "%s#define NUMBER %s\n%s", words, number, text) >= room) {
        tilek_say(why, "memory is exhausted");
        status = TILEK_NO_MEMORY;
    }
    const tilek_build build = {.name = "calibrate",
                               .file = __FILE__,
                               .source = source,
                               .flags = TILEK_CONTRACT | (bytes == (int64_t)sizeof(double) ? TILEK_USES_DOUBLE : 0u)};
    if (status == TILEK_OK) status = subject->backend->build(subject->device, &build, &job->program, &unused, why);
    free(source);
    if (status == TILEK_OK)
        status = subject->backend->find(subject->device, job->program, "calibrate", &job->entry, &most, why);
    if (status == TILEK_OK)
        status = subject->backend->allocate(subject->device, (size_t)job->count * sizeof(float), &job->data, why);
    if (status == TILEK_OK) status = zero(job, why);
    most = tilek_minimum(most, tilek_minimum(subject->limits->group[0], subject->limits->group_total));
    job->group[0] = tilek_minimum(workers, tilek_maximum(most, 1));
    return status;
}

static void give_back(running *job)
{
    job->subject->backend->release(job->subject->device, &job->data);
    if (job->program != NULL) job->subject->backend->drop(job->subject->device, job->program);
}

/* A job with `groups` gangs over `count` floats. */
static running running_of(const tilek_subject *subject, int64_t count, int64_t groups)
{
    const running job = {.subject = subject, .count = count, .rounds = 1, .groups = {groups, 1, 1}, .group = {1, 1, 1}};
    return job;
}

/* Samples of a job, if it is prepared; it is given back in any case. */
static tilek_status measured(running *job, tilek_status prepared, tilek_samples *samples, tilek_message *why)
{
    const tilek_status status = prepared != TILEK_OK ? prepared
                                                     : tilek_take_samples(job->subject, run, job, samples, why);
    give_back(job);
    return status;
}

/* The same in rounds of one launch, as a rate: each worker does `amount` a round. */
static tilek_status measured_rate(running *job, tilek_status prepared, double amount, tilek_samples *samples,
                                  tilek_message *why)
{
    job->rounds_grow = 1;
    const tilek_status status = measured(job, prepared, samples, why);
    tilek_as_rates(samples, amount * (double)(job->groups[0] * job->group[0]));
    return status;
}

/* ---- The measurements ------------------------------------------------------------------------ */

/* Gangs a unit, where it is to be filled; of 256 workers each. */
enum { FILLING = 8, GROUP_SIZE = 256 };

tilek_status tilek_measure_device_stream(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                         tilek_message *why)
{
    running job = running_of(subject, argument / (int64_t)sizeof(float), subject->units * FILLING * 2);
    tilek_status status = prepare(&job, stream_text, sizeof(float), subject->limits->is_gpu ? GROUP_SIZE : 1, why);
    status = measured(&job, status, samples, why);
    tilek_as_rates(samples, 3.0 * (double)(job.count / 2) * sizeof(float));
    return status;
}

tilek_status tilek_measure_cached(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                  tilek_message *why)
{
    running job = running_of(subject, argument / (int64_t)sizeof(float), subject->units * FILLING);
    tilek_status status = TILEK_INVALID;
    if (job.count < 1 || (job.count & (job.count - 1)) != 0)
        tilek_say(why, "%lld bytes are no power of 2", (long long)argument);
    else status = prepare(&job, cached_text, sizeof(float), GROUP_SIZE, why);
    return measured_rate(&job, status, 4.0 * sizeof(float), samples, why);
}

tilek_status tilek_measure_shared(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                  tilek_message *why)
{
    running job = running_of(subject, subject->units * FILLING * argument, subject->units * FILLING);
    const tilek_status status = prepare(&job, shared_text, sizeof(float), argument, why);
    return measured_rate(&job, status, 8.0 * sizeof(float), samples, why);
}

/* One gang a unit: none waits for another. */
tilek_status tilek_measure_barrier(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                   tilek_message *why)
{
    running job = running_of(subject, subject->units * argument, subject->units);
    tilek_status status = prepare(&job, barrier_text, sizeof(float), argument, why);
    job.rounds_grow = 1;
    if (status == TILEK_OK && job.group[0] < argument) {
        tilek_say(why, "gangs have %lld workers at most", (long long)job.group[0]);
        status = TILEK_UNSUPPORTED;
    }
    return measured(&job, status, samples, why);
}

tilek_status tilek_measure_device_rate(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                       tilek_message *why)
{
    running job = running_of(subject, subject->units * FILLING * GROUP_SIZE, subject->units * FILLING);
    tilek_status status = TILEK_INVALID;
    if (argument != (int64_t)sizeof(float) && argument != (int64_t)sizeof(double))
        tilek_say(why, "there are no numbers of %lld bytes", (long long)argument);
    else status = prepare(&job, rate_text, argument, GROUP_SIZE, why);
    return measured_rate(&job, status, (double)RATE_OPERATIONS, samples, why);
}
