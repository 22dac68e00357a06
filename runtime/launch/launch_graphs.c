/* launch_graphs.c: which runs are recorded and played: see launch_graphs.h. The first run of a kind
 * is never recorded: that costs what launching costs, and most runs do not come again. */
#define _POSIX_C_SOURCE 200809L
#include "launch/launch_graphs.h"

#include "base/environment.h"
#include "kernel/profile.h"

#include <stdlib.h>
#include <string.h>

/* Runs that a kernel remembers, the newest first. Programs that swap two arrays, or call a kernel
 * for a few arrays in turn, come back within as many. */
enum { MOST_REMEMBERED = 4 };

struct tilek_recording {
    tilek_recording *next; /* in tilek_state.recordings, under the state's lock; a run that uses one takes it out */
    tilek_place place;
    tilek_graph *graph;    /* NULL: none yet */
    int64_t launches;      /* of such a run; 0: not known */
    int refused;           /* it could not be recorded or played: that is not tried again */
    size_t bytes, known;   /* as in tilek_repetition */
    unsigned char key[];
};

/* ---- Keys ------------------------------------------------------------------------------------ */

/* Writes behind what the key has, or only counts where it has no room yet. */
static void add(tilek_repetition *repetition, const void *bytes, size_t count)
{
    if (repetition->key != NULL && count > 0) memcpy(repetition->key + repetition->bytes, bytes, count);
    repetition->bytes += count;
}

static void add_array(tilek_repetition *repetition, int index)
{
    const tilek_device_arrays *device_arrays = repetition->device_arrays;
    const tilek_array *array = &device_arrays->call->arrays[index], *geometry = device_arrays->arrays[index].geometry;
    const size_t numbers = (size_t)device_arrays->kernel->arrays[index].rank * sizeof(int64_t);
    add(repetition, &device_arrays->arrays[index].origin, sizeof(int64_t));
    add(repetition, array->lower, numbers);
    add(repetition, array->length, numbers);
    add(repetition, array->extent, numbers);
    add(repetition, geometry->lower, numbers);
    add(repetition, geometry->length, numbers);
}

static void add_numbers(tilek_repetition *repetition, const tilek_run *run)
{
    const tilek_kernel *kernel = run->kernel;
    const tilek_call *call = run->call;
    repetition->bytes = 0;
    add(repetition, call->axes, sizeof call->axes);
    add(repetition, call->loops, (size_t)kernel->loop_count * sizeof *call->loops);
    add(repetition, call->tile_arguments, (size_t)kernel->tile_argument_count * sizeof *call->tile_arguments);
    add(repetition, run->sizes, (size_t)kernel->size_count * sizeof *run->sizes);
    for (int index = 0; index < kernel->scalar_count; ++index)
        add(repetition, call->scalars[index], kernel->scalar_sizes[index]);
    for (int index = 0; index < kernel->array_count; ++index) add_array(repetition, index);
    repetition->known = repetition->bytes;
}

static void add_addresses(tilek_repetition *repetition)
{
    static const tilek_buffer nothing;
    for (int index = 0; index < repetition->device_arrays->kernel->array_count; ++index) {
        const tilek_buffer *buffer = repetition->device_arrays->arrays[index].buffer != NULL
                                       ? repetition->device_arrays->arrays[index].buffer
                                       : &nothing;
        add(repetition, &buffer->object, sizeof buffer->object);
        add(repetition, &buffer->address, sizeof buffer->address);
    }
}

/* ---- What is remembered ---------------------------------------------------------------------- */

static int is_alike(const tilek_recording *recording, const tilek_repetition *repetition, size_t bytes)
{
    return recording->place.device == repetition->device_arrays->place.device &&
           recording->known == repetition->known && recording->bytes >= bytes &&
           memcmp(recording->key, repetition->key, bytes) == 0;
}

static void discard(tilek_recording *recording)
{
    if (recording->graph != NULL) recording->place.backend->forget(recording->place.device, recording->graph);
    free(recording);
}

/* Takes the recording at `link` out of its list. */
static tilek_recording *take_out(tilek_recording **link)
{
    tilek_recording *recording = *link;
    *link = recording->next;
    recording->next = NULL;
    return recording;
}

static tilek_recording *new_recording(const tilek_repetition *repetition)
{
    tilek_recording *recording = calloc(1, sizeof *recording + repetition->bytes);
    if (recording == NULL) return NULL;
    recording->place = repetition->device_arrays->place;
    recording->bytes = repetition->bytes;
    recording->known = repetition->known;
    memcpy(recording->key, repetition->key, repetition->bytes);
    return recording;
}

/* Puts the recording in front. What is then too much is for the caller to discard; so is another
 * one of the same run, where two threads made one each: a graph that only that one has is kept. */
static tilek_recording *remember(tilek_state *state, tilek_recording *recording, const tilek_repetition *repetition)
{
    tilek_recording *spare = NULL, **link;
    int count = 1;
    tilek_state_lock();
    recording->next = state->recordings;
    state->recordings = recording;
    for (link = &recording->next; *link != NULL; link = &(*link)->next)
        if (++count > MOST_REMEMBERED || is_alike(*link, repetition, repetition->bytes)) {
            spare = take_out(link); /* one at most, as one came */
            break;
        }
    if (spare != NULL && recording->graph == NULL && is_alike(spare, repetition, repetition->bytes)) {
        recording->graph = spare->graph;
        spare->graph = NULL;
    }
    tilek_state_unlock();
    return spare;
}

/* ---- Of one run ------------------------------------------------------------------------------ */

/* Whether a run of this variant is nothing but launches, and may have enough of them. */
static int is_of_use(const tilek_device_arrays *device_arrays)
{
    const tilek_variant *variant = device_arrays->variant;
    const tilek_place *place = &device_arrays->place;
    if (!tilek_get_settings()->graphs || tilek_profiling() || !place->backend->limits(place->device)->records) return 0;
    for (int launch = 0; launch < variant->launch_count; ++launch)
        if (variant->launches[launch].reduction_count > 0) return 0;
    return variant->steps != NULL || variant->launch_count >= TILEK_LEAST_RECORDED;
}

void tilek_repetition_start(tilek_repetition *repetition, tilek_state *state, const tilek_device_arrays *device_arrays,
                            const tilek_run *run)
{
    memset(repetition, 0, sizeof *repetition);
    if (!is_of_use(device_arrays)) return;
    repetition->state = state;
    repetition->device_arrays = device_arrays;
    add_numbers(repetition, run);
    add_addresses(repetition);
    repetition->key = malloc(repetition->bytes);
    if (repetition->key != NULL) add_numbers(repetition, run);
}

int tilek_repetition_is_likely(const tilek_repetition *repetition)
{
    int is_likely = 0;
    if (repetition->key == NULL) return 0;
    tilek_state_lock();
    for (const tilek_recording *recording = repetition->state->recordings; recording != NULL && !is_likely;
         recording = recording->next)
        is_likely = recording->graph != NULL && is_alike(recording, repetition, repetition->known);
    tilek_state_unlock();
    return is_likely;
}

void tilek_repetition_look(tilek_repetition *repetition)
{
    if (repetition->key == NULL) return;
    add_addresses(repetition);
    tilek_state_lock();
    for (tilek_recording **link = &repetition->state->recordings; *link != NULL; link = &(*link)->next)
        if (is_alike(*link, repetition, repetition->bytes)) {
            repetition->recording = take_out(link);
            break;
        }
    tilek_state_unlock();
    if (repetition->recording == NULL) repetition->recording = new_recording(repetition);
}

int tilek_repetition_can_play(const tilek_repetition *repetition)
{
    return repetition->recording != NULL && repetition->recording->graph != NULL;
}

int tilek_repetition_is_worthwhile(const tilek_repetition *repetition, int64_t most)
{
    const tilek_recording *recording = repetition->recording;
    return recording != NULL && recording->graph == NULL && !recording->refused &&
           recording->launches >= TILEK_LEAST_RECORDED && recording->launches <= most;
}

int tilek_repetition_begin(tilek_repetition *repetition)
{
    const tilek_place *place = &repetition->device_arrays->place;
    tilek_message unused;
    const tilek_status status = place->backend->record(place->device, &unused);
    repetition->recording->refused = status != TILEK_OK && status != TILEK_UNSUPPORTED;
    return status == TILEK_OK;
}

/* What was recorded, or is not to be tried again, goes. */
static int refuse(tilek_repetition *repetition)
{
    tilek_recording *recording = repetition->recording;
    if (recording->graph != NULL) recording->place.backend->forget(recording->place.device, recording->graph);
    recording->graph = NULL;
    recording->refused = 1;
    return 0;
}

int tilek_repetition_end(tilek_repetition *repetition, tilek_status status)
{
    const tilek_place *place = &repetition->device_arrays->place;
    tilek_message unused;
    const tilek_status ended = place->backend->recorded(place->device, &repetition->recording->graph, &unused);
    return (status == TILEK_OK && ended == TILEK_OK) || refuse(repetition);
}

int tilek_repetition_play(tilek_repetition *repetition)
{
    const tilek_place *place = &repetition->device_arrays->place;
    tilek_message unused;
    return place->backend->play(place->device, place->queue, repetition->recording->graph, &unused) == TILEK_OK ||
           refuse(repetition);
}

void tilek_repetition_finish(tilek_repetition *repetition, int64_t launches)
{
    tilek_recording *recording = repetition->recording;
    if (recording != NULL) {
        if (launches > 0) recording->launches = launches;
        tilek_recording *const spare = remember(repetition->state, recording, repetition);
        if (spare != NULL) discard(spare);
    }
    free(repetition->key);
    memset(repetition, 0, sizeof *repetition);
}

void tilek_recordings_free(tilek_state *state)
{
    while (state->recordings != NULL) discard(take_out(&state->recordings));
}

/* Held, so that no checker takes them for lost. */
static tilek_recording *parents;

void tilek_recordings_abandon(tilek_state *state)
{
    while (state->recordings != NULL) {
        tilek_recording *recording = take_out(&state->recordings);
        recording->next = parents;
        parents = recording;
    }
}
