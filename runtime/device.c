/* device.c: running a call on a device. All that can fail without harm comes before the first launch. */
#define _POSIX_C_SOURCE 200809L
#include "launch.h"

#include "environment.h"
#include "graphs.h"
#include "message.h"
#include "program.h"
#include "profile.h"
#include "reduce.h"
#include "steps.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES_OF_VALUE = 64 };

typedef struct device_job {
    tilek_run run;
    tilek_form form;
    tilek_state *state;
    tilek_residence residence;
    const tilek_built *built;
    const int64_t **numbers;       /* per launch that some step meets: one a parameter, those that may be constants */
    int64_t *known;                /* what numbers points to */
    tilek_argument *arguments;     /* for the longest parameter list */
    int64_t *values;               /* likewise */
    tilek_buffer *partials;        /* of all launches, concatenated */
    void *gathered;                /* room for the values of any of them; NULL where there are none */
    int profiling, specializing;
    size_t touched;                /* bytes, by one step of each launch */
    tilek_repetition repetition;
    int queue;                     /* that launches go to */
    int64_t launches;              /* of the run */
    int64_t waiting;               /* launches since the queue was empty */
    void *block;
} device_job;

/* More launches than that are not left waiting in a queue: each takes memory there. */
enum { MOST_WAITING = 4096, STRETCHES_PER_UNIT = 16 };

/* Keeps what may be a constant of the program when a launch is met first; later steps must agree with that. */
static tilek_status keep_numbers(tilek_run *run, int launch, tilek_message *why)
{
    device_job *job = run->context;
    const tilek_launch_shape *shape = &run->launches[launch];
    int64_t *known = job->known;
    for (int before = 0; before < launch; ++before) known += run->launches[before].parameter_count;
    job->numbers[launch] = known;
    for (int index = 0; index < shape->parameter_count; ++index) {
        const tilek_parameter *parameter = &shape->parameters[index];
        int64_t number;
        if (parameter->constant == NULL) continue;
        number = tilek_number_of(parameter, &job->residence, &run->planned[launch].numbers, run->sizes);
        if (!run->planned[launch].seen) known[index] = number;
        if (known[index] == number || !job->specializing) continue;
        tilek_say(why, "%s of launch %s differs from step to step, and was taken for a constant", parameter->constant, shape->entry);
        return TILEK_INVALID;
    }
    return TILEK_OK;
}

static tilek_status find_program(device_job *job, tilek_message *why)
{
    tilek_status status;
    job->run.keeps_workers = 0;
    if (!job->form.is_hosts && (job->run.kernel->flags & TILEK_VARYING_STEPS) != 0) { /* workers that come and go would not be constants, and some compilers compile for each count */
        job->run.decided = NULL;
        status = tilek_rehearse(&job->run, why);
        if (status != TILEK_OK) return status;
        job->run.keeps_workers = 1;
    }
    job->run.decided = keep_numbers;
    status = tilek_rehearse(&job->run, why);
    if (status != TILEK_OK || tilek_run_is_empty(&job->run)) return status;
    status = tilek_program_for(job->state, &job->form, &job->residence.place, job->numbers, &job->built, why);
    if (status == TILEK_OK) job->run.group_totals = job->built->group_totals;
    return status;
}

/* Decides counts and finds the program. Of workers: a program may turn out to hold fewer workers than the device allows in general; counts are then decided
 * again under its limit. */
static tilek_status prepare(device_job *job, tilek_message *why)
{
    tilek_status status = find_program(job, why);
    for (int index = 0; !job->form.is_hosts && index < job->run.launch_count && status == TILEK_OK && job->built != NULL; ++index)
        if (job->run.planned[index].most_workers > job->built->group_totals[index]) return find_program(job, why);
    return status;
}

static tilek_status take_partials(device_job *job, tilek_message *why)
{
    tilek_buffer *partial = job->partials;
    size_t most = 0;
    for (int launch = 0; launch < job->run.launch_count; ++launch) {
        const tilek_planned *planned = &job->run.planned[launch];
        for (int index = 0; index < job->run.launches[launch].reduction_count; ++index, ++partial) {
            const size_t size = tilek_type_size(job->run.launches[launch].reductions[index].type);
            const size_t bytes = planned->runs ? size * (size_t)planned->most_instances : 0;
            const tilek_status status = bytes > 0 ? tilek_take_buffer(&job->residence.place, bytes, partial, why) : TILEK_OK;
            if (status != TILEK_OK) return status;
            if (bytes > most) most = bytes;
        }
    }
    if (most == 0 || (job->gathered = malloc(most)) != NULL) return TILEK_OK;
    tilek_say(why, "memory is exhausted");
    return TILEK_NO_MEMORY;
}

static int marshal(device_job *job, int launch, const tilek_buffer *partials, const void *const values[])
{
    static const tilek_buffer nothing;
    const tilek_launch_shape *shape = &job->run.launches[launch];
    int count = 0;
    for (int index = 0; index < shape->parameter_count; ++index) {
        const tilek_parameter *parameter = &shape->parameters[index];
        tilek_argument *argument = &job->arguments[count];
        if (job->built->specialized && parameter->constant != NULL) continue;
        memset(argument, 0, sizeof *argument);
        argument->kind = TILEK_ARGUMENT_VALUE;
        if (parameter->kind == TILEK_PARAMETER_ARRAY || parameter->kind == TILEK_PARAMETER_PARTIALS) {
            argument->kind = TILEK_ARGUMENT_BUFFER;
            argument->buffer = parameter->kind == TILEK_PARAMETER_PARTIALS ? &partials[parameter->index] : job->residence.arrays[parameter->index].buffer;
            if (argument->buffer == NULL) argument->buffer = &nothing;
        } else if (parameter->kind == TILEK_PARAMETER_SCALAR) {
            argument->value = job->run.call->scalars[parameter->index];
            argument->size = job->run.kernel->scalar_sizes[parameter->index];
        } else if (parameter->kind == TILEK_PARAMETER_VALUE) {
            argument->value = values[parameter->index];
            argument->size = shape->value_sizes[parameter->index];
        } else {
            job->values[count] = tilek_number_of(parameter, &job->residence, &job->run.planned[launch].numbers, job->run.sizes);
            argument->value = &job->values[count];
            argument->size = sizeof job->values[count];
        }
        ++count;
    }
    return count;
}

/* The scalar's value so far lies on the device too: it may be read by a later nest. */
static tilek_status combine(device_job *job, int launch, const tilek_buffer *partials, tilek_message *why)
{
    const tilek_launch_shape *shape = &job->run.launches[launch];
    const tilek_place *place = &job->residence.place;
    const int64_t instances = job->run.planned[launch].numbers.instances;
    tilek_status status = TILEK_OK;
    for (int index = 0; index < shape->reduction_count && status == TILEK_OK; ++index) {
        const tilek_reduction *reduction = &shape->reductions[index];
        const tilek_resident *scalar = &job->residence.arrays[reduction->array];
        const size_t size = tilek_type_size(reduction->type);
        const size_t offset = scalar->present != NULL ? (size_t)(scalar->span.start - tilek_present_span(scalar->present)->start)
                                                      : (size_t)(scalar->span.start - job->residence.temporaries[scalar->temporary].span.start);
        char value[BYTES_OF_VALUE];
        status = tilek_copy_out(place, &partials[index], 0, job->gathered, size * (size_t)instances, why);
        if (status == TILEK_OK) status = tilek_copy_out(place, scalar->buffer, offset, value, size, why);
        if (status == TILEK_OK && (status = tilek_combine(reduction->operation, reduction->type, value, job->gathered, instances)) != TILEK_OK)
            tilek_say(why, "a reduction's operator does not fit its type");
        if (status == TILEK_OK) status = tilek_copy_in(place, scalar->buffer, offset, value, size, why);
    }
    return status;
}

/* The groups of a launch, and the workers of each. A processor's groups have one worker and take a stretch of the instances each: several a core, since
 * cores may be slow or late. */
static void shape_launch(const device_job *job, int launch, int64_t groups[3], int64_t group[3])
{
    const tilek_limits *limits = job->residence.place.backend->limits(job->residence.place.device);
    const tilek_numbers *numbers = &job->run.planned[launch].numbers;
    const int by_thread = (job->run.launches[launch].axes >> TILEK_AXIS_THREAD & 1u) != 0;
    for (int dimension = 0; dimension < 3; ++dimension) {
        const int axis = by_thread && dimension == 0 ? TILEK_AXIS_THREAD : TILEK_AXIS_GANG + dimension;
        groups[dimension] = job->form.is_hosts || (by_thread && dimension > 0) ? 1 : tilek_groups(numbers, axis, limits);
        group[dimension] = job->form.is_hosts || by_thread ? 1 : numbers->axes[TILEK_AXIS_WORKER + dimension];
    }
    if (job->form.is_hosts) groups[0] = tilek_minimum(numbers->instances, STRETCHES_PER_UNIT * tilek_maximum(limits->compute_units, 1));
}

static tilek_status perform(tilek_run *run, int launch, const void *const values[], tilek_message *why)
{
    device_job *job = run->context;
    const tilek_launch_shape *shape = &run->launches[launch];
    const tilek_place *place = &job->residence.place;
    const tilek_buffer *partials = job->partials;
    int64_t groups[3], group[3], nanoseconds = 0;
    const int64_t start = job->profiling ? tilek_now() : 0;
    tilek_status status;
    int count;
    for (int before = 0; before < launch; ++before) partials += run->launches[before].reduction_count;
    count = marshal(job, launch, partials, values);
    shape_launch(job, launch, groups, group);
    status = place->backend->run(place->device, job->queue, job->built->entries[launch], count, job->arguments, groups, group,
                                 job->profiling ? &nanoseconds : NULL, why);
    job->residence.started |= status == TILEK_OK || job->profiling; /* a run that waits may fail half-way */
    ++job->launches;
    if (status == TILEK_OK && ++job->waiting >= MOST_WAITING) {
        status = place->backend->wait(place->device, place->queue, why);
        job->waiting = 0;
    }
    if (status == TILEK_OK && job->profiling)
        tilek_record_step(job->state, place->target, job->form.is_hosts, launch, run->sizes, start, nanoseconds, tilek_share(run, launch, job->touched));
    return status == TILEK_OK && shape->reduction_count > 0 ? combine(job, launch, partials, why) : status;
}

static tilek_status go_through(device_job *job, int queue, tilek_message *why)
{
    const tilek_place *place = &job->residence.place;
    tilek_status status = place->backend->enter != NULL ? place->backend->enter(place->device, why) : TILEK_OK;
    if (status != TILEK_OK) return status;
    job->queue = queue;
    job->launches = job->waiting = 0;
    status = tilek_perform(&job->run, perform, why);
    if (place->backend->leave != NULL) place->backend->leave(place->device);
    return status;
}

/* Whether the launches are recorded. None of them has run. */
static int record_launches(device_job *job)
{
    tilek_message unused;
    return tilek_repetition_begin(&job->repetition) && tilek_repetition_end(&job->repetition, go_through(job, TILEK_RECORDING_QUEUE, &unused));
}

static int play_launches(device_job *job)
{
    const int played = tilek_repetition_play(&job->repetition);
    job->residence.started |= played;
    return played;
}

/* Queues all launches. They have not been decided yet where a graph was likely to be played instead. */
static tilek_status queue_launches(device_job *job, tilek_message *why)
{
    tilek_status status = TILEK_OK;
    tilek_repetition_look(&job->repetition);
    if (tilek_repetition_can_play(&job->repetition) && play_launches(job)) return TILEK_OK;
    if (job->built == NULL) status = prepare(job, why);
    if (status != TILEK_OK) return status;
    if (tilek_repetition_is_worthwhile(&job->repetition, MOST_WAITING - 1) && record_launches(job) && play_launches(job)) return TILEK_OK;
    return go_through(job, job->residence.place.queue, why);
}

/* From the first launch on, arrays that are present may be half written. */
static tilek_status run_launches(device_job *job, tilek_message *why)
{
    const tilek_kernel *kernel = job->state->kernel;
    const tilek_place *place = &job->residence.place;
    tilek_message loss;
    tilek_status status = queue_launches(job, why);
    if (status == TILEK_OK) status = place->backend->wait(place->device, place->queue, why);
    else (void)place->backend->wait(place->device, place->queue, &loss);
    if (status == TILEK_OK) status = tilek_take_home(&job->residence, why);
    if (status != TILEK_OK && !tilek_give_up(&job->residence, &loss))
        tilek_fail(kernel->file, kernel->line, TILEK_EXIT_STRICT, "kernel %s: %s: %s", kernel->name, why->text, loss.text);
    return status;
}

/* One block for everything of the job whose size the kernel decides. */
static tilek_status make_room(device_job *job, tilek_message *why)
{
    const tilek_kernel *kernel = job->state->kernel;
    const size_t room = tilek_run_room(kernel, &job->form), launches = (size_t)job->form.launch_count;
    size_t parameters = 1, known = 0, reductions = 0;
    char *block;
    for (int index = 0; index < job->form.launch_count; ++index) {
        const tilek_launch_shape *shape = &job->form.launches[index];
        if ((size_t)shape->parameter_count > parameters) parameters = (size_t)shape->parameter_count;
        known += (size_t)shape->parameter_count;
        reductions += (size_t)shape->reduction_count;
    }
    job->block = block = malloc(room + parameters * (sizeof *job->arguments + sizeof *job->values) + launches * sizeof *job->numbers +
                                known * sizeof *job->known + reductions * sizeof *job->partials);
    if (block == NULL) {
        tilek_say(why, "memory is exhausted");
        return TILEK_NO_MEMORY;
    }
    job->arguments = (tilek_argument *)(void *)(block + room);
    job->values = (int64_t *)(void *)(job->arguments + parameters);
    job->known = job->values + parameters;
    job->numbers = (const int64_t **)(void *)(job->known + known);
    job->partials = (tilek_buffer *)(void *)(job->numbers + launches);
    for (size_t index = 0; index < launches; ++index) job->numbers[index] = NULL;
    memset(job->partials, 0, reductions * sizeof *job->partials);
    return TILEK_OK;
}

static void clean_up(device_job *job)
{
    tilek_buffer *partial = job->partials;
    for (int launch = 0; launch < job->form.launch_count && job->block != NULL; ++launch)
        for (int index = 0; index < job->form.launches[launch].reduction_count; ++index) tilek_give_buffer(&job->residence.place, partial++);
    free(job->gathered);
    free(job->block);
    tilek_leave(&job->residence);
}

tilek_status tilek_run_device(tilek_state *state, const tilek_call *call, const tilek_candidate *candidate, int queue, tilek_message *why)
{
    device_job job;
    tilek_place place = {NULL, NULL, candidate->target, queue, state};
    const tilek_limits *limits;
    int likely;
    tilek_status status = tilek_open_device(candidate->target, call->device, candidate->gpu_only, &place.backend, &place.device, why);
    if (status != TILEK_OK) return status;
    memset(&job, 0, sizeof job);
    job.state = state;
    limits = place.backend->limits(place.device);
    job.form = tilek_device_form(state->kernel, candidate->target, limits);
    job.profiling = tilek_profiling();
    job.specializing = tilek_get_settings()->specialize;
    if (job.profiling) tilek_record_limits(candidate->target, limits);
    if ((state->kernel->flags & TILEK_USES_DOUBLE) != 0 && !limits->has_double) {
        tilek_say(why, "%s has no double precision", limits->name);
        return TILEK_UNSUPPORTED;
    }
    status = make_room(&job, why);
    if (status != TILEK_OK) return status;
    status = tilek_reside(&job.residence, state->kernel, &job.form, call, &place, why);
    if (status == TILEK_OK) status = tilek_run_start(&job.run, state->kernel, call, &job.form, job.block, why);
    job.run.machine = job.form.is_hosts ? (tilek_machine){NULL, tilek_maximum(limits->compute_units, 1), 0, NULL, 0} : (tilek_machine){limits, 1, limits->group_total, NULL, 0};
    for (int index = 0; index < state->kernel->size_count && status == TILEK_OK; ++index)
        job.run.machine.tile_extent = tilek_maximum(job.run.machine.tile_extent, job.run.sizes[index]);
    job.run.context = &job;
    job.touched = tilek_touched(state->kernel, call) / (size_t)tilek_maximum(job.form.launch_count, 1);
    if (status == TILEK_OK) tilek_repetition_start(&job.repetition, state, &job.residence, &job.run);
    likely = status == TILEK_OK && tilek_repetition_is_likely(&job.repetition);
    if (status == TILEK_OK && !likely) status = prepare(&job, why);
    if (status == TILEK_OK && (likely || !tilek_run_is_empty(&job.run))) {
        status = likely ? TILEK_OK : take_partials(&job, why);
        if (status == TILEK_OK) status = tilek_bring(&job.residence, why);
        if (status == TILEK_OK) status = run_launches(&job, why);
    }
    tilek_repetition_finish(&job.repetition, status == TILEK_OK ? job.launches : 0);
    clean_up(&job);
    return status;
}
