/* temporary_arrays.c: arrays that a kernel has for itself, for the time of a launch. */
#define _POSIX_C_SOURCE 200809L
#include "arrays/temporary_arrays.h"

#include "arrays/section.h"
#include "base/message.h"

#include <stdlib.h>
#include <string.h>

/* A kernel's scratch must not take the machine's memory: beyond both of these its original loop
 * runs, which does without. */
static const size_t ALWAYS_ALLOWED = (size_t)256 << 20;
enum { TIMES_THE_DATA = 4 };

static int is_wanted(const tilek_array_shape *shape, int devices)
{
    return (shape->flags & TILEK_TEMPORARY) != 0 && (devices || (shape->flags & TILEK_DEVICES_ONLY) == 0);
}

int tilek_has_temporaries(const tilek_kernel *kernel, int devices)
{
    for (int index = 0; index < kernel->array_count; ++index)
        if (is_wanted(&kernel->arrays[index], devices)) return 1;
    return 0;
}

static size_t sum(size_t a, size_t b) { return a > SIZE_MAX - b ? SIZE_MAX : a + b; }

static size_t align(size_t bytes) { return bytes > SIZE_MAX - 63 ? SIZE_MAX : (bytes + 63) / 64 * 64; }

/* The memory of an earlier launch where it is enough, else new. */
static int take(tilek_state *state, size_t bytes, tilek_scratch *scratch)
{
    tilek_state_lock();
    scratch->block = state->scratch;
    scratch->bytes = state->scratch_bytes;
    state->scratch = NULL;
    tilek_state_unlock();
    if (scratch->block != NULL && scratch->bytes >= bytes) return 1;
    free(scratch->block);
    scratch->block = malloc(bytes);
    scratch->bytes = bytes;
    return scratch->block != NULL;
}

void tilek_give_scratch(tilek_state *state, tilek_scratch *scratch)
{
    void *old;
    tilek_state_lock();
    old = state->scratch;
    state->scratch = scratch->block;
    state->scratch_bytes = scratch->bytes;
    tilek_state_unlock();
    free(old);
}

tilek_status tilek_take_scratch(tilek_state *state, tilek_call *call, int devices, tilek_scratch *scratch,
                                tilek_message *why)
{
    const tilek_kernel *kernel = state->kernel;
    const size_t arrays = (size_t)kernel->array_count * sizeof *call->arrays;
    size_t wanted = 0, others = 0, place = align(arrays);
    tilek_array *copies;
    for (int index = 0; index < kernel->array_count; ++index) {
        const size_t bytes = tilek_section_bytes(&kernel->arrays[index], &call->arrays[index]);
        if (is_wanted(&kernel->arrays[index], devices)) wanted = sum(wanted, align(bytes));
        else if ((kernel->arrays[index].flags & TILEK_TEMPORARY) == 0) others = sum(others, bytes);
    }
    if (wanted > ALWAYS_ALLOWED && wanted / TIMES_THE_DATA > others) {
        tilek_say(why, "its temporary arrays would take %llu MiB, more than %d times its data",
                  (unsigned long long)(wanted >> 20), (int)TIMES_THE_DATA);
        return TILEK_UNSUPPORTED;
    }
    if (!take(state, sum(place, wanted), scratch)) {
        tilek_say(why, "memory for its temporary arrays is exhausted");
        return TILEK_NO_MEMORY;
    }
    copies = scratch->block;
    memcpy(copies, call->arrays, arrays);
    call->arrays = copies;
    for (int index = 0; index < kernel->array_count; ++index) {
        if (!is_wanted(&kernel->arrays[index], devices)) continue;
        copies[index].base = (char *)scratch->block + place;
        place += align(tilek_section_bytes(&kernel->arrays[index], &copies[index]));
    }
    return TILEK_OK;
}
