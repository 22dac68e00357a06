/* async_launch.c: asynchronous launches: the call is copied, and run by its queue's thread. */
#define _POSIX_C_SOURCE 200809L
#include "dispatch/async_launch.h"

#include "base/message.h"
#include "dispatch/async_queues.h"
#include "dispatch/execute.h"
#include "host/host_launch.h"
#include "kernel/call_copy.h"

#include <stdlib.h>

typedef struct async_launch { tilek_state *state; tilek_call *call; } async_launch;

static void discard(async_launch *later)
{
    free(later->call);
    free(later);
}

/* Host functions are left where the kernel's targets fail: no original loop waits for this call. */
static void run(void *argument, int device_queue)
{
    async_launch *later = argument;
    const tilek_kernel *kernel = later->state->kernel;
    tilek_target ran;
    tilek_message why;
    if (tilek_execute(later->state, later->call, device_queue, &ran) != TILEK_OK &&
        tilek_run_host(later->state, later->call, TILEK_SERIAL, &why) != TILEK_OK)
        tilek_fail(kernel->file, kernel->line, TILEK_EXIT_STRICT, "kernel %s cannot run asynchronously: %s",
                   kernel->name, why.text);
    discard(later);
}

tilek_status tilek_launch_async(const tilek_kernel *kernel, const tilek_call *call)
{
    async_launch *later = malloc(sizeof *later);
    tilek_status status = TILEK_NO_MEMORY;
    if (later == NULL) return TILEK_NO_MEMORY;
    later->state = tilek_state_of(kernel);
    later->call = tilek_copy_call(kernel, call);
    if (later->call != NULL) {
        later->call->queue = TILEK_QUEUE_SYNCHRONOUS;
        status = tilek_enqueue(call->queue, call->wait_count, call->waits, run, later);
    }
    if (status != TILEK_OK) discard(later);
    return status;
}
