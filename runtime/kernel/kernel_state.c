/* kernel_state.c: what the runtime keeps for each kernel. */
#define _POSIX_C_SOURCE 200809L
#include "kernel/kernel_state.h"

#include "base/dynamic_library.h"
#include "base/locks.h"
#include "base/visits.h"

#include <stdlib.h>

static tilek_state *states; /* atomic head */

void tilek_state_lock(void) { tilek_lock(TILEK_LOCK_STATES); }
void tilek_state_unlock(void) { tilek_unlock(TILEK_LOCK_STATES); }

tilek_state *tilek_first_state(void) { return __atomic_load_n(&states, __ATOMIC_ACQUIRE); }

/* Two kernels with one text in two files have states of their own: a state hangs on the kernel's
 * own pointer. The state needs the kernel to the end, for profiles and device programs, so another
 * library's kernels must not go away before. A library with a runtime of its own may go: closing it
 * runs the handlers that the runtime has given to atexit. */
tilek_state *tilek_state_of(const tilek_kernel *kernel)
{
    tilek_state *state = __atomic_load_n(kernel->state, __ATOMIC_ACQUIRE);
    if (state != NULL) return state;
    if (tilek_is_ending()) return NULL;
    tilek_state_lock();
    state = *kernel->state;
    if (state == NULL && tilek_library_differs(kernel, &states)) tilek_library_keep(kernel);
    if (state == NULL && (state = calloc(1, sizeof *state)) != NULL) {
        state->kernel = kernel;
        state->next = states;
        __atomic_store_n(&states, state, __ATOMIC_RELEASE);
        __atomic_store_n(kernel->state, (void *)state, __ATOMIC_RELEASE);
    }
    tilek_state_unlock();
    return state;
}

void tilek_states_free(void)
{
    while (states != NULL) {
        tilek_state *state = states;
        states = state->next;
        if (state->kernel->state != NULL) *state->kernel->state = NULL;
        for (int target = 0; target < TILEK_TARGETS; ++target) {
            free(state->steps[target][0]);
            free(state->steps[target][1]);
        }
        while (state->taken != NULL) {
            tilek_traced_sizes *taken = state->taken;
            state->taken = taken->next;
            free(taken);
        }
        free(state->differences);
        free(state->scratch);
        free(state->changing);
        free(state);
    }
}
