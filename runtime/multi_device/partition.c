/* partition.c: a call on several devices alike. Each has memory for those rows of the arrays that
 * its iterations touch: who owns the newest values of a row is kept in a table (row_ownership.h),
 * rows that a device lacks are brought before its iterations that touch them, and results go home
 * at the end.
 *
 * Of a launch that lacks rows, the iterations that lack none run while these are on their way;
 * those at the borders of the blocks come behind. */
#define _POSIX_C_SOURCE 200809L
#include "multi_device/partition.h"

#include "base/environment.h"
#include "multi_device/partitioned_call.h"

#include <stdlib.h>
#include <string.h>

/* ---- Results --------------------------------------------------------------------------------- */

/* Brings the rows of an array that the host does not own, into memory laid out as its section. */
static tilek_status fetch(const tilek_partition *partition, int index, char *memory, tilek_message *why)
{
    const tilek_partitioned_array *array = &partition->arrays[index];
    int64_t end;
    for (int64_t row = array->all.first; row < array->all.end; row = end) {
        const uint64_t owners = tilek_owners_at(&array->ownership, row, &end);
        const size_t begin = tilek_row_offset(partition, index, row),
                     bytes = tilek_row_offset(partition, index, end) - begin;
        const int from = (owners & TILEK_HOST_OWNS) != 0 || owners == 0 ? -1 : tilek_device_among(owners);
        const tilek_status status = from < 0 ? TILEK_OK
                                             : tilek_copy_out(&partition->jobs[from].device_arrays.place,
                                                              &partition->copies[from][index].buffer,
                                                              tilek_offset_in_copy(partition, from, index, row),
                                                              memory + begin, bytes, why);
        if (status != TILEK_OK) return status;
    }
    return TILEK_OK;
}

/* Without failing: the rows that came. */
static void settle(tilek_partition *partition, int index)
{
    const tilek_partitioned_array *array = &partition->arrays[index];
    int64_t end;
    for (int64_t row = array->all.first; row < array->all.end; row = end) {
        const uint64_t owners = tilek_owners_at(&array->ownership, row, &end);
        const size_t begin = tilek_row_offset(partition, index, row),
                     bytes = tilek_row_offset(partition, index, end) - begin;
        if ((owners & TILEK_HOST_OWNS) == 0 && owners != 0)
            memcpy(array->section.start + begin, array->staging + begin, bytes);
    }
}

/* All results arrive in memory of their own before the first of the host's values changes. */
static tilek_status take_home(tilek_partition *partition, tilek_message *why)
{
    const int count = partition->state->kernel->array_count;
    tilek_status status = TILEK_OK;
    for (int index = 0; index < count && status == TILEK_OK; ++index) {
        tilek_partitioned_array *array = &partition->arrays[index];
        if (!array->goes_home || !array->is_touched || array->section.bytes == 0) continue;
        array->staging = malloc(array->section.bytes);
        status = array->staging != NULL ? fetch(partition, index, array->staging, why) : tilek_no_memory(why);
    }
    for (int index = 0; index < count && status == TILEK_OK; ++index)
        if (partition->arrays[index].staging != NULL) settle(partition, index);
    return status;
}

/* ---- The call -------------------------------------------------------------------------------- */

/* Devices like that of `place`, in their order; their number. */
static int devices_like(const tilek_place *place, tilek_device *devices[TILEK_MOST_PARTITIONS])
{
    const tilek_limits *limits = place->backend->limits(place->device);
    tilek_message unused;
    int count = 0;
    if (tilek_get_settings()->device >= 0) return 0; /* TILEK_DEVICE is one */
    for (int64_t number = 0; count < TILEK_MOST_PARTITIONS; ++number) {
        tilek_device *candidate;
        const tilek_limits *its_limits;
        if (place->backend->open(number, NULL, &candidate, &unused) != TILEK_OK) break;
        its_limits = place->backend->limits(candidate);
        if (strcmp(its_limits->name, limits->name) == 0 && strcmp(its_limits->driver, limits->driver) == 0 &&
            its_limits->compute_units == limits->compute_units)
            devices[count++] = candidate;
    }
    return count;
}

static void measure_rows(tilek_partition *partition, int index, int rank)
{
    const tilek_array_shape *shape = &partition->state->kernel->arrays[index];
    const tilek_array *given = &partition->call->arrays[index];
    tilek_partitioned_array *array = &partition->arrays[index];
    const int64_t begin = (int64_t)((intptr_t)((uintptr_t)array->section.start - (uintptr_t)given->base));
    array->is_touched = 1;
    array->pitch = shape->element_size;
    for (int dimension = 1; dimension < rank && shape->storage != TILEK_SCALAR; ++dimension)
        array->pitch *= (size_t)given->extent[dimension];
    if (array->pitch == 0 || array->section.bytes == 0) return;
    array->all.first = tilek_floor_quotient(begin, (int64_t)array->pitch);
    array->all.end = tilek_ceiling_quotient(begin + (int64_t)array->section.bytes, (int64_t)array->pitch);
}

/* Takes the arrays' measures. 0: rows of pointers, arrays of unknown extent, or arrays that share
 * memory. */
static int measure(tilek_partition *partition, tilek_status *status, tilek_message *why)
{
    const tilek_kernel *kernel = partition->state->kernel;
    for (int index = 0; index < kernel->array_count; ++index) {
        if (kernel->arrays[index].storage == TILEK_ROWS || (kernel->arrays[index].flags & TILEK_POSSIBLE_EXTENT) != 0)
            return 0;
        *status = tilek_section_of(&kernel->arrays[index], &partition->call->arrays[index],
                                   &partition->arrays[index].section, why);
        if (*status != TILEK_OK) return 1;
        for (int other = 0; other < index; ++other)
            if (((kernel->arrays[index].flags | kernel->arrays[other].flags) & TILEK_WRITES) != 0 &&
                tilek_sections_meet(&partition->arrays[index].section, &partition->arrays[other].section))
                return 0;
    }
    for (int launch = 0; launch < kernel->device_launch_count; ++launch)
        for (int index = 0; index < partition->divisions[launch].use_count; ++index) {
            const tilek_row_use *use = &partition->divisions[launch].uses[index];
            measure_rows(partition, use->array, use->rank);
        }
    return 1;
}

/* Who owns what before the first launch: the host all that has values. */
static tilek_status note_owners(tilek_partition *partition, tilek_message *why)
{
    const tilek_kernel *kernel = partition->state->kernel;
    for (int index = 0; index < kernel->array_count; ++index) {
        const tilek_array_shape *shape = &kernel->arrays[index];
        tilek_partitioned_array *array = &partition->arrays[index];
        tilek_present_entry *present = NULL;
        const int is_present = tilek_present_pin(shape, &partition->call->arrays[index], &array->section, &present) ==
                               TILEK_INSIDE;
        int has_values;
        if (is_present) tilek_present_unpin(present);
        if (!is_present && (shape->flags & TILEK_MUST_BE_PRESENT) != 0 &&
            !tilek_present_has(shape, &partition->call->arrays[index], why))
            return TILEK_INVALID;
        array->goes_home = (shape->flags & TILEK_WRITES) != 0 && (shape->flags & TILEK_TEMPORARY) == 0 &&
                           (is_present || (shape->flags & TILEK_COPY_OUT) != 0);
        has_values = (shape->flags & TILEK_TEMPORARY) == 0 && (is_present || (shape->flags & TILEK_COPY_IN) != 0 ||
                                                               (array->goes_home && !array->section.is_dense));
        if (!tilek_ownership_start(&array->ownership, array->all.first, array->all.end,
                                   has_values ? TILEK_HOST_OWNS : 0))
            return tilek_no_memory(why);
    }
    return TILEK_OK;
}

/* A copy is of all rows between the first and the last that the device touches. */
static void add_rows(tilek_partition *partition, int device, const tilek_row_use *use, const tilek_bounds *bounds,
                     tilek_iterations part)
{
    tilek_row_range *has = &partition->copies[device][use->array].has;
    const tilek_row_range added = tilek_rows_of(partition, use, bounds, part);
    if (added.first >= added.end) return;
    if (has->first >= has->end) *has = added;
    has->first = tilek_minimum(has->first, added.first);
    has->end = tilek_maximum(has->end, added.end);
}

/* In rehearsal: what the devices touch of all arrays in the launches that are partitioned. */
static tilek_status note_rows(tilek_run *run, int launch, tilek_message *why)
{
    const tilek_device_job *job = run->context;
    tilek_partition *partition = job->owner;
    tilek_distribution distribution;
    (void)why;
    if (partition->divisions[launch].loop < 0) return TILEK_OK;
    tilek_distribute(partition, launch, &run->planned[launch], &distribution);
    for (int device = 0; device < partition->device_count; ++device)
        for (int index = 0; index < distribution.division->use_count; ++index)
            add_rows(partition, device, &distribution.division->uses[index], distribution.bounds,
                     distribution.parts[device]);
    return TILEK_OK;
}

/* The others run on the device that has the first row that they write, and which has all that they
 * touch then. */
static void place_alone(tilek_partition *partition, int launch)
{
    const tilek_division *division = &partition->divisions[launch];
    const tilek_iterations once = {0, 1};
    for (int index = 0; index < division->use_count; ++index) {
        const tilek_row_use *use = &division->uses[index];
        const tilek_row_range written = tilek_rows_of(partition, use, NULL, once);
        for (int device = 0; device < partition->device_count && (use->access & TILEK_WRITES) != 0; ++device) {
            const tilek_row_range has = partition->copies[device][use->array].has;
            if (has.first <= written.first && written.first < has.end) partition->alone[launch] = device;
        }
    }
    for (int index = 0; index < division->use_count; ++index)
        add_rows(partition, partition->alone[launch], &division->uses[index], NULL, once);
}

static tilek_status plan_copies(tilek_partition *partition, tilek_message *why)
{
    tilek_run *run = &partition->jobs[0].run;
    tilek_status status;
    run->decided = note_rows;
    status = tilek_rehearse(run, why);
    run->decided = NULL; /* what is constant was looked at in every job's own rehearsal */
    for (int launch = 0; launch < run->launch_count && status == TILEK_OK; ++launch)
        if (partition->divisions[launch].loop < 0) place_alone(partition, launch);
    return status;
}

static tilek_status take_copies(tilek_partition *partition, int device, tilek_message *why)
{
    tilek_device_arrays *device_arrays = &partition->jobs[device].device_arrays;
    const tilek_kernel *kernel = partition->state->kernel;
    tilek_status status = TILEK_OK;
    for (int index = 0; index < kernel->array_count && status == TILEK_OK; ++index) {
        const tilek_partitioned_array *array = &partition->arrays[index];
        tilek_partition_copy *copy = &partition->copies[device][index];
        const size_t begin = tilek_row_offset(partition, index, copy->has.first),
                     bytes = tilek_row_offset(partition, index, copy->has.end) - begin;
        const intptr_t distance = (intptr_t)((uintptr_t)array->section.start + begin -
                                             (uintptr_t)partition->call->arrays[index].base);
        device_arrays->arrays[index].origin = (int64_t)(distance / (intptr_t)kernel->arrays[index].element_size);
        if (bytes == 0) continue;
        status = tilek_take_buffer(&device_arrays->place, bytes, &copy->buffer, why);
        device_arrays->arrays[index].buffer = &copy->buffer;
    }
    return status;
}

static tilek_status start_job(tilek_partition *partition, tilek_device *device, const tilek_place *like,
                              tilek_message *why)
{
    const tilek_kernel *kernel = partition->state->kernel;
    const tilek_variant variant = {TILEK_SIDE_DEVICE,
                                   kernel->device_launch_count,
                                   0,
                                   NULL,
                                   0,
                                   kernel->device_launches,
                                   kernel->device_loops,
                                   kernel->device_steps,
                                   like->target == TILEK_CUDA ? kernel->cuda : kernel->opencl};
    const int number = partition->job_count;
    tilek_device_job *job = &partition->jobs[number];
    tilek_place place = *like;
    tilek_status status;
    place.device = device;
    place.queue = partition->queue;
    status = tilek_job_start(job, partition->state, &variant, &place, why);
    ++partition->job_count;
    if (status != TILEK_OK) return status;
    job->device_arrays.kernel = kernel;
    job->device_arrays.variant = &job->variant;
    job->device_arrays.call = partition->call;
    job->device_arrays.arrays = calloc((size_t)kernel->array_count + 1, sizeof *job->device_arrays.arrays);
    if (job->device_arrays.arrays == NULL) return tilek_no_memory(why);
    for (int index = 0; index < kernel->array_count; ++index) {
        job->device_arrays.arrays[index].section = partition->arrays[index].section;
        job->device_arrays.arrays[index].temporary = -1;
        job->device_arrays.arrays[index].geometry = &partition->call->arrays[index];
    }
    status = tilek_job_take_call(job, partition->call, why);
    if (status == TILEK_OK) status = tilek_job_prepare(job, why);
    job->owner = partition;
    return status;
}

/* With the bases of this call. */
static void copy_divisions(tilek_partition *partition)
{
    const tilek_kernel *kernel = partition->state->kernel;
    tilek_row_use *use = partition->uses;
    for (int launch = 0; launch < kernel->device_launch_count; ++launch) {
        partition->divisions[launch] = kernel->divisions[launch];
        partition->divisions[launch].uses = use;
        for (int index = 0; index < kernel->divisions[launch].use_count; ++index, ++use) {
            *use = kernel->divisions[launch].uses[index];
            if (use->base == 0) continue;
            use->least = tilek_bounded_sum(use->least, partition->call->row_bases[use->base - 1]);
            use->greatest = tilek_bounded_sum(use->greatest, partition->call->row_bases[use->base - 1]);
        }
    }
}

static tilek_status make_room(tilek_partition *partition, tilek_message *why)
{
    const tilek_kernel *kernel = partition->state->kernel;
    const size_t devices = (size_t)partition->device_count, arrays = (size_t)kernel->array_count + 1,
                 launches = (size_t)kernel->device_launch_count;
    size_t most = 1, uses = 1;
    for (int launch = 0; launch < kernel->device_launch_count; ++launch) {
        size_t tiles = 0;
        for (int index = 0; index < kernel->device_launches[launch].loop_count; ++index)
            tiles += (size_t)kernel->device_launches[launch].loops[index].tile_count;
        if (tiles > most) most = tiles;
        uses += (size_t)kernel->divisions[launch].use_count;
    }
    partition->divisions = calloc(launches, sizeof *partition->divisions);
    partition->uses = calloc(uses, sizeof *partition->uses);
    partition->jobs = calloc(devices, sizeof *partition->jobs);
    partition->arrays = calloc(arrays, sizeof *partition->arrays);
    partition->tiles = calloc(most, sizeof *partition->tiles);
    partition->copies = calloc(devices, sizeof *partition->copies);
    partition->alone = calloc(launches, sizeof *partition->alone);
    if (partition->divisions == NULL || partition->uses == NULL || partition->jobs == NULL ||
        partition->arrays == NULL || partition->tiles == NULL || partition->copies == NULL || partition->alone == NULL)
        return tilek_no_memory(why);
    for (size_t device = 0; device < devices; ++device)
        if ((partition->copies[device] = calloc(arrays, sizeof **partition->copies)) == NULL)
            return tilek_no_memory(why);
    copy_divisions(partition);
    return TILEK_OK;
}

static void clean_up(tilek_partition *partition)
{
    const int count = partition->state->kernel->array_count;
    for (int device = 0; device < partition->job_count; ++device) {
        for (int index = count - 1; index >= 0; --index)
            tilek_give_buffer(&partition->jobs[device].device_arrays.place, &partition->copies[device][index].buffer);
        free(partition->jobs[device].device_arrays.arrays);
        tilek_job_end(&partition->jobs[device]);
    }
    for (int device = 0; device < partition->device_count && partition->copies != NULL; ++device)
        free(partition->copies[device]);
    for (int index = 0; index < count && partition->arrays != NULL; ++index) {
        tilek_ownership_free(&partition->arrays[index].ownership);
        free(partition->arrays[index].staging);
    }
    free(partition->passing);
    free(partition->moves);
    free(partition->copies);
    free(partition->alone);
    free(partition->tiles);
    free(partition->uses);
    free(partition->divisions);
    free(partition->arrays);
    free(partition->jobs);
}

static tilek_status run_all(tilek_partition *partition, tilek_device *const devices[], const tilek_place *place,
                            tilek_message *why)
{
    tilek_message unused;
    /* what is present: the newest values come to the host */
    tilek_status status = tilek_host_begins(partition->state->kernel, partition->state, partition->call, why);
    if (status == TILEK_OK) status = note_owners(partition, why);
    for (int device = 0; device < partition->device_count && status == TILEK_OK; ++device)
        status = start_job(partition, devices[device], place, why);
    if (status != TILEK_OK || tilek_run_is_empty(&partition->jobs[0].run)) return status;
    status = plan_copies(partition, why);
    for (int device = 0; device < partition->device_count && status == TILEK_OK; ++device)
        status = take_copies(partition, device, why);
    if (status != TILEK_OK) return status;
    status = tilek_perform(&partition->jobs[0].run, tilek_perform_partitioned, why);
    if (status == TILEK_OK) status = tilek_wait_for_partitions(partition, why);
    else (void)tilek_wait_for_partitions(partition, &unused);
    if (status == TILEK_OK) status = take_home(partition, why);
    if (status == TILEK_OK) tilek_host_ended(partition->state->kernel, partition->call);
    return status;
}

int tilek_run_partitioned(const tilek_place *place, const tilek_call *call, tilek_status *status, tilek_message *why)
{
    tilek_device *devices[TILEK_MOST_PARTITIONS];
    tilek_partition partition = {.state = place->state,
                                 .call = call,
                                 .queue = place->queue != 0 ? place->queue : TILEK_DEVICE_QUEUES - 1};
    int is_divided = 0;
    if (place->state->kernel->divisions == NULL) return 0;
    partition.device_count = devices_like(place, devices);
    if (partition.device_count < 2) return 0;
    *status = make_room(&partition, why);
    if (*status == TILEK_OK) is_divided = measure(&partition, status, why);
    if (*status == TILEK_OK && is_divided) *status = run_all(&partition, devices, place, why);
    clean_up(&partition);
    return is_divided || *status != TILEK_OK;
}
