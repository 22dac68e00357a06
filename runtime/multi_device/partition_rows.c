/* partition_rows.c: which rows iterations touch, where rows lie, and how they get from device to
 * device. */
#define _POSIX_C_SOURCE 200809L
#include "multi_device/partitioned_call.h"

#include "base/message.h"

#include <stdlib.h>

tilek_status tilek_no_memory(tilek_message *why)
{
    tilek_say(why, "memory is exhausted");
    return TILEK_NO_MEMORY;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

int64_t tilek_value_at(const tilek_bounds *bounds, int64_t iteration)
{
    return tilek_bounded_sum(bounds->lower, tilek_bounded_product(bounds->step, iteration));
}

/* The rows that a stretch of iterations touches. */
tilek_row_range tilek_rows_of(const tilek_partition *partition, const tilek_row_use *use, const tilek_bounds *bounds,
                              tilek_iterations part)
{
    const tilek_row_range all = partition->arrays[use->array].all;
    tilek_row_range rows = {use->least, use->greatest};
    if (part.first >= part.end) return (tilek_row_range){all.first, all.first};
    if (use->least == INT64_MIN) return all;
    if (bounds != NULL) {
        const int64_t first = tilek_bounded_product(use->scale, tilek_value_at(bounds, part.first)),
                      last = tilek_bounded_product(use->scale, tilek_value_at(bounds, part.end - 1));
        rows.first = tilek_bounded_sum(tilek_minimum(first, last), use->least);
        rows.end = tilek_bounded_sum(tilek_maximum(first, last), use->greatest);
    }
    rows.first = tilek_maximum(rows.first, all.first);
    rows.end = tilek_minimum(tilek_bounded_sum(rows.end, 1), all.end);
    return rows.first < rows.end ? rows : (tilek_row_range){all.first, all.first};
}

/* Where rows lie in the section's bytes. */
size_t tilek_row_offset(const tilek_partition *partition, int index, int64_t row)
{
    const tilek_partitioned_array *array = &partition->arrays[index];
    const intptr_t begin = (intptr_t)((uintptr_t)array->section.start - (uintptr_t)partition->call->arrays[index].base);
    const intptr_t offset = (intptr_t)row * (intptr_t)array->pitch - begin;
    return offset <= 0 ? 0 : (size_t)offset < array->section.bytes ? (size_t)offset : array->section.bytes;
}

/* Where they lie in a device's copy. */
size_t tilek_offset_in_copy(const tilek_partition *partition, int device, int index, int64_t row)
{
    return tilek_row_offset(partition, index, row) -
           tilek_row_offset(partition, index, partition->copies[device][index].has.first);
}

/* ---- Moving ---------------------------------------------------------------------------------- */

tilek_status tilek_add_move(tilek_partition *partition, const tilek_move *added, tilek_message *why)
{
    if (partition->move_count == partition->move_room) {
        const int room = partition->move_room * 2 + 16;
        tilek_move *moves = realloc(partition->moves, (size_t)room * sizeof *moves);
        if (moves == NULL) return tilek_no_memory(why);
        partition->moves = moves;
        partition->move_room = room;
    }
    partition->moves[partition->move_count++] = *added;
    return TILEK_OK;
}

/* Any of a row's owners that is a device; there is one. */
int tilek_device_among(uint64_t owners)
{
    int device = 0;
    while ((owners & tilek_bit_of(device)) == 0) ++device;
    return device;
}

static tilek_place moving_place(const tilek_partition *partition, int device)
{
    tilek_place place = partition->jobs[device].device_arrays.place;
    place.queue = 0;
    return place;
}

static tilek_status perform_move(tilek_partition *partition, const tilek_move *move, tilek_message *why)
{
    const tilek_partitioned_array *array = &partition->arrays[move->array];
    const size_t begin = tilek_row_offset(partition, move->array, move->which.first),
                 bytes = tilek_row_offset(partition, move->array, move->which.end) - begin;
    const int64_t first = move->which.first;
    const tilek_place to = moving_place(partition, move->device);
    const char *source = array->section.start + begin;
    tilek_status status = TILEK_OK;
    if ((move->owners & TILEK_HOST_OWNS) == 0) {
        const int from = tilek_device_among(move->owners);
        const tilek_place place = moving_place(partition, from);
        if (bytes > partition->passing_bytes) {
            char *larger = realloc(partition->passing, bytes);
            if (larger == NULL) return tilek_no_memory(why);
            partition->passing = larger;
            partition->passing_bytes = bytes;
        }
        source = partition->passing;
        status = tilek_copy_out(&place, &partition->copies[from][move->array].buffer,
                                tilek_offset_in_copy(partition, from, move->array, first), partition->passing, bytes,
                                why);
    }
    if (status == TILEK_OK)
        status = tilek_copy_in(&to, &partition->copies[move->device][move->array].buffer,
                               tilek_offset_in_copy(partition, move->device, move->array, first), source, bytes, why);
    return status;
}

tilek_status tilek_perform_moves(tilek_partition *partition, tilek_message *why)
{
    tilek_status status = TILEK_OK;
    for (int index = 0; index < partition->move_count && status == TILEK_OK; ++index)
        status = perform_move(partition, &partition->moves[index], why);
    return status;
}

tilek_status tilek_wait_for_partitions(const tilek_partition *partition, tilek_message *why)
{
    tilek_status status = TILEK_OK;
    for (int device = 0; device < partition->job_count; ++device) {
        const tilek_place *place = &partition->jobs[device].device_arrays.place;
        tilek_message unused;
        const tilek_status ended = place->backend->wait(place->device, partition->queue,
                                                        status == TILEK_OK ? why : &unused);
        if (status == TILEK_OK) status = ended;
    }
    return status;
}
