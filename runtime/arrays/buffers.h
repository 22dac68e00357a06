/* buffers.h: device memory and transfers, with the figures that TILEK_PROFILE wants. */
#ifndef TILEK_BUFFERS_H
#define TILEK_BUFFERS_H

#include "kernel/kernel_state.h"

/* Where work goes, and for whose account. `state` NULL: a data directive's. */
typedef struct tilek_place {
    const tilek_backend *backend;
    tilek_device *device;
    tilek_target target;
    int queue;
    tilek_state *state;
} tilek_place;

/* Device memory of exactly `bytes` > 0, from the buffers given back where one fits. Given back with
 * no work under way on it. */
tilek_status tilek_take_buffer(const tilek_place *place, size_t bytes, tilek_buffer *buffer, tilek_message *why);
void tilek_give_buffer(const tilek_place *place, tilek_buffer *buffer);

/* Frees the buffers given back; at exit. */
void tilek_buffers_free(void);

/* In a fork's child. */
void tilek_buffers_forked(void);

tilek_status tilek_copy_in(const tilek_place *place, const tilek_buffer *buffer, size_t offset, const void *source,
                           size_t bytes, tilek_message *why);
tilek_status tilek_copy_out(const tilek_place *place, const tilek_buffer *buffer, size_t offset, void *destination,
                            size_t bytes, tilek_message *why);

#endif
