/* thread_pool.h: the pool of host threads. */
#ifndef TILEK_THREAD_POOL_H
#define TILEK_THREAD_POOL_H

#include "base/environment.h"

/* Runs body(context, part) for part = 0 … parts - 1, each once, on `parts` threads of which the
 * caller is part 0; returns when all are done. The threads are made at first need and kept. Where
 * the pool is busy (another thread's launch, or a launch within a launch) or there are more than
 * TILEK_MOST_THREADS parts, the caller runs them itself, in order; where the system refuses
 * threads, the others run all parts. */
void tilek_parallel(int64_t parts, void (*body)(void *context, int64_t part), void *context);

/* Waits until another part has stored `least` or more, as __ATOMIC_RELEASE; what it did before is
 * then seen. Only for what a part does that has begun and waits for nothing that comes later. */
void tilek_await(const int *value, int least);

/* The calling thread has jumped out of tilek_parallel, if it was there: waits until no thread runs
 * a part of it. What parts await from the caller's own part comes no more. */
void tilek_parallel_left(void);

/* Ends the pool's threads. A later tilek_parallel makes new ones. */
void tilek_threads_free(void);

/* In a fork's child. */
void tilek_threads_forked(void);

#endif
