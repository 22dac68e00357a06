/* cores.h: the cores that this process may use, and on which of them a thread is. */
#ifndef TILEK_CORES_H
#define TILEK_CORES_H

#include "tilek.h"

/* How many cores this process may use, at least 1. They are those of its first thread and of each
 * thread that asks, since one of these may be bound to a core. They are no more than its control
 * groups allow processor time for, and of cores that other ranks of the program use too only its
 * share. */
int64_t tilek_core_count(void);

/* Lets the calling thread run on any of them, however the thread that made it is bound. */
void tilek_use_all_cores(void);

/* The core on which the calling thread is, -1 where the system does not say. */
int tilek_current_core(void);

/* Moves the calling thread to a core that it may use and that is none of the `count` in `taken`
 * (entries below 0 are none). The thread is not bound: the system may move it on. Returns its core
 * then, which is the one before where all are taken. */
int tilek_move_to_free_core(const int *taken, int64_t count);

/* In a fork's child. */
void tilek_cores_forked(void);

#endif
