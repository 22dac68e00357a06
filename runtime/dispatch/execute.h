/* execute.h: running a call on the first of its kernel's targets that can. */
#ifndef TILEK_EXECUTE_H
#define TILEK_EXECUTE_H

#include "kernel/kernel_state.h"
#include "kernel/variant.h"

/* Tries the kernel's targets in order. TILEK_OK: done, on *ran. Otherwise nothing has been changed
 * and the original is to run; troubles have been reported. */
tilek_status tilek_execute(tilek_state *state, const tilek_call *call, int queue, tilek_target *ran);

/* Finds the target that is going to run the call, as far as is known, and the side of its launches;
 * 0: none is. */
int tilek_likely_target(const tilek_state *state, const tilek_call *call, tilek_target *target, tilek_side *side);

#endif
