/* sizes.c: the version and the tile sizes of a call. */
#define _POSIX_C_SOURCE 200809L
#include "sizes.h"

#include "environment.h"
#include "message.h"
#include "span.h"

#include <inttypes.h>
#include <stdlib.h>

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

int tilek_choice_count(const tilek_kernel *kernel, int is_hosts) { return is_hosts ? kernel->choice_count : kernel->device_choice_count; }

const tilek_choice *tilek_choice_of(const tilek_kernel *kernel, int layout)
{
    if (abs(layout) <= TILEK_USUAL) return NULL;
    return layout > 0 ? &kernel->choices[layout - TILEK_USUAL - 1] : &kernel->device_choices[-layout - TILEK_USUAL - 1];
}

int tilek_layout_chosen(const tilek_kernel *kernel, const tilek_call *call, int is_hosts, int64_t bytes)
{
    const tilek_choice *const choices = is_hosts ? kernel->choices : kernel->device_choices;
    const int64_t trips = call->trips >= 0 ? call->trips : INT64_MAX;
    const int sign = is_hosts ? 1 : -1;
    for (int index = 0; index < tilek_choice_count(kernel, is_hosts); ++index)
        if (bytes <= choices[index].bytes && trips <= choices[index].trips) return sign * (TILEK_USUAL + 1 + index);
    return sign * TILEK_USUAL;
}

const tilek_kernel *tilek_version_of(const tilek_kernel *kernel, int layout)
{
    const tilek_choice *choice = tilek_choice_of(kernel, layout);
    return choice != NULL && choice->version > 0 ? kernel->versions[choice->version - 1] : kernel;
}

int64_t tilek_layout_size(const tilek_kernel *kernel, int layout, int index)
{
    const tilek_choice *choice = tilek_choice_of(kernel, layout);
    const tilek_size *size = &tilek_version_of(kernel, layout)->sizes[index];
    if (choice != NULL && choice->sizes != NULL) return choice->sizes[index];
    return layout > 0 ? size->host : size->device;
}

int tilek_layouts_are_alike(const tilek_kernel *kernel, int layout, int other)
{
    const tilek_kernel *version = tilek_version_of(kernel, layout);
    if (version != tilek_version_of(kernel, other)) return 0;
    for (int index = 0; index < version->size_count; ++index)
        if (tilek_layout_size(kernel, layout, index) != tilek_layout_size(kernel, other, index)) return 0;
    return 1;
}

void tilek_take_layout(const tilek_kernel *kernel, tilek_call *call, int layout)
{
    const tilek_choice *choice = tilek_choice_of(kernel, layout);
    call->layout = layout;
    call->sizes = choice != NULL ? choice->sizes : NULL;
}

/* What the call takes, as far as it is of this version and this side. */
static const int64_t *sizes_of(const tilek_kernel *kernel, const tilek_call *call, int is_hosts)
{
    const tilek_choice *choice;
    if (call->layout != 0) return (call->layout > 0) == is_hosts ? call->sizes : NULL;
    if (tilek_choice_count(kernel, is_hosts) == 0) return NULL;
    choice = tilek_choice_of(kernel, tilek_layout_chosen(kernel, call, is_hosts, tilek_bytes_on_hosts(kernel, call)));
    return choice != NULL && choice->version == 0 ? choice->sizes : NULL;
}

tilek_status tilek_choose_sizes(const tilek_kernel *kernel, const tilek_call *call, int is_hosts, int64_t sizes[], tilek_message *why)
{
    const int64_t *const taken = sizes_of(kernel, call, is_hosts);
    for (int index = 0; index < kernel->size_count; ++index) {
        const tilek_size *size = &kernel->sizes[index];
        sizes[index] = tilek_given_size(kernel->name, size->name, taken != NULL ? taken[index] : is_hosts ? size->host : size->device);
        if (sizes[index] >= 1) continue;
        tilek_say(why, "the tile size %s is %" PRId64, size->name, sizes[index]);
        return TILEK_INVALID;
    }
    return TILEK_OK;
}
