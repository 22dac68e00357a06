/* differential_check.h: TILEK_VERIFY: the kernel and the original loop on the same inputs. */
#ifndef TILEK_DIFFERENTIAL_CHECK_H
#define TILEK_DIFFERENTIAL_CHECK_H

#include "kernel/kernel_state.h"

/* Runs the kernel, keeps its results and restores the inputs. Returns nonzero: the original is to
 * run next. */
int tilek_verify_launch(tilek_state *state, tilek_call *call);

/* Compares what the original left with the kernel's results, then puts those in place. Ends the
 * program with status 70 beyond the tolerance. */
void tilek_verify_complete(tilek_state *state, tilek_call *call);

/* At exit: says the largest differences. */
void tilek_verify_finish(void);

#endif
