/* adapt.h: TILEK_ADAPT: the first launches of each kind try the layouts of tile sizes that their kernel has, and later ones take the fastest. */
#ifndef TILEK_ADAPT_H
#define TILEK_ADAPT_H

#include "state.h"
#include "target.h"

/* What is learned from the launches of one kind: of a kernel, on a target, with arrays and outermost loops of a size. */
typedef struct tilek_adaptation tilek_adaptation;

/* A launch whose time is wanted; adaptation is NULL where it is not. */
typedef struct tilek_trial {
    tilek_adaptation *adaptation;
    int place;        /* of the layout among those that are tried */
    int64_t start;    /* as tilek_now */
    double work;      /* what its time is divided by, since launches of one kind differ in size */
} tilek_trial;

/* The layout (sizes.h) that a call on the candidate's target is to take: 0 where there is nothing to choose from. Every trial is to be ended. */
int tilek_trial_begin(tilek_trial *trial, tilek_state *state, const tilek_call *call, const tilek_candidate *candidate);

/* `succeeded`: the call has run. */
void tilek_trial_end(const tilek_trial *trial, int succeeded);

/* A line for each kind of launch of which it is known: what it takes. */
void tilek_adaptations_print(const tilek_state *state);

void tilek_adaptations_free(tilek_state *state);

#endif
