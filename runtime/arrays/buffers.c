/* buffers.c: device memory and transfers. */
#define _POSIX_C_SOURCE 200809L
#include "arrays/buffers.h"

#include "base/locks.h"
#include "device/open_devices.h"
#include "kernel/profile.h"

#include <string.h>

enum { KEPT = 32 };

/* Buffers given back, oldest first: a program that launches one kernel again and again allocates
 * once. */
static struct { tilek_place place; tilek_buffer buffer; } kept[KEPT];
static int kept_count;

static void forget(int index)
{
    memmove(&kept[index], &kept[index + 1], (size_t)(kept_count - index - 1) * sizeof kept[0]);
    --kept_count;
}

static void release_kept(int index)
{
    kept[index].place.backend->release(kept[index].place.device, &kept[index].buffer);
    forget(index);
}

static int reuse(const tilek_place *place, size_t bytes, tilek_buffer *buffer)
{
    int is_reused = 0;
    tilek_lock(TILEK_LOCK_BUFFERS);
    for (int index = kept_count - 1; index >= 0 && !is_reused; --index) {
        if (kept[index].place.device != place->device || kept[index].place.backend != place->backend ||
            kept[index].buffer.bytes != bytes)
            continue;
        *buffer = kept[index].buffer;
        forget(index);
        is_reused = 1;
    }
    tilek_unlock(TILEK_LOCK_BUFFERS);
    return is_reused;
}

/* Frees what is kept; says whether there was any. */
static int release_all(void)
{
    int any;
    if (tilek_devices_are_left()) return 0;
    tilek_lock(TILEK_LOCK_BUFFERS);
    any = kept_count > 0;
    while (kept_count > 0) release_kept(kept_count - 1);
    tilek_unlock(TILEK_LOCK_BUFFERS);
    return any;
}

tilek_status tilek_take_buffer(const tilek_place *place, size_t bytes, tilek_buffer *buffer, tilek_message *why)
{
    tilek_status status;
    if (reuse(place, bytes, buffer)) return TILEK_OK;
    memset(buffer, 0, sizeof *buffer);
    status = place->backend->allocate(place->device, bytes, buffer, why);
    if (status == TILEK_NO_MEMORY && release_all())
        status = place->backend->allocate(place->device, bytes, buffer, why);
    if (status == TILEK_OK) buffer->bytes = bytes;
    return status;
}

void tilek_give_buffer(const tilek_place *place, tilek_buffer *buffer)
{
    if (buffer->bytes == 0) return;
    if (tilek_devices_are_left()) {
        memset(buffer, 0, sizeof *buffer);
        return;
    }
    tilek_lock(TILEK_LOCK_BUFFERS);
    if (kept_count == KEPT) release_kept(0);
    kept[kept_count].place = *place;
    kept[kept_count++].buffer = *buffer;
    tilek_unlock(TILEK_LOCK_BUFFERS);
    memset(buffer, 0, sizeof *buffer);
}

void tilek_buffers_forked(void)
{
    kept_count = 0;
}

void tilek_buffers_free(void) { (void)release_all(); }

tilek_status tilek_copy_in(const tilek_place *place, const tilek_buffer *buffer, size_t offset, const void *source,
                           size_t bytes, tilek_message *why)
{
    const int64_t start = tilek_profiling() ? tilek_now() : 0;
    const tilek_status status = place->backend->write(place->device, place->queue, buffer, offset, source, bytes, why);
    if (tilek_profiling())
        tilek_record(place->state, place->target, TILEK_ACTIVITY_COPY_IN, start, tilek_now() - start, bytes);
    return status;
}

tilek_status tilek_copy_out(const tilek_place *place, const tilek_buffer *buffer, size_t offset, void *destination,
                            size_t bytes, tilek_message *why)
{
    const int64_t start = tilek_profiling() ? tilek_now() : 0;
    const tilek_status status = place->backend->read(place->device, place->queue, buffer, offset, destination, bytes,
                                                     why);
    if (tilek_profiling())
        tilek_record(place->state, place->target, TILEK_ACTIVITY_COPY_OUT, start, tilek_now() - start, bytes);
    return status;
}
