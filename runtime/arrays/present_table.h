/* present_table.h: the table of arrays that data directives have made present.
 *
 * An entry is a range of host memory with a copy per device that used it. Copies are made when a
 * kernel first needs them, and each side knows whether it holds the newest values; so one table
 * serves every target, and a kernel that falls back to the host finds its data. */
#ifndef TILEK_PRESENT_TABLE_H
#define TILEK_PRESENT_TABLE_H

#include "arrays/buffers.h"
#include "arrays/section.h"

typedef struct tilek_present_entry tilek_present_entry;

/* ABSENT: nothing of the section is present; PARTLY: something is, but not all of it in one
 * entry. */
typedef enum tilek_presence { TILEK_ABSENT, TILEK_PARTLY, TILEK_INSIDE } tilek_presence;

/* INSIDE: *entry is pinned: it outlives its removal until tilek_present_unpin. */
tilek_presence tilek_present_pin(const tilek_array_shape *shape, const tilek_array *array, const tilek_section *section,
                                 tilek_present_entry **entry);
void tilek_present_unpin(tilek_present_entry *entry);

/* What an entry covers; constant while it is pinned. */
const tilek_section *tilek_present_section(const tilek_present_entry *entry);
const tilek_array *tilek_present_geometry(const tilek_present_entry *entry); /* ROWS: what is packed */

/* A copy with the newest values on the place's device; *buffer lives while the entry is pinned. */
tilek_status tilek_present_on_device(tilek_present_entry *entry, const tilek_place *place, const tilek_buffer **buffer,
                                     tilek_message *why);

/* The device's copy was written by a kernel that succeeded: it alone is the newest. */
void tilek_present_written(tilek_present_entry *entry, const tilek_place *place);

/* The device's copy may have been written by a kernel that failed. Returns 0 where the newest
 * values are lost with it. */
int tilek_present_spoiled(tilek_present_entry *entry, const tilek_place *place);

/* Around anything that reads and writes a call's arrays on the host: brings the newest values home;
 * then says that the host has them. No memory is needed for that but to pack rows. `state` may be
 * NULL. */
tilek_status tilek_host_begins(const tilek_kernel *kernel, tilek_state *state, const tilek_call *call,
                               tilek_message *why);
void tilek_host_ended(const tilek_kernel *kernel, const tilek_call *call);

/* Likewise in a signal handler, which cannot wait for other threads; 0: that cannot be done. */
int tilek_host_may_begin(const tilek_kernel *kernel, const tilek_call *call);
int tilek_host_may_end(const tilek_kernel *kernel, const tilek_call *call);
int tilek_nothing_is_present(void);

/* Brings home what has elements of these types (1u << tilek_type) and its newest values on a
 * device. */
tilek_status tilek_present_home(unsigned types, tilek_message *why);

/* The same for what holds an element. */
tilek_status tilek_present_element_home(const void *element, size_t bytes, tilek_message *why);

/* For data directives. Statuses are the caller's to report. `undefined`: the device's copy starts
 * without the host's values. */
tilek_status tilek_present_enter(const tilek_array_shape *shape, const tilek_array *array, int undefined,
                                 tilek_message *why);
tilek_status tilek_present_exit(const tilek_array_shape *shape, const tilek_array *array, int copy_out,
                                tilek_message *why);
tilek_status tilek_present_update(const tilek_array_shape *shape, const tilek_array *array, int to_host, int queue,
                                  tilek_message *why);
int tilek_present_has(const tilek_array_shape *shape, const tilek_array *array, tilek_message *why);

/* At exit: what only a device holds goes to memory of the runtime's; then, what the host has is
 * forgotten. And in a fork's child. */
void tilek_present_release_devices(void);
void tilek_present_free(void);
void tilek_present_forked(void);

#endif
