/* wait.c: the wait directive. */
#define _POSIX_C_SOURCE 200809L
#include "base/message.h"
#include "dispatch/async_queues.h"
#include "entry/lifecycle.h"
#include "tilek.h"

typedef struct waiting { int count; const int64_t *names; } waiting;

static int visit(void *context, tilek_admission admission)
{
    const waiting *wait = context;
    if (admission != TILEK_WITHIN) tilek_queues_wait(wait->count, wait->names);
    else if (tilek_has_queues())
        tilek_end_at_once("a signal handler waits for queues inside of a launch or a directive, which may never end");
    return 0;
}

void tilek_wait(int count, const int64_t names[])
{
    waiting wait = {count, names};
    (void)tilek_enter(visit, &wait);
}
