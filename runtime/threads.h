/* threads.h: the pool of host threads. */
#ifndef TILEK_THREADS_H
#define TILEK_THREADS_H

#include "tilek.h"

/* Runs body(context, part) for part = 0 … parts - 1, each once, on `parts` threads of which the caller is part 0; returns when all are
 * done. The threads are made at first need and kept. Where the pool is busy (another thread's launch, or a launch within a launch),
 * or threads cannot be had, the caller runs the parts itself, in order. */
void tilek_parallel(int64_t parts, void (*body)(void *context, int64_t part), void *context);

/* Waits until another part has stored `least` or more, as __ATOMIC_RELEASE; what it did before is then seen. Only for what a part does that has
 * begun and waits for nothing that comes later. */
void tilek_await(const int *value, int least);

/* Ends the pool's threads. A later tilek_parallel makes new ones. */
void tilek_threads_free(void);

#endif
