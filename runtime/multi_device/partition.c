/* partition.c: a call on several devices alike. Each has memory for those rows of the arrays that its iterations touch: who holds the newest values of a row is
 * kept in a table (row_ownership.h), rows that a device lacks are brought before its iterations that touch them, and results go home at the end.
 *
 * Of a launch that lacks rows, the iterations that lack none run while these are on their way; those at the borders of the blocks come behind. */
#define _POSIX_C_SOURCE 200809L
#include "multi_device/partition.h"

#include "base/environment.h"
#include "multi_device/partitioned_call.h"

#include <stdlib.h>
#include <string.h>

/* ---- Results ----------------------------------------------------------------------------------------------------- */

/* Brings the rows of an array that the host does not hold, into memory laid out as its section. */
static tilek_status fetch(const tilek_divided *divided, int index, char *memory, tilek_message *why)
{
    const tilek_divided_array *array = &divided->arrays[index];
    int64_t end;
    for (int64_t row = array->all.first; row < array->all.end; row = end) {
        const uint64_t holders = tilek_held_at(&array->held, row, &end);
        const size_t begin = tilek_row_offset(divided, index, row), bytes = tilek_row_offset(divided, index, end) - begin;
        const int from = (holders & TILEK_HOST_HOLDS) != 0 || holders == 0 ? -1 : tilek_device_among(holders);
        const tilek_status status = from < 0 ? TILEK_OK
                                             : tilek_copy_out(&divided->jobs[from].residence.place, &divided->copies[from][index].buffer,
                                                              tilek_offset_in_copy(divided, from, index, row), memory + begin, bytes, why);
        if (status != TILEK_OK) return status;
    }
    return TILEK_OK;
}

/* Without failing: the rows that came. */
static void settle(tilek_divided *divided, int index)
{
    const tilek_divided_array *array = &divided->arrays[index];
    int64_t end;
    for (int64_t row = array->all.first; row < array->all.end; row = end) {
        const uint64_t holders = tilek_held_at(&array->held, row, &end);
        const size_t begin = tilek_row_offset(divided, index, row), bytes = tilek_row_offset(divided, index, end) - begin;
        if ((holders & TILEK_HOST_HOLDS) == 0 && holders != 0) memcpy(array->span.start + begin, array->staging + begin, bytes);
    }
}

/* All results arrive in memory of their own before the first of the host's values changes. */
static tilek_status take_home(tilek_divided *divided, tilek_message *why)
{
    const int count = divided->state->kernel->array_count;
    tilek_status status = TILEK_OK;
    for (int index = 0; index < count && status == TILEK_OK; ++index) {
        tilek_divided_array *array = &divided->arrays[index];
        if (!array->goes_home || !array->is_touched || array->span.bytes == 0) continue;
        array->staging = malloc(array->span.bytes);
        status = array->staging != NULL ? fetch(divided, index, array->staging, why) : tilek_no_memory(why);
    }
    for (int index = 0; index < count && status == TILEK_OK; ++index)
        if (divided->arrays[index].staging != NULL) settle(divided, index);
    return status;
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */

/* Devices like that of `place`, in their order; their number. */
static int devices_like(const tilek_place *place, tilek_device *devices[TILEK_MOST_DIVIDED])
{
    const tilek_limits *limits = place->backend->limits(place->device);
    tilek_message unused;
    int count = 0;
    if (tilek_get_settings()->device >= 0) return 0; /* TILEK_DEVICE is one */
    for (int64_t number = 0; count < TILEK_MOST_DIVIDED; ++number) {
        tilek_device *one;
        const tilek_limits *own;
        if (place->backend->open(number, NULL, &one, &unused) != TILEK_OK) break;
        own = place->backend->limits(one);
        if (strcmp(own->name, limits->name) == 0 && strcmp(own->driver, limits->driver) == 0 && own->compute_units == limits->compute_units) devices[count++] = one;
    }
    return count;
}

static void measure_rows(tilek_divided *divided, int index, int rank)
{
    const tilek_array_shape *shape = &divided->state->kernel->arrays[index];
    const tilek_array *given = &divided->call->arrays[index];
    tilek_divided_array *array = &divided->arrays[index];
    const int64_t begin = (int64_t)((intptr_t)((uintptr_t)array->span.start - (uintptr_t)given->base));
    array->is_touched = 1;
    array->pitch = shape->element_size;
    for (int dimension = 1; dimension < rank && shape->storage != TILEK_SCALAR; ++dimension) array->pitch *= (size_t)given->extent[dimension];
    if (array->pitch == 0 || array->span.bytes == 0) return;
    array->all.first = tilek_floor_quotient(begin, (int64_t)array->pitch);
    array->all.end = tilek_ceiling_quotient(begin + (int64_t)array->span.bytes, (int64_t)array->pitch);
}

/* Takes the arrays' measures. 0: rows of pointers, arrays of unknown extent, or arrays that share memory. */
static int measure(tilek_divided *divided, tilek_status *status, tilek_message *why)
{
    const tilek_kernel *kernel = divided->state->kernel;
    for (int index = 0; index < kernel->array_count; ++index) {
        if (kernel->arrays[index].storage == TILEK_ROWS || (kernel->arrays[index].flags & TILEK_POSSIBLE_EXTENT) != 0) return 0;
        *status = tilek_span_of(&kernel->arrays[index], &divided->call->arrays[index], &divided->arrays[index].span, why);
        if (*status != TILEK_OK) return 1;
        for (int other = 0; other < index; ++other)
            if (((kernel->arrays[index].flags | kernel->arrays[other].flags) & TILEK_WRITES) != 0 &&
                tilek_spans_meet(&divided->arrays[index].span, &divided->arrays[other].span))
                return 0;
    }
    for (int launch = 0; launch < kernel->device_launch_count; ++launch)
        for (int index = 0; index < divided->divisions[launch].use_count; ++index) {
            const tilek_row_use *use = &divided->divisions[launch].uses[index];
            measure_rows(divided, use->array, use->rank);
        }
    return 1;
}

/* Who holds what before the first launch: the host all that has values. */
static tilek_status note_owners(tilek_divided *divided, tilek_message *why)
{
    const tilek_kernel *kernel = divided->state->kernel;
    for (int index = 0; index < kernel->array_count; ++index) {
        const tilek_array_shape *shape = &kernel->arrays[index];
        tilek_divided_array *array = &divided->arrays[index];
        tilek_present *present = NULL;
        const int is_present = tilek_present_pin(shape, &divided->call->arrays[index], &array->span, &present) == TILEK_INSIDE;
        int has_values;
        if (is_present) tilek_present_unpin(present);
        if (!is_present && (shape->flags & TILEK_MUST_BE_PRESENT) != 0 && !tilek_present_has(shape, &divided->call->arrays[index], why)) return TILEK_INVALID;
        array->goes_home = (shape->flags & TILEK_WRITES) != 0 && (shape->flags & TILEK_TEMPORARY) == 0 && (is_present || (shape->flags & TILEK_COPY_OUT) != 0);
        has_values = (shape->flags & TILEK_TEMPORARY) == 0 && (is_present || (shape->flags & TILEK_COPY_IN) != 0 || (array->goes_home && !array->span.is_dense));
        if (!tilek_held_start(&array->held, array->all.first, array->all.end, has_values ? TILEK_HOST_HOLDS : 0)) return tilek_no_memory(why);
    }
    return TILEK_OK;
}

/* A copy is of all rows between the first and the last that the device touches. */
static void add_rows(tilek_divided *divided, int device, const tilek_row_use *use, const tilek_bounds *bounds, tilek_stretch part)
{
    tilek_row_range *has = &divided->copies[device][use->array].has;
    const tilek_row_range added = tilek_rows_of(divided, use, bounds, part);
    if (added.first >= added.end) return;
    if (has->first >= has->end) *has = added;
    has->first = tilek_minimum(has->first, added.first);
    has->end = tilek_maximum(has->end, added.end);
}

/* In rehearsal: what the devices touch of all arrays in the launches that are divided. */
static tilek_status note_rows(tilek_run *run, int launch, tilek_message *why)
{
    const tilek_device_job *job = run->context;
    tilek_divided *divided = job->owner;
    tilek_dealing deal;
    (void)why;
    if (divided->divisions[launch].loop < 0) return TILEK_OK;
    tilek_deal_out(divided, launch, &run->planned[launch], &deal);
    for (int device = 0; device < divided->device_count; ++device)
        for (int index = 0; index < deal.division->use_count; ++index) add_rows(divided, device, &deal.division->uses[index], deal.bounds, deal.parts[device]);
    return TILEK_OK;
}

/* The others run on the device that has the first row that they write, and which has all that they touch then. */
static void place_alone(tilek_divided *divided, int launch)
{
    const tilek_division *division = &divided->divisions[launch];
    const tilek_stretch once = {0, 1};
    for (int index = 0; index < division->use_count; ++index) {
        const tilek_row_use *use = &division->uses[index];
        const tilek_row_range written = tilek_rows_of(divided, use, NULL, once);
        for (int device = 0; device < divided->device_count && (use->access & TILEK_WRITES) != 0; ++device) {
            const tilek_row_range has = divided->copies[device][use->array].has;
            if (has.first <= written.first && written.first < has.end) divided->alone[launch] = device;
        }
    }
    for (int index = 0; index < division->use_count; ++index) add_rows(divided, divided->alone[launch], &division->uses[index], NULL, once);
}

static tilek_status plan_copies(tilek_divided *divided, tilek_message *why)
{
    tilek_run *run = &divided->jobs[0].run;
    tilek_status status;
    run->decided = note_rows;
    status = tilek_rehearse(run, why);
    run->decided = NULL; /* what is constant was looked at in every job's own rehearsal */
    for (int launch = 0; launch < run->launch_count && status == TILEK_OK; ++launch)
        if (divided->divisions[launch].loop < 0) place_alone(divided, launch);
    return status;
}

static tilek_status take_copies(tilek_divided *divided, int device, tilek_message *why)
{
    tilek_residence *residence = &divided->jobs[device].residence;
    const tilek_kernel *kernel = divided->state->kernel;
    tilek_status status = TILEK_OK;
    for (int index = 0; index < kernel->array_count && status == TILEK_OK; ++index) {
        const tilek_divided_array *array = &divided->arrays[index];
        tilek_divided_copy *copy = &divided->copies[device][index];
        const size_t begin = tilek_row_offset(divided, index, copy->has.first), bytes = tilek_row_offset(divided, index, copy->has.end) - begin;
        const intptr_t distance = (intptr_t)((uintptr_t)array->span.start + begin - (uintptr_t)divided->call->arrays[index].base);
        residence->arrays[index].origin = (int64_t)(distance / (intptr_t)kernel->arrays[index].element_size);
        if (bytes == 0) continue;
        status = tilek_take_buffer(&residence->place, bytes, &copy->buffer, why);
        residence->arrays[index].buffer = &copy->buffer;
    }
    return status;
}

static tilek_status start_job(tilek_divided *divided, tilek_device *device, const tilek_place *like, tilek_message *why)
{
    const tilek_kernel *kernel = divided->state->kernel;
    const tilek_form form = {0, kernel->device_launch_count, 0, NULL, 0, kernel->device_launches, kernel->device_loops, kernel->device_steps,
                             like->target == TILEK_CUDA ? kernel->cuda : kernel->opencl};
    const int number = divided->job_count;
    tilek_device_job *job = &divided->jobs[number];
    tilek_place place = *like;
    tilek_status status;
    place.device = device;
    place.queue = divided->queue;
    status = tilek_job_start(job, divided->state, &form, &place, why);
    ++divided->job_count;
    if (status != TILEK_OK) return status;
    job->residence.kernel = kernel;
    job->residence.form = &job->form;
    job->residence.call = divided->call;
    job->residence.arrays = calloc((size_t)kernel->array_count + 1, sizeof *job->residence.arrays);
    if (job->residence.arrays == NULL) return tilek_no_memory(why);
    for (int index = 0; index < kernel->array_count; ++index) {
        job->residence.arrays[index].span = divided->arrays[index].span;
        job->residence.arrays[index].temporary = -1;
        job->residence.arrays[index].geometry = &divided->call->arrays[index];
    }
    status = tilek_job_take_call(job, divided->call, why);
    if (status == TILEK_OK) status = tilek_job_prepare(job, why);
    job->owner = divided;
    return status;
}

/* With the bases of this call. */
static void copy_divisions(tilek_divided *divided)
{
    const tilek_kernel *kernel = divided->state->kernel;
    tilek_row_use *use = divided->uses;
    for (int launch = 0; launch < kernel->device_launch_count; ++launch) {
        divided->divisions[launch] = kernel->divisions[launch];
        divided->divisions[launch].uses = use;
        for (int index = 0; index < kernel->divisions[launch].use_count; ++index, ++use) {
            *use = kernel->divisions[launch].uses[index];
            if (use->base == 0) continue;
            use->least = tilek_bounded_sum(use->least, divided->call->row_bases[use->base - 1]);
            use->greatest = tilek_bounded_sum(use->greatest, divided->call->row_bases[use->base - 1]);
        }
    }
}

static tilek_status make_room(tilek_divided *divided, tilek_message *why)
{
    const tilek_kernel *kernel = divided->state->kernel;
    const size_t devices = (size_t)divided->device_count, arrays = (size_t)kernel->array_count + 1, launches = (size_t)kernel->device_launch_count;
    size_t most = 1, uses = 1;
    for (int launch = 0; launch < kernel->device_launch_count; ++launch) {
        size_t tiles = 0;
        for (int index = 0; index < kernel->device_launches[launch].loop_count; ++index) tiles += (size_t)kernel->device_launches[launch].loops[index].tile_count;
        if (tiles > most) most = tiles;
        uses += (size_t)kernel->divisions[launch].use_count;
    }
    divided->divisions = calloc(launches, sizeof *divided->divisions);
    divided->uses = calloc(uses, sizeof *divided->uses);
    divided->jobs = calloc(devices, sizeof *divided->jobs);
    divided->arrays = calloc(arrays, sizeof *divided->arrays);
    divided->tiles = calloc(most, sizeof *divided->tiles);
    divided->copies = calloc(devices, sizeof *divided->copies);
    divided->alone = calloc(launches, sizeof *divided->alone);
    if (divided->divisions == NULL || divided->uses == NULL || divided->jobs == NULL || divided->arrays == NULL || divided->tiles == NULL || divided->copies == NULL || divided->alone == NULL) return tilek_no_memory(why);
    for (size_t device = 0; device < devices; ++device)
        if ((divided->copies[device] = calloc(arrays, sizeof **divided->copies)) == NULL) return tilek_no_memory(why);
    copy_divisions(divided);
    return TILEK_OK;
}

static void clean_up(tilek_divided *divided)
{
    const int count = divided->state->kernel->array_count;
    for (int device = 0; device < divided->job_count; ++device) {
        for (int index = count - 1; index >= 0; --index) tilek_give_buffer(&divided->jobs[device].residence.place, &divided->copies[device][index].buffer);
        free(divided->jobs[device].residence.arrays);
        tilek_job_end(&divided->jobs[device]);
    }
    for (int device = 0; device < divided->device_count && divided->copies != NULL; ++device) free(divided->copies[device]);
    for (int index = 0; index < count && divided->arrays != NULL; ++index) {
        tilek_held_free(&divided->arrays[index].held);
        free(divided->arrays[index].staging);
    }
    free(divided->passing);
    free(divided->moves);
    free(divided->copies);
    free(divided->alone);
    free(divided->tiles);
    free(divided->uses);
    free(divided->divisions);
    free(divided->arrays);
    free(divided->jobs);
}

static tilek_status run_all(tilek_divided *divided, tilek_device *const devices[], const tilek_place *place, tilek_message *why)
{
    tilek_message unused;
    tilek_status status = tilek_host_begins(divided->state->kernel, divided->state, divided->call, why); /* what is present: the newest values come to the host */
    if (status == TILEK_OK) status = note_owners(divided, why);
    for (int device = 0; device < divided->device_count && status == TILEK_OK; ++device) status = start_job(divided, devices[device], place, why);
    if (status != TILEK_OK || tilek_run_is_empty(&divided->jobs[0].run)) return status;
    status = plan_copies(divided, why);
    for (int device = 0; device < divided->device_count && status == TILEK_OK; ++device) status = take_copies(divided, device, why);
    if (status != TILEK_OK) return status;
    status = tilek_perform(&divided->jobs[0].run, tilek_perform_divided, why);
    if (status == TILEK_OK) status = tilek_wait_for_divided(divided, why);
    else (void)tilek_wait_for_divided(divided, &unused);
    if (status == TILEK_OK) status = take_home(divided, why);
    if (status == TILEK_OK) tilek_host_ended(divided->state->kernel, divided->call);
    return status;
}

int tilek_run_divided(const tilek_place *place, const tilek_call *call, tilek_status *status, tilek_message *why)
{
    tilek_device *devices[TILEK_MOST_DIVIDED];
    tilek_divided divided = {.state = place->state, .call = call, .queue = place->queue != 0 ? place->queue : TILEK_DEVICE_QUEUES - 1};
    int is_divided = 0;
    if (place->state->kernel->divisions == NULL) return 0;
    divided.device_count = devices_like(place, devices);
    if (divided.device_count < 2) return 0;
    *status = make_room(&divided, why);
    if (*status == TILEK_OK) is_divided = measure(&divided, status, why);
    if (*status == TILEK_OK && is_divided) *status = run_all(&divided, devices, place, why);
    clean_up(&divided);
    return is_divided || *status != TILEK_OK;
}
