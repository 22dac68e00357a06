/* calls.c: copies of calls. */
#define _POSIX_C_SOURCE 200809L
#include "calls.h"

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

tilek_call *tilek_copy_call(const tilek_kernel *kernel, const tilek_call *call)
{
    const size_t arrays = (size_t)kernel->array_count * sizeof *call->arrays, loops = (size_t)kernel->loop_count * sizeof *call->loops;
    const size_t arguments = (size_t)kernel->tile_argument_count * sizeof *call->tile_arguments, scalars = (size_t)kernel->scalar_count * sizeof(void *);
    const size_t row_bases = (size_t)kernel->row_base_count * sizeof *call->row_bases;
    size_t total = align(sizeof *call) + align(arrays) + align(loops) + align(arguments) + align(scalars) + align(row_bases);
    tilek_call *copy;
    char *place;
    const void **addresses;
    for (int index = 0; index < kernel->scalar_count; ++index) total += align(kernel->scalar_sizes[index]);
    copy = malloc(total);
    if (copy == NULL) return NULL;
    place = (char *)copy + align(sizeof *copy);
    *copy = *call;
    copy->waits = NULL;
    copy->wait_count = 0;
    copy->arrays = put(&place, call->arrays, arrays);
    copy->loops = put(&place, call->loops, loops);
    copy->tile_arguments = put(&place, call->tile_arguments, arguments);
    copy->row_bases = put(&place, call->row_bases, row_bases);
    addresses = put(&place, call->scalars, scalars);
    for (int index = 0; index < kernel->scalar_count; ++index) addresses[index] = put(&place, call->scalars[index], kernel->scalar_sizes[index]);
    copy->scalars = addresses;
    return copy;
}
