/* launch_geometry.h: the counts and strides of one launch, decided from its real bounds. */
#ifndef TILEK_LAUNCH_GEOMETRY_H
#define TILEK_LAUNCH_GEOMETRY_H

#include "device/common/backend.h"

enum { TILEK_MAX_LOOPS = 32 };

/* What counts are chosen for. */
typedef struct tilek_machine {
    const tilek_limits *limits; /* NULL: the host */
    int64_t threads;            /* host threads */
    int64_t group_total;        /* device: most workers of this entry point */
    /* device: counts of workers per dimension where the user gives none; NULL: to be chosen */
    const int64_t *workers;
    int64_t tile_extent;        /* device: the largest tile size of the kernel, 0 where it has none */
    double operations;          /* of the launch, where it is all that the call does and they are known; else 0 */
    const int64_t *divisors;    /* device: as of the geometry; NULL: to be chosen */
} tilek_machine;

typedef struct tilek_geometry {
    int64_t axes[TILEK_AXES];   /* all >= 1 */
    int64_t divisors[3];        /* what the plan's points are divided by; 1 without TILEK_LAUNCH_POINTS */
    int64_t instances;          /* parallel space: threads, else gangs, else 1 */
    int empty;                  /* the nest runs no iteration */
    const tilek_bounds *bounds[TILEK_MAX_LOOPS];
    const tilek_tile *tiles[TILEK_MAX_LOOPS];
    tilek_tile *values;         /* what tiles point to: room for the tiles of all loops */
} tilek_geometry;

/* Decides the axes that the user left open and applies Algorithm 1, for the bounds in
 * geometry->bounds (TILEK_MAX_LOOPS at most) and with room in geometry->values. TILEK_UNSUPPORTED:
 * the launch cannot run so on this machine, or a loop is endless or leaves its iterator's type. */
tilek_status tilek_decide_geometry(const tilek_launch_shape *launch, const tilek_call *call,
                                   const tilek_machine *machine, tilek_geometry *geometry, tilek_message *why);

/* Groups that a device launch has along a thread or gang axis: its count, capped by the device's
 * grid. */
int64_t tilek_groups(const tilek_geometry *geometry, int axis, const tilek_limits *limits);

#endif
