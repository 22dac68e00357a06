/* calibrate_launches.c: what launches, wavefronts and copies cost, through the runtime as users'
 * kernels and data go. The kernels do next to nothing; they are written by hand in the form of
 * docs/EMISSION.md, so that the number of gangs is that which is asked for. */
#define _POSIX_C_SOURCE 200809L
#include "tools/calibrate.h"

#include "base/message.h"
#include "kernel/profile.h"

#include <stdlib.h>

/* WAVEFRONTS of one call: enough that the call itself does not count, and that CUDA's are played as
 * a graph, as users' are. */
enum { WORKERS = 128, WAVEFRONTS = 64 };
/* A wavefront on cores takes so many nanoseconds by the clock: short ones run on the calling
 * thread, and tiles that are worth a wavefront are longer. */
enum { WORK = 20000 };

/* ---- The kernels ----------------------------------------------------------------------------- */

enum { SCALAR_WORK, SCALAR_WAVEFRONTS, SCALARS };

static void wait_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    const int64_t each = *(const int64_t *)call->scalars[SCALAR_WORK],
                  end = each > 0 ? tilek_now() + (last - first) * each : 0;
    while (each > 0 && tilek_now() < end) continue;
}

static int wavefronts(struct tilek_run *run, const struct tilek_call *call)
{
    const int64_t count = *(const int64_t *)call->scalars[SCALAR_WAVEFRONTS];
    int stop = 0;
    for (int64_t wavefront = 0; wavefront < count && stop == 0; ++wavefront)
        stop = tilek_step(run, 0, call->loops, NULL);
    return stop;
}

static const char *const opencl[] = {
    "__kernel void calibrate(__global float *a, const long gangs)\n"
    "{\n"
    "    for (long gang = (long)get_group_id(0); gang < gangs; gang += (long)get_num_groups(0))\n"
    "        a[gang * (long)get_local_size(0) + (long)get_local_id(0)] += 1.0f;\n"
    "}\n",
    NULL};
static const char *const cuda[] = {
    "extern \"C\" __global__ void calibrate(float *a, const long long gangs)\n"
    "{\n"
    "    for (long long gang = (long long)blockIdx.x; gang < gangs; gang += (long long)gridDim.x)\n"
    "        a[gang * (long long)blockDim.x + (long long)threadIdx.x] += 1.0f;\n"
    "}\n",
    NULL};
static const char *const processors[] = {
    "__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void calibrate(__global float *a, const long gangs)\n"
    "{\n"
    "    const long group = (long)get_group_id(0), groups = (long)get_num_groups(0);\n"
    "    for (long gang = gangs * group / groups, end = gangs * (group + 1) / groups; gang < end; ++gang)\n"
    "        a[gang] += 1.0f;\n"
    "}\n",
    NULL};

static const tilek_field number[] = {{"", 0, TILEK_FLOAT, 1}};
static const tilek_array_shape arrays[] = {
    {"a", TILEK_CONTIGUOUS, 1, sizeof(float), 1, number, TILEK_READS | TILEK_WRITES | TILEK_COPY_IN | TILEK_COPY_OUT}};
static const size_t scalar_sizes[SCALARS] = {sizeof(int64_t), sizeof(int64_t)};
static const tilek_parameter parameters[] = {{TILEK_PARAMETER_ARRAY, 0, 0, NULL},
                                             {TILEK_PARAMETER_AXIS_COUNT, TILEK_AXIS_GANG, 0, NULL}};
static const tilek_tile_kind kinds[] = {TILEK_TILE_GANG, TILEK_TILE_WORKER};
static const int axes[] = {TILEK_AXIS_GANG, TILEK_AXIS_WORKER};
static const tilek_loop_shape loops[] = {{"i", 2, kinds, axes, 0, INT32_MIN, INT32_MAX}};
#define GANG_WORKER (1u << TILEK_AXIS_GANG | 1u << TILEK_AXIS_WORKER)
static const tilek_launch_shape host_launches[] = {
    {"calibrate", 1, loops, GANG_WORKER, wait_host, 0, NULL, 2, parameters, 0, NULL, 0}};
static const tilek_launch_shape device_launches[] = {
    {"calibrate", 1, loops, GANG_WORKER, NULL, 0, NULL, 2, parameters, 0, NULL, 0}};
static const int loop_map[] = {0};
static const int64_t tile_arguments[2];
static void *states[2]; /* the runtime's memory of the two kernels */

#define KERNEL(kernel_name, steps, kernel_state) \
    { \
        .abi = TILEK_ABI, .name = kernel_name, .file = __FILE__, .line = __LINE__, \
        .targets = 1u << TILEK_THREADS | 1u << TILEK_OPENCL | 1u << TILEK_CUDA, .preferred = TILEK_AUTO, \
        .opencl = opencl, .cuda = cuda, .processors = processors, .array_count = 1, .arrays = arrays, \
        .scalar_count = SCALARS, .scalar_sizes = scalar_sizes, .host_launch_count = 1, \
        .host_launches = host_launches, .device_launch_count = 1, .device_launches = device_launches, \
        .tile_argument_count = 2, .loop_count = 1, .host_loops = loop_map, .device_loops = loop_map, \
        .host_steps = (steps), .device_steps = (steps), .state = (kernel_state) \
    }
static const tilek_kernel launch_kernel = KERNEL("calibrate_launch", NULL, &states[0]);
static const tilek_kernel wavefront_kernel = KERNEL("calibrate_wavefront", wavefronts, &states[1]);

/* ---- Data that are present, and a call on them ----------------------------------------------- */

typedef struct presence {
    float *data;
    int64_t work, wavefronts;
    const void *scalars[SCALARS];
    tilek_array array;
    tilek_bounds bounds;
    tilek_call call;
    const tilek_kernel *kernel;
    tilek_data_item moved; /* for copies */
} presence;

static tilek_data_item item_of(const presence *job, tilek_motion motion)
{
    const tilek_data_item item = {arrays, job->array, motion};
    return item;
}

/* Makes `gangs` of `workers` floats each present, for launches over all of them. */
static tilek_status begin(presence *job, const tilek_kernel *kernel, int64_t gangs, int64_t workers, tilek_message *why)
{
    const int64_t count = gangs * workers;
    tilek_data_item item;
    job->kernel = kernel;
    job->wavefronts = WAVEFRONTS;
    job->work = 0;
    job->data = calloc((size_t)count, sizeof *job->data);
    if (job->data == NULL) {
        tilek_say(why, "there is no memory for %lld numbers", (long long)count);
        return TILEK_NO_MEMORY;
    }
    job->scalars[SCALAR_WORK] = &job->work;
    job->scalars[SCALAR_WAVEFRONTS] = &job->wavefronts;
    job->array = (tilek_array){.base = job->data, .lower = {0}, .length = {count}, .extent = {count}};
    job->bounds = tilek_bounded(0, count, 1, '<');
    job->call = (tilek_call){.arrays = &job->array,
                             .scalars = job->scalars,
                             .loops = &job->bounds,
                             .tile_arguments = tile_arguments,
                             .axes = {0, gangs, 1, 1, workers, 1, 1},
                             .device = -1,
                             .queue = TILEK_QUEUE_SYNCHRONOUS,
                             .enabled = 1};
    item = item_of(job, TILEK_COPYIN);
    tilek_data_enter(__FILE__, __LINE__, 1, &item);
    return TILEK_OK;
}

static void end(presence *job)
{
    const tilek_data_item gone = item_of(job, TILEK_DELETE);
    tilek_data_exit(__FILE__, __LINE__, 1, &gone);
    free(job->data);
}

static tilek_status launch(void *context, int64_t repeats, tilek_message *why)
{
    presence *job = context;
    for (int64_t repeat = 0; repeat < repeats; ++repeat) {
        if (tilek_launch(job->kernel, &job->call) == 0) continue;
        tilek_complete(job->kernel, &job->call);
        tilek_say(why, "the device did not run a launch");
        return TILEK_DEVICE_LOST;
    }
    return TILEK_OK;
}

/* ---- Launches -------------------------------------------------------------------------------- */

/* A processor's program has no workers. */
static int64_t workers_of(const tilek_subject *subject)
{
    return subject->limits != NULL && subject->limits->is_gpu ? WORKERS : 1;
}

tilek_status tilek_measure_launch(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                  tilek_message *why)
{
    presence job;
    tilek_status status = begin(&job, &launch_kernel, argument, workers_of(subject), why);
    if (status != TILEK_OK) return status;
    status = tilek_take_samples(subject, launch, &job, samples, why);
    end(&job);
    return status;
}

tilek_status tilek_measure_wavefront(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                     tilek_message *why)
{
    const int64_t parts = tilek_minimum(argument, subject->units);
    presence job;
    double worked;
    tilek_status status = begin(&job, &wavefront_kernel, argument, workers_of(subject), why);
    if (status != TILEK_OK) return status;
    if (subject->limits == NULL) job.work = tilek_maximum(WORK * parts / argument, 1);
    worked = (double)(job.work * tilek_ceiling_quotient(argument, parts)) * 1e-9;
    status = tilek_take_samples(subject, launch, &job, samples, why);
    for (int index = 0; index < samples->count; ++index)
        samples->values[index] = samples->values[index] / WAVEFRONTS - worked;
    end(&job);
    return status;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

static tilek_status copy(void *context, int64_t repeats, tilek_message *why)
{
    const presence *job = context;
    (void)why; /* a copy that fails ends the program: TILEK_STRICT */
    for (int64_t repeat = 0; repeat < repeats; ++repeat)
        tilek_data_update(__FILE__, __LINE__, 1, &job->moved, TILEK_QUEUE_SYNCHRONOUS);
    return TILEK_OK;
}

/* Present data come to the device with the first launch; until then there is nothing to update. */
static tilek_status measure_copies(const tilek_subject *subject, tilek_motion motion, int64_t bytes,
                                   tilek_samples *samples, tilek_message *why)
{
    presence job;
    tilek_status status = begin(&job, &launch_kernel, tilek_ceiling_quotient(bytes, (int64_t)sizeof(float)), 1, why);
    if (status != TILEK_OK) return status;
    job.moved = item_of(&job, motion);
    status = launch(&job, 1, why);
    if (status == TILEK_OK) status = tilek_take_samples(subject, copy, &job, samples, why);
    end(&job);
    return status;
}

tilek_status tilek_measure_copy_in(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                   tilek_message *why)
{
    return measure_copies(subject, TILEK_UPDATE_DEVICE, argument, samples, why);
}

tilek_status tilek_measure_copy_out(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                    tilek_message *why)
{
    return measure_copies(subject, TILEK_UPDATE_SELF, argument, samples, why);
}
