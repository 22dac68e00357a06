/* zero_sign.h: minima and maxima that end as a zero, of which the order of the iterations decides the sign. */
#ifndef TILEK_ZERO_SIGN_H
#define TILEK_ZERO_SIGN_H

#include "environment.h"
#include "state.h"
#include "tilek.h"

enum { TILEK_MOST_ORDERED_ZEROS = 16 };

/* The values from before a launch of the scalars that it reduces, for the original loop. */
typedef struct tilek_values_before {
    int count;
    int arrays[TILEK_MOST_ORDERED_ZEROS];
    union { long double number; char bytes[16]; } values[TILEK_MOST_ORDERED_ZEROS];
} tilek_values_before;

/* Whether the kernel has such scalars on any target. */
int tilek_has_ordered_zeros(const tilek_kernel *kernel);

/* Keeps the values of all scalars that the kernel writes; the newest ones come home for it. */
tilek_status tilek_keep_values(tilek_state *state, const tilek_call *call, tilek_values_before *before, tilek_message *why);

/* `name` becomes that of a minimum or maximum that is a zero after the launch on `target` and, unless fmin or fmax finds it, was none before; NULL: there
 * is none. */
tilek_status tilek_find_ordered_zero(tilek_state *state, const tilek_call *call, tilek_target target, const tilek_values_before *before, const char **name, tilek_message *why);

/* The scalars of the host have the values from before. */
void tilek_restore_values(const tilek_kernel *kernel, const tilek_call *call, const tilek_values_before *before);

#endif
