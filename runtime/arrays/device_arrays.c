/* device_arrays.c: a call's arrays on a device, for the time of the call. */
#define _POSIX_C_SOURCE 200809L
#include "arrays/device_arrays.h"

#include "base/message.h"
#include "base/shared_constants.h"

#include <stdlib.h>
#include <string.h>

/* Arrays that the kernel both needs and writes arrive in memory of their own first, so that a
 * device that fails half-way leaves them as they were. Beyond these sizes, all together and for a
 * single one, that would cost more time than it is worth: see probe. */
static const size_t MOST_STAGED = (size_t)64 << 20, MOST_STAGED_ALONE = (size_t)4 << 20;
enum { PROBED = 64 };

static int is_reduced(const tilek_variant *variant, int array)
{
    for (int launch = 0; launch < variant->launch_count; ++launch)
        for (int index = 0; index < variant->launches[launch].reduction_count; ++index)
            if (variant->launches[launch].reductions[index].array == array) return 1;
    return 0;
}

static void plan_temporary(tilek_device_arrays *device_arrays, int index)
{
    const tilek_array_shape *shape = &device_arrays->kernel->arrays[index];
    tilek_device_array *array = &device_arrays->arrays[index];
    tilek_temporary *temporary = &device_arrays->temporaries[index];
    const int reduced = is_reduced(device_arrays->variant, index);
    const unsigned both = TILEK_WRITES | TILEK_COPY_OUT;
    temporary->section = array->section;
    temporary->array = index;
    temporary->out = reduced || (shape->flags & both) == both;
    temporary->apart = !temporary->out && (shape->flags & (TILEK_WRITES | TILEK_TEMPORARY)) == TILEK_WRITES;
    temporary->in = reduced || (shape->flags & TILEK_COPY_IN) != 0 || (temporary->out && !array->section.is_dense);
    array->temporary = index;
}

/* Joins temporary `other` into `first`: the union of their ranges, copied in, since neither covers
 * the other's part. */
static tilek_status merge(tilek_device_arrays *device_arrays, tilek_temporary *first, tilek_temporary *other,
                          tilek_message *why)
{
    const tilek_array *a = &device_arrays->call->arrays[first->array], *b = &device_arrays->call->arrays[other->array];
    char *const start = (uintptr_t)first->section.start < (uintptr_t)other->section.start ? first->section.start
                                                                                          : other->section.start;
    const uintptr_t first_end = (uintptr_t)first->section.start + first->section.bytes,
                    other_end = (uintptr_t)other->section.start + other->section.bytes;
    if (first->section.is_rows != other->section.is_rows ||
        (first->section.is_rows && (a->base != b->base || memcmp(a->lower, b->lower, sizeof a->lower) != 0 ||
                                    memcmp(a->length, b->length, sizeof a->length) != 0))) {
        tilek_say(why, "%s and %s share memory in different forms", device_arrays->kernel->arrays[first->array].name,
                  device_arrays->kernel->arrays[other->array].name);
        return TILEK_UNSUPPORTED;
    }
    if (!first->section.is_rows) {
        first->section.bytes = first->section.device_bytes = (size_t)((first_end > other_end ? first_end : other_end) -
                                                                      (uintptr_t)start);
        first->section.start = start;
    }
    first->in = 1;
    first->out |= other->out;
    first->apart |= other->apart;
    first->in_place |= other->in_place;
    other->merged = 1;
    for (int index = 0; index < device_arrays->kernel->array_count; ++index)
        if (device_arrays->arrays[index].temporary == (int)(other - device_arrays->temporaries))
            device_arrays->arrays[index].temporary = (int)(first - device_arrays->temporaries);
    return TILEK_OK;
}

/* Whether copies of the two would fall apart: what is only read may have several. */
static int must_be_one(const tilek_device_arrays *device_arrays, const tilek_temporary *a, const tilek_temporary *b)
{
    const tilek_array_shape *shapes = device_arrays->kernel->arrays;
    const unsigned flags = shapes[a->array].flags | shapes[b->array].flags;
    return tilek_sections_meet(&a->section, &b->section) && (a->out || b->out || (flags & TILEK_WRITES) != 0);
}

/* Until no two temporaries share memory: a union may reach a third. */
static tilek_status merge_all(tilek_device_arrays *device_arrays, tilek_message *why)
{
    const int count = device_arrays->kernel->array_count;
    for (int first = 0; first < count; ++first) {
        for (int other = 0; other < count; ++other) {
            tilek_temporary *a = &device_arrays->temporaries[first], *b = &device_arrays->temporaries[other];
            tilek_status status;
            if (other == first || a->merged || b->merged || !must_be_one(device_arrays, a, b)) continue;
            status = merge(device_arrays, a, b, why);
            if (status != TILEK_OK) return status;
            other = -1;
        }
    }
    return TILEK_OK;
}

/* Whether the device's code can reach the array in a copy that begins elsewhere than the array. */
static int takes_origin(const tilek_variant *variant, int array)
{
    for (int launch = 0; launch < variant->launch_count; ++launch)
        for (int index = 0; index < variant->launches[launch].parameter_count; ++index) {
            const tilek_parameter *parameter = &variant->launches[launch].parameters[index];
            if (parameter->kind == TILEK_PARAMETER_ORIGIN && parameter->index == array) return 1;
        }
    return 0;
}

/* Where the copy that serves an array begins. */
static tilek_status place_array(tilek_device_arrays *device_arrays, int index, tilek_message *why)
{
    const tilek_array_shape *shape = &device_arrays->kernel->arrays[index];
    const tilek_array *array = &device_arrays->call->arrays[index];
    tilek_device_array *resident = &device_arrays->arrays[index];
    const tilek_section *section = resident->present != NULL ? tilek_present_section(resident->present)
                                 : resident->temporary >= 0  ? &device_arrays->temporaries[resident->temporary].section
                                                             : &resident->section;
    const intptr_t distance = (intptr_t)((uintptr_t)section->start - (uintptr_t)array->base);
    resident->geometry = resident->present != NULL ? tilek_present_geometry(resident->present) : array;
    if (shape->storage == TILEK_ROWS || section->bytes == 0) return TILEK_OK;
    resident->origin = (int64_t)(distance / (intptr_t)shape->element_size);
    if (resident->origin != 0 && !takes_origin(device_arrays->variant, index)) {
        tilek_say(why, "%s lies inside a larger array that is on the device", shape->name);
        return TILEK_UNSUPPORTED;
    }
    if (distance % (intptr_t)shape->element_size == 0) return TILEK_OK;
    tilek_say(why, "%s shares memory with an array whose elements lie otherwise", shape->name);
    return TILEK_UNSUPPORTED;
}

/* Processors work in the host's memory where they run what the host would run: then their failure
 * half-way is what the host's own would be. Rows are packed. */
static int works_in_place(const tilek_device_arrays *device_arrays, const tilek_temporary *temporary)
{
    const tilek_place *place = &device_arrays->place;
    return tilek_is_hosts(device_arrays->variant) && place->backend->share != NULL &&
           place->backend->limits(place->device)->shares_memory && !temporary->section.is_rows && !temporary->apart &&
           (device_arrays->kernel->arrays[temporary->array].flags & TILEK_UNKNOWN_EXTENT) == 0;
}

static tilek_status refuse_copy(const tilek_array_shape *shape, tilek_message *why)
{
    tilek_say(why, "no copy of %s can be made, since no data clause says its extent", shape->name);
    return TILEK_UNSUPPORTED;
}

/* Whether a launch of the variant touches the array; of temporaries some are for other variants
 * alone. */
static int is_touched(const tilek_variant *variant, int array)
{
    for (int launch = 0; launch < variant->launch_count; ++launch)
        for (int index = 0; index < variant->launches[launch].parameter_count; ++index) {
            const tilek_parameter *parameter = &variant->launches[launch].parameters[index];
            if (parameter->kind == TILEK_PARAMETER_ARRAY && parameter->index == array) return 1;
        }
    return 0;
}

static tilek_status find_array(tilek_device_arrays *device_arrays, int index, tilek_message *why)
{
    const tilek_array_shape *shape = &device_arrays->kernel->arrays[index];
    tilek_device_array *array = &device_arrays->arrays[index];
    const int is_unknown = (shape->flags & TILEK_UNKNOWN_EXTENT) != 0;
    tilek_status status;
    if ((shape->flags & TILEK_TEMPORARY) != 0 && !is_touched(device_arrays->variant, index)) return TILEK_OK;
    status = tilek_section_of(shape, &device_arrays->call->arrays[index], &array->section, why);
    /* what is present there is all of it */
    if (is_unknown && array->section.start != NULL)
        array->section.bytes = array->section.device_bytes = shape->element_size;
    if (status != TILEK_OK || array->section.bytes == 0) return status;
    switch (tilek_present_pin(shape, &device_arrays->call->arrays[index], &array->section, &array->present)) {
    case TILEK_INSIDE:
        if (is_unknown) array->section = *tilek_present_section(array->present);
        return TILEK_OK;
    case TILEK_PARTLY: tilek_say(why, "the section of %s is only partly present", shape->name); return TILEK_INVALID;
    case TILEK_ABSENT: break;
    }
    if ((shape->flags & TILEK_MUST_BE_PRESENT) != 0) {
        tilek_say(why, "%s is not present", shape->name);
        return TILEK_INVALID;
    }
    plan_temporary(device_arrays, index);
    device_arrays->temporaries[index].in_place = (shape->flags & TILEK_POSSIBLE_EXTENT) != 0;
    return device_arrays->temporaries[index].in_place &&
                   !works_in_place(device_arrays, &device_arrays->temporaries[index])
             ? refuse_copy(shape, why)
             : TILEK_OK;
}

tilek_status tilek_place_arrays(tilek_device_arrays *device_arrays, const tilek_kernel *kernel,
                                const tilek_variant *variant, const tilek_call *call, const tilek_place *place,
                                tilek_message *why)
{
    const size_t count = (size_t)kernel->array_count;
    tilek_status status = TILEK_OK;
    memset(device_arrays, 0, sizeof *device_arrays);
    device_arrays->block = calloc(count + 1, sizeof(tilek_device_array) + sizeof(tilek_temporary));
    if (device_arrays->block == NULL) {
        tilek_say(why, "memory is exhausted");
        return TILEK_NO_MEMORY;
    }
    device_arrays->kernel = kernel;
    device_arrays->variant = variant;
    device_arrays->call = call;
    device_arrays->place = *place;
    device_arrays->arrays = device_arrays->block;
    device_arrays->temporaries = (tilek_temporary *)(void *)(device_arrays->arrays + count);
    for (size_t index = 0; index < count; ++index) device_arrays->arrays[index].temporary = -1;
    for (int index = 0; index < kernel->array_count && status == TILEK_OK; ++index)
        status = find_array(device_arrays, index, why);
    if (status == TILEK_OK) status = merge_all(device_arrays, why);
    for (int index = 0; index < kernel->array_count && status == TILEK_OK; ++index)
        status = place_array(device_arrays, index, why);
    return status;
}

static tilek_status fill(tilek_device_arrays *device_arrays, tilek_temporary *temporary, tilek_message *why)
{
    const tilek_array_shape *shape = &device_arrays->kernel->arrays[temporary->array];
    const tilek_array *array = &device_arrays->call->arrays[temporary->array];
    void *source = temporary->section.start;
    tilek_status status;
    temporary->shared = works_in_place(device_arrays, temporary) &&
                        device_arrays->place.backend->share(device_arrays->place.device, source,
                                                            temporary->section.bytes, &temporary->buffer,
                                                            why) == TILEK_OK;
    if (temporary->shared) return TILEK_OK;
    if (temporary->in_place) return refuse_copy(shape, why);
    status = tilek_take_buffer(&device_arrays->place, temporary->section.device_bytes, &temporary->buffer, why);
    if (status != TILEK_OK || !temporary->in) return status;
    if (temporary->section.is_rows) {
        source = malloc(temporary->section.device_bytes);
        if (source == NULL) {
            tilek_say(why, "memory to pack %s is exhausted", shape->name);
            return TILEK_NO_MEMORY;
        }
        status = tilek_pack(shape, array, array, source, why);
    }
    if (status == TILEK_OK)
        status = tilek_copy_in(&device_arrays->place, &temporary->buffer, 0, source, temporary->section.device_bytes,
                               why);
    if (temporary->section.is_rows) free(source);
    return status;
}

tilek_status tilek_copy_arrays_in(tilek_device_arrays *device_arrays, tilek_message *why)
{
    tilek_status status = TILEK_OK;
    for (int index = 0; index < device_arrays->kernel->array_count && status == TILEK_OK; ++index) {
        tilek_temporary *temporary = &device_arrays->temporaries[index];
        if (device_arrays->arrays[index].present != NULL)
            status = tilek_present_on_device(device_arrays->arrays[index].present, &device_arrays->place,
                                             &device_arrays->arrays[index].buffer, why);
        else if (temporary->section.bytes > 0 && !temporary->merged) status = fill(device_arrays, temporary, why);
    }
    for (int index = 0; index < device_arrays->kernel->array_count && status == TILEK_OK; ++index) {
        tilek_device_array *array = &device_arrays->arrays[index];
        if (array->temporary >= 0) array->buffer = &device_arrays->temporaries[array->temporary].buffer;
    }
    return status;
}

static int has_results(const tilek_temporary *temporary)
{
    return temporary->out && !temporary->merged && temporary->section.bytes > 0;
}

static int goes_home(const tilek_temporary *temporary) { return has_results(temporary) && !temporary->shared; }

/* What the kernel only writes may be overwritten: whatever runs next writes it again. */
static int is_input(const tilek_temporary *temporary) { return temporary->in; }

/* Whether a temporary's results wait in staging memory; rows always do. */
static int is_staged(const tilek_temporary *temporary, size_t total, int count)
{
    return temporary->section.is_rows ||
           (is_input(temporary) && total <= (count > 1 ? MOST_STAGED : MOST_STAGED_ALONE));
}

static tilek_status fetch_staged(tilek_device_arrays *device_arrays, size_t total, int count, tilek_message *why)
{
    tilek_status status = TILEK_OK;
    for (int index = 0; index < device_arrays->kernel->array_count && status == TILEK_OK; ++index) {
        tilek_temporary *temporary = &device_arrays->temporaries[index];
        if (!goes_home(temporary) || !is_staged(temporary, total, count)) continue;
        temporary->staging = malloc(temporary->section.device_bytes);
        if (temporary->staging == NULL) {
            tilek_say(why, "memory to stage %s is exhausted", device_arrays->kernel->arrays[index].name);
            return TILEK_NO_MEMORY;
        }
        status = tilek_copy_out(&device_arrays->place, &temporary->buffer, 0, temporary->staging,
                                temporary->section.device_bytes, why);
    }
    return status;
}

static tilek_status fetch_results(tilek_device_arrays *device_arrays, tilek_message *why)
{
    tilek_status status = TILEK_OK;
    for (int index = 0; index < device_arrays->kernel->array_count && status == TILEK_OK; ++index) {
        tilek_temporary *temporary = &device_arrays->temporaries[index];
        if (!goes_home(temporary) || temporary->staging != NULL || is_input(temporary)) continue;
        status = tilek_copy_out(&device_arrays->place, &temporary->buffer, 0, temporary->section.start,
                                temporary->section.device_bytes, why);
    }
    return status;
}

static tilek_status reclaim_shared(tilek_device_arrays *device_arrays, tilek_message *why)
{
    const tilek_place *place = &device_arrays->place;
    tilek_status status = TILEK_OK;
    for (int index = 0; index < device_arrays->kernel->array_count && status == TILEK_OK; ++index) {
        const tilek_temporary *temporary = &device_arrays->temporaries[index];
        if (has_results(temporary) && temporary->shared)
            status = place->backend->reclaim(place->device, place->queue, &temporary->buffer, why);
    }
    return status;
}

/* A device that was lost since the kernel ended says so here, before any input is overwritten. */
static tilek_status probe(const tilek_device_arrays *device_arrays, const tilek_temporary *temporary,
                          tilek_message *why)
{
    char first[PROBED];
    return tilek_copy_out(&device_arrays->place, &temporary->buffer, 0, first,
                          temporary->section.bytes < PROBED ? temporary->section.bytes : PROBED, why);
}

/* Large arrays that the kernel needs too. */
static tilek_status fetch_direct(tilek_device_arrays *device_arrays, tilek_message *why)
{
    const tilek_kernel *kernel = device_arrays->kernel;
    int probed = 0;
    for (int index = 0; index < kernel->array_count; ++index) {
        tilek_temporary *temporary = &device_arrays->temporaries[index];
        tilek_status status;
        if (!goes_home(temporary) || temporary->staging != NULL || !is_input(temporary)) continue;
        if (!probed && (status = probe(device_arrays, temporary, why)) != TILEK_OK) return status;
        probed = 1;
        status = tilek_copy_out(&device_arrays->place, &temporary->buffer, 0, temporary->section.start,
                                temporary->section.device_bytes, why);
        if (status != TILEK_OK)
            tilek_fail(kernel->file, kernel->line, TILEK_EXIT_STRICT,
                       "kernel %s: the device failed while it returned %s, whose values are lost: %s", kernel->name,
                       kernel->arrays[index].name, why->text);
    }
    return TILEK_OK;
}

/* Infallible but for a row that became null meanwhile, which the user's own loop would not survive
 * either. */
static void settle_staged(tilek_device_arrays *device_arrays)
{
    for (int index = 0; index < device_arrays->kernel->array_count; ++index) {
        tilek_temporary *temporary = &device_arrays->temporaries[index];
        const tilek_array *array = &device_arrays->call->arrays[temporary->array];
        tilek_message unused;
        if (temporary->staging == NULL) continue;
        if (temporary->section.is_rows)
            (void)tilek_unpack(&device_arrays->kernel->arrays[temporary->array], array, array, temporary->staging,
                               &unused);
        else memcpy(temporary->section.start, temporary->staging, temporary->section.bytes);
    }
}

tilek_status tilek_copy_arrays_out(tilek_device_arrays *device_arrays, tilek_message *why)
{
    size_t total = 0;
    int count = 0;
    tilek_status status;
    for (int index = 0; index < device_arrays->kernel->array_count; ++index) {
        if (!goes_home(&device_arrays->temporaries[index]) || !is_input(&device_arrays->temporaries[index])) continue;
        total += device_arrays->temporaries[index].section.device_bytes;
        ++count;
    }
    status = reclaim_shared(device_arrays, why);
    if (status == TILEK_OK) status = fetch_staged(device_arrays, total, count, why);
    if (status == TILEK_OK) status = fetch_results(device_arrays, why);
    if (status == TILEK_OK) status = fetch_direct(device_arrays, why);
    if (status != TILEK_OK) return status;
    settle_staged(device_arrays);
    for (int index = 0; index < device_arrays->kernel->array_count; ++index)
        if (device_arrays->arrays[index].present != NULL &&
            ((device_arrays->kernel->arrays[index].flags & TILEK_WRITES) != 0 ||
             is_reduced(device_arrays->variant, index)))
            tilek_present_written(device_arrays->arrays[index].present, &device_arrays->place);
    return TILEK_OK;
}

int tilek_discard_arrays(tilek_device_arrays *device_arrays, tilek_message *why)
{
    if (!device_arrays->started) return 1;
    for (int index = 0; index < device_arrays->kernel->array_count; ++index) {
        if (device_arrays->arrays[index].present == NULL ||
            (device_arrays->kernel->arrays[index].flags & TILEK_WRITES) == 0)
            continue;
        if (tilek_present_spoiled(device_arrays->arrays[index].present, &device_arrays->place)) continue;
        tilek_say(why, "the newest values of %s were on that device only, and are lost",
                  device_arrays->kernel->arrays[index].name);
        return 0;
    }
    for (int index = 0; index < device_arrays->kernel->array_count; ++index) {
        const tilek_temporary *temporary = &device_arrays->temporaries[index];
        if (!has_results(temporary) || !temporary->shared || !is_input(temporary)) continue;
        tilek_say(why, "%s is half written", device_arrays->kernel->arrays[temporary->array].name);
        return 0;
    }
    return 1;
}

/* Whether packed rows, and the subscripts from which a device counts them, stay below `most`. */
static int has_short_rows(const tilek_array *geometry, int rank, int64_t most)
{
    int64_t elements = 1, end;
    for (int dimension = 0; dimension < rank; ++dimension)
        if (__builtin_mul_overflow(elements, geometry->length[dimension], &elements) ||
            __builtin_add_overflow(geometry->lower[dimension], geometry->length[dimension], &end) ||
            geometry->lower[dimension] < -most || end > most)
            return 0;
    return elements <= most;
}

int tilek_long_array(const tilek_device_arrays *device_arrays)
{
    static const int64_t most = TILEK_SHORT_ELEMENTS;
    for (int index = 0; index < device_arrays->kernel->array_count; ++index) {
        const tilek_array_shape *shape = &device_arrays->kernel->arrays[index];
        const tilek_device_array *array = &device_arrays->arrays[index];
        const int64_t size = (int64_t)shape->element_size;
        int64_t first;
        if (shape->storage == TILEK_SCALAR || array->section.bytes == 0) continue;
        if (shape->storage == TILEK_ROWS) {
            if (!has_short_rows(array->geometry, shape->rank, most)) return index;
            continue;
        }
        /* counted from the object's start */
        first = (int64_t)((intptr_t)((uintptr_t)array->section.start -
                                     (uintptr_t)device_arrays->call->arrays[index].base)) /
                size;
        if (first < -most || first + (int64_t)array->section.bytes / size > most) return index;
    }
    return -1;
}

void tilek_release_arrays(tilek_device_arrays *device_arrays)
{
    if (device_arrays->block == NULL) return;
    /* Last first: the buffer given back last is the first to be taken, so that the next call has
     * its arrays where they were (see launch_graphs.h). */
    for (int index = device_arrays->kernel->array_count - 1; index >= 0; --index) {
        tilek_temporary *temporary = &device_arrays->temporaries[index];
        if (temporary->shared) device_arrays->place.backend->release(device_arrays->place.device, &temporary->buffer);
        else tilek_give_buffer(&device_arrays->place, &temporary->buffer);
        free(temporary->staging);
        if (device_arrays->arrays[index].present != NULL) tilek_present_unpin(device_arrays->arrays[index].present);
    }
    free(device_arrays->block);
    device_arrays->block = NULL;
}
