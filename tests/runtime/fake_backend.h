/* fake_backend.h: devices in host memory, for tests of the runtime's core. They stand for OpenCL; CUDA is absent.
 *
 * Kernels are C functions, called once a gang with the parameters' values, from arguments or constants as the program was built. */
#ifndef FAKE_BACKEND_H
#define FAKE_BACKEND_H

#include "device/common/backend.h"

typedef struct fake_call {
    void *pointers[32];  /* per parameter that is an array or partials */
    int64_t numbers[32]; /* per parameter that is a number */
    const void *scalars[32];
    int64_t groups[3], group[3], gang[3];
} fake_call;

typedef struct fake_kernel {
    const tilek_launch_shape *launch;
    void (*body)(const fake_call *call);
} fake_kernel;

/* The device's knobs and counters. A countdown of k > 0 makes the k-th call from now fail; 0: none fails. */
typedef struct fake_device_state {
    int absent, is_gpu, no_double, refuse_build, shares_memory;
    int devices;           /* alike; one by default */
    int lazy;              /* a queue's launches run when something waits for them, and no sooner */
    int64_t group_total;   /* of every entry; 0: the device's 1024 */
    int fail_allocate, fail_write, fail_read, fail_run, fail_wait, fail_record, fail_recorded, fail_play;
    int fail_call;         /* of all calls that may fail, whichever they are */
    int calls, entered;    /* such calls; and calls of enter that leave has not ended */
    size_t largest;        /* bytes of a buffer */
    int parametric;        /* builds that take all numbers as arguments */
    int allocations, live_buffers, writes, reads, builds, unreached, live_programs, runs, shutdowns, reclaims;
    int records, plays, live_graphs; /* recordings begun, and graphs played */
    int64_t most_workers, most_groups; /* of all runs */
} fake_device_state;

extern fake_device_state fake;

void fake_register(const tilek_launch_shape *launch, void (*body)(const fake_call *call));

#endif
