/* cores.h: the cores that this process may use, and on which of them a thread is. */
#ifndef TILEK_CORES_H
#define TILEK_CORES_H

#include "tilek.h"

/* The cores this process may use, at least 1; of those that it shares with other ranks of its program on the machine its part. */
int64_t tilek_core_count(void);

/* The core on which the calling thread is, -1 where the system does not say. */
int tilek_current_core(void);

/* Moves the calling thread to a core that it may use and that is none of the `count` in `taken` (entries below 0 are none). The thread
 * is not bound: the system may move it on. Returns its core then, which is the one before where all are taken. */
int tilek_move_to_free_core(const int *taken, int64_t count);

#endif
