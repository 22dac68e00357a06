/* host_launch.c: running a call's host functions, on the caller or the pool. */
#define _POSIX_C_SOURCE 200809L
#include "host/host_launch.h"

#include "arrays/present_table.h"
#include "base/shared_constants.h"
#include "base/environment.h"
#include "base/message.h"
#include "base/visits.h"
#include "host/cores.h"
#include "host/thread_pool.h"
#include "host/wavefront_queue.h"
#include "kernel/call_copy.h"
#include "kernel/profile.h"
#include "launch/reduction.h"
#include "launch/steps.h"

#include <stdlib.h>
#include <string.h>

/* Instances are distributed over the parts in one stretch each. */
typedef struct distribution {
    const tilek_launch_shape *launch;
    const tilek_host_call *call;
    int64_t instances, parts;
} distribution;

static void run_part(void *context, int64_t part)
{
    const distribution *distribution = context;
    const int64_t share = distribution->instances / distribution->parts,
                  extra = distribution->instances % distribution->parts;
    const int64_t first = part * share + tilek_minimum(part, extra);
    const int64_t last = first + share + (part < extra);
    if (first < last) distribution->launch->host(distribution->call, first, last);
}

static void run_alone(void *context)
{
    const distribution *distribution = context;
    distribution->launch->host(distribution->call, 0, distribution->instances);
}

static void run_waves_alone(void *context) { tilek_wavefronts_run(context, 0); }

/* Work that the pool and the calling thread can both do. */
typedef struct work {
    void (*alone)(void *context);
    void (*part)(void *context, int64_t part);
    void *context;
    int64_t parts, iterations;
} work;

/* What the steps of one launch have taken so far, for the choice between the pool and the calling
 * thread. */
typedef struct pace {
    double rate;  /* nanoseconds of an iteration on the calling thread; negative: not known */
    int patience; /* this many more short steps on the pool, and the calling thread is tried */
    int untimed;  /* steps on the calling thread since the last timed one */
    int losses;   /* steps in a row that the pool took longer for than the calling thread would have */
    int alone;    /* this many more steps on the calling thread, after too many of those */
} pace;

/* Bytes for what is known of a call with one launch, of loops and tiles as most have. */
enum { SMALL = 1280 };

enum { MOST_REDUCTIONS = 32 };

/* All that workers read of a launch is in here, or where this points: a signal handler may jump out
 * of the caller's frame while they work. */
typedef struct host_job {
    tilek_run run;
    tilek_state *state;
    tilek_target target;
    int64_t parts;
    int profiling;
    size_t touched; /* bytes, by one step of each launch */
    char *partials;
    pace *paces;    /* per launch */
    tilek_wavefront_queue *waves; /* NULL until there are some */
    int waves_launch;   /* whose they are */
    tilek_call *call;   /* the job's own; NULL: it has the caller's */
    tilek_host_call host_call; /* this and what follows: of the launch that runs */
    distribution distribution;
    void *places[MOST_REDUCTIONS];
    const void **values;
    char *value_bytes;
    void *block; /* for what is known of the launches; NULL: `small` holds it */
    union {
        int64_t number;
        double real;
        void *pointer;
        char bytes[SMALL];
    } small; /* at the end: what is before it is set to 0 */
} host_job;

static size_t align(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* Where the partial values of a launch's reductions lie in a block; its size. */
static size_t place_partials(const tilek_launch_shape *launch, int64_t instances, char *block, void **places)
{
    size_t total = 0;
    for (int index = 0; index < launch->reduction_count; ++index) {
        if (block != NULL) places[index] = block + total;
        total += align(tilek_type_size(launch->reductions[index].type) * (size_t)instances);
    }
    return total;
}

/* Nanoseconds. Waking and gathering the pool takes about what TILEK_BREAK_EVEN says; a step of the
 * pool longer than SHORT is worth it on any machine. */
enum { SHORT_STEP = 30000, PATIENCE = 16, TIMED_EACH = 16, MOST_LOSSES = 4, ALONE = 64 };

/* A loop of the host around small launches must not cost more than the original: what is known to
 * be small runs on the calling thread, and so does what the pool is slow with, because others have
 * its cores. */
static void run_paced(pace *pace, const work *work)
{
    const double expected = pace->rate * (double)work->iterations;
    const int on_caller = (pace->rate >= 0 && expected < TILEK_BREAK_EVEN) || pace->alone > 0 || pace->patience == 0;
    int64_t start, took;
    if (on_caller && pace->rate >= 0 && expected < TILEK_BREAK_EVEN / 4 && ++pace->untimed < TIMED_EACH) {
        work->alone(work->context);
        return;
    }
    start = tilek_now();
    if (on_caller) work->alone(work->context);
    else tilek_parallel(work->parts, work->part, work->context);
    took = tilek_now() - start;
    pace->untimed = 0;
    if (on_caller) {
        pace->rate = (double)took / (double)tilek_maximum(work->iterations, 1);
        pace->patience = PATIENCE;
        pace->alone -= pace->alone > 0;
        return;
    }
    pace->patience -= took < SHORT_STEP;
    pace->losses = pace->rate >= 0 && (double)took > expected ? pace->losses + 1 : 0;
    if (pace->losses < MOST_LOSSES) return;
    pace->losses = 0;
    pace->alone = ALONE;
}

/* Runs what is queued of wavefronts. Each has its share of the time in profiles. */
static tilek_status finish(tilek_run *run, tilek_message *why)
{
    host_job *job = run->context;
    const int64_t start = job->profiling ? tilek_now() : 0;
    int64_t count, each;
    (void)why;
    if (job->waves == NULL || (count = tilek_wavefronts_count(job->waves)) == 0) return TILEK_OK;
    tilek_wavefronts_begin(job->waves);
    run_paced(&job->paces[job->waves_launch], &(work){run_waves_alone, tilek_wavefronts_run, job->waves,
                                                      tilek_minimum(job->parts, tilek_wavefronts_width(job->waves)),
                                                      tilek_wavefronts_tiles(job->waves)});
    each = job->profiling ? (tilek_now() - start) / count : 0;
    for (int64_t index = 0; index < count && job->profiling; ++index)
        tilek_record_step(job->state, job->target, 1, job->waves_launch, run->sizes, start + index * each, each,
                          tilek_share(run, job->waves_launch, job->touched));
    tilek_wavefronts_clear(job->waves);
    return TILEK_OK;
}

/* Whether a wavefront is queued; what does not go with it has run. */
static int put_off(tilek_run *run, int launch, const tilek_host_call *call, tilek_message *why)
{
    host_job *job = run->context;
    const tilek_launch_shape *shape = &run->launches[launch];
    const tilek_planned *planned = &run->planned[launch];
    if (!run->is_wave || job->parts <= 1 || !tilek_wavefronts_take(shape, planned)) return 0;
    if (job->waves == NULL && (job->waves = tilek_wavefronts_new()) == NULL) return 0;
    if (!tilek_wavefronts_add(job->waves, shape, planned, call, run->wave)) {
        (void)finish(run, why);
        (void)tilek_wavefronts_add(job->waves, shape, planned, call, run->wave);
    }
    job->waves_launch = launch;
    return 1;
}

/* Those of the step, where workers may read them. */
static const void *const *keep_values(host_job *job, const tilek_launch_shape *launch, const void *const values[])
{
    char *place = job->value_bytes;
    if (job->call == NULL) return values;
    for (int index = 0; index < launch->value_count; ++index) {
        job->values[index] = memcpy(place, values[index], launch->value_sizes[index]);
        place += align(launch->value_sizes[index]);
    }
    return job->values;
}

static tilek_status perform(tilek_run *run, int launch, const void *const values[], tilek_message *why)
{
    host_job *job = run->context;
    const tilek_launch_shape *shape = &run->launches[launch];
    const tilek_planned *planned = &run->planned[launch];
    const tilek_geometry *geometry = &planned->geometry;
    const int64_t start = job->profiling ? tilek_now() : 0;
    job->host_call = (tilek_host_call){run->call->arrays,
                                       run->call->scalars,
                                       geometry->bounds,
                                       geometry->tiles,
                                       run->call->tile_arguments,
                                       geometry->axes,
                                       job->places,
                                       keep_values(job, shape, values),
                                       run->sizes};
    job->distribution = (distribution){shape, &job->host_call, geometry->instances,
                                       tilek_minimum(job->parts, geometry->instances)};
    if (put_off(run, launch, &job->host_call, why)) return TILEK_OK;
    (void)finish(run, why);
    (void)place_partials(shape, geometry->instances, job->partials, job->places);
    if (job->distribution.parts <= 1) shape->host(&job->host_call, 0, geometry->instances);
    else if (run->steps == NULL) tilek_parallel(job->distribution.parts, run_part, &job->distribution);
    else
        run_paced(&job->paces[launch],
                  &(work){run_alone, run_part, &job->distribution, job->distribution.parts, planned->iterations});
    for (int index = 0; index < shape->reduction_count; ++index) {
        const tilek_reduction *reduction = &shape->reductions[index];
        (void)tilek_combine(reduction->operation, reduction->type, run->call->arrays[reduction->array].base,
                            job->places[index], geometry->instances);
    }
    if (job->profiling)
        tilek_record_step(job->state, job->target, 1, launch, run->sizes, start, tilek_now() - start,
                          tilek_share(run, launch, job->touched));
    return TILEK_OK;
}

static void find_most_values(const tilek_launch_shape *launch, size_t *values, size_t *bytes)
{
    size_t needed = 0;
    for (int index = 0; index < launch->value_count; ++index) needed += align(launch->value_sizes[index]);
    if (needed > *bytes) *bytes = needed;
    if ((size_t)launch->value_count > *values) *values = (size_t)launch->value_count;
}

/* Bytes of the parts of a job's block, in their order; `bytes`: of the whole block. */
typedef struct layout { size_t room, paces, value_bytes, bytes; } layout;

static layout layout_of(const tilek_kernel *kernel, const tilek_variant *variant)
{
    const size_t launches = (size_t)kernel->host_launch_count;
    layout made = {align(tilek_run_room(kernel, variant)), align(launches * sizeof(pace)), 0, 0};
    size_t values = 0;
    for (size_t index = 0; index < launches; ++index)
        find_most_values(&kernel->host_launches[index], &values, &made.value_bytes);
    made.bytes = made.room + made.paces + made.value_bytes + values * sizeof(void *);
    return made;
}

static tilek_status start(host_job *job, tilek_state *state, const tilek_call *call, int64_t threads,
                          tilek_message *why)
{
    const tilek_kernel *kernel = state->kernel;
    const tilek_variant variant = tilek_host_variant(kernel);
    const layout layout = layout_of(kernel, &variant);
    char *block = job->small.bytes;
    tilek_status status;
    memset(job, 0, offsetof(host_job, small));
    job->state = state;
    if (layout.bytes > sizeof job->small && (block = job->block = malloc(layout.bytes)) == NULL) {
        tilek_say(why, "memory is exhausted");
        return TILEK_NO_MEMORY;
    }
    job->paces = (pace *)(void *)(block + layout.room);
    job->value_bytes = block + layout.room + layout.paces;
    job->values = (const void **)(void *)(block + layout.room + layout.paces + layout.value_bytes);
    for (int index = 0; index < kernel->host_launch_count; ++index) job->paces[index] = (pace){-1, 1, 0, 0, 0};
    status = tilek_run_start(&job->run, kernel, call, &variant, block, why);
    job->run.machine = (tilek_machine){NULL, threads, 0, NULL, 0, 0, NULL};
    job->run.context = job;
    job->run.finish = finish;
    for (int index = 0; index < kernel->host_launch_count && status == TILEK_OK; ++index) {
        const int count = kernel->host_launches[index].reduction_count;
        if (count <= MOST_REDUCTIONS) continue;
        tilek_say(why, "a nest has %d reductions, and the runtime takes %d", count, (int)MOST_REDUCTIONS);
        status = TILEK_UNSUPPORTED;
    }
    return status == TILEK_OK ? tilek_rehearse(&job->run, why) : status;
}

/* One block serves all launches in turn. */
static tilek_status make_partials(host_job *job, tilek_message *why)
{
    size_t most = 0;
    for (int index = 0; index < job->run.launch_count; ++index) {
        const size_t bytes = place_partials(&job->run.launches[index], job->run.planned[index].most_instances, NULL,
                                            NULL);
        if (bytes > most) most = bytes;
    }
    if (most == 0 || (job->partials = malloc(most)) != NULL) return TILEK_OK;
    tilek_say(why, "memory for the partial values of its reductions is exhausted");
    return TILEK_NO_MEMORY;
}

static void clean_up(host_job *job)
{
    free(job->partials);
    free(job->waves);
    free(job->block);
}

int tilek_host_can_run(tilek_state *state, const tilek_call *call)
{
    tilek_message unused;
    host_job job;
    const int can = state->kernel->host_launch_count > 0 && start(&job, state, call, 1, &unused) == TILEK_OK;
    if (state->kernel->host_launch_count > 0) clean_up(&job);
    return can;
}

static tilek_status run(host_job *job, tilek_state *state, const tilek_call *call, tilek_target target, int64_t threads,
                        int64_t parts, tilek_call *copy, tilek_message *why)
{
    const tilek_kernel *kernel = state->kernel;
    tilek_status status = start(job, state, call, threads, why);
    job->target = target;
    job->parts = parts;
    job->call = copy;
    job->profiling = tilek_profiling();
    job->touched = job->profiling ? tilek_touched(kernel, call) / (size_t)tilek_maximum(kernel->host_launch_count, 1)
                                  : 0;
    if (status == TILEK_OK) status = make_partials(job, why);
    if (status == TILEK_OK) status = tilek_host_begins(kernel, state, call, why);
    if (status == TILEK_OK) {
        const tilek_phase phase = tilek_visit_phase(TILEK_PHASE_HOST);
        status = tilek_perform(&job->run, perform, why);
        (void)tilek_visit_phase(phase);
    }
    if (status != TILEK_OK && job->run.performed) /* the first steps have run: nothing else can go on from here */
        tilek_fail(kernel->file, kernel->line, TILEK_EXIT_STRICT, "kernel %s: %s", kernel->name, why->text);
    if (status == TILEK_OK) tilek_host_ended(kernel, call);
    clean_up(job);
    return status;
}

/* The memory of the thread's last launch on the pool, for the next one. */
static __thread struct { void *block; size_t bytes; } kept;

static size_t job_bytes(const tilek_kernel *kernel) { return align(sizeof(host_job)) + tilek_call_bytes(kernel); }

static host_job *take_job(size_t bytes)
{
    void *const block = kept.bytes >= bytes ? kept.block : NULL;
    if (block == NULL) return malloc(bytes);
    kept.block = NULL;
    kept.bytes = 0;
    return block;
}

static void give_job(host_job *job, size_t bytes)
{
    free(kept.block);
    kept.block = job;
    kept.bytes = bytes;
}

void tilek_host_thread_ends(void) { give_job(NULL, 0); }

int tilek_host_needs_memory(const tilek_kernel *kernel, int on_pool)
{
    const tilek_variant variant = tilek_host_variant(kernel);
    int needs = kernel->host_steps != NULL || (on_pool && kept.bytes < job_bytes(kernel)) ||
                layout_of(kernel, &variant).bytes > SMALL;
    for (int index = 0; index < kernel->host_launch_count; ++index)
        needs |= kernel->host_launches[index].reduction_count > 0;
    return needs;
}

tilek_status tilek_run_host(tilek_state *state, const tilek_call *call, tilek_target target, tilek_message *why)
{
    const tilek_settings *settings = tilek_get_settings();
    const int64_t wanted = call->axes[TILEK_AXIS_THREAD] > 0 ? call->axes[TILEK_AXIS_THREAD]
                         : settings->threads > 0             ? settings->threads
                                                             : tilek_core_count();
    const int64_t parts = target == TILEK_SERIAL ? 1 : tilek_minimum(wanted, TILEK_MOST_THREADS);
    const size_t bytes = parts > 1 ? job_bytes(state->kernel) : 0;
    host_job on_stack;
    host_job *const job = bytes > 0 ? take_job(bytes) : NULL;
    tilek_call *const copy = job != NULL ? tilek_copy_call_to((char *)job + align(sizeof *job), state->kernel, call)
                                         : NULL;
    const tilek_status status = run(job != NULL ? job : &on_stack, state, job != NULL ? copy : call, target, wanted,
                                    parts, copy, why);
    if (job != NULL) give_job(job, bytes);
    return status;
}
