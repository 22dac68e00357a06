/* device_arrays.h: a call's arrays on a device, for the time of the call. */
#ifndef TILEK_DEVICE_ARRAYS_H
#define TILEK_DEVICE_ARRAYS_H

#include "arrays/present_table.h"
#include "kernel/variant.h"

/* One array of the call. */
typedef struct tilek_device_array {
    tilek_section section;
    tilek_present_entry *present;       /* pinned; NULL: `temporary` serves it */
    int temporary;                /* index; -1: present, or an empty section */
    const tilek_buffer *buffer;   /* NULL: empty */
    int64_t origin;               /* CONTIGUOUS: elements from the object's start to the copy's */
    const tilek_array *geometry;  /* ROWS: what is packed */
} tilek_device_array;

/* Device memory for sections that are not present; sections that share host memory share it. */
typedef struct tilek_temporary {
    tilek_section section;
    int array;      /* ROWS: whose geometry */
    int in, out;
    int merged;     /* absorbed by an earlier one */
    int apart;      /* written by the kernel, and not to be seen by the host */
    int in_place;   /* no copy can be made: it must be shared */
    int shared;     /* `buffer` is the host's memory itself */
    tilek_buffer buffer;
    void *staging;  /* what goes home, until all has arrived */
} tilek_temporary;

typedef struct tilek_device_arrays {
    const tilek_kernel *kernel;
    const tilek_variant *variant;
    const tilek_call *call;
    tilek_place place;
    tilek_device_array *arrays;
    tilek_temporary *temporaries; /* one an array, unused ones empty */
    /* the owner's: a launch was queued, and may have written to what is shared or present */
    int started;
    void *block;
} tilek_device_arrays;

/* Finds or plans a place for every array; moves nothing. To be let go with tilek_release_arrays,
 * after a failure too. `variant` lives as long. */
tilek_status tilek_place_arrays(tilek_device_arrays *device_arrays, const tilek_kernel *kernel,
                                const tilek_variant *variant, const tilek_call *call, const tilek_place *place,
                                tilek_message *why);

/* Allocates and copies in. */
tilek_status tilek_copy_arrays_in(tilek_device_arrays *device_arrays, tilek_message *why);

/* After all launches succeeded: copies out and marks what is present as written. A failure before
 * any of the host's data have changed is a status; a later one ends the program, since nothing
 * could run from the data left. */
tilek_status tilek_copy_arrays_out(tilek_device_arrays *device_arrays, tilek_message *why);

/* After a launch failed. Where none was queued before it, nothing has changed. Returns 0 where
 * values that only this device had may be lost, or those in memory that it shares with the host;
 * `why` then names the array. */
int tilek_discard_arrays(tilek_device_arrays *device_arrays, tilek_message *why);

/* The first array of the call with positions, as device code computes them, that are not far enough
 * inside 32 bits; -1 where there is none. */
int tilek_long_array(const tilek_device_arrays *device_arrays);

void tilek_release_arrays(tilek_device_arrays *device_arrays);

#endif
