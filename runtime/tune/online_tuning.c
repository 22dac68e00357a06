/* online_tuning.c: TILEK_ADAPT: see online_tuning.h. A layout's time is the shortest of a few
 * launches, since what else runs on a machine only makes them longer. */
#define _POSIX_C_SOURCE 200809L
#include "tune/online_tuning.h"

#include "kernel/targets.h"
#include "tune/tile_sizes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The most layouts and kinds of launches that are kept: launches beyond them follow the kernel's
 * choices. TRIALS: launches of each layout. */
enum { MOST_LAYOUTS = 8, MOST_KINDS = 32, TRIALS = 3 };

typedef struct attempt {
    int layout;
    /* launches; those that ended without having run are no reason to try again, which might go on
     * for ever */
    int begun, ended, ran;
    double time;           /* the least of those that ran, in relation to their work */
} attempt;

/* Launches count as one kind whose bytes and trips have the same highest bit. */
struct tilek_tuning {
    tilek_tuning *next;
    tilek_target target;
    tilek_side side;
    int byte_bits, trip_bits;
    int count;
    int is_settled;
    int fastest; /* of what has been tried so far */
    attempt attempts[MOST_LAYOUTS]; /* the one that the kernel would choose comes first */
};

static int bits_of(int64_t number)
{
    int bits = 0;
    for (uint64_t left = number > 0 ? (uint64_t)number : 0; left != 0; left >>= 1) ++bits;
    return bits;
}

static void add_layout(tilek_tuning *tuning, const tilek_kernel *kernel, int layout)
{
    for (int place = 0; place < tuning->count; ++place)
        if (tilek_layouts_are_alike(kernel, tuning->attempts[place].layout, layout)) return;
    if (tuning->count < MOST_LAYOUTS) tuning->attempts[tuning->count++].layout = layout;
}

/* The tuning for launches of this kind, made where there is none yet; NULL: there are too many.
 * Under the state's lock. */
static tilek_tuning *tuning_for(tilek_state *state, const tilek_call *call, tilek_target target, tilek_side side)
{
    const tilek_kernel *kernel = state->kernel;
    const int64_t bytes = tilek_bytes_on_hosts(kernel, call);
    const int byte_bits = bits_of(bytes), trip_bits = bits_of(call->trips);
    tilek_tuning *tuning = state->tunings;
    int count = 0;
    for (; tuning != NULL; tuning = tuning->next, ++count)
        if (tuning->target == target && tuning->side == side && tuning->byte_bits == byte_bits &&
            tuning->trip_bits == trip_bits)
            return tuning;
    if (count == MOST_KINDS || (tuning = calloc(1, sizeof *tuning)) == NULL) return NULL;
    tuning->target = target;
    tuning->side = side;
    tuning->byte_bits = byte_bits;
    tuning->trip_bits = trip_bits;
    add_layout(tuning, kernel, tilek_layout_chosen(kernel, call, side, bytes));
    add_layout(tuning, kernel, side == TILEK_SIDE_DEVICE ? -TILEK_USUAL : TILEK_USUAL);
    for (int number = 0, layout; (layout = tilek_layout_at(kernel, side, number)) != 0; ++number)
        add_layout(tuning, kernel, layout);
    tuning->is_settled = tuning->count == 1;
    tuning->next = state->tunings;
    state->tunings = tuning;
    return tuning;
}

/* The layout that has had fewest launches; where all have had enough, the fastest as far as is
 * known. */
static int next_place(const tilek_tuning *tuning)
{
    int place = 0;
    if (tuning->is_settled) return tuning->fastest;
    for (int other = 1; other < tuning->count; ++other)
        if (tuning->attempts[other].begun < tuning->attempts[place].begun) place = other;
    return tuning->attempts[place].begun < TRIALS ? place : tuning->fastest;
}

/* Whether a launch combines sums or products in an order that its tiles decide. */
static int rounds(const tilek_launch_shape *launches, int count)
{
    for (int launch = 0; launch < count; ++launch)
        for (int index = 0; index < launches[launch].reduction_count; ++index)
            if (launches[launch].chunk > 0 && launches[launch].reductions[index].operation <= TILEK_MULTIPLY) return 1;
    return 0;
}

/* Whether tiles say in which order sums of real numbers are rounded, and the user has not said that
 * it does not matter: what is fastest today may not change them. */
static int must_keep_sums(const tilek_kernel *kernel)
{
    return (kernel->flags & TILEK_FAST_MATH) == 0 && (rounds(kernel->host_launches, kernel->host_launch_count) ||
                                                      rounds(kernel->device_launches, kernel->device_launch_count));
}

void tilek_tune(tilek_state *state, tilek_call *call, tilek_target target, tilek_side side)
{
    const tilek_kernel *kernel = state->kernel;
    tilek_tuning *tuning;
    if (abs(tilek_layout_at(kernel, side, 0)) == TILEK_USUAL || must_keep_sums(kernel)) return;
    tilek_state_lock();
    tuning = tuning_for(state, call, target, side);
    if (tuning != NULL) {
        attempt *const next = &tuning->attempts[next_place(tuning)];
        tilek_take_layout(kernel, call, next->layout);
        if (!tuning->is_settled && next->begun < TRIALS) {
            ++next->begun;
            call->adaptation = tuning;
        }
    }
    tilek_state_unlock();
}

/* Under the state's lock. */
static void settle(tilek_tuning *tuning)
{
    int is_settled = 1;
    for (int place = 0; place < tuning->count; ++place) {
        const attempt *tried = &tuning->attempts[place], *best = &tuning->attempts[tuning->fastest];
        is_settled &= tried->ended == TRIALS;
        if (tried->ran > 0 && (best->ran == 0 || tried->time < best->time)) tuning->fastest = place;
    }
    tuning->is_settled = is_settled;
}

/* A launch of the call's layout has ended; in negative nanoseconds where it has not run. */
static void end(tilek_tuning *tuning, const tilek_call *call, int64_t nanoseconds)
{
    /* Launches of one kind differ in size. */
    const double time = (double)nanoseconds / (call->operations > 0 ? call->operations : 1);
    tilek_state_lock();
    for (int place = 0; place < tuning->count; ++place) {
        attempt *const tried = &tuning->attempts[place];
        if (tried->layout != call->layout) continue;
        ++tried->ended;
        if (nanoseconds >= 0 && (tried->ran++ == 0 || time < tried->time)) tried->time = time;
    }
    settle(tuning);
    tilek_state_unlock();
}

void tilek_tuned(const tilek_call *call, tilek_target target, int64_t nanoseconds)
{
    tilek_tuning *const tuning = call->adaptation;
    if (tuning != NULL && tuning->target == target) end(tuning, call, nanoseconds);
}

void tilek_tuning_declined(const tilek_call *call)
{
    if (call->adaptation != NULL) end(call->adaptation, call, -1);
}

/* The least number with more bits than that. */
static double limit_of(int bits)
{
    double limit = 1;
    while (bits-- > 0) limit *= 2;
    return limit;
}

void tilek_tunings_print(const tilek_state *state)
{
    const tilek_kernel *kernel = state->kernel;
    for (const tilek_tuning *tuning = state->tunings; tuning != NULL; tuning = tuning->next) {
        const int layout = tuning->attempts[tuning->fastest].layout;
        const tilek_kernel *version = tilek_version_of(kernel, layout);
        (void)fprintf(stderr, "  %s on %s, arrays below %.0f bytes", kernel->name, tilek_target_name(tuning->target),
                      limit_of(tuning->byte_bits));
        if (tuning->trip_bits > 0) (void)fprintf(stderr, ", below %.0f iterations", limit_of(tuning->trip_bits));
        (void)fputs(tuning->is_settled ? ": takes" : ": so far best is", stderr);
        if (kernel->version_count > 0) (void)fprintf(stderr, " version %d", version->version);
        for (int index = 0; index < version->size_count; ++index)
            (void)fprintf(stderr, " %s=%" PRId64, version->sizes[index].name, tilek_layout_size(kernel, layout, index));
        (void)fprintf(stderr, ", of %d\n", tuning->count);
    }
}

void tilek_tunings_free(tilek_state *state)
{
    while (state->tunings != NULL) {
        tilek_tuning *tuning = state->tunings;
        state->tunings = tuning->next;
        free(tuning);
    }
}
