/* call_copy.c: copies of calls. */
#define _POSIX_C_SOURCE 200809L
#include "kernel/call_copy.h"

#include <stdlib.h>
#include <string.h>

static size_t align(size_t bytes) { return (bytes + 15) / 16 * 16; }

static void *put(char **place, const void *source, size_t bytes)
{
    void *copy = *place;
    if (bytes > 0) memcpy(copy, source, bytes);
    *place += align(bytes);
    return copy;
}

size_t tilek_call_bytes(const tilek_kernel *kernel)
{
    size_t total = align(sizeof(tilek_call)) + align((size_t)kernel->array_count * sizeof(tilek_array)) +
                   align((size_t)kernel->loop_count * sizeof(tilek_bounds)) +
                   align((size_t)kernel->tile_argument_count * sizeof(int64_t)) +
                   align((size_t)kernel->scalar_count * sizeof(void *)) +
                   align((size_t)kernel->row_base_count * sizeof(int64_t));
    for (int index = 0; index < kernel->scalar_count; ++index) total += align(kernel->scalar_sizes[index]);
    return total;
}

tilek_call *tilek_copy_call_to(void *block, const tilek_kernel *kernel, const tilek_call *call)
{
    tilek_call *copy = block;
    char *place = (char *)block + align(sizeof *copy);
    const void **addresses;
    *copy = *call;
    copy->waits = NULL;
    copy->wait_count = 0;
    copy->arrays = put(&place, call->arrays, (size_t)kernel->array_count * sizeof *call->arrays);
    copy->loops = put(&place, call->loops, (size_t)kernel->loop_count * sizeof *call->loops);
    copy->tile_arguments = put(&place, call->tile_arguments,
                               (size_t)kernel->tile_argument_count * sizeof *call->tile_arguments);
    copy->row_bases = put(&place, call->row_bases, (size_t)kernel->row_base_count * sizeof *call->row_bases);
    addresses = put(&place, call->scalars, (size_t)kernel->scalar_count * sizeof(void *));
    for (int index = 0; index < kernel->scalar_count; ++index)
        addresses[index] = put(&place, call->scalars[index], kernel->scalar_sizes[index]);
    copy->scalars = addresses;
    return copy;
}

tilek_call *tilek_copy_call(const tilek_kernel *kernel, const tilek_call *call)
{
    void *block = malloc(tilek_call_bytes(kernel));
    return block != NULL ? tilek_copy_call_to(block, kernel, call) : NULL;
}
