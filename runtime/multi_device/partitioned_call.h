/* partitioned_call.h: a call on several devices, as partition.c, partition_rows.c and
 * partition_launch.c share it. Internal. */
#ifndef TILEK_PARTITIONED_CALL_H
#define TILEK_PARTITIONED_CALL_H

#include "arrays/row_ownership.h"
#include "base/bounded_arithmetic.h"
#include "launch/device_job.h"

/* Bit 0 of a row's owners is the host. */
enum { TILEK_MOST_PARTITIONS = 32, TILEK_HOST_OWNS = 1 };

static inline uint64_t tilek_bit_of(int device) { return (uint64_t)2 << device; }

/* Iterations of a launch's partitioned loop, from 0, or the one run of a launch that is not
 * partitioned. */
typedef struct tilek_iterations { int64_t first, end; } tilek_iterations;

typedef struct tilek_row_range { int64_t first, end; } tilek_row_range;

/* A device's copy of an array: of these rows. */
typedef struct tilek_partition_copy { tilek_row_range has; tilek_buffer buffer; } tilek_partition_copy;

typedef struct tilek_partitioned_array {
    tilek_section section;
    int is_touched;     /* by some launch */
    size_t pitch;       /* bytes from a row to the next */
    tilek_row_range all; /* that the section has bytes of */
    tilek_row_ownership ownership;
    int goes_home;
    char *staging;      /* what goes home, until all has arrived; laid out as the section */
} tilek_partitioned_array;

/* Rows that a device lacks, and where they are. */
typedef struct tilek_move { int array, device; tilek_row_range which; uint64_t owners; } tilek_move;

typedef struct tilek_partition {
    tilek_state *state;
    const tilek_call *call;
    int device_count, job_count;
    tilek_device_job *jobs;      /* one a device; the first one's run is gone through */
    tilek_partition_copy **copies; /* per device, one an array */
    int *alone;                  /* per launch that is not partitioned, the device that runs it */
    tilek_partitioned_array *arrays;
    tilek_division *divisions;   /* the kernel's, one a launch, with bases of rows added */
    tilek_row_use *uses;         /* what they point to */
    tilek_tile *tiles;           /* room for the tiles of any launch */
    tilek_move *moves;
    int move_count, move_room;
    char *passing;               /* rows on their way between two devices */
    size_t passing_bytes;
    int queue;                   /* where launches go: not 0, in which rows move */
} tilek_partition;

/* One launch as it is distributed. */
typedef struct tilek_distribution {
    const tilek_division *division;
    const tilek_bounds *bounds; /* of the partitioned loop; NULL: none is */
    /* inner: iterations of the part that lack nothing */
    tilek_iterations parts[TILEK_MOST_PARTITIONS], inner[TILEK_MOST_PARTITIONS];
} tilek_distribution;

tilek_status tilek_no_memory(tilek_message *why);

/* The iterator's value. */
int64_t tilek_value_at(const tilek_bounds *bounds, int64_t iteration);

/* The rows that a stretch of iterations touches; without bounds, those of the whole launch. Empty
 * where there are none. */
tilek_row_range tilek_rows_of(const tilek_partition *partition, const tilek_row_use *use, const tilek_bounds *bounds,
                              tilek_iterations part);

/* Where a row begins in the section's bytes; and in a device's copy. */
size_t tilek_row_offset(const tilek_partition *partition, int index, int64_t row);
size_t tilek_offset_in_copy(const tilek_partition *partition, int device, int index, int64_t row);

/* Any of a row's owners that is a device; there is one. */
int tilek_device_among(uint64_t owners);

tilek_status tilek_add_move(tilek_partition *partition, const tilek_move *added, tilek_message *why);

/* In their order, through the host's memory. */
tilek_status tilek_perform_moves(tilek_partition *partition, tilek_message *why);

/* Until all that was launched is done, on every device. */
tilek_status tilek_wait_for_partitions(const tilek_partition *partition, tilek_message *why);

/* Blocks that differ by one iteration at most; of a launch that is not partitioned, all to one
 * device. */
void tilek_distribute(const tilek_partition *partition, int launch, const tilek_planned *planned,
                      tilek_distribution *distribution);

/* A step of the first job's run (tilek_run.perform). */
tilek_status tilek_perform_partitioned(tilek_run *run, int launch, const void *const values[], tilek_message *why);

#endif
