/* profile.h: TILEK_PROFILE. */
#ifndef TILEK_PROFILE_H
#define TILEK_PROFILE_H

#include "base/clock.h"
#include "kernel/kernel_state.h"

typedef enum tilek_activity {
    TILEK_ACTIVITY_KERNEL,
    TILEK_ACTIVITY_COPY_IN,
    TILEK_ACTIVITY_COPY_OUT,
    TILEK_ACTIVITY_COMPILE
} tilek_activity;

/* Whether anything is to be recorded; cheap. */
int tilek_profiling(void);

/* Adds an activity of `duration` nanoseconds that began at `start`. `state` NULL: a data
 * directive's. `target` TILEK_AUTO: the original loop. `bytes`: moved. Does nothing unless
 * profiling. */
void tilek_record(tilek_state *state, tilek_target target, tilek_activity activity, int64_t start, int64_t duration,
                  size_t bytes);

/* Likewise a kernel's launch among its steps, by its number among the host's or the device's.
 * `sizes`: the call's tile sizes, for the trace. */
void tilek_record_step(tilek_state *state, tilek_target target, int is_hosts, int launch, const int64_t sizes[],
                       int64_t start, int64_t duration, size_t bytes);

/* Counts a launch. */
void tilek_record_launch(tilek_state *state, tilek_target target, const tilek_call *call);

/* What a kernel's programs for a target were made for: less shared memory than was planned for, and
 * an array that needs indices of 64 bits. Both do nothing unless profiling. */
void tilek_record_local_bytes(tilek_state *state, tilek_target target, int64_t bytes);
void tilek_record_long_array(tilek_state *state, tilek_target target, const char *array);

/* The limits of the device that a target ran on, for the table's last columns. */
void tilek_record_limits(tilek_target target, const tilek_limits *limits);

/* At the program's end: prints the table or writes the trace. `print_tuned` adds a line of what was
 * learned of a kernel's tile sizes. */
void tilek_profile_finish(void (*print_tuned)(const tilek_state *state));

#endif
