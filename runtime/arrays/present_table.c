/* present_table.c: the table of present arrays, and which side holds the newest values of each. */
#define _POSIX_C_SOURCE 200809L
#include "arrays/present_table.h"

#include "base/locks.h"
#include "base/message.h"
#include "device/open_devices.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct copy {
    struct copy *next;
    tilek_place place;
    tilek_buffer buffer;
    int valid; /* holds the newest values */
} copy;

struct tilek_present_entry {
    tilek_present_entry *next;
    tilek_array_shape shape; /* `name` and `fields` are constants of the program */
    tilek_array array;
    tilek_section section;
    int64_t references; /* directives that hold it; 0: removed from the table */
    int64_t pins;       /* launches that use it */
    int host_valid;     /* the host holds the newest values; else exactly the valid copies do */
    int undefined;      /* no values that count have been written */
    copy *copies;
};

/* TILEK_LOCK_PRESENT guards the table and all entries, transfers included: whoever finds a value
 * stale may rely on who refreshes it. */
static tilek_present_entry *table;
static copy *parents_copies; /* of the process that this one was forked from */
static int64_t table_size; /* atomic: launches outside data regions take no lock */

static int table_is_empty(void) { return __atomic_load_n(&table_size, __ATOMIC_ACQUIRE) == 0; }

/* ---- Memory of the runtime's, in place of a device that is gone ------------------------------ */

static tilek_status read_memory(tilek_device *device, int queue, const tilek_buffer *buffer, size_t offset,
                                void *destination, size_t bytes, tilek_message *why)
{
    (void)device, (void)queue, (void)why;
    memcpy(destination, (const char *)buffer->object + offset, bytes);
    return TILEK_OK;
}

static tilek_status write_memory(tilek_device *device, int queue, const tilek_buffer *buffer, size_t offset,
                                 const void *source, size_t bytes, tilek_message *why)
{
    (void)device, (void)queue, (void)why;
    memcpy((char *)buffer->object + offset, source, bytes);
    return TILEK_OK;
}

static void release_memory(tilek_device *device, tilek_buffer *buffer)
{
    (void)device;
    free(buffer->object);
    memset(buffer, 0, sizeof *buffer);
}

static const tilek_backend memory_backend = {.name = "memory",
                                             .read = read_memory,
                                             .write = write_memory,
                                             .release = release_memory};

/* ---- The table ------------------------------------------------------------------------------- */

static void free_copies(tilek_present_entry *entry)
{
    while (entry->copies != NULL) {
        copy *first = entry->copies;
        entry->copies = first->next;
        if (first->place.backend == &memory_backend) release_memory(NULL, &first->buffer);
        else tilek_give_buffer(&first->place, &first->buffer);
        free(first);
    }
}

static void discard(tilek_present_entry *entry)
{
    free_copies(entry);
    free(entry);
}

static int rows_inside(const tilek_array *inner, const tilek_present_entry *entry)
{
    if (inner->base != entry->array.base) return 0;
    for (int dimension = 0; dimension < entry->shape.rank; ++dimension) {
        const int64_t lower = entry->array.lower[dimension];
        if (inner->lower[dimension] < lower ||
            inner->lower[dimension] + inner->length[dimension] > lower + entry->array.length[dimension])
            return 0;
    }
    return 1;
}

/* The entry that holds the whole section. */
static tilek_presence find(const tilek_array_shape *shape, const tilek_array *array, const tilek_section *section,
                           tilek_present_entry **holder)
{
    tilek_presence presence = TILEK_ABSENT;
    for (tilek_present_entry *entry = table; entry != NULL; entry = entry->next) {
        if (!tilek_sections_meet(section, &entry->section)) continue;
        presence = TILEK_PARTLY;
        if (!tilek_section_inside(section, &entry->section) || section->is_rows != entry->section.is_rows) continue;
        if (section->is_rows ? shape->rank != entry->shape.rank || shape->element_size != entry->shape.element_size ||
                                   !rows_inside(array, entry)
                             : ((uintptr_t)section->start - (uintptr_t)entry->section.start) % shape->element_size != 0)
            continue;
        *holder = entry;
        return TILEK_INSIDE;
    }
    return presence;
}

tilek_presence tilek_present_pin(const tilek_array_shape *shape, const tilek_array *array, const tilek_section *section,
                                 tilek_present_entry **entry)
{
    tilek_presence presence;
    if (table_is_empty() || section->bytes == 0) return TILEK_ABSENT;
    tilek_lock(TILEK_LOCK_PRESENT);
    presence = find(shape, array, section, entry);
    if (presence == TILEK_INSIDE) ++(*entry)->pins;
    tilek_unlock(TILEK_LOCK_PRESENT);
    return presence;
}

void tilek_present_unpin(tilek_present_entry *entry)
{
    tilek_lock(TILEK_LOCK_PRESENT);
    if (--entry->pins == 0 && entry->references == 0) discard(entry);
    tilek_unlock(TILEK_LOCK_PRESENT);
}

const tilek_section *tilek_present_section(const tilek_present_entry *entry) { return &entry->section; }
const tilek_array *tilek_present_geometry(const tilek_present_entry *entry) { return &entry->array; }

static copy *copy_on(tilek_present_entry *entry, const tilek_place *place)
{
    copy *held = entry->copies;
    while (held != NULL && (held->place.device != place->device || held->place.backend != place->backend))
        held = held->next;
    return held;
}

/* Between a copy and the host, whole. ROWS go through packed memory. */
static tilek_status move_whole(tilek_present_entry *entry, const copy *moved, const tilek_place *place, int to_host,
                               tilek_message *why)
{
    void *packed = entry->section.start;
    tilek_status status = TILEK_OK;
    if (entry->section.is_rows && (packed = malloc(entry->section.device_bytes)) == NULL) {
        tilek_say(why, "memory to pack %s is exhausted", entry->shape.name);
        return TILEK_NO_MEMORY;
    }
    if (entry->section.is_rows && !to_host)
        status = tilek_pack(&entry->shape, &entry->array, &entry->array, packed, why);
    if (status == TILEK_OK && to_host)
        status = tilek_copy_out(place, &moved->buffer, 0, packed, entry->section.device_bytes, why);
    if (status == TILEK_OK && !to_host)
        status = tilek_copy_in(place, &moved->buffer, 0, packed, entry->section.device_bytes, why);
    if (status == TILEK_OK && entry->section.is_rows && to_host)
        status = tilek_unpack(&entry->shape, &entry->array, &entry->array, packed, why);
    if (entry->section.is_rows) free(packed);
    return status;
}

/* Brings the newest values to the host. A dense array's section is the whole range; gaps of others
 * come back as they went in. */
static tilek_status fetch(tilek_present_entry *entry, tilek_state *state, int queue, tilek_message *why)
{
    copy *newest = entry->copies;
    tilek_place place;
    tilek_status status;
    if (entry->host_valid) return TILEK_OK;
    while (newest != NULL && !newest->valid) newest = newest->next;
    if (newest == NULL || tilek_devices_are_left()) {
        tilek_say(why, "the newest values of %s are lost with a device", entry->shape.name);
        return TILEK_DEVICE_LOST;
    }
    place = newest->place;
    place.state = state;
    place.queue = queue;
    status = move_whole(entry, newest, &place, 1, why);
    if (status == TILEK_OK) entry->host_valid = 1;
    return status;
}

static tilek_status make_copy(tilek_present_entry *entry, const tilek_place *place, copy **made, tilek_message *why)
{
    copy *added = calloc(1, sizeof *added);
    tilek_status status = TILEK_NO_MEMORY;
    if (added == NULL) tilek_say(why, "memory is exhausted");
    else status = tilek_take_buffer(place, entry->section.device_bytes, &added->buffer, why);
    if (status != TILEK_OK) {
        free(added);
        return status;
    }
    added->place = *place;
    added->place.state = NULL;
    added->next = entry->copies;
    entry->copies = added;
    *made = added;
    return TILEK_OK;
}

tilek_status tilek_present_on_device(tilek_present_entry *entry, const tilek_place *place, const tilek_buffer **buffer,
                                     tilek_message *why)
{
    tilek_status status = TILEK_OK;
    copy *held;
    tilek_lock(TILEK_LOCK_PRESENT);
    held = copy_on(entry, place);
    if (held == NULL) status = make_copy(entry, place, &held, why);
    if (status == TILEK_OK && !held->valid && (!entry->undefined || !entry->section.is_dense)) {
        status = fetch(entry, place->state, place->queue, why);
        if (status == TILEK_OK) status = move_whole(entry, held, place, 0, why);
    }
    if (status == TILEK_OK) {
        held->valid = 1;
        *buffer = &held->buffer;
    }
    tilek_unlock(TILEK_LOCK_PRESENT);
    return status;
}

void tilek_present_written(tilek_present_entry *entry, const tilek_place *place)
{
    tilek_lock(TILEK_LOCK_PRESENT);
    for (copy *each = entry->copies; each != NULL; each = each->next) each->valid = 0;
    copy_on(entry, place)->valid = 1;
    entry->host_valid = 0;
    entry->undefined = 0;
    tilek_unlock(TILEK_LOCK_PRESENT);
}

int tilek_present_spoiled(tilek_present_entry *entry, const tilek_place *place)
{
    copy *spoiled;
    int intact;
    tilek_lock(TILEK_LOCK_PRESENT);
    spoiled = copy_on(entry, place);
    if (spoiled != NULL) spoiled->valid = 0;
    intact = entry->host_valid;
    for (const copy *each = entry->copies; each != NULL; each = each->next) intact |= each->valid;
    tilek_unlock(TILEK_LOCK_PRESENT);
    return intact;
}

/* Whether the host's use of an array may touch an entry; what is not known of either counts as
 * yes. */
static int may_touch(const tilek_array_shape *shape, const tilek_array *array, const tilek_present_entry *entry)
{
    tilek_section section;
    tilek_message unused;
    if ((shape->flags & TILEK_TEMPORARY) != 0) return 0;
    if ((shape->flags & TILEK_UNKNOWN_EXTENT) != 0 || tilek_section_of(shape, array, &section, &unused) != TILEK_OK)
        return 1;
    return tilek_sections_meet(&section, &entry->section);
}

/* Whether the kernel's arrays, or those that it writes, may touch an entry. Of a kernel of another
 * ABI nothing is known. */
static int touches(const tilek_kernel *kernel, const tilek_call *call, unsigned flags, const tilek_present_entry *entry)
{
    if (kernel->abi != TILEK_ABI) return 1;
    for (int index = 0; index < kernel->array_count; ++index)
        if ((flags == 0 || (kernel->arrays[index].flags & flags) != 0) &&
            may_touch(&kernel->arrays[index], &call->arrays[index], entry))
            return 1;
    return 0;
}

tilek_status tilek_host_begins(const tilek_kernel *kernel, tilek_state *state, const tilek_call *call,
                               tilek_message *why)
{
    tilek_status status = TILEK_OK;
    if (table_is_empty()) return TILEK_OK;
    tilek_lock(TILEK_LOCK_PRESENT);
    for (tilek_present_entry *entry = table; entry != NULL && status == TILEK_OK; entry = entry->next)
        if (touches(kernel, call, 0, entry)) status = fetch(entry, state, 0, why);
    tilek_unlock(TILEK_LOCK_PRESENT);
    return status;
}

static int has_types(const tilek_present_entry *entry, unsigned types)
{
    for (int index = 0; index < entry->shape.field_count; ++index)
        if ((types >> entry->shape.fields[index].type & 1u) != 0) return 1;
    return 0;
}

tilek_status tilek_present_home(unsigned types, tilek_message *why)
{
    tilek_status status = TILEK_OK;
    if (table_is_empty()) return TILEK_OK;
    tilek_lock(TILEK_LOCK_PRESENT);
    for (tilek_present_entry *entry = table; entry != NULL && status == TILEK_OK; entry = entry->next)
        if (has_types(entry, types)) status = fetch(entry, NULL, 0, why);
    tilek_unlock(TILEK_LOCK_PRESENT);
    return status;
}

static int holds(const tilek_present_entry *entry, const void *element, size_t bytes)
{
    const uintptr_t begins = (uintptr_t)element, start = (uintptr_t)entry->section.start;
    return begins < start + entry->section.bytes && start < begins + bytes;
}

tilek_status tilek_present_element_home(const void *element, size_t bytes, tilek_message *why)
{
    tilek_status status = TILEK_OK;
    if (table_is_empty()) return TILEK_OK;
    tilek_lock(TILEK_LOCK_PRESENT);
    for (tilek_present_entry *entry = table; entry != NULL && status == TILEK_OK; entry = entry->next)
        if (holds(entry, element, bytes)) status = fetch(entry, NULL, 0, why);
    tilek_unlock(TILEK_LOCK_PRESENT);
    return status;
}

static void host_has(tilek_present_entry *entry)
{
    for (copy *each = entry->copies; each != NULL; each = each->next) each->valid = 0;
    entry->host_valid = 1;
    entry->undefined = 0;
}

void tilek_host_ended(const tilek_kernel *kernel, const tilek_call *call)
{
    if (table_is_empty()) return;
    tilek_lock(TILEK_LOCK_PRESENT);
    for (tilek_present_entry *entry = table; entry != NULL; entry = entry->next)
        if (touches(kernel, call, TILEK_WRITES, entry)) host_has(entry);
    tilek_unlock(TILEK_LOCK_PRESENT);
}

/* ---- In signal handlers ---------------------------------------------------------------------- */

/* Takes the table's lock, unless another thread holds it for long: that thread may wait for what
 * the interrupted one holds. */
static int try_long(void)
{
    for (int attempt = 0; attempt < 1000; ++attempt) {
        if ((tilek_locks_held() >> TILEK_LOCK_PRESENT & 1u) != 0) return 0;
        if (tilek_try_lock(TILEK_LOCK_PRESENT)) return 1;
        (void)nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return 0;
}

int tilek_host_may_begin(const tilek_kernel *kernel, const tilek_call *call)
{
    int may = 1;
    if (table_is_empty()) return 1;
    if (!try_long()) return 0;
    for (const tilek_present_entry *entry = table; entry != NULL; entry = entry->next)
        may &= entry->host_valid || !touches(kernel, call, 0, entry);
    tilek_unlock(TILEK_LOCK_PRESENT);
    return may;
}

int tilek_host_may_end(const tilek_kernel *kernel, const tilek_call *call)
{
    if (table_is_empty()) return 1;
    if (!try_long()) return 0;
    for (tilek_present_entry *entry = table; entry != NULL; entry = entry->next)
        if (touches(kernel, call, TILEK_WRITES, entry)) host_has(entry);
    tilek_unlock(TILEK_LOCK_PRESENT);
    return 1;
}

int tilek_nothing_is_present(void) { return table_is_empty(); }

/* ---- Data directives ------------------------------------------------------------------------- */

static tilek_status add(const tilek_array_shape *shape, const tilek_array *array, const tilek_section *section,
                        int undefined, tilek_message *why)
{
    tilek_present_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL) {
        tilek_say(why, "memory is exhausted");
        return TILEK_NO_MEMORY;
    }
    entry->shape = *shape;
    entry->array = *array;
    entry->section = *section;
    entry->references = 1;
    entry->host_valid = 1;
    entry->undefined = undefined;
    entry->next = table;
    table = entry;
    (void)__atomic_add_fetch(&table_size, 1, __ATOMIC_RELEASE);
    return TILEK_OK;
}

static tilek_status refuse_part(const tilek_array_shape *shape, tilek_message *why)
{
    tilek_say(why, "the section of %s is only partly present", shape->name);
    return TILEK_INVALID;
}

tilek_status tilek_present_enter(const tilek_array_shape *shape, const tilek_array *array, int undefined,
                                 tilek_message *why)
{
    tilek_present_entry *entry;
    tilek_section section;
    tilek_status status = tilek_section_of(shape, array, &section, why);
    if (status != TILEK_OK || section.bytes == 0) return status;
    tilek_lock(TILEK_LOCK_PRESENT);
    switch (find(shape, array, &section, &entry)) {
    case TILEK_INSIDE: ++entry->references; break;
    case TILEK_PARTLY: status = refuse_part(shape, why); break;
    case TILEK_ABSENT: status = add(shape, array, &section, undefined, why); break;
    }
    tilek_unlock(TILEK_LOCK_PRESENT);
    return status;
}

static void unlink_entry(tilek_present_entry *entry)
{
    tilek_present_entry **link = &table;
    while (*link != entry) link = &(*link)->next;
    *link = entry->next;
    (void)__atomic_sub_fetch(&table_size, 1, __ATOMIC_RELEASE);
}

tilek_status tilek_present_exit(const tilek_array_shape *shape, const tilek_array *array, int copy_out,
                                tilek_message *why)
{
    tilek_present_entry *entry;
    tilek_section section;
    tilek_status status = tilek_section_of(shape, array, &section, why);
    if (status != TILEK_OK || section.bytes == 0 || table_is_empty()) return TILEK_OK;
    tilek_lock(TILEK_LOCK_PRESENT);
    if (find(shape, array, &section, &entry) == TILEK_INSIDE && --entry->references == 0) {
        if (copy_out) status = fetch(entry, NULL, 0, why);
        unlink_entry(entry);
        if (entry->pins == 0) discard(entry);
    }
    tilek_unlock(TILEK_LOCK_PRESENT);
    return status;
}

int tilek_present_has(const tilek_array_shape *shape, const tilek_array *array, tilek_message *why)
{
    tilek_present_entry *entry;
    tilek_section section;
    tilek_presence presence;
    if (tilek_section_of(shape, array, &section, why) != TILEK_OK) return 0;
    if (section.bytes == 0) return 1;
    tilek_lock(TILEK_LOCK_PRESENT);
    presence = find(shape, array, &section, &entry);
    tilek_unlock(TILEK_LOCK_PRESENT);
    if (presence == TILEK_ABSENT) tilek_say(why, "%s is not present", shape->name);
    if (presence == TILEK_PARTLY) (void)refuse_part(shape, why);
    return presence == TILEK_INSIDE;
}

/* Moves a section between the host and one copy. What lies between the section's elements stays as
 * it is on both sides, so a section with gaps is exchanged through memory that holds the copy's
 * bytes. */
static tilek_status update_copy(const tilek_array_shape *shape, const tilek_array *array, const tilek_section *section,
                                tilek_present_entry *entry, const copy *updated, int to_host, int queue,
                                tilek_message *why)
{
    tilek_place place = updated->place;
    const size_t offset = section->is_rows ? 0 : (size_t)((uintptr_t)section->start - (uintptr_t)entry->section.start);
    const size_t bytes = section->is_rows ? entry->section.device_bytes : section->bytes;
    char *staging;
    tilek_status status;
    place.queue = queue;
    if (!section->is_rows && section->is_dense)
        return to_host ? tilek_copy_out(&place, &updated->buffer, offset, section->start, bytes, why)
                       : tilek_copy_in(&place, &updated->buffer, offset, section->start, bytes, why);
    staging = malloc(bytes);
    if (staging == NULL) {
        tilek_say(why, "memory to stage %s is exhausted", shape->name);
        return TILEK_NO_MEMORY;
    }
    status = tilek_copy_out(&place, &updated->buffer, offset, staging, bytes, why);
    if (status == TILEK_OK && section->is_rows)
        status = to_host ? tilek_unpack(shape, array, &entry->array, staging, why)
                         : tilek_pack(shape, array, &entry->array, staging, why);
    else if (status == TILEK_OK && to_host) tilek_scatter(shape, array, section, staging);
    else if (status == TILEK_OK) tilek_gather(shape, array, section, staging);
    if (status == TILEK_OK && !to_host) status = tilek_copy_in(&place, &updated->buffer, offset, staging, bytes, why);
    free(staging);
    return status;
}

tilek_status tilek_present_update(const tilek_array_shape *shape, const tilek_array *array, int to_host, int queue,
                                  tilek_message *why)
{
    tilek_present_entry *entry;
    tilek_section section;
    tilek_status status = tilek_section_of(shape, array, &section, why);
    if (status != TILEK_OK || section.bytes == 0) return status;
    tilek_lock(TILEK_LOCK_PRESENT);
    switch (find(shape, array, &section, &entry)) {
    case TILEK_INSIDE:
        for (copy *each = entry->copies; each != NULL && status == TILEK_OK && !(to_host && entry->host_valid);
             each = each->next) {
            if (!each->valid) continue;
            status = update_copy(shape, array, &section, entry, each, to_host, queue, why);
            if (to_host) break;
        }
        if (!to_host) entry->undefined = 0;
        break;
    case TILEK_PARTLY: status = refuse_part(shape, why); break;
    case TILEK_ABSENT:
        tilek_say(why, "%s is not present", shape->name);
        status = TILEK_INVALID;
        break;
    }
    tilek_unlock(TILEK_LOCK_PRESENT);
    return status;
}

/* ---- The end --------------------------------------------------------------------------------- */

/* Takes the newest values of an entry off its device. They do not go to the array itself: at exit,
 * outside of its region, it may have been freed. */
static copy *rescue(const tilek_present_entry *entry)
{
    copy *newest = entry->copies, *kept = NULL;
    tilek_message unused;
    if (entry->host_valid) return NULL;
    while (newest != NULL && !newest->valid) newest = newest->next;
    if (newest == NULL || (kept = calloc(1, sizeof *kept)) == NULL) return NULL;
    kept->place.backend = &memory_backend;
    kept->place.target = newest->place.target;
    kept->buffer.object = malloc(entry->section.device_bytes);
    kept->buffer.bytes = entry->section.device_bytes;
    kept->valid = kept->buffer.object != NULL &&
                  newest->place.backend->read(newest->place.device, 0, &newest->buffer, 0, kept->buffer.object,
                                              kept->buffer.bytes, &unused) == TILEK_OK;
    if (kept->valid) return kept;
    free(kept->buffer.object);
    free(kept);
    return NULL;
}

/* At exit the program's own handlers may still ask for what is present. */
void tilek_present_release_devices(void)
{
    tilek_lock(TILEK_LOCK_PRESENT);
    for (tilek_present_entry *entry = table; entry != NULL; entry = entry->next) {
        copy *const kept = rescue(entry);
        free_copies(entry);
        entry->copies = kept;
    }
    tilek_unlock(TILEK_LOCK_PRESENT);
}

/* A fork's child keeps the values that the host has; copies on devices are the parent's. */
void tilek_present_forked(void)
{
    for (tilek_present_entry *entry = table; entry != NULL; entry = entry->next) {
        while (entry->copies != NULL) {
            copy *first = entry->copies;
            entry->copies = first->next;
            first->next = parents_copies;
            parents_copies = first;
        }
    }
}

/* What the host lacks stays, for handlers that run later. */
void tilek_present_free(void)
{
    tilek_lock(TILEK_LOCK_PRESENT);
    for (tilek_present_entry **link = &table; *link != NULL;) {
        tilek_present_entry *const entry = *link;
        if (!entry->host_valid) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        --table_size;
        discard(entry);
    }
    tilek_unlock(TILEK_LOCK_PRESENT);
}
