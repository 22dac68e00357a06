/* lifecycle.h: how the runtime begins and ends in a process, and in a fork's child. */
#ifndef TILEK_LIFECYCLE_H
#define TILEK_LIFECYCLE_H

#include "base/visits.h"

/* Makes the exit and fork handlers; every visit begins with it. Nonzero while the program is not
 * ending. */
int tilek_start(void);

extern const tilek_visit_parts tilek_parts;

/* A visit (see visits.h) of a function that translated programs call. */
static inline int tilek_enter(int (*body)(void *context, tilek_admission admission), void *context)
{
    return tilek_visit(&tilek_parts, body, context);
}

#endif
