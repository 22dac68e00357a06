/* persistent_launch.h: all wavefronts of a launch as one launch, on devices that have all its gangs
 * there at once.
 *
 * A gang takes columns of tiles, one after another, each through all wavefronts, and waits for the
 * columns before by flags in the device's memory: one number a column, which never falls. No flag
 * is greater than a launch's base before it, nor greater than that base plus the number of its
 * wavefronts after it. The next launch has a larger base, so that it finds no wavefront done, and
 * flags need not be cleared. */
#ifndef TILEK_PERSISTENT_LAUNCH_H
#define TILEK_PERSISTENT_LAUNCH_H

#include "arrays/buffers.h"
#include "launch/steps.h"

/* Loops of fewer wavefronts are launched one by one. Chosen without a GPU at hand. */
enum { TILEK_LEAST_WAVES = 8, TILEK_MOST_COLUMN_LOOPS = 3, TILEK_MOST_PERSISTENT_VALUES = 8 };

/* Of more columns than this, too: their flags, and what is reduced in them, could not be counted in
 * bytes. */
#define TILEK_MOST_COLUMNS (INT64_MAX / 16)

/* Device memory of persistent launches: flags, none of them greater than `base`, and boxes, whose
 * values are `known`. */
typedef struct tilek_flags {
    struct tilek_flags *next; /* among those that no launch uses */
    tilek_place place;
    tilek_buffer buffer, boxes;
    int64_t base;
    int64_t *known;
    size_t known_count;
} tilek_flags;

/* The persistent variant of a launch in a call. */
typedef struct tilek_persistent {
    int launch, entry;     /* its number among the launches, and its own among the entry points */
    int met;               /* what follows is of some wavefront */
    int64_t lower[TILEK_MOST_COLUMN_LOOPS], upper[TILEK_MOST_COLUMN_LOOPS]; /* columns of all wavefronts of the call */
    int64_t resident;      /* gangs that the device holds at once; 0: launches go wavefront by wavefront */
} tilek_persistent;

/* The persistent launches of a job. All zero: none. */
typedef struct tilek_persistence {
    tilek_persistent *variants;
    int count;
    int gathering;         /* 1 + the variant whose wavefronts are put off; 0: none are */
    int used;              /* some have run */
    int64_t first, last;   /* wavefronts */
    int64_t lower[TILEK_MOST_COLUMN_LOOPS], upper[TILEK_MOST_COLUMN_LOOPS];
    int64_t *boxes;        /* of the wavefronts from `first` on: two numbers a loop over gangs */
    size_t box_count, box_room; /* numbers */
    int64_t values[TILEK_MOST_PERSISTENT_VALUES];
    tilek_flags *flags;
} tilek_persistence;

/* Whether a launch can be gathered: what its shape says. */
int tilek_can_persist(const tilek_launch_shape *launch);

/* Adds the columns of a wavefront to a box of them; 0 where it has none. And how many a box has;
 * INT64_MAX: more than can be counted. */
int tilek_widen_columns(const tilek_launch_shape *launch, const tilek_planned *planned, int64_t lower[],
                        int64_t upper[], int is_first);
int64_t tilek_columns(const tilek_launch_shape *launch, const int64_t lower[], const int64_t upper[]);

/* The loops over gangs, which come first. */
int tilek_column_loops(const tilek_launch_shape *launch);

/* What the runtime gives for a parameter of a persistent variant. */
int64_t tilek_persistent_number(const tilek_persistence *persistence, const tilek_parameter *parameter);

/* Flags of so many columns, and room for so many numbers of boxes; given back when no launch uses
 * them. */
tilek_status tilek_take_flags(const tilek_place *place, int64_t columns, size_t numbers, tilek_flags **flags,
                              tilek_message *why);

/* Copies boxes to the device, unless it has the same. They fit. */
tilek_status tilek_bring_boxes(tilek_flags *flags, int queue, const int64_t *boxes, size_t count, tilek_message *why);
void tilek_give_flags(tilek_flags *flags);

/* At exit, and in a fork's child. */
void tilek_flags_free(void);
void tilek_flags_forked(void);

#endif
