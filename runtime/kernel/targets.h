/* targets.h: which targets a kernel runs on, in order of trial. */
#ifndef TILEK_TARGETS_H
#define TILEK_TARGETS_H

#include "tilek.h"

/* One candidate. `demanded`: the user asked for this target by name, so its absence deserves a
 * word; `gpu_only`: an OpenCL device that is no GPU is passed over. */
typedef struct tilek_candidate { tilek_target target; int demanded; int gpu_only; } tilek_candidate;

/* Fills candidates[TILEK_TARGETS], returns their number; after the last the original loop is
 * left. */
int tilek_candidates(const tilek_kernel *kernel, tilek_candidate candidates[]);

const char *tilek_target_name(tilek_target target); /* "serial", …; "original" for TILEK_AUTO */

#endif
