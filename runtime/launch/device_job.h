/* device_job.h: a call's launches on one device: their numbers, their program and its arguments. */
#ifndef TILEK_DEVICE_JOB_H
#define TILEK_DEVICE_JOB_H

#include "arrays/device_arrays.h"
#include "launch/launch_graphs.h"
#include "launch/persistent_launch.h"
#include "launch/steps.h"

/* More launches than that are not left waiting in a queue: each takes memory there. */
enum { TILEK_MOST_WAITING = 4096 };

/* Room for a value of any type that is reduced. */
enum { TILEK_BYTES_OF_VALUE = 64 };

typedef struct tilek_device_job {
    tilek_run run;
    tilek_variant variant;
    tilek_state *state;
    tilek_device_arrays device_arrays;
    const tilek_device_program *built;
    /* per entry point that the call may need: one a parameter, those that may be constants */
    const int64_t **numbers;
    int64_t *known;                /* what numbers points to */
    tilek_argument *arguments;     /* for the longest parameter list */
    int64_t *values;               /* likewise */
    tilek_buffer *partials;        /* of all launches, concatenated */
    void *gathered;                /* room for the values of any of them; NULL where there are none */
    char *totals;                  /* TILEK_BYTES_OF_VALUE for each reduction of a launch */
    int reducing;                  /* 1 + the launch that `totals` are of; 0: of none */
    int profiling, specializing;
    size_t touched;                /* bytes, by one step of each launch */
    tilek_repetition repetition;
    tilek_persistence persistence;
    int queue;                     /* that launches go to */
    int64_t launches;              /* of the run */
    int64_t waiting;               /* launches since the queue was empty */
    void *owner;                   /* of several jobs */
    void *block;
} tilek_device_job;

/* Zeroes the job and takes the room that it needs; `variant` and the device are settled then. To be
 * let go with tilek_job_end, after a failure too. TILEK_UNSUPPORTED: the device lacks what the
 * kernel computes with. */
tilek_status tilek_job_start(tilek_device_job *job, tilek_state *state, const tilek_variant *variant,
                             const tilek_place *place, tilek_message *why);

/* When the call's arrays have their places: its launches' numbers can be asked for. */
tilek_status tilek_job_take_call(tilek_device_job *job, const tilek_call *call, tilek_message *why);

/* Decides counts and finds the program; `built` stays NULL where there is nothing to run. */
tilek_status tilek_job_prepare(tilek_device_job *job, tilek_message *why);

/* Queues a launch with these numbers; `nanoseconds` as for a backend's `run`. */
tilek_status tilek_job_run(tilek_device_job *job, int launch, const tilek_geometry *geometry,
                           const tilek_buffer *partials, const void *const values[], int64_t *nanoseconds,
                           tilek_message *why);

/* Likewise all wavefronts that `persistence` has gathered, as one launch. */
tilek_status tilek_job_run_persistent(tilek_device_job *job, const tilek_persistent *variant,
                                      const tilek_buffer *partials, int64_t *nanoseconds, tilek_message *why);

void tilek_job_end(tilek_device_job *job);

#endif
