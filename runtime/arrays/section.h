/* section.h: the host memory of an array's section. */
#ifndef TILEK_SECTION_H
#define TILEK_SECTION_H

#include "device/common/backend.h"

/* CONTIGUOUS and SCALAR: the bytes from the section's first element to its last. ROWS: the row
 * pointers of the section. */
typedef struct tilek_section {
    char *start;
    size_t bytes;        /* 0: an empty section */
    size_t device_bytes; /* what the device's copy takes: `bytes`, or the packed rows */
    int is_rows;
    int is_dense;        /* every byte belongs to the section */
} tilek_section;

/* TILEK_INVALID where the section is no part of any object (negative numbers, sizes beyond the
 * address space). */
tilek_status tilek_section_of(const tilek_array_shape *shape, const tilek_array *array, tilek_section *section,
                              tilek_message *why);

/* The bytes of a section's elements, on rows too; SIZE_MAX where they are more than can be counted.
 * Lengths below 0 count as 0. */
size_t tilek_section_bytes(const tilek_array_shape *shape, const tilek_array *array);

int tilek_sections_meet(const tilek_section *a, const tilek_section *b);
int tilek_section_inside(const tilek_section *inner, const tilek_section *outer);

/* ROWS: copies the section's elements to or from `packed`, the packed rows of `geometry`, which
 * contains the section (the section itself, where that is what was packed). A row that is NULL is
 * TILEK_INVALID, found before anything is moved. */
tilek_status tilek_pack(const tilek_array_shape *shape, const tilek_array *array, const tilek_array *geometry,
                        void *packed, tilek_message *why);
tilek_status tilek_unpack(const tilek_array_shape *shape, const tilek_array *array, const tilek_array *geometry,
                          void *packed, tilek_message *why);

/* CONTIGUOUS and SCALAR: copies the section's elements, and none between them, to or from `copy`,
 * which has the section's layout. */
void tilek_gather(const tilek_array_shape *shape, const tilek_array *array, const tilek_section *section, void *copy);
void tilek_scatter(const tilek_array_shape *shape, const tilek_array *array, const tilek_section *section, void *copy);

/* Bytes of the arrays that a call reads and writes, each once: the least that its kernels move. */
size_t tilek_touched(const tilek_kernel *kernel, const tilek_call *call);

#endif
