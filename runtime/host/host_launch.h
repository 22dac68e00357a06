/* host_launch.h: running a call's host functions. */
#ifndef TILEK_HOST_LAUNCH_H
#define TILEK_HOST_LAUNCH_H

#include "kernel/kernel_state.h"

/* On the calling thread (TILEK_SERIAL) or the pool (TILEK_THREADS). Fails before anything has
 * run. */
tilek_status tilek_run_host(tilek_state *state, const tilek_call *call, tilek_target target, tilek_message *why);

/* Whether a launch of the calling thread on the pool, or by itself, asks the C library for memory;
 * it may say yes for no. */
int tilek_host_needs_memory(const tilek_kernel *kernel, int on_pool);

/* Gives back what the calling thread keeps for its next launch. */
void tilek_host_thread_ends(void);

/* Whether the host functions take the call's numbers. */
int tilek_host_can_run(tilek_state *state, const tilek_call *call);

#endif
