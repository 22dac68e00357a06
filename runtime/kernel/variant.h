/* variant.h: a kernel has its launches in two variants: the host's, whose instances one thread
 * computes from end to end, and that for devices with many workers. OpenCL devices that are
 * processors run the host's. */
#ifndef TILEK_VARIANT_H
#define TILEK_VARIANT_H

#include "device/common/backend.h"
#include "kernel/targets.h"

/* Whose launches and tile sizes a call has: those of devices, of hosts, or the launches of hosts
 * with the sizes for OpenCL devices that are processors. */
typedef enum tilek_side { TILEK_SIDE_DEVICE, TILEK_SIDE_HOST, TILEK_SIDE_PROCESSOR } tilek_side;

typedef struct tilek_variant {
    tilek_side side;
    int launch_count;             /* of those that steps name */
    /* behind them in `launches`: persistent variants of those with the numbers in `persistent` (see
     * persistent_launch.h) */
    int persistent_count;
    const int *persistent;
    int persists;                 /* they may run: the device has all gangs of a launch there at once */
    const tilek_launch_shape *launches;
    const int *loop_map;          /* where `steps` is NULL */
    tilek_steps steps;
    const char *const *program;   /* its text in pieces; NULL: none is needed */
} tilek_variant;

/* Entry points of the variant's program: of its launches, then of persistent variants. */
static inline int tilek_entry_count(const tilek_variant *variant)
{
    return variant->launch_count + variant->persistent_count;
}

/* Whether the launches are the host's. */
static inline int tilek_is_hosts(const tilek_variant *variant) { return variant->side != TILEK_SIDE_DEVICE; }

tilek_variant tilek_host_variant(const tilek_kernel *kernel);

/* Sets the side of a call that the candidate's target takes; 0, and the side of devices: it has no
 * such device. */
int tilek_find_side(const tilek_kernel *kernel, const tilek_call *call, const tilek_candidate *candidate,
                    tilek_side *side);

/* The variant for a device of `target` with these limits; TILEK_OPENCL_FORM may say otherwise of
 * OpenCL's. */
tilek_variant tilek_device_variant(const tilek_kernel *kernel, tilek_target target, const tilek_limits *limits);

#endif
