/* launch.h: running a call on one target. */
#ifndef TILEK_LAUNCH_H
#define TILEK_LAUNCH_H

#include "kernel/kernel_state.h"
#include "kernel/targets.h"

/* On the calling thread (TILEK_SERIAL) or the pool (TILEK_THREADS). Fails before anything has run. */
tilek_status tilek_run_host(tilek_state *state, const tilek_call *call, tilek_target target, tilek_message *why);

/* Whether a launch of the calling thread on the pool, or by itself, asks the C library for memory; it may say yes for no. */
int tilek_host_needs_memory(const tilek_kernel *kernel, int on_pool);

/* Gives back what the calling thread keeps for its next launch. */
void tilek_host_thread_ends(void);

/* Whether the host functions take the call's numbers. */
int tilek_host_can_run(tilek_state *state, const tilek_call *call);

/* On a device, in one of the backend's queues; the call is complete on return. A failure leaves the host's data as they were. */
tilek_status tilek_run_device(tilek_state *state, const tilek_call *call, const tilek_candidate *candidate, int queue, tilek_message *why);

/* Tries the kernel's targets in order. TILEK_OK: done, on *ran. Otherwise nothing has been changed and the original is to run; troubles
 * have been reported. */
tilek_status tilek_execute(tilek_state *state, const tilek_call *call, int queue, tilek_target *ran);

#endif
