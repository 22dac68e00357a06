/* zero_sign.c: finds minima and maxima that have become a zero, whose sign the order of the
 * iterations decides, so that the original loop runs again. */
#define _POSIX_C_SOURCE 200809L
#include "check/zero_sign.h"

#include "arrays/present_table.h"
#include "base/message.h"

#include <string.h>

enum { ORDERED = TILEK_ORDERED_ZERO_ON_HOSTS | TILEK_ORDERED_ZERO_ON_DEVICES };

int tilek_has_ordered_zeros(const tilek_kernel *kernel)
{
    for (int index = 0; index < kernel->array_count; ++index)
        if ((kernel->arrays[index].flags & ORDERED) != 0) return 1;
    return 0;
}

static int is_written_scalar(const tilek_array_shape *shape)
{
    return shape->storage == TILEK_SCALAR && (shape->flags & TILEK_WRITES) != 0;
}

/* Fetches the newest values of the scalars that `before` names. */
static tilek_status bring_home(tilek_state *state, const tilek_call *call, const tilek_values_before *before,
                               tilek_message *why)
{
    tilek_array_shape shapes[TILEK_MOST_RESTORED];
    tilek_array arrays[TILEK_MOST_RESTORED];
    tilek_kernel scalars = *state->kernel;
    tilek_call on_scalars = *call;
    if (tilek_nothing_is_present()) return TILEK_OK;
    for (int index = 0; index < before->count; ++index) {
        shapes[index] = state->kernel->arrays[before->arrays[index]];
        arrays[index] = call->arrays[before->arrays[index]];
    }
    scalars.array_count = before->count;
    scalars.arrays = shapes;
    on_scalars.arrays = arrays;
    return tilek_host_begins(&scalars, state, &on_scalars, why);
}

tilek_status tilek_keep_values(tilek_state *state, const tilek_call *call, tilek_values_before *before,
                               tilek_message *why)
{
    tilek_status status;
    before->count = 0;
    for (int index = 0; index < state->kernel->array_count; ++index) {
        const tilek_array_shape *shape = &state->kernel->arrays[index];
        if (!is_written_scalar(shape)) continue;
        if (before->count == TILEK_MOST_RESTORED || shape->element_size > sizeof before->values->bytes) {
            tilek_say(why, "it writes more scalars than are restored where a minimum or maximum becomes a zero");
            return TILEK_UNSUPPORTED;
        }
        before->arrays[before->count++] = index;
    }
    if ((status = bring_home(state, call, before, why)) != TILEK_OK) return status;
    for (int index = 0; index < before->count; ++index)
        memcpy(before->values[index].bytes, call->arrays[before->arrays[index]].base,
               state->kernel->arrays[before->arrays[index]].element_size);
    return TILEK_OK;
}

void tilek_restore_values(const tilek_kernel *kernel, const tilek_call *call, const tilek_values_before *before)
{
    for (int index = 0; index < before->count; ++index)
        memcpy(call->arrays[before->arrays[index]].base, before->values[index].bytes,
               kernel->arrays[before->arrays[index]].element_size);
}

static int is_zero(tilek_type type, const void *value)
{
    float single;
    double number;
    long double longest;
    switch (type) {
    case TILEK_FLOAT: return memcpy(&single, value, sizeof single), single == 0;
    case TILEK_DOUBLE: return memcpy(&number, value, sizeof number), number == 0;
    case TILEK_LONG_DOUBLE: return memcpy(&longest, value, sizeof longest), longest == 0;
    default: return 0;
    }
}

/* Whether fmin or fmax reduces the scalar. C leaves open which zero they give; a comparison keeps a
 * zero from before the loop. */
static int is_of_numbers(const tilek_launch_shape launches[], int count, int array)
{
    for (int launch = 0; launch < count; ++launch)
        for (int index = 0; index < launches[launch].reduction_count; ++index) {
            const tilek_reduction *reduction = &launches[launch].reductions[index];
            if (reduction->array == array &&
                (reduction->operation == TILEK_MINIMUM_NUMBER || reduction->operation == TILEK_MAXIMUM_NUMBER))
                return 1;
        }
    return 0;
}

tilek_status tilek_find_ordered_zero(tilek_state *state, const tilek_call *call, tilek_target target,
                                     const tilek_values_before *before, const char **name, tilek_message *why)
{
    const tilek_kernel *const kernel = state->kernel;
    const unsigned flag = target == TILEK_SERIAL || target == TILEK_THREADS ? TILEK_ORDERED_ZERO_ON_HOSTS
                                                                            : TILEK_ORDERED_ZERO_ON_DEVICES;
    tilek_status status;
    *name = NULL;
    if ((status = bring_home(state, call, before, why)) != TILEK_OK) return status;
    for (int index = 0; index < before->count && *name == NULL; ++index) {
        const int array = before->arrays[index];
        const tilek_array_shape *const shape = &kernel->arrays[array];
        const tilek_type type = shape->fields[0].type;
        if ((shape->flags & flag) == 0 || !is_zero(type, call->arrays[array].base)) continue;
        if (!is_zero(type, before->values[index].bytes) ||
            is_of_numbers(kernel->host_launches, kernel->host_launch_count, array) ||
            is_of_numbers(kernel->device_launches, kernel->device_launch_count, array))
            *name = shape->name;
    }
    return TILEK_OK;
}
