/* sizes.c: the tile sizes of a call. */
#define _POSIX_C_SOURCE 200809L
#include "sizes.h"

#include "environment.h"
#include "message.h"
#include "span.h"

#include <inttypes.h>

int64_t tilek_bytes_on_hosts(const tilek_kernel *kernel, const tilek_call *call)
{
    size_t total = 0;
    for (int index = 0; index < kernel->array_count; ++index) {
        const tilek_array_shape *shape = &kernel->arrays[index];
        if ((shape->flags & TILEK_DEVICES_ONLY) != 0) continue;
        if (__builtin_add_overflow(total, tilek_section_bytes(shape, &call->arrays[index]), &total)) return INT64_MAX;
    }
    return (uint64_t)total < INT64_MAX ? (int64_t)total : INT64_MAX;
}

int tilek_layout_chosen(const tilek_kernel *kernel, const tilek_call *call, int64_t bytes)
{
    const int64_t trips = call->trips >= 0 ? call->trips : INT64_MAX;
    for (int index = 0; index < kernel->choice_count; ++index)
        if (bytes <= kernel->choices[index].bytes && trips <= kernel->choices[index].trips) return TILEK_USUAL + 1 + index;
    return TILEK_USUAL;
}

int64_t tilek_layout_size(const tilek_kernel *kernel, int layout, int index)
{
    return layout > TILEK_USUAL ? kernel->choices[layout - TILEK_USUAL - 1].sizes[index] : kernel->sizes[index].host;
}

int tilek_layouts_are_alike(const tilek_kernel *kernel, int layout, int other)
{
    for (int index = 0; index < kernel->size_count; ++index)
        if (tilek_layout_size(kernel, layout, index) != tilek_layout_size(kernel, other, index)) return 0;
    return 1;
}

static int layout_of(const tilek_kernel *kernel, const tilek_call *call)
{
    if (call->layout != 0 || kernel->choice_count == 0) return call->layout;
    return tilek_layout_chosen(kernel, call, tilek_bytes_on_hosts(kernel, call));
}

tilek_status tilek_choose_sizes(const tilek_kernel *kernel, const tilek_call *call, int is_hosts, int64_t sizes[], tilek_message *why)
{
    const int layout = is_hosts ? layout_of(kernel, call) : 0;
    for (int index = 0; index < kernel->size_count; ++index) {
        const tilek_size *size = &kernel->sizes[index];
        sizes[index] = tilek_given_size(kernel->name, size->name, is_hosts ? tilek_layout_size(kernel, layout, index) : size->device);
        if (sizes[index] >= 1) continue;
        tilek_say(why, "the tile size %s is %" PRId64, size->name, sizes[index]);
        return TILEK_INVALID;
    }
    return TILEK_OK;
}
