/* tile_sizes.c: the version and the tile sizes of a call. */
#define _POSIX_C_SOURCE 200809L
#include "tune/tile_sizes.h"

#include "arrays/section.h"
#include "base/environment.h"
#include "base/message.h"

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

int tilek_layout_at(const tilek_kernel *kernel, tilek_side side, int number)
{
    const int count = side == TILEK_SIDE_DEVICE ? kernel->device_choice_count : kernel->choice_count,
              sign = side == TILEK_SIDE_DEVICE ? -1 : 1;
    const int before = side == TILEK_SIDE_PROCESSOR ? kernel->processor_choice_count : 0;
    if (number < before) return TILEK_USUAL + 1 + kernel->choice_count + number;
    if (number < before + count) return sign * (TILEK_USUAL + 1 + number - before);
    return number == before + count ? sign * TILEK_USUAL : 0;
}

const tilek_choice *tilek_choice_of(const tilek_kernel *kernel, int layout)
{
    const int index = abs(layout) - TILEK_USUAL - 1;
    if (index < 0) return NULL;
    if (layout < 0) return &kernel->device_choices[index];
    return index < kernel->choice_count ? &kernel->choices[index]
                                        : &kernel->processor_choices[index - kernel->choice_count];
}

int tilek_layout_chosen(const tilek_kernel *kernel, const tilek_call *call, tilek_side side, int64_t bytes)
{
    const int64_t trips = call->trips >= 0 ? call->trips : INT64_MAX;
    for (int number = 0;; ++number) {
        const int layout = tilek_layout_at(kernel, side, number);
        const tilek_choice *choice = tilek_choice_of(kernel, layout);
        if (choice == NULL || (bytes <= choice->bytes && trips <= choice->trips)) return layout;
    }
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
static const int64_t *sizes_of(const tilek_kernel *kernel, const tilek_call *call, tilek_side side)
{
    const tilek_choice *choice;
    if (call->layout != 0) return (call->layout > 0) == (side != TILEK_SIDE_DEVICE) ? call->sizes : NULL;
    if (tilek_choice_of(kernel, tilek_layout_at(kernel, side, 0)) == NULL) return NULL;
    choice = tilek_choice_of(kernel, tilek_layout_chosen(kernel, call, side, tilek_bytes_on_hosts(kernel, call)));
    return choice != NULL && choice->version == 0 ? choice->sizes : NULL;
}

tilek_status tilek_choose_sizes(const tilek_kernel *kernel, const tilek_call *call, tilek_side side, int64_t sizes[],
                                tilek_message *why)
{
    const int64_t *const taken = sizes_of(kernel, call, side);
    for (int index = 0; index < kernel->size_count; ++index) {
        const tilek_size *size = &kernel->sizes[index];
        sizes[index] = tilek_given_size(kernel->name, size->name,
                                        taken != NULL               ? taken[index]
                                        : side == TILEK_SIDE_DEVICE ? size->device
                                                                    : size->host);
        if (sizes[index] >= 1) continue;
        tilek_say(why, "the tile size %s is %" PRId64, size->name, sizes[index]);
        return TILEK_INVALID;
    }
    return TILEK_OK;
}
