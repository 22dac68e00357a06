/* clock.h: time. */
#ifndef TILEK_CLOCK_H
#define TILEK_CLOCK_H

#include <stdint.h>

/* Monotonic time in nanoseconds. */
int64_t tilek_now(void);

#endif
