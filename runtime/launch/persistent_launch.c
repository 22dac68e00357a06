/* persistent_launch.c: all wavefronts of a launch as one launch: its columns and its flags. */
#define _POSIX_C_SOURCE 200809L
#include "launch/persistent_launch.h"

#include "base/locks.h"
#include "base/message.h"

#include <stdlib.h>
#include <string.h>

/* ---- Columns --------------------------------------------------------------------------------- */

int tilek_column_loops(const tilek_launch_shape *launch)
{
    int count = 0;
    for (int axis = TILEK_AXIS_GANG; axis < TILEK_AXIS_WORKER; ++axis) count += (int)(launch->axes >> axis & 1u);
    return count;
}

int tilek_can_persist(const tilek_launch_shape *launch)
{
    const int columns = tilek_column_loops(launch);
    if (columns == 0 || columns > launch->loop_count || launch->value_count > TILEK_MOST_PERSISTENT_VALUES) return 0;
    for (int index = 0; index < launch->value_count; ++index)
        if (launch->value_sizes[index] > sizeof(int64_t)) return 0;
    return 1;
}

int tilek_widen_columns(const tilek_launch_shape *launch, const tilek_planned *planned, int64_t lower[],
                        int64_t upper[], int is_first)
{
    for (int loop = 0; loop < tilek_column_loops(launch); ++loop)
        if (planned->bounds[loop].trip == 0) return 0;
    for (int loop = 0; loop < tilek_column_loops(launch); ++loop) {
        const tilek_bounds *bounds = &planned->bounds[loop];
        const int64_t last = bounds->lower + bounds->trip - 1; /* they count up by 1 */
        lower[loop] = is_first ? bounds->lower : tilek_minimum(lower[loop], bounds->lower);
        upper[loop] = is_first ? last : tilek_maximum(upper[loop], last);
    }
    return 1;
}

int64_t tilek_columns(const tilek_launch_shape *launch, const int64_t lower[], const int64_t upper[])
{
    int64_t columns = 1, count;
    for (int loop = 0; loop < tilek_column_loops(launch); ++loop)
        if (__builtin_sub_overflow(upper[loop], lower[loop], &count) || __builtin_add_overflow(count, 1, &count) ||
            __builtin_mul_overflow(columns, count, &columns))
            return INT64_MAX;
    return columns;
}

int64_t tilek_persistent_number(const tilek_persistence *persistence, const tilek_parameter *parameter)
{
    switch (parameter->kind) {
    case TILEK_PARAMETER_FLAGS_BASE: return persistence->flags->base;
    case TILEK_PARAMETER_WAVE_FIRST: return persistence->first;
    case TILEK_PARAMETER_WAVE_LAST: return persistence->last;
    case TILEK_PARAMETER_COLUMN_LOWER: return persistence->lower[parameter->index];
    case TILEK_PARAMETER_COLUMN_COUNT:
        return persistence->upper[parameter->index] - persistence->lower[parameter->index] + 1;
    default: return 0;
    }
}

/* ---- Flags ----------------------------------------------------------------------------------- */

static tilek_flags *idle;

static void discard(tilek_flags *flags)
{
    tilek_give_buffer(&flags->place, &flags->boxes);
    tilek_give_buffer(&flags->place, &flags->buffer);
    free(flags->known);
    free(flags);
}

/* Idle ones with room, taken out of the list. Those without are discarded: launches that grow from
 * run to run would leave them all behind. */
static tilek_flags *find_idle(const tilek_place *place, size_t bytes, size_t box_bytes)
{
    tilek_flags *fitting = NULL, *small = NULL;
    tilek_lock(TILEK_LOCK_FLAGS);
    for (tilek_flags **link = &idle; *link != NULL && fitting == NULL;) {
        tilek_flags *const flags = *link;
        if (flags->place.device != place->device || flags->place.backend != place->backend) {
            link = &flags->next;
            continue;
        }
        *link = flags->next;
        if (flags->buffer.bytes >= bytes && flags->boxes.bytes >= box_bytes) {
            fitting = flags;
        } else {
            flags->next = small;
            small = flags;
        }
    }
    tilek_unlock(TILEK_LOCK_FLAGS);
    while (small != NULL) {
        tilek_flags *const flags = small;
        small = flags->next;
        discard(flags);
    }
    return fitting;
}

static tilek_status clear(const tilek_place *place, const tilek_buffer *buffer, tilek_message *why)
{
    void *zeros = calloc(1, buffer->bytes);
    tilek_status status = TILEK_NO_MEMORY;
    if (zeros == NULL) tilek_say(why, "memory is exhausted");
    else status = place->backend->write(place->device, place->queue, buffer, 0, zeros, buffer->bytes, why);
    free(zeros);
    return status;
}

tilek_status tilek_take_flags(const tilek_place *place, int64_t columns, size_t numbers, tilek_flags **flags,
                              tilek_message *why)
{
    const size_t bytes = (size_t)columns * sizeof(int64_t), box_bytes = numbers * sizeof(int64_t);
    tilek_status status;
    *flags = find_idle(place, bytes, box_bytes);
    if (*flags != NULL) return TILEK_OK;
    *flags = calloc(1, sizeof **flags);
    if (*flags == NULL) {
        tilek_say(why, "memory is exhausted");
        return TILEK_NO_MEMORY;
    }
    (*flags)->place = *place;
    status = tilek_take_buffer(place, bytes, &(*flags)->buffer, why);
    if (status == TILEK_OK) status = clear(place, &(*flags)->buffer, why);
    if (status == TILEK_OK) status = tilek_take_buffer(place, box_bytes, &(*flags)->boxes, why);
    if (status == TILEK_OK) return TILEK_OK;
    discard(*flags);
    *flags = NULL;
    return status;
}

tilek_status tilek_bring_boxes(tilek_flags *flags, int queue, const int64_t *boxes, size_t count, tilek_message *why)
{
    const size_t bytes = count * sizeof *boxes;
    int64_t *known;
    tilek_status status;
    if (flags->known_count == count && memcmp(flags->known, boxes, bytes) == 0) return TILEK_OK;
    flags->known_count = 0; /* until others have arrived */
    status = flags->place.backend->write(flags->place.device, queue, &flags->boxes, 0, boxes, bytes, why);
    known = status == TILEK_OK ? realloc(flags->known, bytes) : NULL;
    if (known == NULL) return status;
    memcpy(known, boxes, bytes);
    flags->known = known;
    flags->known_count = count;
    return TILEK_OK;
}

void tilek_give_flags(tilek_flags *flags)
{
    if (flags == NULL) return;
    tilek_lock(TILEK_LOCK_FLAGS);
    flags->next = idle;
    idle = flags;
    tilek_unlock(TILEK_LOCK_FLAGS);
}

void tilek_flags_free(void)
{
    while (idle != NULL) {
        tilek_flags *flags = idle;
        idle = flags->next;
        discard(flags);
    }
}

/* Held, so that no checker takes them for lost. */
static tilek_flags *parents;

void tilek_flags_forked(void)
{
    while (idle != NULL) {
        tilek_flags *flags = idle;
        idle = flags->next;
        flags->next = parents;
        parents = flags;
    }
}
