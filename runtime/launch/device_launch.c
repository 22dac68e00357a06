/* device_launch.c: running a call on a device. All that can fail without harm comes before the
 * first launch. */
#define _POSIX_C_SOURCE 200809L
#include "launch/device_launch.h"

#include "base/message.h"
#include "kernel/profile.h"
#include "launch/device_job.h"
#include "launch/reduction.h"

#include <stdlib.h>
#include <string.h>

/* The variant of a launch whose wavefronts are put off, to run as one. */
static const tilek_persistent *persistent_variant(const tilek_device_job *job, int launch)
{
    for (int index = 0; index < job->persistence.count; ++index)
        if (job->persistence.variants[index].launch == launch && job->persistence.variants[index].resident > 0)
            return &job->persistence.variants[index];
    return NULL;
}

/* Partial values of a launch: one an instance, or a column of all wavefronts at once. */
static int64_t partial_count(const tilek_device_job *job, int launch)
{
    const tilek_persistent *const variant = persistent_variant(job, launch);
    const int64_t instances = job->run.planned[launch].most_instances;
    return variant == NULL
             ? instances
             : tilek_maximum(instances, tilek_columns(&job->run.launches[launch], variant->lower, variant->upper));
}

static tilek_status take_partials(tilek_device_job *job, tilek_message *why)
{
    tilek_buffer *partial = job->partials;
    size_t most = 0;
    for (int launch = 0; launch < job->run.launch_count; ++launch) {
        const tilek_planned *planned = &job->run.planned[launch];
        for (int index = 0; index < job->run.launches[launch].reduction_count; ++index, ++partial) {
            const size_t size = tilek_type_size(job->run.launches[launch].reductions[index].type);
            const size_t bytes = planned->runs ? size * (size_t)partial_count(job, launch) : 0;
            const tilek_status status = bytes > 0 ? tilek_take_buffer(&job->device_arrays.place, bytes, partial, why)
                                                  : TILEK_OK;
            if (status != TILEK_OK) return status;
            if (bytes > most) most = bytes;
        }
    }
    if (most == 0 || (job->gathered = malloc(most)) != NULL) return TILEK_OK;
    tilek_say(why, "memory is exhausted");
    return TILEK_NO_MEMORY;
}

/* Where a reduced scalar lies in its buffer. */
static size_t offset_of(const tilek_device_job *job, const tilek_device_array *scalar)
{
    const char *const start = scalar->present != NULL ? tilek_present_section(scalar->present)->start
                                                      : job->device_arrays.temporaries[scalar->temporary].section.start;
    return (size_t)(scalar->section.start - start);
}

/* Moves the scalars that a launch reduces between the device, where other launches may use them,
 * and `totals`. */
static tilek_status move_totals(tilek_device_job *job, int launch, int to_device, tilek_message *why)
{
    const tilek_launch_shape *shape = &job->run.launches[launch];
    const tilek_place *place = &job->device_arrays.place;
    tilek_status status = TILEK_OK;
    for (int index = 0; index < shape->reduction_count && status == TILEK_OK; ++index) {
        const tilek_device_array *scalar = &job->device_arrays.arrays[shape->reductions[index].array];
        const size_t size = tilek_type_size(shape->reductions[index].type);
        char *const total = job->totals + (size_t)index * TILEK_BYTES_OF_VALUE;
        status = to_device ? tilek_copy_in(place, scalar->buffer, offset_of(job, scalar), total, size, why)
                           : tilek_copy_out(place, scalar->buffer, offset_of(job, scalar), total, size, why);
    }
    return status;
}

/* What a launch, run again and again, has reduced so far goes to the device before anything else
 * may read it. */
static tilek_status settle(tilek_device_job *job, tilek_message *why)
{
    const int launch = job->reducing - 1;
    job->reducing = 0;
    return launch < 0 ? TILEK_OK : move_totals(job, launch, 1, why);
}

/* Of `instances` partial values. */
static tilek_status combine(tilek_device_job *job, int launch, const tilek_buffer *partials, int64_t instances,
                            tilek_message *why)
{
    const tilek_launch_shape *shape = &job->run.launches[launch];
    const tilek_place *place = &job->device_arrays.place;
    tilek_status status = job->reducing == launch + 1 ? TILEK_OK : move_totals(job, launch, 0, why);
    for (int index = 0; index < shape->reduction_count && status == TILEK_OK; ++index) {
        const tilek_reduction *reduction = &shape->reductions[index];
        char *const total = job->totals + (size_t)index * TILEK_BYTES_OF_VALUE;
        status = tilek_copy_out(place, &partials[index], 0, job->gathered,
                                tilek_type_size(reduction->type) * (size_t)instances, why);
        if (status == TILEK_OK && (status = tilek_combine(reduction->operation, reduction->type, total, job->gathered,
                                                          instances)) != TILEK_OK)
            tilek_say(why, "a reduction's operator does not fit its type");
    }
    job->reducing = launch + 1;
    return status;
}

/* Room for the box of a wavefront, with nothing in those of wavefronts that were passed over. */
static int64_t *box_of(tilek_persistence *persistence, int64_t wave, size_t each)
{
    const size_t needed = (size_t)(wave - persistence->first + 1) * each;
    if (needed > persistence->box_room) {
        const size_t room = 2 * needed;
        int64_t *boxes = realloc(persistence->boxes, room * sizeof *boxes);
        if (boxes == NULL) return NULL;
        persistence->boxes = boxes;
        persistence->box_room = room;
    }
    for (; persistence->box_count < needed; ++persistence->box_count)
        persistence->boxes[persistence->box_count] = (persistence->box_count + 1) % 2;
    return &persistence->boxes[needed - each];
}

/* What is put off of a wavefront is its box; one without tiles has none. */
static tilek_status put_off(tilek_device_job *job, const tilek_persistent *variant, const void *const values[],
                            tilek_message *why)
{
    const tilek_launch_shape *shape = &job->run.launches[variant->launch];
    const tilek_planned *planned = &job->run.planned[variant->launch];
    const int loops = tilek_column_loops(shape), is_first = job->persistence.gathering == 0;
    tilek_persistence *persistence = &job->persistence;
    int64_t *box;
    if (!tilek_widen_columns(shape, planned, persistence->lower, persistence->upper, is_first)) return TILEK_OK;
    if (is_first) {
        persistence->first = job->run.wave;
        persistence->box_count = 0;
    }
    persistence->last = job->run.wave;
    box = box_of(persistence, job->run.wave, 2 * (size_t)loops);
    if (box == NULL) {
        tilek_say(why, "memory is exhausted");
        return TILEK_NO_MEMORY;
    }
    for (int loop = 0; loop < loops; ++loop) {
        box[2 * loop] = planned->bounds[loop].lower;
        box[2 * loop + 1] = planned->bounds[loop].lower + planned->bounds[loop].trip - 1;
    }
    for (int index = 0; index < shape->value_count; ++index)
        memcpy(&persistence->values[index], values[index], shape->value_sizes[index]);
    persistence->gathering = 1 + (int)(variant - persistence->variants);
    return TILEK_OK;
}

static const tilek_buffer *partials_of(const tilek_device_job *job, int launch)
{
    const tilek_buffer *partials = job->partials;
    for (int before = 0; before < launch; ++before) partials += job->run.launches[before].reduction_count;
    return partials;
}

/* Runs what was put off. */
static tilek_status finish(tilek_run *run, tilek_message *why)
{
    tilek_device_job *job = run->context;
    tilek_persistence *persistence = &job->persistence;
    const int64_t start = job->profiling ? tilek_now() : 0;
    int64_t nanoseconds = 0;
    tilek_status status;
    if (persistence->gathering == 0) return TILEK_OK;
    const tilek_persistent *variant = &persistence->variants[persistence->gathering - 1];
    persistence->gathering = 0;
    status = tilek_job_run_persistent(job, variant, partials_of(job, variant->launch),
                                      job->profiling ? &nanoseconds : NULL, why);
    if (status == TILEK_OK && job->profiling)
        tilek_record_step(job->state, job->device_arrays.place.target, 0, variant->launch, run->sizes, start,
                          nanoseconds, job->touched);
    if (status != TILEK_OK || run->launches[variant->launch].reduction_count == 0) return status;
    return combine(job, variant->launch, partials_of(job, variant->launch),
                   tilek_columns(&run->launches[variant->launch], persistence->lower, persistence->upper), why);
}

static tilek_status perform(tilek_run *run, int launch, const void *const values[], tilek_message *why)
{
    tilek_device_job *job = run->context;
    const tilek_launch_shape *shape = &run->launches[launch];
    const tilek_place *place = &job->device_arrays.place;
    const tilek_buffer *partials = partials_of(job, launch);
    int64_t nanoseconds = 0;
    const int64_t start = job->profiling ? tilek_now() : 0;
    tilek_status status;
    const tilek_persistent *const variant = run->is_wave ? persistent_variant(job, launch) : NULL;
    if (job->reducing > 0 && job->reducing != launch + 1 && (status = settle(job, why)) != TILEK_OK) return status;
    if (variant != NULL) return put_off(job, variant, values, why);
    status = tilek_job_run(job, launch, &run->planned[launch].geometry, partials, values,
                           job->profiling ? &nanoseconds : NULL, why);
    if (status == TILEK_OK && job->profiling)
        tilek_record_step(job->state, place->target, tilek_is_hosts(&job->variant), launch, run->sizes, start,
                          nanoseconds, tilek_share(run, launch, job->touched));
    return status == TILEK_OK && shape->reduction_count > 0
             ? combine(job, launch, partials, run->planned[launch].geometry.instances, why)
             : status;
}

static tilek_status go_through(tilek_device_job *job, int queue, tilek_message *why)
{
    const tilek_place *place = &job->device_arrays.place;
    tilek_status status = place->backend->enter != NULL ? place->backend->enter(place->device, why) : TILEK_OK;
    if (status != TILEK_OK) return status;
    job->queue = queue;
    job->launches = job->waiting = 0;
    job->reducing = 0;
    job->persistence.gathering = 0;
    job->run.finish = finish;
    status = tilek_perform(&job->run, perform, why);
    if (status == TILEK_OK) status = settle(job, why);
    if (place->backend->leave != NULL) place->backend->leave(place->device);
    return status;
}

/* Whether the launches are recorded. None of them has run. What a persistent launch is given
 * differs from run to run: such runs are never recorded. */
static int record_launches(tilek_device_job *job)
{
    tilek_message unused;
    for (int launch = 0; launch < job->run.launch_count; ++launch)
        if (persistent_variant(job, launch) != NULL) return 0;
    return tilek_repetition_begin(&job->repetition) &&
           tilek_repetition_end(&job->repetition, go_through(job, TILEK_RECORDING_QUEUE, &unused));
}

static int play_launches(tilek_device_job *job)
{
    const int played = tilek_repetition_play(&job->repetition);
    job->device_arrays.started |= played;
    return played;
}

/* Queues all launches. They have not been decided yet where a graph was likely to be played
 * instead. */
static tilek_status queue_launches(tilek_device_job *job, tilek_message *why)
{
    tilek_status status = TILEK_OK;
    tilek_repetition_look(&job->repetition);
    if (tilek_repetition_can_play(&job->repetition) && play_launches(job)) return TILEK_OK;
    if (job->built == NULL) status = tilek_job_prepare(job, why);
    if (status != TILEK_OK) return status;
    if (tilek_repetition_is_worthwhile(&job->repetition, TILEK_MOST_WAITING - 1) && record_launches(job) &&
        play_launches(job))
        return TILEK_OK;
    return go_through(job, job->device_arrays.place.queue, why);
}

/* From the first launch on, arrays that are present may be half written; *is_lost: values that
 * nothing else has are, as `loss` says. */
static tilek_status run_launches(tilek_device_job *job, int *is_lost, tilek_message *loss, tilek_message *why)
{
    const tilek_place *place = &job->device_arrays.place;
    tilek_status status = queue_launches(job, why);
    if (status == TILEK_OK) status = place->backend->wait(place->device, place->queue, why);
    else (void)place->backend->wait(place->device, place->queue, loss);
    if (status == TILEK_OK) status = tilek_copy_arrays_out(&job->device_arrays, why);
    *is_lost = status != TILEK_OK && !tilek_discard_arrays(&job->device_arrays, loss);
    return status;
}

tilek_status tilek_run_device(const tilek_place *place, const tilek_variant *variant, const tilek_call *call,
                              tilek_message *why)
{
    tilek_state *const state = place->state;
    tilek_device_job job;
    tilek_message loss;
    int likely, is_lost = 0;
    tilek_status status = tilek_job_start(&job, state, variant, place, why);
    if (status == TILEK_OK)
        status = tilek_place_arrays(&job.device_arrays, state->kernel, &job.variant, call, place, why);
    if (status == TILEK_OK) status = tilek_job_take_call(&job, call, why);
    if (status == TILEK_OK) tilek_repetition_start(&job.repetition, state, &job.device_arrays, &job.run);
    likely = status == TILEK_OK && tilek_repetition_is_likely(&job.repetition);
    if (status == TILEK_OK && !likely) status = tilek_job_prepare(&job, why);
    if (status == TILEK_OK && (likely || !tilek_run_is_empty(&job.run))) {
        status = likely ? TILEK_OK : take_partials(&job, why);
        if (status == TILEK_OK) status = tilek_copy_arrays_in(&job.device_arrays, why);
        if (status == TILEK_OK) status = run_launches(&job, &is_lost, &loss, why);
    }
    tilek_repetition_finish(&job.repetition, status == TILEK_OK && !job.persistence.used ? job.launches : 0);
    tilek_job_end(&job);
    tilek_release_arrays(&job.device_arrays);
    /* Only now: exit handlers release devices, on which nothing of the job may be left. */
    if (is_lost)
        tilek_fail(state->kernel->file, state->kernel->line, TILEK_EXIT_STRICT, "kernel %s: %s: %s",
                   state->kernel->name, why->text, loss.text);
    return status;
}
