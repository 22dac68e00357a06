/* partition_rows.c: which rows iterations touch, where rows lie, and how they get from device to device. */
#define _POSIX_C_SOURCE 200809L
#include "multi_device/partitioned_call.h"

#include "base/message.h"

#include <stdlib.h>

tilek_status tilek_no_memory(tilek_message *why)
{
    tilek_say(why, "memory is exhausted");
    return TILEK_NO_MEMORY;
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

int64_t tilek_bounded_sum(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

int64_t tilek_bounded_product(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? ((a < 0) == (b < 0) ? INT64_MAX : INT64_MIN) : product;
}

int64_t tilek_value_at(const tilek_bounds *bounds, int64_t iteration) { return tilek_bounded_sum(bounds->lower, tilek_bounded_product(bounds->step, iteration)); }

/* The rows that a stretch of iterations touches. */
tilek_row_range tilek_rows_of(const tilek_divided *divided, const tilek_row_use *use, const tilek_bounds *bounds, tilek_stretch part)
{
    const tilek_row_range all = divided->arrays[use->array].all;
    tilek_row_range found = {use->least, use->greatest};
    if (part.first >= part.end) return (tilek_row_range){all.first, all.first};
    if (use->least == INT64_MIN) return all;
    if (bounds != NULL) {
        const int64_t first = tilek_bounded_product(use->scale, tilek_value_at(bounds, part.first)), last = tilek_bounded_product(use->scale, tilek_value_at(bounds, part.end - 1));
        found.first = tilek_bounded_sum(tilek_minimum(first, last), use->least);
        found.end = tilek_bounded_sum(tilek_maximum(first, last), use->greatest);
    }
    found.first = tilek_maximum(found.first, all.first);
    found.end = tilek_minimum(tilek_bounded_sum(found.end, 1), all.end);
    return found.first < found.end ? found : (tilek_row_range){all.first, all.first};
}

/* Where rows lie in the section's bytes. */
size_t tilek_row_offset(const tilek_divided *divided, int index, int64_t row)
{
    const tilek_divided_array *array = &divided->arrays[index];
    const intptr_t begin = (intptr_t)((uintptr_t)array->span.start - (uintptr_t)divided->call->arrays[index].base);
    const intptr_t offset = (intptr_t)row * (intptr_t)array->pitch - begin;
    return offset <= 0 ? 0 : (size_t)offset < array->span.bytes ? (size_t)offset : array->span.bytes;
}

/* Where they lie in a device's copy. */
size_t tilek_offset_in_copy(const tilek_divided *divided, int device, int index, int64_t row)
{
    return tilek_row_offset(divided, index, row) - tilek_row_offset(divided, index, divided->copies[device][index].has.first);
}

/* ---- Moving ------------------------------------------------------------------------------------------------------ */

tilek_status tilek_add_move(tilek_divided *divided, const tilek_move *added, tilek_message *why)
{
    if (divided->move_count == divided->move_room) {
        const int room = divided->move_room * 2 + 16;
        tilek_move *moves = realloc(divided->moves, (size_t)room * sizeof *moves);
        if (moves == NULL) return tilek_no_memory(why);
        divided->moves = moves;
        divided->move_room = room;
    }
    divided->moves[divided->move_count++] = *added;
    return TILEK_OK;
}

/* Any of a row's holders that is a device; there is one. */
int tilek_device_among(uint64_t holders)
{
    int device = 0;
    while ((holders & tilek_bit_of(device)) == 0) ++device;
    return device;
}

static tilek_place moving_place(const tilek_divided *divided, int device)
{
    tilek_place place = divided->jobs[device].residence.place;
    place.queue = 0;
    return place;
}

static tilek_status perform_move(tilek_divided *divided, const tilek_move *one, tilek_message *why)
{
    const tilek_divided_array *array = &divided->arrays[one->array];
    const size_t begin = tilek_row_offset(divided, one->array, one->which.first), bytes = tilek_row_offset(divided, one->array, one->which.end) - begin;
    const int64_t first = one->which.first;
    const tilek_place to = moving_place(divided, one->device);
    const char *source = array->span.start + begin;
    tilek_status status = TILEK_OK;
    if ((one->holders & TILEK_HOST_HOLDS) == 0) {
        const int from = tilek_device_among(one->holders);
        const tilek_place place = moving_place(divided, from);
        if (bytes > divided->passing_bytes) {
            char *larger = realloc(divided->passing, bytes);
            if (larger == NULL) return tilek_no_memory(why);
            divided->passing = larger;
            divided->passing_bytes = bytes;
        }
        source = divided->passing;
        status = tilek_copy_out(&place, &divided->copies[from][one->array].buffer, tilek_offset_in_copy(divided, from, one->array, first), divided->passing, bytes, why);
    }
    if (status == TILEK_OK) status = tilek_copy_in(&to, &divided->copies[one->device][one->array].buffer, tilek_offset_in_copy(divided, one->device, one->array, first), source, bytes, why);
    return status;
}

tilek_status tilek_perform_moves(tilek_divided *divided, tilek_message *why)
{
    tilek_status status = TILEK_OK;
    for (int index = 0; index < divided->move_count && status == TILEK_OK; ++index) status = perform_move(divided, &divided->moves[index], why);
    return status;
}

tilek_status tilek_wait_for_divided(const tilek_divided *divided, tilek_message *why)
{
    tilek_status status = TILEK_OK;
    for (int device = 0; device < divided->job_count; ++device) {
        const tilek_place *place = &divided->jobs[device].residence.place;
        tilek_message unused;
        const tilek_status own = place->backend->wait(place->device, divided->queue, status == TILEK_OK ? why : &unused);
        if (status == TILEK_OK) status = own;
    }
    return status;
}
