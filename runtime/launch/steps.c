/* steps.c: going through the steps of a call. */
#define _POSIX_C_SOURCE 200809L
#include "launch/steps.h"

#include "base/bounded_arithmetic.h"
#include "base/environment.h"
#include "base/message.h"
#include "launch/balanced_chunking.h"
#include "launch/streamed_tiles.h"
#include "tune/tile_sizes.h"

#include <inttypes.h>
#include <string.h>

static size_t align(size_t bytes) { return (bytes + 15) / 16 * 16; }

static size_t tiles_of(const tilek_launch_shape *launch)
{
    size_t tiles = 0;
    for (int index = 0; index < launch->loop_count; ++index) tiles += (size_t)launch->loops[index].tile_count;
    return tiles;
}

size_t tilek_run_room(const tilek_kernel *kernel, const tilek_variant *variant)
{
    const tilek_launch_shape *launches = variant->launches;
    size_t room = align((size_t)kernel->size_count * sizeof(int64_t));
    for (int index = 0; index < variant->launch_count; ++index)
        room += align(sizeof(tilek_planned)) + (size_t)launches[index].loop_count * sizeof(tilek_bounds) +
                tiles_of(&launches[index]) * sizeof(tilek_tile);
    return room;
}

/* Takes `bytes` from the front of a block. */
static void *carve(char **block, size_t bytes)
{
    void *const taken = *block;
    *block += bytes;
    return taken;
}

tilek_status tilek_run_start(tilek_run *run, const tilek_kernel *kernel, const tilek_call *call,
                             const tilek_variant *variant, void *room, tilek_message *why)
{
    char *block = room;
    memset(run, 0, sizeof *run);
    run->kernel = kernel;
    run->call = call;
    run->launch_count = variant->launch_count;
    run->launches = variant->launches;
    run->loop_map = variant->loop_map;
    run->steps = variant->steps;
    run->sizes = carve(&block, align((size_t)kernel->size_count * sizeof *run->sizes));
    run->planned = carve(&block, align((size_t)run->launch_count * sizeof *run->planned));
    for (int index = 0; index < run->launch_count; ++index) {
        run->planned[index].bounds = carve(&block, (size_t)run->launches[index].loop_count * sizeof(tilek_bounds));
        run->planned[index].geometry.values = carve(&block, tiles_of(&run->launches[index]) * sizeof(tilek_tile));
    }
    for (int index = 0; index < run->launch_count; ++index) {
        if (run->launches[index].loop_count <= TILEK_MAX_LOOPS) continue;
        tilek_say(why, "a nest has %d tiled loops, and the runtime takes %d", run->launches[index].loop_count,
                  (int)TILEK_MAX_LOOPS);
        return TILEK_UNSUPPORTED;
    }
    return tilek_choose_sizes(kernel, call, variant->side, run->sizes, why);
}

static int64_t iterations_of(const tilek_launch_shape *launch, const tilek_geometry *geometry)
{
    int64_t iterations = 1;
    for (int index = 0; index < launch->loop_count; ++index)
        iterations = tilek_bounded_product(iterations, geometry->bounds[index]->trip);
    return iterations;
}

static int64_t workers_of(const tilek_geometry *geometry)
{
    return geometry->axes[TILEK_AXIS_WORKER] * geometry->axes[TILEK_AXIS_WORKER + 1] *
           geometry->axes[TILEK_AXIS_WORKER + 2];
}

/* Most steps have the bounds of the step before. */
static tilek_status decide(tilek_run *run, int launch, const tilek_bounds loops[])
{
    const tilek_launch_shape *shape = &run->launches[launch];
    tilek_planned *planned = &run->planned[launch];
    const size_t bytes = (size_t)shape->loop_count * sizeof *loops;
    tilek_machine machine = run->machine;
    tilek_status status;
    if (planned->seen && (bytes == 0 || memcmp(planned->bounds, loops, bytes) == 0)) return TILEK_OK;
    if (bytes > 0) memcpy(planned->bounds, loops, bytes);
    for (int index = 0; index < shape->loop_count; ++index) planned->geometry.bounds[index] = &planned->bounds[index];
    if (run->group_totals != NULL) machine.group_total = tilek_minimum(machine.group_total, run->group_totals[launch]);
    if (run->keeps_workers) {
        machine.workers = planned->workers;
        machine.divisors = planned->divisors;
    }
    machine.operations = run->steps == NULL && run->launch_count == 1 ? run->call->operations : 0;
    status = tilek_decide_geometry(shape, run->call, &machine, &planned->geometry, run->why);
    if (status != TILEK_OK) return status;
    planned->iterations = iterations_of(shape, &planned->geometry);
    if (run->decided != NULL && (status = run->decided(run, launch, run->why)) != TILEK_OK) return status;
    if (run->perform != NULL && (!planned->seen || planned->geometry.instances > planned->most_instances)) {
        tilek_say(run->why, "a step of launch %s is not what it was in rehearsal", shape->entry);
        return TILEK_INVALID;
    }
    run->unseen -= !planned->seen;
    planned->seen = 1;
    planned->runs |= !planned->geometry.empty;
    planned->most_instances = tilek_maximum(planned->most_instances, planned->geometry.instances);
    if (workers_of(&planned->geometry) > planned->most_workers) {
        planned->most_workers = workers_of(&planned->geometry);
        memcpy(planned->workers, &planned->geometry.axes[TILEK_AXIS_WORKER], sizeof planned->workers);
        memcpy(planned->divisors, planned->geometry.divisors, sizeof planned->divisors);
    }
    planned->most_iterations = tilek_maximum(planned->most_iterations, planned->iterations);
    return TILEK_OK;
}

/* Runs a launch as it was decided last; nonzero: stop. */
static int perform_decided(tilek_run *run, int launch, const void *const values[])
{
    if (run->planned[launch].geometry.empty) return 0;
    run->performed = 1;
    run->status = run->perform(run, launch, values, run->why);
    return run->status != TILEK_OK;
}

int tilek_step(tilek_run *run, int launch, const tilek_bounds loops[], const void *const values[])
{
    if (launch < 0 || launch >= run->launch_count) {
        tilek_say(run->why, "there is no launch %d", launch);
        run->status = TILEK_INVALID;
        return 1;
    }
    run->status = decide(run, launch, loops);
    if (run->status != TILEK_OK) return 1;
    if (run->perform == NULL) return run->unseen == 0 && (run->kernel->flags & TILEK_VARYING_STEPS) == 0;
    return perform_decided(run, launch, values);
}

int tilek_wave(tilek_run *run, int launch, const tilek_bounds loops[], const void *const values[], int64_t wave)
{
    int stop;
    run->is_wave = 1;
    run->wave = wave;
    run->wave_launch = launch;
    stop = tilek_step(run, launch, loops, values);
    run->is_wave = 0;
    if (run->status == TILEK_OK) ++run->planned[launch].waves;
    return stop;
}

int tilek_waves_end(tilek_run *run)
{
    tilek_planned *planned = &run->planned[run->wave_launch];
    planned->most_waves = tilek_maximum(planned->most_waves, planned->waves);
    planned->waves = 0;
    if (run->perform == NULL || run->finish == NULL) return 0;
    run->status = run->finish(run, run->why);
    return run->status != TILEK_OK;
}

int64_t tilek_size_of(const tilek_run *run, int size) { return run->sizes[size]; }

/* Whether a size of a host's call, or of a device's, is still the default, so that neither a choice
 * nor TILEK_SIZES gave another. Only rehearsal replaces it: what it decides stays. */
static int is_usual(const tilek_run *run, int size, int on_device)
{
    const tilek_size *declared = &run->kernel->sizes[size];
    return run->perform == NULL && (run->machine.limits != NULL) == on_device &&
           run->sizes[size] == (on_device ? declared->device : declared->host) &&
           tilek_given_size(run->kernel->name, declared->name, -1) < 0;
}

int64_t tilek_size_of_blocks(tilek_run *run, int size, int64_t lower, int64_t upper, int64_t unit, double operations)
{
    if (is_usual(run, size, 0))
        run->sizes[size] = tilek_balanced_blocks(run->sizes[size], lower, upper, unit, run->machine.threads,
                                                 operations);
    return run->sizes[size];
}

int64_t tilek_size_of_columns(tilek_run *run, int size, int64_t upper, int64_t unit)
{
    if (is_usual(run, size, 0))
        run->sizes[size] = tilek_balanced_columns(run->sizes[size], upper, unit, run->machine.threads);
    return run->sizes[size];
}

void tilek_sizes_of_stream(tilek_run *run, int degree, int chunk, const tilek_stream *stream)
{
    tilek_stream_sizes sizes = {run->sizes[degree], run->sizes[chunk], {0}};
    int usual = is_usual(run, degree, 1) && is_usual(run, chunk, 1);
    for (int side = 0; side < 2 && stream->sides[side].length > 0; ++side)
        usual &= is_usual(run, stream->sides[side].size, 1);
    if (!usual) return;
    tilek_choose_stream(stream, run->machine.limits, &sizes);
    run->sizes[degree] = sizes.degree;
    run->sizes[chunk] = sizes.chunk;
    for (int side = 0; side < 2 && stream->sides[side].length > 0; ++side)
        run->sizes[stream->sides[side].size] = sizes.lengths[side];
}

/* Every launch once, in order. The bounds are the call's, so that what rehearsal has decided
 * holds. */
static void go_straight(tilek_run *run)
{
    const int *loop_map = run->loop_map;
    for (int launch = 0; launch < run->launch_count; ++launch) {
        tilek_bounds bounds[TILEK_MAX_LOOPS];
        if (run->perform != NULL) {
            if (perform_decided(run, launch, NULL) != 0) return;
            continue;
        }
        for (int index = 0; index < run->launches[launch].loop_count; ++index)
            bounds[index] = run->call->loops[*loop_map++];
        if (tilek_step(run, launch, bounds, NULL) != 0) return;
    }
}

static tilek_status go(tilek_run *run, tilek_message *why)
{
    run->why = why;
    run->status = TILEK_OK;
    if (run->steps != NULL) (void)run->steps(run, run->call);
    else go_straight(run);
    return run->status;
}

tilek_status tilek_rehearse(tilek_run *run, tilek_message *why)
{
    for (int launch = 0; launch < run->launch_count; ++launch) {
        tilek_planned *planned = &run->planned[launch];
        planned->seen = planned->runs = 0;
        planned->most_instances = planned->most_workers = planned->most_iterations = planned->waves =
            planned->most_waves = 0;
    }
    run->perform = NULL;
    run->unseen = run->launch_count;
    return go(run, why);
}

tilek_status tilek_perform(tilek_run *run,
                           tilek_status (*perform)(tilek_run *run, int launch, const void *const values[],
                                                   tilek_message *why),
                           tilek_message *why)
{
    run->perform = perform;
    return go(run, why);
}

size_t tilek_share(const tilek_run *run, int launch, size_t bytes)
{
    const tilek_planned *planned = &run->planned[launch];
    if (planned->iterations >= planned->most_iterations) return bytes;
    return (size_t)((double)bytes * (double)planned->iterations / (double)planned->most_iterations);
}

int tilek_run_is_empty(const tilek_run *run)
{
    for (int launch = 0; launch < run->launch_count; ++launch)
        if (run->planned[launch].runs) return 0;
    return 1;
}
