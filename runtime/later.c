/* later.c: asynchronous launches: the call is copied, and run by its queue's thread. */
#define _POSIX_C_SOURCE 200809L
#include "async.h"
#include "launch.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>

typedef struct launch_later { tilek_state *state; tilek_call call; } launch_later;

/* Host functions are left where the kernel's targets fail: no original loop waits for this call. */
static void run(void *argument, int device_queue)
{
    launch_later *later = argument;
    const tilek_kernel *kernel = later->state->kernel;
    tilek_target ran;
    tilek_message why;
    if (tilek_execute(later->state, &later->call, device_queue, &ran) != TILEK_OK && tilek_run_host(later->state, &later->call, TILEK_SERIAL, &why) != TILEK_OK)
        tilek_fail(kernel->file, kernel->line, TILEK_EXIT_STRICT, "kernel %s cannot run asynchronously: %s", kernel->name, why.text);
    free(later);
}

static size_t align(size_t bytes) { return (bytes + 15) / 16 * 16; }

static void *put(char **place, const void *source, size_t bytes)
{
    void *copy = *place;
    if (bytes > 0) memcpy(copy, source, bytes);
    *place += align(bytes);
    return copy;
}

tilek_status tilek_launch_later(const tilek_kernel *kernel, const tilek_call *call)
{
    const size_t arrays = (size_t)kernel->array_count * sizeof *call->arrays, loops = (size_t)kernel->loop_count * sizeof *call->loops;
    const size_t arguments = (size_t)kernel->tile_argument_count * sizeof *call->tile_arguments, scalars = (size_t)kernel->scalar_count * sizeof(void *);
    const size_t row_bases = (size_t)kernel->row_base_count * sizeof *call->row_bases;
    size_t total = align(sizeof(launch_later)) + align(arrays) + align(loops) + align(arguments) + align(scalars) + align(row_bases);
    launch_later *later;
    char *place;
    const void **addresses;
    tilek_status status;
    for (int index = 0; index < kernel->scalar_count; ++index) total += align(kernel->scalar_sizes[index]);
    later = malloc(total);
    if (later == NULL) return TILEK_NO_MEMORY;
    place = (char *)later + align(sizeof *later);
    later->state = tilek_state_of(kernel);
    later->call = *call;
    later->call.queue = TILEK_QUEUE_SYNCHRONOUS;
    later->call.waits = NULL;
    later->call.wait_count = 0;
    later->call.arrays = put(&place, call->arrays, arrays);
    later->call.loops = put(&place, call->loops, loops);
    later->call.tile_arguments = put(&place, call->tile_arguments, arguments);
    later->call.row_bases = put(&place, call->row_bases, row_bases);
    addresses = put(&place, call->scalars, scalars);
    for (int index = 0; index < kernel->scalar_count; ++index) addresses[index] = put(&place, call->scalars[index], kernel->scalar_sizes[index]);
    later->call.scalars = addresses;
    status = tilek_enqueue(call->queue, call->wait_count, call->waits, run, later);
    if (status != TILEK_OK) free(later);
    return status;
}
