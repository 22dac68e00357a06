/* device.c: running a call on a device. All that can fail without harm comes before the first launch. */
#define _POSIX_C_SOURCE 200809L
#include "launch.h"

#include "message.h"
#include "program.h"
#include "profile.h"
#include "reduce.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES_OF_VALUE = 64 };

typedef struct device_job {
    tilek_state *state;
    const tilek_call *call;
    tilek_residence residence;
    const tilek_limits *limits;
    tilek_numbers *numbers;        /* per launch */
    const tilek_built *built;
    tilek_argument *arguments;     /* for the longest parameter list */
    int64_t *values;               /* likewise */
    tilek_buffer *partials;        /* of all launches, concatenated */
    void *block;
} device_job;

static tilek_status decide_all(device_job *job, tilek_message *why)
{
    const tilek_kernel *kernel = job->state->kernel;
    const int *loop_map = kernel->device_loops;
    for (int index = 0; index < kernel->device_launch_count; ++index) {
        const int64_t total = job->built != NULL ? tilek_minimum(job->built->group_totals[index], job->limits->group_total) : job->limits->group_total;
        const tilek_machine machine = {job->limits, 1, total};
        const tilek_status status = tilek_decide(&kernel->device_launches[index], loop_map, job->call, &machine, &job->numbers[index], why);
        if (status != TILEK_OK) return status;
        loop_map += kernel->device_launches[index].loop_count;
    }
    return TILEK_OK;
}

static int is_empty(const device_job *job)
{
    for (int index = 0; index < job->state->kernel->device_launch_count; ++index)
        if (!job->numbers[index].empty) return 0;
    return 1;
}

static int64_t workers_of(const tilek_numbers *numbers)
{
    return numbers->axes[TILEK_AXIS_WORKER] * numbers->axes[TILEK_AXIS_WORKER + 1] * numbers->axes[TILEK_AXIS_WORKER + 2];
}

/* Decides counts and finds the program. A program may turn out to hold fewer workers than the device allows in general; counts are then decided
 * again under its limit. */
static tilek_status prepare(device_job *job, tilek_message *why)
{
    tilek_status status = decide_all(job, why);
    if (status == TILEK_OK && is_empty(job)) return TILEK_OK;
    if (status == TILEK_OK) status = tilek_program_for(job->state, &job->residence, job->numbers, &job->built, why);
    for (int index = 0; index < job->state->kernel->device_launch_count && status == TILEK_OK; ++index) {
        if (workers_of(&job->numbers[index]) <= job->built->group_totals[index]) continue;
        status = decide_all(job, why);
        if (status == TILEK_OK) status = tilek_program_for(job->state, &job->residence, job->numbers, &job->built, why);
        break;
    }
    return status;
}

static tilek_status take_partials(device_job *job, tilek_message *why)
{
    const tilek_kernel *kernel = job->state->kernel;
    tilek_buffer *partial = job->partials;
    for (int launch = 0; launch < kernel->device_launch_count; ++launch) {
        for (int index = 0; index < kernel->device_launches[launch].reduction_count; ++index, ++partial) {
            const size_t size = tilek_type_size(kernel->device_launches[launch].reductions[index].type);
            const tilek_status status = job->numbers[launch].empty ? TILEK_OK
                                        : tilek_take_buffer(&job->residence.place, size * (size_t)job->numbers[launch].instances, partial, why);
            if (status != TILEK_OK) return status;
        }
    }
    return TILEK_OK;
}

static int marshal(device_job *job, int launch, const tilek_buffer *partials)
{
    static const tilek_buffer nothing;
    const tilek_launch_shape *shape = &job->state->kernel->device_launches[launch];
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
            argument->value = job->call->scalars[parameter->index];
            argument->size = job->state->kernel->scalar_sizes[parameter->index];
        } else {
            job->values[count] = tilek_number_of(parameter, &job->residence, &job->numbers[launch]);
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
    const tilek_launch_shape *shape = &job->state->kernel->device_launches[launch];
    const tilek_place *place = &job->residence.place;
    const int64_t instances = job->numbers[launch].instances;
    tilek_status status = TILEK_OK;
    for (int index = 0; index < shape->reduction_count && status == TILEK_OK; ++index) {
        const tilek_reduction *reduction = &shape->reductions[index];
        const tilek_resident *scalar = &job->residence.arrays[reduction->array];
        const size_t size = tilek_type_size(reduction->type);
        const size_t offset = scalar->present != NULL ? (size_t)(scalar->span.start - tilek_present_span(scalar->present)->start)
                                                      : (size_t)(scalar->span.start - job->residence.temporaries[scalar->temporary].span.start);
        char value[BYTES_OF_VALUE];
        void *values = malloc(size * (size_t)instances);
        if (values == NULL) {
            tilek_say(why, "memory is exhausted");
            return TILEK_NO_MEMORY;
        }
        status = tilek_copy_out(place, &partials[index], 0, values, size * (size_t)instances, why);
        if (status == TILEK_OK) status = tilek_copy_out(place, scalar->buffer, offset, value, size, why);
        if (status == TILEK_OK && (status = tilek_combine(reduction->operation, reduction->type, value, values, instances)) != TILEK_OK)
            tilek_say(why, "a reduction's operator does not fit its type");
        if (status == TILEK_OK) status = tilek_copy_in(place, scalar->buffer, offset, value, size, why);
        free(values);
    }
    return status;
}

static tilek_status launch_one(device_job *job, int launch, const tilek_buffer *partials, tilek_message *why)
{
    const tilek_launch_shape *shape = &job->state->kernel->device_launches[launch];
    const tilek_place *place = &job->residence.place;
    const tilek_numbers *numbers = &job->numbers[launch];
    const int by_thread = (shape->axes >> TILEK_AXIS_THREAD & 1u) != 0, profiling = tilek_profiling();
    const int count = marshal(job, launch, partials);
    int64_t groups[3], group[3], nanoseconds = 0;
    const int64_t start = profiling ? tilek_now() : 0;
    tilek_status status;
    for (int dimension = 0; dimension < 3; ++dimension) {
        const int axis = by_thread && dimension == 0 ? TILEK_AXIS_THREAD : TILEK_AXIS_GANG + dimension;
        groups[dimension] = by_thread && dimension > 0 ? 1 : tilek_groups(numbers, axis, job->limits);
        group[dimension] = by_thread ? 1 : numbers->axes[TILEK_AXIS_WORKER + dimension];
    }
    status = place->backend->run(place->device, place->queue, job->built->entries[launch], count, job->arguments, groups, group,
                                 profiling ? &nanoseconds : NULL, why);
    if (status == TILEK_OK && profiling) tilek_record(job->state, place->target, TILEK_ACTIVITY_KERNEL, start, nanoseconds, tilek_touched(job->state->kernel, job->call) / (size_t)job->state->kernel->device_launch_count);
    return status == TILEK_OK && shape->reduction_count > 0 ? combine(job, launch, partials, why) : status;
}

/* From the first launch on, arrays that are present may be half written. */
static tilek_status run_launches(device_job *job, tilek_message *why)
{
    const tilek_kernel *kernel = job->state->kernel;
    const tilek_place *place = &job->residence.place;
    const tilek_buffer *partials = job->partials;
    tilek_message loss;
    tilek_status status = TILEK_OK;
    for (int index = 0; index < kernel->device_launch_count && status == TILEK_OK; ++index) {
        if (!job->numbers[index].empty) status = launch_one(job, index, partials, why);
        partials += kernel->device_launches[index].reduction_count;
    }
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
    size_t parameters = 1, reductions = 0;
    char *block;
    for (int index = 0; index < kernel->device_launch_count; ++index) {
        const tilek_launch_shape *shape = &kernel->device_launches[index];
        if ((size_t)shape->parameter_count > parameters) parameters = (size_t)shape->parameter_count;
        reductions += (size_t)shape->reduction_count;
    }
    job->block = block = malloc((size_t)kernel->device_launch_count * sizeof *job->numbers + parameters * (sizeof *job->arguments + sizeof *job->values) +
                                reductions * sizeof *job->partials);
    if (block == NULL) {
        tilek_say(why, "memory is exhausted");
        return TILEK_NO_MEMORY;
    }
    job->numbers = (tilek_numbers *)(void *)block;
    block += (size_t)kernel->device_launch_count * sizeof *job->numbers;
    job->arguments = (tilek_argument *)(void *)block;
    job->values = (int64_t *)(void *)(job->arguments + parameters);
    job->partials = (tilek_buffer *)(void *)(job->values + parameters);
    memset(job->partials, 0, reductions * sizeof *job->partials);
    return TILEK_OK;
}

static void clean_up(device_job *job)
{
    const tilek_kernel *kernel = job->state->kernel;
    tilek_buffer *partial = job->partials;
    for (int launch = 0; launch < kernel->device_launch_count && job->block != NULL; ++launch)
        for (int index = 0; index < kernel->device_launches[launch].reduction_count; ++index) tilek_give_buffer(&job->residence.place, partial++);
    free(job->block);
    tilek_leave(&job->residence);
}

tilek_status tilek_run_device(tilek_state *state, const tilek_call *call, const tilek_candidate *candidate, int queue, tilek_message *why)
{
    device_job job;
    tilek_place place = {NULL, NULL, candidate->target, queue, state};
    tilek_status status = tilek_open_device(candidate->target, call->device, candidate->gpu_only, &place.backend, &place.device, why);
    if (status != TILEK_OK) return status;
    memset(&job, 0, sizeof job);
    job.state = state;
    job.call = call;
    job.limits = place.backend->limits(place.device);
    if (tilek_profiling()) tilek_record_limits(candidate->target, job.limits);
    if ((state->kernel->flags & TILEK_USES_DOUBLE) != 0 && !job.limits->has_double) {
        tilek_say(why, "%s has no double precision", job.limits->name);
        return TILEK_UNSUPPORTED;
    }
    status = make_room(&job, why);
    if (status != TILEK_OK) return status;
    status = tilek_reside(&job.residence, state->kernel, call, &place, why);
    if (status == TILEK_OK) status = prepare(&job, why);
    if (status == TILEK_OK && !is_empty(&job)) {
        status = take_partials(&job, why);
        if (status == TILEK_OK) status = tilek_bring(&job.residence, why);
        if (status == TILEK_OK) status = run_launches(&job, why);
    }
    clean_up(&job);
    return status;
}
