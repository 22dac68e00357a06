/* online_tuning.h: TILEK_ADAPT: the first launches of each kind try the layouts (tile_sizes.h) that
 * their kernel has, and later ones take the fastest. */
#ifndef TILEK_ONLINE_TUNING_H
#define TILEK_ONLINE_TUNING_H

#include "kernel/kernel_state.h"
#include "kernel/variant.h"

/* What is learned from the launches of one kind: of a kernel, on a target, with arrays and
 * outermost loops of a size. */
typedef struct tilek_tuning tilek_tuning;

/* Decides the call's layout where there are several; else leaves it undecided. Only for launches
 * under TILEK_ADAPT. Where call->adaptation is set then, tilek_tuned or tilek_tuning_declined is to
 * be told what came of the call. */
void tilek_tune(tilek_state *state, tilek_call *call, tilek_target target, tilek_side side);

/* The call took so many nanoseconds on a target; negative: it could not run there. Nothing is noted
 * for other targets than the one that the layout was decided for. */
void tilek_tuned(const tilek_call *call, tilek_target target, int64_t nanoseconds);

/* The call is not going to be tried on any target, so that its layout's trial ends without a
 * time. */
void tilek_tuning_declined(const tilek_call *call);

/* A line for each kind of launch of which it is known: what it takes. */
void tilek_tunings_print(const tilek_state *state);

void tilek_tunings_free(tilek_state *state);

#endif
