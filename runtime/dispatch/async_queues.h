/* async_queues.h: asynchronous queues: a thread each, made at first use. */
#ifndef TILEK_ASYNC_QUEUES_H
#define TILEK_ASYNC_QUEUES_H

#include "tilek.h"

/* Puts run(argument, device_queue) at the end of a queue, to start when the queues waited for
 * (wait_count -1: all others) have done what they hold now. `run` frees its argument. On a failure
 * nothing has been queued. */
tilek_status tilek_enqueue(int64_t queue, int wait_count, const int64_t waits[],
                           void (*run)(void *argument, int device_queue), void *argument);

/* Whether there is a queue. */
int tilek_has_queues(void);

/* As tilek_wait (tilek.h), inside of the runtime. */
void tilek_queues_wait(int count, const int64_t queues[]);

/* Runs what was queued and ends the queues' threads: at exit, and where no thread of the program is
 * left that has been here. And in a fork's child. */
void tilek_queues_finish(void);
void tilek_queues_close(void);
void tilek_queues_forked(void);

#endif
