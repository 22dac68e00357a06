/* device_arrays.c: a call's arrays on a device, for the time of the call. */
#define _POSIX_C_SOURCE 200809L
#include "arrays/device_arrays.h"

#include "base/message.h"

#include <stdlib.h>
#include <string.h>

/* Arrays that the kernel both needs and writes arrive in memory of their own first, so that a device that fails half-way leaves them as they
 * were. Beyond these sizes, all together and for a single one, that would cost more time than it is worth: see probe. */
static const size_t MOST_STAGED = (size_t)64 << 20, MOST_STAGED_ALONE = (size_t)4 << 20;
enum { PROBED = 64 };

static int is_reduced(const tilek_form *form, int array)
{
    for (int launch = 0; launch < form->launch_count; ++launch)
        for (int index = 0; index < form->launches[launch].reduction_count; ++index)
            if (form->launches[launch].reductions[index].array == array) return 1;
    return 0;
}

static void plan_temporary(tilek_residence *residence, int index)
{
    const tilek_array_shape *shape = &residence->kernel->arrays[index];
    tilek_resident *array = &residence->arrays[index];
    tilek_temporary *temporary = &residence->temporaries[index];
    const int reduced = is_reduced(residence->form, index);
    const unsigned both = TILEK_WRITES | TILEK_COPY_OUT;
    temporary->span = array->span;
    temporary->array = index;
    temporary->out = reduced || (shape->flags & both) == both;
    temporary->apart = !temporary->out && (shape->flags & (TILEK_WRITES | TILEK_TEMPORARY)) == TILEK_WRITES;
    temporary->in = reduced || (shape->flags & TILEK_COPY_IN) != 0 || (temporary->out && !array->span.is_dense);
    array->temporary = index;
}

/* Joins temporary `other` into `first`: the union of their ranges, copied in, since neither covers the other's part. */
static tilek_status merge(tilek_residence *residence, tilek_temporary *first, tilek_temporary *other, tilek_message *why)
{
    const tilek_array *a = &residence->call->arrays[first->array], *b = &residence->call->arrays[other->array];
    char *const start = (uintptr_t)first->span.start < (uintptr_t)other->span.start ? first->span.start : other->span.start;
    const uintptr_t first_end = (uintptr_t)first->span.start + first->span.bytes, other_end = (uintptr_t)other->span.start + other->span.bytes;
    if (first->span.is_rows != other->span.is_rows ||
        (first->span.is_rows && (a->base != b->base || memcmp(a->lower, b->lower, sizeof a->lower) != 0 || memcmp(a->length, b->length, sizeof a->length) != 0))) {
        tilek_say(why, "%s and %s share memory in different forms", residence->kernel->arrays[first->array].name, residence->kernel->arrays[other->array].name);
        return TILEK_UNSUPPORTED;
    }
    if (!first->span.is_rows) {
        first->span.bytes = first->span.device_bytes = (size_t)((first_end > other_end ? first_end : other_end) - (uintptr_t)start);
        first->span.start = start;
    }
    first->in = 1;
    first->out |= other->out;
    first->apart |= other->apart;
    first->in_place |= other->in_place;
    other->merged = 1;
    for (int index = 0; index < residence->kernel->array_count; ++index)
        if (residence->arrays[index].temporary == (int)(other - residence->temporaries)) residence->arrays[index].temporary = (int)(first - residence->temporaries);
    return TILEK_OK;
}

/* Whether copies of the two would fall apart: what is only read may have several. */
static int must_be_one(const tilek_residence *residence, const tilek_temporary *a, const tilek_temporary *b)
{
    const tilek_array_shape *shapes = residence->kernel->arrays;
    const unsigned flags = shapes[a->array].flags | shapes[b->array].flags;
    return tilek_spans_meet(&a->span, &b->span) && (a->out || b->out || (flags & TILEK_WRITES) != 0);
}

/* Until no two temporaries share memory: a union may reach a third. */
static tilek_status merge_all(tilek_residence *residence, tilek_message *why)
{
    const int count = residence->kernel->array_count;
    for (int first = 0; first < count; ++first) {
        for (int other = 0; other < count; ++other) {
            tilek_temporary *a = &residence->temporaries[first], *b = &residence->temporaries[other];
            tilek_status status;
            if (other == first || a->merged || b->merged || !must_be_one(residence, a, b)) continue;
            status = merge(residence, a, b, why);
            if (status != TILEK_OK) return status;
            other = -1;
        }
    }
    return TILEK_OK;
}

/* Whether the device's code can reach the array in a copy that begins elsewhere than the array. */
static int takes_origin(const tilek_form *form, int array)
{
    for (int launch = 0; launch < form->launch_count; ++launch)
        for (int index = 0; index < form->launches[launch].parameter_count; ++index) {
            const tilek_parameter *parameter = &form->launches[launch].parameters[index];
            if (parameter->kind == TILEK_PARAMETER_ORIGIN && parameter->index == array) return 1;
        }
    return 0;
}

/* Where the copy that serves an array begins. */
static tilek_status place_array(tilek_residence *residence, int index, tilek_message *why)
{
    const tilek_array_shape *shape = &residence->kernel->arrays[index];
    const tilek_array *array = &residence->call->arrays[index];
    tilek_resident *resident = &residence->arrays[index];
    const tilek_span *span = resident->present != NULL ? tilek_present_span(resident->present)
                             : resident->temporary >= 0 ? &residence->temporaries[resident->temporary].span : &resident->span;
    const intptr_t distance = (intptr_t)((uintptr_t)span->start - (uintptr_t)array->base);
    resident->geometry = resident->present != NULL ? tilek_present_geometry(resident->present) : array;
    if (shape->storage == TILEK_ROWS || span->bytes == 0) return TILEK_OK;
    resident->origin = (int64_t)(distance / (intptr_t)shape->element_size);
    if (resident->origin != 0 && !takes_origin(residence->form, index)) {
        tilek_say(why, "%s lies inside a larger array that is on the device", shape->name);
        return TILEK_UNSUPPORTED;
    }
    if (distance % (intptr_t)shape->element_size == 0) return TILEK_OK;
    tilek_say(why, "%s shares memory with an array whose elements lie otherwise", shape->name);
    return TILEK_UNSUPPORTED;
}

/* Processors work in the host's memory where they run what the host would run: then their failure half-way is what the host's own would be. Rows are packed. */
static int works_in_place(const tilek_residence *residence, const tilek_temporary *temporary)
{
    const tilek_place *place = &residence->place;
    return tilek_is_hosts(residence->form) && place->backend->share != NULL && place->backend->limits(place->device)->shares_memory && !temporary->span.is_rows &&
           !temporary->apart && (residence->kernel->arrays[temporary->array].flags & TILEK_UNKNOWN_EXTENT) == 0;
}

static tilek_status refuse_copy(const tilek_array_shape *shape, tilek_message *why)
{
    tilek_say(why, "no copy of %s can be made, since no data clause says its extent", shape->name);
    return TILEK_UNSUPPORTED;
}

/* Whether a launch of the form touches the array; of temporaries some are for other forms alone. */
static int is_touched(const tilek_form *form, int array)
{
    for (int launch = 0; launch < form->launch_count; ++launch)
        for (int index = 0; index < form->launches[launch].parameter_count; ++index) {
            const tilek_parameter *parameter = &form->launches[launch].parameters[index];
            if (parameter->kind == TILEK_PARAMETER_ARRAY && parameter->index == array) return 1;
        }
    return 0;
}

static tilek_status find_array(tilek_residence *residence, int index, tilek_message *why)
{
    const tilek_array_shape *shape = &residence->kernel->arrays[index];
    tilek_resident *array = &residence->arrays[index];
    const int is_unknown = (shape->flags & TILEK_UNKNOWN_EXTENT) != 0;
    tilek_status status;
    if ((shape->flags & TILEK_TEMPORARY) != 0 && !is_touched(residence->form, index)) return TILEK_OK;
    status = tilek_span_of(shape, &residence->call->arrays[index], &array->span, why);
    if (is_unknown && array->span.start != NULL) array->span.bytes = array->span.device_bytes = shape->element_size; /* what is present there is all of it */
    if (status != TILEK_OK || array->span.bytes == 0) return status;
    switch (tilek_present_pin(shape, &residence->call->arrays[index], &array->span, &array->present)) {
    case TILEK_INSIDE:
        if (is_unknown) array->span = *tilek_present_span(array->present);
        return TILEK_OK;
    case TILEK_PARTLY: tilek_say(why, "the section of %s is only partly present", shape->name); return TILEK_INVALID;
    case TILEK_ABSENT: break;
    }
    if ((shape->flags & TILEK_MUST_BE_PRESENT) != 0) {
        tilek_say(why, "%s is not present", shape->name);
        return TILEK_INVALID;
    }
    plan_temporary(residence, index);
    residence->temporaries[index].in_place = (shape->flags & TILEK_POSSIBLE_EXTENT) != 0;
    return residence->temporaries[index].in_place && !works_in_place(residence, &residence->temporaries[index]) ? refuse_copy(shape, why) : TILEK_OK;
}

tilek_status tilek_reside(tilek_residence *residence, const tilek_kernel *kernel, const tilek_form *form, const tilek_call *call, const tilek_place *place,
                          tilek_message *why)
{
    const size_t count = (size_t)kernel->array_count;
    tilek_status status = TILEK_OK;
    memset(residence, 0, sizeof *residence);
    residence->block = calloc(count + 1, sizeof(tilek_resident) + sizeof(tilek_temporary));
    if (residence->block == NULL) {
        tilek_say(why, "memory is exhausted");
        return TILEK_NO_MEMORY;
    }
    residence->kernel = kernel;
    residence->form = form;
    residence->call = call;
    residence->place = *place;
    residence->arrays = residence->block;
    residence->temporaries = (tilek_temporary *)(void *)(residence->arrays + count);
    for (size_t index = 0; index < count; ++index) residence->arrays[index].temporary = -1;
    for (int index = 0; index < kernel->array_count && status == TILEK_OK; ++index) status = find_array(residence, index, why);
    if (status == TILEK_OK) status = merge_all(residence, why);
    for (int index = 0; index < kernel->array_count && status == TILEK_OK; ++index) status = place_array(residence, index, why);
    return status;
}

static tilek_status fill(tilek_residence *residence, tilek_temporary *temporary, tilek_message *why)
{
    const tilek_array_shape *shape = &residence->kernel->arrays[temporary->array];
    const tilek_array *array = &residence->call->arrays[temporary->array];
    void *source = temporary->span.start;
    tilek_status status;
    temporary->shared = works_in_place(residence, temporary) &&
                        residence->place.backend->share(residence->place.device, source, temporary->span.bytes, &temporary->buffer, why) == TILEK_OK;
    if (temporary->shared) return TILEK_OK;
    if (temporary->in_place) return refuse_copy(shape, why);
    status = tilek_take_buffer(&residence->place, temporary->span.device_bytes, &temporary->buffer, why);
    if (status != TILEK_OK || !temporary->in) return status;
    if (temporary->span.is_rows) {
        source = malloc(temporary->span.device_bytes);
        if (source == NULL) {
            tilek_say(why, "memory to pack %s is exhausted", shape->name);
            return TILEK_NO_MEMORY;
        }
        status = tilek_pack(shape, array, array, source, why);
    }
    if (status == TILEK_OK) status = tilek_copy_in(&residence->place, &temporary->buffer, 0, source, temporary->span.device_bytes, why);
    if (temporary->span.is_rows) free(source);
    return status;
}

tilek_status tilek_bring(tilek_residence *residence, tilek_message *why)
{
    tilek_status status = TILEK_OK;
    for (int index = 0; index < residence->kernel->array_count && status == TILEK_OK; ++index) {
        tilek_temporary *temporary = &residence->temporaries[index];
        if (residence->arrays[index].present != NULL)
            status = tilek_present_on_device(residence->arrays[index].present, &residence->place, &residence->arrays[index].buffer, why);
        else if (temporary->span.bytes > 0 && !temporary->merged) status = fill(residence, temporary, why);
    }
    for (int index = 0; index < residence->kernel->array_count && status == TILEK_OK; ++index) {
        tilek_resident *array = &residence->arrays[index];
        if (array->temporary >= 0) array->buffer = &residence->temporaries[array->temporary].buffer;
    }
    return status;
}

static int has_results(const tilek_temporary *temporary) { return temporary->out && !temporary->merged && temporary->span.bytes > 0; }

static int goes_home(const tilek_temporary *temporary) { return has_results(temporary) && !temporary->shared; }

/* What the kernel only writes may be overwritten: whatever runs next writes it again. */
static int is_input(const tilek_temporary *temporary) { return temporary->in; }

/* Whether a temporary's results wait in staging memory; rows always do. */
static int is_staged(const tilek_temporary *temporary, size_t total, int count)
{
    return temporary->span.is_rows || (is_input(temporary) && total <= (count > 1 ? MOST_STAGED : MOST_STAGED_ALONE));
}

static tilek_status fetch_staged(tilek_residence *residence, size_t total, int count, tilek_message *why)
{
    tilek_status status = TILEK_OK;
    for (int index = 0; index < residence->kernel->array_count && status == TILEK_OK; ++index) {
        tilek_temporary *temporary = &residence->temporaries[index];
        if (!goes_home(temporary) || !is_staged(temporary, total, count)) continue;
        temporary->staging = malloc(temporary->span.device_bytes);
        if (temporary->staging == NULL) {
            tilek_say(why, "memory to stage %s is exhausted", residence->kernel->arrays[index].name);
            return TILEK_NO_MEMORY;
        }
        status = tilek_copy_out(&residence->place, &temporary->buffer, 0, temporary->staging, temporary->span.device_bytes, why);
    }
    return status;
}

static tilek_status fetch_results(tilek_residence *residence, tilek_message *why)
{
    tilek_status status = TILEK_OK;
    for (int index = 0; index < residence->kernel->array_count && status == TILEK_OK; ++index) {
        tilek_temporary *temporary = &residence->temporaries[index];
        if (!goes_home(temporary) || temporary->staging != NULL || is_input(temporary)) continue;
        status = tilek_copy_out(&residence->place, &temporary->buffer, 0, temporary->span.start, temporary->span.device_bytes, why);
    }
    return status;
}

static tilek_status reclaim_shared(tilek_residence *residence, tilek_message *why)
{
    const tilek_place *place = &residence->place;
    tilek_status status = TILEK_OK;
    for (int index = 0; index < residence->kernel->array_count && status == TILEK_OK; ++index) {
        const tilek_temporary *temporary = &residence->temporaries[index];
        if (has_results(temporary) && temporary->shared) status = place->backend->reclaim(place->device, place->queue, &temporary->buffer, why);
    }
    return status;
}

/* A device that was lost since the kernel ended says so here, before any input is overwritten. */
static tilek_status probe(const tilek_residence *residence, const tilek_temporary *temporary, tilek_message *why)
{
    char first[PROBED];
    return tilek_copy_out(&residence->place, &temporary->buffer, 0, first, temporary->span.bytes < PROBED ? temporary->span.bytes : PROBED, why);
}

/* Large arrays that the kernel needs too. */
static tilek_status fetch_direct(tilek_residence *residence, tilek_message *why)
{
    const tilek_kernel *kernel = residence->kernel;
    int probed = 0;
    for (int index = 0; index < kernel->array_count; ++index) {
        tilek_temporary *temporary = &residence->temporaries[index];
        tilek_status status;
        if (!goes_home(temporary) || temporary->staging != NULL || !is_input(temporary)) continue;
        if (!probed && (status = probe(residence, temporary, why)) != TILEK_OK) return status;
        probed = 1;
        status = tilek_copy_out(&residence->place, &temporary->buffer, 0, temporary->span.start, temporary->span.device_bytes, why);
        if (status != TILEK_OK)
            tilek_fail(kernel->file, kernel->line, TILEK_EXIT_STRICT, "kernel %s: the device failed while it returned %s, whose values are lost: %s",
                       kernel->name, kernel->arrays[index].name, why->text);
    }
    return TILEK_OK;
}

/* Infallible but for a row that became null meanwhile, which the user's own loop would not survive either. */
static void settle_staged(tilek_residence *residence)
{
    for (int index = 0; index < residence->kernel->array_count; ++index) {
        tilek_temporary *temporary = &residence->temporaries[index];
        const tilek_array *array = &residence->call->arrays[temporary->array];
        tilek_message unused;
        if (temporary->staging == NULL) continue;
        if (temporary->span.is_rows) (void)tilek_unpack(&residence->kernel->arrays[temporary->array], array, array, temporary->staging, &unused);
        else memcpy(temporary->span.start, temporary->staging, temporary->span.bytes);
    }
}

tilek_status tilek_take_home(tilek_residence *residence, tilek_message *why)
{
    size_t total = 0;
    int count = 0;
    tilek_status status;
    for (int index = 0; index < residence->kernel->array_count; ++index) {
        if (!goes_home(&residence->temporaries[index]) || !is_input(&residence->temporaries[index])) continue;
        total += residence->temporaries[index].span.device_bytes;
        ++count;
    }
    status = reclaim_shared(residence, why);
    if (status == TILEK_OK) status = fetch_staged(residence, total, count, why);
    if (status == TILEK_OK) status = fetch_results(residence, why);
    if (status == TILEK_OK) status = fetch_direct(residence, why);
    if (status != TILEK_OK) return status;
    settle_staged(residence);
    for (int index = 0; index < residence->kernel->array_count; ++index)
        if (residence->arrays[index].present != NULL && ((residence->kernel->arrays[index].flags & TILEK_WRITES) != 0 || is_reduced(residence->form, index)))
            tilek_present_written(residence->arrays[index].present, &residence->place);
    return TILEK_OK;
}

int tilek_give_up(tilek_residence *residence, tilek_message *why)
{
    if (!residence->started) return 1;
    for (int index = 0; index < residence->kernel->array_count; ++index) {
        if (residence->arrays[index].present == NULL || (residence->kernel->arrays[index].flags & TILEK_WRITES) == 0) continue;
        if (tilek_present_spoiled(residence->arrays[index].present, &residence->place)) continue;
        tilek_say(why, "the newest values of %s were on that device only, and are lost", residence->kernel->arrays[index].name);
        return 0;
    }
    for (int index = 0; index < residence->kernel->array_count; ++index) {
        const tilek_temporary *temporary = &residence->temporaries[index];
        if (!has_results(temporary) || !temporary->shared || !is_input(temporary)) continue;
        tilek_say(why, "%s is half written", residence->kernel->arrays[temporary->array].name);
        return 0;
    }
    return 1;
}

int tilek_index_bits(const tilek_residence *residence)
{
    static const int64_t most = (int64_t)1 << 30;
    for (int index = 0; index < residence->kernel->array_count; ++index) {
        const tilek_array_shape *shape = &residence->kernel->arrays[index];
        const tilek_resident *array = &residence->arrays[index];
        const int64_t size = (int64_t)shape->element_size;
        int64_t first = 0, end = 1;
        if (shape->storage == TILEK_SCALAR || array->span.bytes == 0) continue;
        if (shape->storage == TILEK_ROWS) {
            for (int dimension = 0; dimension < shape->rank; ++dimension)
                if (__builtin_mul_overflow(end, array->geometry->length[dimension], &end)) return 64;
        } else { /* counted from the object's start */
            first = (int64_t)((intptr_t)((uintptr_t)array->span.start - (uintptr_t)residence->call->arrays[index].base)) / size;
            end = first + (int64_t)array->span.bytes / size;
        }
        if (first < -most || end > most) return 64;
    }
    return 32;
}

void tilek_leave(tilek_residence *residence)
{
    if (residence->block == NULL) return;
    /* Last first: the buffer given back last is the first to be taken, so that the next call has its arrays where they were (see launch_graphs.h). */
    for (int index = residence->kernel->array_count - 1; index >= 0; --index) {
        tilek_temporary *temporary = &residence->temporaries[index];
        if (temporary->shared) residence->place.backend->release(residence->place.device, &temporary->buffer);
        else tilek_give_buffer(&residence->place, &temporary->buffer);
        free(temporary->staging);
        if (residence->arrays[index].present != NULL) tilek_present_unpin(residence->arrays[index].present);
    }
    free(residence->block);
    residence->block = NULL;
}
