/* device_job.c: a call's launches on one device. */
#define _POSIX_C_SOURCE 200809L
#include "launch/device_job.h"

#include "base/environment.h"
#include "base/message.h"
#include "kernel/profile.h"
#include "launch/device_programs.h"

#include <stdlib.h>
#include <string.h>

enum { STRETCHES_PER_UNIT = 16 };

/* Keeps what may be a constant of the program when an entry point is met first, with the numbers of
 * a launch; later steps must agree with that. */
static tilek_status keep_numbers_of(tilek_device_job *job, int entry, const tilek_planned *planned, tilek_message *why)
{
    const tilek_launch_shape *shape = &job->run.launches[entry];
    const int is_first = job->numbers[entry] == NULL || !planned->seen; /* the first step of a rehearsal */
    int64_t *known = job->known;
    for (int before = 0; before < entry; ++before) known += job->run.launches[before].parameter_count;
    job->numbers[entry] = known;
    for (int index = 0; index < shape->parameter_count; ++index) {
        const tilek_parameter *parameter = &shape->parameters[index];
        int64_t number;
        if (parameter->constant == NULL) continue;
        number = tilek_number_of(parameter, &job->device_arrays, &planned->geometry, job->run.sizes);
        if (is_first) known[index] = number;
        if (is_first && job->specializing && parameter->kind == TILEK_PARAMETER_INDEX_BITS && number > 32)
            tilek_record_long_array(job->state, job->device_arrays.place.target,
                                    job->run.kernel->arrays[tilek_long_array(&job->device_arrays)].name);
        if (known[index] == number || !job->specializing) continue;
        tilek_say(why, "%s of launch %s differs from step to step, and was taken for a constant", parameter->constant,
                  shape->entry);
        return TILEK_INVALID;
    }
    return TILEK_OK;
}

static tilek_status keep_numbers(tilek_run *run, int launch, tilek_message *why)
{
    tilek_device_job *job = run->context;
    const tilek_planned *planned = &run->planned[launch];
    tilek_status status = keep_numbers_of(job, launch, planned, why);
    for (int index = 0; index < job->persistence.count && run->perform == NULL && status == TILEK_OK; ++index) {
        tilek_persistent *variant = &job->persistence.variants[index];
        if (variant->launch != launch ||
            !tilek_widen_columns(&run->launches[launch], planned, variant->lower, variant->upper, !variant->met))
            continue;
        variant->met = 1;
        status = keep_numbers_of(job, variant->entry, planned, why);
    }
    return status;
}

/* Of launches with few wavefronts the program needs no persistent variant. */
static void choose_persistent(tilek_device_job *job)
{
    for (int index = 0; index < job->persistence.count; ++index) {
        const tilek_persistent *variant = &job->persistence.variants[index];
        if (job->run.planned[variant->launch].most_waves < TILEK_LEAST_WAVES) job->numbers[variant->entry] = NULL;
    }
}

static tilek_status find_program(tilek_device_job *job, tilek_message *why)
{
    tilek_status status;
    job->run.keeps_workers = 0;
    /* workers that come and go would not be constants, and some compilers compile for each count */
    if (!tilek_is_hosts(&job->variant) && (job->run.kernel->flags & TILEK_VARYING_STEPS) != 0) {
        job->run.decided = NULL;
        status = tilek_rehearse(&job->run, why);
        if (status != TILEK_OK) return status;
        job->run.keeps_workers = 1;
    }
    for (int index = 0; index < job->persistence.count; ++index) {
        job->persistence.variants[index].met = 0;
        job->numbers[job->persistence.variants[index].entry] = NULL;
    }
    job->run.decided = keep_numbers;
    status = tilek_rehearse(&job->run, why);
    if (status != TILEK_OK || tilek_run_is_empty(&job->run)) return status;
    choose_persistent(job);
    status = tilek_program_for(job->state, &job->variant, &job->device_arrays.place, job->numbers, &job->built, why);
    if (status == TILEK_OK) job->run.group_totals = job->built->group_totals;
    return status;
}

/* How many gangs are there at once, and flags for the columns that they take. Where there is no
 * memory for these, launches go wavefront by wavefront. */
static tilek_status prepare_persistent(tilek_device_job *job, tilek_message *why)
{
    const tilek_place *place = &job->device_arrays.place;
    int64_t most = 0;
    size_t numbers = 0;
    tilek_status status;
    for (int index = 0; index < job->persistence.count && job->built != NULL; ++index) {
        tilek_persistent *variant = &job->persistence.variants[index];
        const tilek_planned *planned = &job->run.planned[variant->launch];
        const tilek_launch_shape *shape = &job->run.launches[variant->launch];
        const int64_t columns = tilek_columns(shape, variant->lower, variant->upper);
        const size_t boxes = (size_t)planned->most_waves * (size_t)tilek_column_loops(shape) * 2;
        if (job->numbers[variant->entry] == NULL || columns > TILEK_MOST_COLUMNS) continue;
        variant->resident = place->backend->resident(place->device, job->built->entries[variant->entry],
                                                     &planned->geometry.axes[TILEK_AXIS_WORKER]);
        if (variant->resident == 0) continue;
        most = tilek_maximum(most, columns);
        if (boxes > numbers) numbers = boxes;
    }
    if (most == 0 || job->persistence.flags != NULL) return TILEK_OK;
    status = tilek_take_flags(place, most, numbers, &job->persistence.flags, why);
    if (status != TILEK_NO_MEMORY) return status;
    for (int index = 0; index < job->persistence.count; ++index) job->persistence.variants[index].resident = 0;
    return TILEK_OK;
}

/* A program may turn out to hold fewer workers than the device allows in general; counts are then
 * decided again under its limit. */
tilek_status tilek_job_prepare(tilek_device_job *job, tilek_message *why)
{
    tilek_status status = find_program(job, why);
    for (int index = 0;
         !tilek_is_hosts(&job->variant) && index < job->run.launch_count && status == TILEK_OK && job->built != NULL;
         ++index)
        if (job->run.planned[index].most_workers > job->built->group_totals[index]) {
            status = find_program(job, why);
            break;
        }
    return status == TILEK_OK ? prepare_persistent(job, why) : status;
}

static int marshal(tilek_device_job *job, int launch, const tilek_geometry *geometry, const tilek_buffer *partials,
                   const void *const values[])
{
    static const tilek_buffer nothing;
    const tilek_launch_shape *shape = &job->run.launches[launch];
    const unsigned char *const passed = tilek_passed(job->built, &job->variant, launch);
    int count = 0;
    for (int index = 0; index < shape->parameter_count; ++index) {
        const tilek_parameter *parameter = &shape->parameters[index];
        tilek_argument *argument = &job->arguments[count];
        if (job->built->specialized && parameter->constant != NULL && (passed == NULL || !passed[index])) continue;
        memset(argument, 0, sizeof *argument);
        argument->kind = TILEK_ARGUMENT_VALUE;
        if (parameter->kind == TILEK_PARAMETER_ARRAY || parameter->kind == TILEK_PARAMETER_PARTIALS) {
            argument->kind = TILEK_ARGUMENT_BUFFER;
            argument->buffer = parameter->kind == TILEK_PARAMETER_PARTIALS
                                 ? &partials[parameter->index]
                                 : job->device_arrays.arrays[parameter->index].buffer;
            if (argument->buffer == NULL) argument->buffer = &nothing;
        } else if (parameter->kind == TILEK_PARAMETER_SCALAR) {
            argument->value = job->run.call->scalars[parameter->index];
            argument->size = job->run.kernel->scalar_sizes[parameter->index];
        } else if (parameter->kind == TILEK_PARAMETER_VALUE) {
            argument->value = values[parameter->index];
            argument->size = shape->value_sizes[parameter->index];
        } else if (parameter->kind == TILEK_PARAMETER_FLAGS || parameter->kind == TILEK_PARAMETER_BOXES) {
            argument->kind = TILEK_ARGUMENT_BUFFER;
            argument->buffer = parameter->kind == TILEK_PARAMETER_FLAGS ? &job->persistence.flags->buffer
                                                                        : &job->persistence.flags->boxes;
        } else {
            job->values[count] = parameter->kind > TILEK_PARAMETER_FLAGS
                                   ? tilek_persistent_number(&job->persistence, parameter)
                                   : tilek_number_of(parameter, &job->device_arrays, geometry, job->run.sizes);
            argument->value = &job->values[count];
            argument->size = sizeof job->values[count];
        }
        ++count;
    }
    return count;
}

/* The groups of a launch, and the workers of each. A processor's groups have one worker and take a
 * stretch of the instances each: several a core, since cores may be slow or late. */
static void shape_launch(const tilek_device_job *job, int launch, const tilek_geometry *geometry, int64_t groups[3],
                         int64_t group[3])
{
    const tilek_limits *limits = job->device_arrays.place.backend->limits(job->device_arrays.place.device);
    const int by_thread = (job->run.launches[launch].axes >> TILEK_AXIS_THREAD & 1u) != 0;
    for (int dimension = 0; dimension < 3; ++dimension) {
        const int axis = by_thread && dimension == 0 ? TILEK_AXIS_THREAD : TILEK_AXIS_GANG + dimension;
        groups[dimension] = tilek_is_hosts(&job->variant) || (by_thread && dimension > 0)
                              ? 1
                              : tilek_groups(geometry, axis, limits);
        group[dimension] = tilek_is_hosts(&job->variant) || by_thread ? 1
                                                                      : geometry->axes[TILEK_AXIS_WORKER + dimension];
    }
    if (tilek_is_hosts(&job->variant))
        groups[0] = tilek_minimum(geometry->instances, STRETCHES_PER_UNIT * tilek_maximum(limits->compute_units, 1));
}

/* One block for everything of the job whose size the kernel decides. */
static tilek_status make_room(tilek_device_job *job, tilek_message *why)
{
    const tilek_kernel *kernel = job->state->kernel;
    const size_t room = tilek_run_room(kernel, &job->variant), launches = (size_t)tilek_entry_count(&job->variant);
    size_t parameters = 1, known = 0, reductions = 0;
    char *block;
    for (int index = 0; index < tilek_entry_count(&job->variant); ++index) {
        const tilek_launch_shape *shape = &job->variant.launches[index];
        if ((size_t)shape->parameter_count > parameters) parameters = (size_t)shape->parameter_count;
        known += (size_t)shape->parameter_count;
        reductions += (size_t)shape->reduction_count;
    }
    job->block = block = malloc(room + parameters * (sizeof *job->arguments + sizeof *job->values) +
                                launches * sizeof *job->numbers + known * sizeof *job->known +
                                reductions * (sizeof *job->partials + TILEK_BYTES_OF_VALUE) +
                                (size_t)job->variant.persistent_count * sizeof *job->persistence.variants);
    if (block == NULL) {
        tilek_say(why, "memory is exhausted");
        return TILEK_NO_MEMORY;
    }
    job->arguments = (tilek_argument *)(void *)(block + room);
    job->values = (int64_t *)(void *)(job->arguments + parameters);
    job->known = job->values + parameters;
    job->numbers = (const int64_t **)(void *)(job->known + known);
    job->persistence.variants = (tilek_persistent *)(void *)(job->numbers + launches);
    job->partials = (tilek_buffer *)(void *)(job->persistence.variants + job->variant.persistent_count);
    job->totals = (char *)(job->partials + reductions);
    for (size_t index = 0; index < launches; ++index) job->numbers[index] = NULL;
    memset(job->partials, 0, reductions * sizeof *job->partials);
    for (int index = 0; index < job->variant.persistent_count && job->variant.persists; ++index) {
        const int launch = job->variant.persistent[index];
        if (!tilek_can_persist(&job->variant.launches[launch])) continue;
        job->persistence.variants[job->persistence.count++] =
            (tilek_persistent){.launch = launch, .entry = job->variant.launch_count + index};
    }
    return TILEK_OK;
}

tilek_status tilek_job_start(tilek_device_job *job, tilek_state *state, const tilek_variant *variant,
                             const tilek_place *place, tilek_message *why)
{
    const tilek_limits *limits = place->backend->limits(place->device);
    memset(job, 0, sizeof *job);
    job->state = state;
    job->variant = *variant;
    job->device_arrays.place = *place;
    job->queue = place->queue;
    job->profiling = tilek_profiling();
    job->specializing = tilek_get_settings()->specialize;
    if (job->profiling) tilek_record_limits(place->target, limits);
    if ((state->kernel->flags & TILEK_USES_DOUBLE) != 0 && !limits->has_double) {
        tilek_say(why, "%s has no double precision, which the kernel needs", limits->name);
        return TILEK_UNSUPPORTED;
    }
    return make_room(job, why);
}

tilek_status tilek_job_take_call(tilek_device_job *job, const tilek_call *call, tilek_message *why)
{
    const tilek_kernel *kernel = job->state->kernel;
    const tilek_limits *limits = job->device_arrays.place.backend->limits(job->device_arrays.place.device);
    const tilek_status status = tilek_run_start(&job->run, kernel, call, &job->variant, job->block, why);
    job->run.machine = tilek_is_hosts(&job->variant)
                         ? (tilek_machine){NULL, tilek_maximum(limits->compute_units, 1), 0, NULL, 0, 0, NULL}
                         : (tilek_machine){limits, 1, limits->group_total, NULL, 0, 0, NULL};
    for (int index = 0; index < kernel->size_count && status == TILEK_OK; ++index)
        job->run.machine.tile_extent = tilek_maximum(job->run.machine.tile_extent, job->run.sizes[index]);
    job->run.context = job;
    job->touched = job->profiling ? tilek_touched(kernel, call) / (size_t)tilek_maximum(job->variant.launch_count, 1)
                                  : 0;
    return status;
}

/* What is to be done when a launch was queued. */
static tilek_status count_launch(tilek_device_job *job, tilek_status status, const int64_t *nanoseconds,
                                 tilek_message *why)
{
    const tilek_place *place = &job->device_arrays.place;
    job->device_arrays.started |= status == TILEK_OK || nanoseconds != NULL; /* a run that waits may fail half-way */
    ++job->launches;
    if (status == TILEK_OK && ++job->waiting >= TILEK_MOST_WAITING) {
        status = place->backend->wait(place->device, job->queue, why);
        job->waiting = 0;
    }
    return status;
}

tilek_status tilek_job_run(tilek_device_job *job, int launch, const tilek_geometry *geometry,
                           const tilek_buffer *partials, const void *const values[], int64_t *nanoseconds,
                           tilek_message *why)
{
    const tilek_place *place = &job->device_arrays.place;
    const int count = marshal(job, launch, geometry, partials, values);
    int64_t groups[3], group[3];
    tilek_status status;
    shape_launch(job, launch, geometry, groups, group);
    status = place->backend->run(place->device, job->queue, job->built->entries[launch], count, job->arguments, groups,
                                 group, nanoseconds, why);
    return count_launch(job, status, nanoseconds, why);
}

tilek_status tilek_job_run_persistent(tilek_device_job *job, const tilek_persistent *variant,
                                      const tilek_buffer *partials, int64_t *nanoseconds, tilek_message *why)
{
    const tilek_place *place = &job->device_arrays.place;
    tilek_persistence *persistence = &job->persistence;
    const tilek_geometry *geometry = &job->run.planned[variant->launch].geometry;
    const int64_t columns = tilek_columns(&job->run.launches[variant->launch], persistence->lower, persistence->upper);
    const void *values[TILEK_MOST_PERSISTENT_VALUES];
    int count;
    tilek_status status = tilek_bring_boxes(persistence->flags, job->queue, persistence->boxes, persistence->box_count,
                                            why);
    if (status != TILEK_OK) return status;
    for (int index = 0; index < TILEK_MOST_PERSISTENT_VALUES; ++index) values[index] = &persistence->values[index];
    count = marshal(job, variant->entry, geometry, partials, values);
    status = place->backend->run_resident(place->device, job->queue, job->built->entries[variant->entry], count,
                                          job->arguments, tilek_minimum(columns, variant->resident),
                                          &geometry->axes[TILEK_AXIS_WORKER], nanoseconds, why);
    persistence->flags->base += persistence->last - persistence->first + 1;
    persistence->used = 1;
    return count_launch(job, status, nanoseconds, why);
}

void tilek_job_end(tilek_device_job *job)
{
    tilek_buffer *partial = job->partials;
    for (int launch = 0; launch < job->variant.launch_count && job->block != NULL; ++launch)
        for (int index = 0; index < job->variant.launches[launch].reduction_count; ++index)
            tilek_give_buffer(&job->device_arrays.place, partial++);
    tilek_give_flags(job->persistence.flags);
    free(job->persistence.boxes);
    free(job->gathered);
    free(job->block);
}
