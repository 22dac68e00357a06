/* divided.c: a call on several devices alike. Each has the arrays at their places, but only those rows of them that its iterations touch: who holds the newest
 * values of a row is kept in a table (held.h), rows that a device lacks are brought before its iterations that touch them, and results go home at the end.
 *
 * Of a launch that lacks rows, the iterations that lack none run while these are on their way; those at the borders of the blocks come behind. */
#define _POSIX_C_SOURCE 200809L
#include "divided.h"

#include "device_job.h"
#include "environment.h"
#include "held.h"
#include "message.h"
#include "profile.h"

#include <stdlib.h>
#include <string.h>

/* Bit 0 of a row's holders is the host. */
enum { MOST_DEVICES = 32, HOST = 1 };

static uint64_t bit_of(int device) { return (uint64_t)2 << device; }

/* Iterations of a launch's divided loop, from 0, or the one run of a launch that is not divided. */
typedef struct stretch { int64_t first, end; } stretch;

typedef struct rows { int64_t first, end; } rows;

typedef struct divided_array {
    tilek_span span;
    int is_touched;     /* by some launch */
    size_t pitch;       /* bytes from a row to the next */
    rows all;           /* that the section has bytes of */
    tilek_held held;
    int goes_home;
    char *staging;      /* what goes home, until all has arrived; laid out as the section */
} divided_array;

/* Rows that a device lacks, and where they are. */
typedef struct move { int array, device; rows which; uint64_t holders; } move;

typedef struct divided_call {
    tilek_state *state;
    const tilek_call *call;
    int device_count, job_count;
    tilek_device_job *jobs;      /* one a device; the first one's run is gone through */
    tilek_buffer **buffers;      /* per device, one an array */
    divided_array *arrays;
    tilek_tile *tiles;           /* room for the tiles of any launch */
    move *moves;
    int move_count, move_room;
    char *passing;               /* rows on their way between two devices */
    size_t passing_bytes;
    int queue;                   /* where launches go: not 0, in which rows move */
} divided_call;

static tilek_status no_memory(tilek_message *why)
{
    tilek_say(why, "memory is exhausted");
    return TILEK_NO_MEMORY;
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static int64_t bounded_sum(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static int64_t bounded_product(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? ((a < 0) == (b < 0) ? INT64_MAX : INT64_MIN) : product;
}

static int64_t value_at(const tilek_bounds *bounds, int64_t iteration) { return bounded_sum(bounds->lower, bounded_product(bounds->step, iteration)); }

/* The rows that a stretch of iterations touches. */
static rows rows_of(const divided_call *divided, const tilek_row_use *use, const tilek_bounds *bounds, stretch part)
{
    const rows all = divided->arrays[use->array].all;
    rows found = {use->least, use->greatest};
    if (part.first >= part.end) return (rows){all.first, all.first};
    if (use->least == INT64_MIN) return all;
    if (bounds != NULL) {
        const int64_t first = bounded_product(use->scale, value_at(bounds, part.first)), last = bounded_product(use->scale, value_at(bounds, part.end - 1));
        found.first = bounded_sum(tilek_minimum(first, last), use->least);
        found.end = bounded_sum(tilek_maximum(first, last), use->greatest);
    }
    found.first = tilek_maximum(found.first, all.first);
    found.end = tilek_minimum(bounded_sum(found.end, 1), all.end);
    return found.first < found.end ? found : (rows){all.first, all.first};
}

/* Where rows lie in the section's bytes. */
static size_t offset_of(const divided_call *divided, int index, int64_t row)
{
    const divided_array *array = &divided->arrays[index];
    const intptr_t begin = (intptr_t)((uintptr_t)array->span.start - (uintptr_t)divided->call->arrays[index].base);
    const intptr_t offset = (intptr_t)row * (intptr_t)array->pitch - begin;
    return offset <= 0 ? 0 : (size_t)offset < array->span.bytes ? (size_t)offset : array->span.bytes;
}

static void measure_rows(divided_call *divided, int index, int rank)
{
    const tilek_array_shape *shape = &divided->state->kernel->arrays[index];
    const tilek_array *given = &divided->call->arrays[index];
    divided_array *array = &divided->arrays[index];
    const int64_t begin = (int64_t)((intptr_t)((uintptr_t)array->span.start - (uintptr_t)given->base));
    array->is_touched = 1;
    array->pitch = shape->element_size;
    for (int dimension = 1; dimension < rank && shape->storage != TILEK_SCALAR; ++dimension) array->pitch *= (size_t)given->extent[dimension];
    if (array->pitch == 0 || array->span.bytes == 0) return;
    array->all.first = tilek_floor_quotient(begin, (int64_t)array->pitch);
    array->all.end = tilek_ceiling_quotient(begin + (int64_t)array->span.bytes, (int64_t)array->pitch);
}

/* ---- Moving ------------------------------------------------------------------------------------------------------ */

static tilek_status add_move(divided_call *divided, const move *added, tilek_message *why)
{
    if (divided->move_count == divided->move_room) {
        const int room = divided->move_room * 2 + 16;
        move *moves = realloc(divided->moves, (size_t)room * sizeof *moves);
        if (moves == NULL) return no_memory(why);
        divided->moves = moves;
        divided->move_room = room;
    }
    divided->moves[divided->move_count++] = *added;
    return TILEK_OK;
}

/* Any of a row's holders that is a device; there is one. */
static int device_among(uint64_t holders)
{
    int device = 0;
    while ((holders & bit_of(device)) == 0) ++device;
    return device;
}

static tilek_place moving_place(const divided_call *divided, int device)
{
    tilek_place place = divided->jobs[device].residence.place;
    place.queue = 0;
    return place;
}

static tilek_status perform_move(divided_call *divided, const move *one, tilek_message *why)
{
    const divided_array *array = &divided->arrays[one->array];
    const size_t begin = offset_of(divided, one->array, one->which.first), bytes = offset_of(divided, one->array, one->which.end) - begin;
    const tilek_place to = moving_place(divided, one->device);
    const char *source = array->span.start + begin;
    tilek_status status = TILEK_OK;
    if ((one->holders & HOST) == 0) {
        const int from = device_among(one->holders);
        const tilek_place place = moving_place(divided, from);
        if (bytes > divided->passing_bytes) {
            char *larger = realloc(divided->passing, bytes);
            if (larger == NULL) return no_memory(why);
            divided->passing = larger;
            divided->passing_bytes = bytes;
        }
        source = divided->passing;
        status = tilek_copy_out(&place, &divided->buffers[from][one->array], begin, divided->passing, bytes, why);
    }
    if (status == TILEK_OK) status = tilek_copy_in(&to, &divided->buffers[one->device][one->array], begin, source, bytes, why);
    return status;
}

static tilek_status perform_moves(divided_call *divided, tilek_message *why)
{
    tilek_status status = TILEK_OK;
    for (int index = 0; index < divided->move_count && status == TILEK_OK; ++index) status = perform_move(divided, &divided->moves[index], why);
    return status;
}

static tilek_status wait_for_all(const divided_call *divided, tilek_message *why)
{
    tilek_status status = TILEK_OK;
    for (int device = 0; device < divided->job_count; ++device) {
        const tilek_place *place = &divided->jobs[device].residence.place;
        tilek_message unused;
        const tilek_status own = place->backend->wait(place->device, divided->queue, status == TILEK_OK ? why : &unused);
        if (status == TILEK_OK) status = own;
    }
    return status;
}

/* ---- A launch ---------------------------------------------------------------------------------------------------- */

/* One launch as it is dealt out. */
typedef struct dealing {
    const tilek_division *division;
    const tilek_bounds *bounds;            /* of the divided loop; NULL: none is */
    stretch parts[MOST_DEVICES], inner[MOST_DEVICES]; /* inner: iterations of the part that lack nothing */
} dealing;

/* The first iteration from which on all rows of `use` lie at `row` and beyond, where they grow with iterations; where they shrink, the first one whose rows lie below `row`. */
static int64_t iteration_past(const tilek_row_use *use, const tilek_bounds *bounds, int64_t row)
{
    const int64_t slope = bounded_product(use->scale, bounds->step), start = bounded_product(use->scale, bounds->lower);
    if (slope > 0) return tilek_ceiling_quotient(bounded_sum(row, -bounded_sum(start, use->least)), slope);
    return tilek_floor_quotient(bounded_sum(bounded_sum(start, use->greatest), -row), -slope) + 1;
}

/* Leaves of `inner` the iterations that do not touch the rows `lacked`, where these lie at one end of those that the part touches; else none. */
static void cut(stretch *inner, const tilek_row_use *use, const tilek_bounds *bounds, rows touched, rows lacked)
{
    const int64_t slope = bounds != NULL ? bounded_product(use->scale, bounds->step) : 0;
    const int at_first = lacked.first == touched.first, at_end = lacked.end == touched.end;
    if (slope == 0 || at_first == at_end) {
        inner->end = inner->first;
    } else if ((slope > 0) == at_first) { /* the first iterations: later ones are past these rows */
        const int64_t past = iteration_past(use, bounds, slope > 0 ? lacked.end : lacked.first);
        inner->first = tilek_minimum(tilek_maximum(inner->first, past), inner->end);
    } else { /* the last ones, from the first that reaches these rows */
        const tilek_row_use reaching = {use->array, use->access, use->rank, use->scale, use->greatest, use->least};
        const int64_t reached = iteration_past(&reaching, bounds, slope > 0 ? lacked.first : lacked.end);
        inner->end = tilek_maximum(tilek_minimum(inner->end, reached), inner->first);
    }
}

/* Leaves of a device's inner iterations those that touch only rows which it holds, or which nobody does: these have no values yet. */
static void find_inner(const divided_call *divided, dealing *deal, int device)
{
    for (int index = 0; index < deal->division->use_count; ++index) {
        const tilek_row_use *use = &deal->division->uses[index];
        const rows touched = rows_of(divided, use, deal->bounds, deal->parts[device]);
        rows lacked = {touched.first, touched.first};
        int64_t end;
        for (int64_t row = touched.first; row < touched.end; row = end) {
            const uint64_t holders = tilek_held_at(&divided->arrays[use->array].held, row, &end);
            end = tilek_minimum(end, touched.end);
            if ((holders & bit_of(device)) == 0 && holders != 0) lacked.end = end;
            else if (lacked.first < lacked.end) cut(&deal->inner[device], use, deal->bounds, touched, lacked);
            if (lacked.end < end) lacked = (rows){end, end};
        }
        if (lacked.first < lacked.end) cut(&deal->inner[device], use, deal->bounds, touched, lacked);
    }
}

/* Notes which rows a device lacks for its part. It counts as their holder from here on: moves are performed in their order. */
static tilek_status find_moves(divided_call *divided, const dealing *deal, int device, tilek_message *why)
{
    for (int index = 0; index < deal->division->use_count; ++index) {
        const tilek_row_use *use = &deal->division->uses[index];
        const rows touched = rows_of(divided, use, deal->bounds, deal->parts[device]);
        tilek_held *held = &divided->arrays[use->array].held;
        int64_t end;
        for (int64_t row = touched.first; row < touched.end; row = end) {
            const uint64_t holders = tilek_held_at(held, row, &end);
            const move lacked = {use->array, device, {row, end = tilek_minimum(end, touched.end)}, holders};
            tilek_status status;
            if ((holders & bit_of(device)) != 0 || holders == 0) continue;
            status = add_move(divided, &lacked, why);
            if (status != TILEK_OK) return status;
            if (!tilek_held_change(held, row, end, ~(uint64_t)0, bit_of(device))) return no_memory(why);
        }
    }
    return TILEK_OK;
}

/* Whether rows that move are left alone by the inner iterations of the device that they come from. */
static int may_overlap(const divided_call *divided, const dealing *deal)
{
    for (int number = 0; number < divided->move_count; ++number) {
        const move *one = &divided->moves[number];
        const int from = (one->holders & HOST) != 0 ? -1 : device_among(one->holders);
        for (int index = 0; index < deal->division->use_count && from >= 0; ++index) {
            const tilek_row_use *use = &deal->division->uses[index];
            const rows written = rows_of(divided, use, deal->bounds, deal->inner[from]);
            if (use->array == one->array && (use->access & TILEK_WRITES) != 0 && written.first < one->which.end && one->which.first < written.end) return 0;
        }
    }
    return 1;
}

/* Queues a stretch of a launch's iterations on a device. */
static tilek_status run_stretch(divided_call *divided, const dealing *deal, int launch, int device, stretch part, const void *const values[], int64_t *took, tilek_message *why)
{
    tilek_device_job *job = &divided->jobs[device];
    const tilek_launch_shape *shape = &job->run.launches[launch];
    const tilek_planned *planned = &divided->jobs[0].run.planned[launch];
    tilek_machine machine = job->run.machine;
    tilek_bounds bounds = {0, 0, 1, 1};
    tilek_numbers numbers;
    tilek_status status;
    int64_t nanoseconds = 0;
    if (part.first >= part.end) return TILEK_OK;
    numbers.values = divided->tiles;
    for (int index = 0; index < shape->loop_count; ++index) numbers.bounds[index] = &planned->bounds[index];
    if (deal->bounds != NULL) {
        bounds = *deal->bounds;
        bounds.lower = value_at(deal->bounds, part.first);
        bounds.trip = part.end - part.first;
        bounds.upper = value_at(&bounds, bounds.trip);
        numbers.bounds[deal->division->loop] = &bounds;
    }
    if (job->run.group_totals != NULL) machine.group_total = tilek_minimum(machine.group_total, job->run.group_totals[launch]);
    machine.workers = job->run.planned[launch].workers; /* constants of the program */
    status = tilek_decide(shape, divided->call, &machine, &numbers, why);
    if (status == TILEK_OK && !numbers.empty) status = tilek_job_run(job, launch, &numbers, NULL, values, job->profiling ? &nanoseconds : NULL, why);
    *took += nanoseconds;
    return status;
}

/* What stands before and behind the inner iterations of a part. */
static tilek_status run_borders(divided_call *divided, const dealing *deal, int launch, int device, const void *const values[], int64_t *took, tilek_message *why)
{
    const stretch part = deal->parts[device], inner = deal->inner[device];
    const stretch before = {part.first, inner.first}, behind = {inner.end, part.end};
    tilek_status status = run_stretch(divided, deal, launch, device, before, values, took, why);
    if (status == TILEK_OK) status = run_stretch(divided, deal, launch, device, behind, values, took, why);
    return status;
}

/* The device that holds most of what a launch touches which is not divided. */
static int best_device(const divided_call *divided, const tilek_division *division)
{
    int best = 0;
    int64_t fewest = INT64_MAX;
    for (int device = 0; device < divided->device_count; ++device) {
        int64_t lacked = 0, end;
        for (int index = 0; index < division->use_count; ++index) {
            const rows touched = rows_of(divided, &division->uses[index], NULL, (stretch){0, 1});
            for (int64_t row = touched.first; row < touched.end; row = end) {
                const uint64_t holders = tilek_held_at(&divided->arrays[division->uses[index].array].held, row, &end);
                end = tilek_minimum(end, touched.end);
                if ((holders & bit_of(device)) == 0) lacked += end - row;
            }
        }
        if (lacked >= fewest) continue;
        fewest = lacked;
        best = device;
    }
    return best;
}

/* Blocks that differ by one iteration at most. */
static void deal_out(const divided_call *divided, const tilek_planned *planned, dealing *deal)
{
    const int64_t devices = divided->device_count;
    const int chosen = deal->division->loop < 0 ? best_device(divided, deal->division) : 0;
    deal->bounds = deal->division->loop < 0 ? NULL : &planned->bounds[deal->division->loop];
    for (int device = 0; device < divided->device_count; ++device) {
        const int64_t trip = deal->bounds != NULL ? deal->bounds->trip : 1, share = trip / devices, extra = trip % devices;
        deal->parts[device] = (stretch){device * share + tilek_minimum(device, extra), (device + 1) * share + tilek_minimum(device + 1, extra)};
        if (deal->bounds == NULL) deal->parts[device] = (stretch){0, device == chosen};
        deal->inner[device] = deal->parts[device];
    }
}

/* After the launch only those who wrote rows hold them. */
static tilek_status note_writes(divided_call *divided, const dealing *deal, tilek_message *why)
{
    for (int index = 0; index < deal->division->use_count; ++index) {
        const tilek_row_use *use = &deal->division->uses[index];
        if ((use->access & TILEK_WRITES) == 0) continue;
        for (int device = 0; device < divided->device_count; ++device) {
            const rows written = rows_of(divided, use, deal->bounds, deal->parts[device]);
            if (!tilek_held_change(&divided->arrays[use->array].held, written.first, written.end, 0, bit_of(device))) return no_memory(why);
        }
    }
    return TILEK_OK;
}

static tilek_status perform(tilek_run *run, int launch, const void *const values[], tilek_message *why)
{
    tilek_device_job *job = run->context;
    divided_call *divided = job->owner;
    dealing deal = {.division = &run->kernel->divisions[launch]};
    const int64_t start = job->profiling ? tilek_now() : 0;
    tilek_status status = TILEK_OK;
    int64_t took = 0;
    int overlaps;
    divided->move_count = 0;
    deal_out(divided, &run->planned[launch], &deal);
    for (int device = 0; device < divided->device_count && status == TILEK_OK; ++device) {
        find_inner(divided, &deal, device);
        status = find_moves(divided, &deal, device, why);
    }
    if (status == TILEK_OK && divided->move_count > 0) status = wait_for_all(divided, why); /* what moves has been computed, and what it goes over is no longer read */
    overlaps = divided->move_count == 0 || may_overlap(divided, &deal);
    for (int device = 0; device < divided->device_count && status == TILEK_OK && overlaps; ++device)
        status = run_stretch(divided, &deal, launch, device, deal.inner[device], values, &took, why);
    if (status == TILEK_OK) status = perform_moves(divided, why);
    for (int device = 0; device < divided->device_count && status == TILEK_OK; ++device)
        status = overlaps ? run_borders(divided, &deal, launch, device, values, &took, why)
                          : run_stretch(divided, &deal, launch, device, deal.parts[device], values, &took, why);
    if (status == TILEK_OK) status = note_writes(divided, &deal, why);
    if (status == TILEK_OK && job->profiling)
        tilek_record_step(job->state, job->residence.place.target, 0, launch, run->sizes, start, took, tilek_share(run, launch, job->touched));
    return status;
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */

/* Brings the rows of an array that the host does not hold, into memory laid out as its section. */
static tilek_status fetch(const divided_call *divided, int index, char *memory, tilek_message *why)
{
    const divided_array *array = &divided->arrays[index];
    int64_t end;
    for (int64_t row = array->all.first; row < array->all.end; row = end) {
        const uint64_t holders = tilek_held_at(&array->held, row, &end);
        const size_t begin = offset_of(divided, index, row), bytes = offset_of(divided, index, end) - begin;
        const int from = (holders & HOST) != 0 || holders == 0 ? -1 : device_among(holders);
        const tilek_status status =
            from < 0 ? TILEK_OK : tilek_copy_out(&divided->jobs[from].residence.place, &divided->buffers[from][index], begin, memory + begin, bytes, why);
        if (status != TILEK_OK) return status;
    }
    return TILEK_OK;
}

/* Without failing: the rows that came. */
static void settle(divided_call *divided, int index)
{
    const divided_array *array = &divided->arrays[index];
    int64_t end;
    for (int64_t row = array->all.first; row < array->all.end; row = end) {
        const uint64_t holders = tilek_held_at(&array->held, row, &end);
        const size_t begin = offset_of(divided, index, row), bytes = offset_of(divided, index, end) - begin;
        if ((holders & HOST) == 0 && holders != 0) memcpy(array->span.start + begin, array->staging + begin, bytes);
    }
}

/* All results arrive in memory of their own before the first of the host's values changes. */
static tilek_status take_home(divided_call *divided, tilek_message *why)
{
    const int count = divided->state->kernel->array_count;
    tilek_status status = TILEK_OK;
    for (int index = 0; index < count && status == TILEK_OK; ++index) {
        divided_array *array = &divided->arrays[index];
        if (!array->goes_home || !array->is_touched || array->span.bytes == 0) continue;
        array->staging = malloc(array->span.bytes);
        status = array->staging != NULL ? fetch(divided, index, array->staging, why) : no_memory(why);
    }
    for (int index = 0; index < count && status == TILEK_OK; ++index)
        if (divided->arrays[index].staging != NULL) settle(divided, index);
    return status;
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */

/* Devices like that of `place`, in their order; their number. */
static int devices_like(const tilek_place *place, tilek_device *devices[MOST_DEVICES])
{
    const tilek_limits *limits = place->backend->limits(place->device);
    tilek_message unused;
    int count = 0;
    if (tilek_get_settings()->device >= 0) return 0; /* TILEK_DEVICE is one */
    for (int64_t number = 0; count < MOST_DEVICES; ++number) {
        tilek_device *one;
        const tilek_limits *own;
        if (place->backend->open(number, NULL, &one, &unused) != TILEK_OK) break;
        own = place->backend->limits(one);
        if (strcmp(own->name, limits->name) == 0 && strcmp(own->driver, limits->driver) == 0 && own->compute_units == limits->compute_units) devices[count++] = one;
    }
    return count;
}

/* Takes the arrays' measures. 0: rows of pointers, or arrays that share memory. */
static int measure(divided_call *divided, tilek_status *status, tilek_message *why)
{
    const tilek_kernel *kernel = divided->state->kernel;
    for (int index = 0; index < kernel->array_count; ++index) {
        if (kernel->arrays[index].storage == TILEK_ROWS) return 0;
        *status = tilek_span_of(&kernel->arrays[index], &divided->call->arrays[index], &divided->arrays[index].span, why);
        if (*status != TILEK_OK) return 1;
        for (int other = 0; other < index; ++other)
            if (((kernel->arrays[index].flags | kernel->arrays[other].flags) & TILEK_WRITES) != 0 &&
                tilek_spans_meet(&divided->arrays[index].span, &divided->arrays[other].span))
                return 0;
    }
    for (int launch = 0; launch < kernel->device_launch_count; ++launch)
        for (int index = 0; index < kernel->divisions[launch].use_count; ++index) {
            const tilek_row_use *use = &kernel->divisions[launch].uses[index];
            measure_rows(divided, use->array, use->rank);
        }
    return 1;
}

/* Who holds what before the first launch: the host all that has values. */
static tilek_status note_owners(divided_call *divided, tilek_message *why)
{
    const tilek_kernel *kernel = divided->state->kernel;
    for (int index = 0; index < kernel->array_count; ++index) {
        const tilek_array_shape *shape = &kernel->arrays[index];
        divided_array *array = &divided->arrays[index];
        tilek_present *present = NULL;
        const int is_present = tilek_present_pin(shape, &divided->call->arrays[index], &array->span, &present) == TILEK_INSIDE;
        int has_values;
        if (is_present) tilek_present_unpin(present);
        if (!is_present && (shape->flags & TILEK_MUST_BE_PRESENT) != 0 && !tilek_present_has(shape, &divided->call->arrays[index], why)) return TILEK_INVALID;
        array->goes_home = (shape->flags & TILEK_WRITES) != 0 && (shape->flags & TILEK_TEMPORARY) == 0 && (is_present || (shape->flags & TILEK_COPY_OUT) != 0);
        has_values = (shape->flags & TILEK_TEMPORARY) == 0 && (is_present || (shape->flags & TILEK_COPY_IN) != 0 || (array->goes_home && !array->span.is_dense));
        if (!tilek_held_start(&array->held, array->all.first, array->all.end, has_values ? HOST : 0)) return no_memory(why);
    }
    return TILEK_OK;
}

/* A device's copy of every array, as long as the section; rows that it never touches are never brought. */
static tilek_status take_buffers(divided_call *divided, int device, tilek_message *why)
{
    tilek_residence *residence = &divided->jobs[device].residence;
    const tilek_kernel *kernel = divided->state->kernel;
    tilek_status status = TILEK_OK;
    for (int index = 0; index < kernel->array_count && status == TILEK_OK; ++index) {
        const divided_array *array = &divided->arrays[index];
        tilek_resident *resident = &residence->arrays[index];
        const intptr_t begin = (intptr_t)((uintptr_t)array->span.start - (uintptr_t)divided->call->arrays[index].base);
        resident->span = array->span;
        resident->temporary = -1;
        resident->origin = (int64_t)(begin / (intptr_t)kernel->arrays[index].element_size);
        resident->geometry = &divided->call->arrays[index];
        if (!array->is_touched || array->span.bytes == 0) continue;
        status = tilek_take_buffer(&residence->place, array->span.bytes, &divided->buffers[device][index], why);
        resident->buffer = &divided->buffers[device][index];
    }
    return status;
}

static tilek_status start_job(divided_call *divided, tilek_device *device, const tilek_place *like, tilek_message *why)
{
    const tilek_kernel *kernel = divided->state->kernel;
    const tilek_form form = {0, kernel->device_launch_count, kernel->device_launches, kernel->device_loops, kernel->device_steps,
                             like->target == TILEK_CUDA ? kernel->cuda : kernel->opencl};
    const int number = divided->job_count;
    tilek_device_job *job = &divided->jobs[number];
    tilek_place place = *like;
    tilek_status status;
    place.device = device;
    place.queue = divided->queue;
    status = tilek_job_start(job, divided->state, &form, &place, why);
    ++divided->job_count;
    if (status != TILEK_OK) return status;
    job->residence.kernel = kernel;
    job->residence.form = &job->form;
    job->residence.call = divided->call;
    job->residence.arrays = calloc((size_t)kernel->array_count + 1, sizeof *job->residence.arrays);
    if (job->residence.arrays == NULL) return no_memory(why);
    status = take_buffers(divided, number, why);
    if (status == TILEK_OK) status = tilek_job_take_call(job, divided->call, why);
    if (status == TILEK_OK) status = tilek_job_prepare(job, why);
    job->owner = divided;
    return status;
}

static tilek_status make_room(divided_call *divided, tilek_message *why)
{
    const tilek_kernel *kernel = divided->state->kernel;
    const size_t devices = (size_t)divided->device_count, arrays = (size_t)kernel->array_count + 1;
    size_t most = 1;
    for (int launch = 0; launch < kernel->device_launch_count; ++launch) {
        size_t tiles = 0;
        for (int index = 0; index < kernel->device_launches[launch].loop_count; ++index) tiles += (size_t)kernel->device_launches[launch].loops[index].tile_count;
        if (tiles > most) most = tiles;
    }
    divided->jobs = calloc(devices, sizeof *divided->jobs);
    divided->arrays = calloc(arrays, sizeof *divided->arrays);
    divided->tiles = calloc(most, sizeof *divided->tiles);
    divided->buffers = calloc(devices, sizeof *divided->buffers);
    if (divided->jobs == NULL || divided->arrays == NULL || divided->tiles == NULL || divided->buffers == NULL) return no_memory(why);
    for (size_t device = 0; device < devices; ++device)
        if ((divided->buffers[device] = calloc(arrays, sizeof **divided->buffers)) == NULL) return no_memory(why);
    return TILEK_OK;
}

static void clean_up(divided_call *divided)
{
    const int count = divided->state->kernel->array_count;
    for (int device = 0; device < divided->job_count; ++device) {
        for (int index = count - 1; index >= 0; --index) tilek_give_buffer(&divided->jobs[device].residence.place, &divided->buffers[device][index]);
        free(divided->jobs[device].residence.arrays);
        tilek_job_end(&divided->jobs[device]);
    }
    for (int device = 0; device < divided->device_count && divided->buffers != NULL; ++device) free(divided->buffers[device]);
    for (int index = 0; index < count && divided->arrays != NULL; ++index) {
        tilek_held_free(&divided->arrays[index].held);
        free(divided->arrays[index].staging);
    }
    free(divided->passing);
    free(divided->moves);
    free(divided->buffers);
    free(divided->tiles);
    free(divided->arrays);
    free(divided->jobs);
}

static tilek_status run_all(divided_call *divided, tilek_device *const devices[], const tilek_place *place, tilek_message *why)
{
    tilek_message unused;
    tilek_status status = tilek_host_begins(divided->state, divided->call, why); /* what is present: the newest values come to the host */
    if (status == TILEK_OK) status = note_owners(divided, why);
    for (int device = 0; device < divided->device_count && status == TILEK_OK; ++device) status = start_job(divided, devices[device], place, why);
    if (status != TILEK_OK || tilek_run_is_empty(&divided->jobs[0].run)) return status;
    status = tilek_perform(&divided->jobs[0].run, perform, why);
    if (status == TILEK_OK) status = wait_for_all(divided, why);
    else (void)wait_for_all(divided, &unused);
    if (status == TILEK_OK) status = take_home(divided, why);
    if (status == TILEK_OK) tilek_host_ended(divided->state, divided->call);
    return status;
}

int tilek_run_divided(const tilek_place *place, const tilek_call *call, tilek_status *status, tilek_message *why)
{
    tilek_device *devices[MOST_DEVICES];
    divided_call divided = {.state = place->state, .call = call, .queue = place->queue != 0 ? place->queue : TILEK_DEVICE_QUEUES - 1};
    int is_divided = 0;
    if (place->state->kernel->divisions == NULL) return 0;
    divided.device_count = devices_like(place, devices);
    if (divided.device_count < 2) return 0;
    *status = make_room(&divided, why);
    if (*status == TILEK_OK) is_divided = measure(&divided, status, why);
    if (*status == TILEK_OK && is_divided) *status = run_all(&divided, devices, place, why);
    clean_up(&divided);
    return is_divided || *status != TILEK_OK;
}
