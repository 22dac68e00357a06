/* clock.c: time. */
#define _POSIX_C_SOURCE 200809L
#include "base/clock.h"

#include <time.h>

int64_t tilek_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
