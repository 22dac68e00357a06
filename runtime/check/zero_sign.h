/* zero_sign.h: minima and maxima that end as a zero, whose sign the order of the iterations
 * decides. */
#ifndef TILEK_ZERO_SIGN_H
#define TILEK_ZERO_SIGN_H

#include "base/environment.h"
#include "kernel/kernel_state.h"
#include "tilek.h"

/* The values from before a launch of the scalars that it reduces, for the original loop. */
typedef struct tilek_values_before {
    int count;
    int arrays[TILEK_MOST_RESTORED];
    union { long double number; char bytes[16]; } values[TILEK_MOST_RESTORED];
} tilek_values_before;

/* Whether the kernel has such scalars on any target. */
int tilek_has_ordered_zeros(const tilek_kernel *kernel);

/* Fetches and keeps the newest values of all scalars that the kernel writes. TILEK_UNSUPPORTED:
 * there are too many, or some are no numbers. */
tilek_status tilek_keep_values(tilek_state *state, const tilek_call *call, tilek_values_before *before,
                               tilek_message *why);

/* Sets `name` to that of a scalar to which the launch on `target` may have given a zero of the
 * wrong sign, NULL where there is none. */
tilek_status tilek_find_ordered_zero(tilek_state *state, const tilek_call *call, tilek_target target,
                                     const tilek_values_before *before, const char **name, tilek_message *why);

/* Gives the scalars on the host their values from before. */
void tilek_restore_values(const tilek_kernel *kernel, const tilek_call *call, const tilek_values_before *before);

#endif
