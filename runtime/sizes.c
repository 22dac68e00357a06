/* sizes.c: the tile sizes of a call. */
#define _POSIX_C_SOURCE 200809L
#include "sizes.h"

#include "environment.h"
#include "message.h"
#include "span.h"

#include <inttypes.h>

/* The bytes of all arrays that hosts reach; INT64_MAX where they are more than can be counted. */
static int64_t bytes_on_hosts(const tilek_kernel *kernel, const tilek_call *call)
{
    size_t total = 0;
    for (int index = 0; index < kernel->array_count; ++index) {
        const tilek_array_shape *shape = &kernel->arrays[index];
        if ((shape->flags & TILEK_DEVICES_ONLY) != 0) continue;
        if (__builtin_add_overflow(total, tilek_section_bytes(shape, &call->arrays[index]), &total)) return INT64_MAX;
    }
    return (uint64_t)total < INT64_MAX ? (int64_t)total : INT64_MAX;
}

/* NULL: none holds. */
static const tilek_choice *choice_for(const tilek_kernel *kernel, const tilek_call *call)
{
    const int64_t bytes = kernel->choice_count > 0 ? bytes_on_hosts(kernel, call) : 0, trips = call->trips >= 0 ? call->trips : INT64_MAX;
    for (int index = 0; index < kernel->choice_count; ++index)
        if (bytes <= kernel->choices[index].bytes && trips <= kernel->choices[index].trips) return &kernel->choices[index];
    return NULL;
}

tilek_status tilek_choose_sizes(const tilek_kernel *kernel, const tilek_call *call, int is_hosts, int64_t sizes[], tilek_message *why)
{
    const tilek_choice *choice = is_hosts ? choice_for(kernel, call) : NULL;
    for (int index = 0; index < kernel->size_count; ++index) {
        const tilek_size *size = &kernel->sizes[index];
        sizes[index] = tilek_given_size(kernel->name, size->name, choice != NULL ? choice->sizes[index] : is_hosts ? size->host : size->device);
        if (sizes[index] >= 1) continue;
        tilek_say(why, "the tile size %s is %" PRId64, size->name, sizes[index]);
        return TILEK_INVALID;
    }
    return TILEK_OK;
}
