/* online_tuning.c: TILEK_ADAPT: see online_tuning.h. A layout's time is the shortest of a few launches, since what else runs on a machine only makes them longer. */
#define _POSIX_C_SOURCE 200809L
#include "tune/online_tuning.h"

#include "kernel/targets.h"
#include "tune/tile_sizes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Layouts and kinds of launches that are told apart at most: what is beyond does as the kernel's choices say. Launches that each layout has. */
enum { MOST_LAYOUTS = 8, MOST_KINDS = 32, TRIALS = 3 };

typedef struct attempt {
    int layout;
    int begun, ended, ran; /* launches; those that ended without having run are no reason to try again, which might go on for ever */
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

static void add_layout(tilek_tuning *one, const tilek_kernel *kernel, int layout)
{
    for (int place = 0; place < one->count; ++place)
        if (tilek_layouts_are_alike(kernel, one->attempts[place].layout, layout)) return;
    if (one->count < MOST_LAYOUTS) one->attempts[one->count++].layout = layout;
}

/* The tuning for launches of this kind, made where there is none yet; NULL: there are too many. Under the state's lock. */
static tilek_tuning *tuning_for(tilek_state *state, const tilek_call *call, tilek_target target, tilek_side side)
{
    const tilek_kernel *kernel = state->kernel;
    const int64_t bytes = tilek_bytes_on_hosts(kernel, call);
    const int byte_bits = bits_of(bytes), trip_bits = bits_of(call->trips);
    tilek_tuning *one = state->tunings;
    int count = 0;
    for (; one != NULL; one = one->next, ++count)
        if (one->target == target && one->side == side && one->byte_bits == byte_bits && one->trip_bits == trip_bits) return one;
    if (count == MOST_KINDS || (one = calloc(1, sizeof *one)) == NULL) return NULL;
    one->target = target;
    one->side = side;
    one->byte_bits = byte_bits;
    one->trip_bits = trip_bits;
    add_layout(one, kernel, tilek_layout_chosen(kernel, call, side, bytes));
    add_layout(one, kernel, side == TILEK_SIDE_DEVICE ? -TILEK_USUAL : TILEK_USUAL);
    for (int number = 0, layout; (layout = tilek_layout_at(kernel, side, number)) != 0; ++number) add_layout(one, kernel, layout);
    one->is_settled = one->count == 1;
    one->next = state->tunings;
    state->tunings = one;
    return one;
}

/* The layout that has had fewest launches; where all have had enough, the fastest as far as is known. */
static int next_place(const tilek_tuning *one)
{
    int place = 0;
    if (one->is_settled) return one->fastest;
    for (int other = 1; other < one->count; ++other)
        if (one->attempts[other].begun < one->attempts[place].begun) place = other;
    return one->attempts[place].begun < TRIALS ? place : one->fastest;
}

static int rounds(const tilek_launch_shape *launches, int count)
{
    for (int launch = 0; launch < count; ++launch)
        for (int index = 0; index < launches[launch].reduction_count; ++index)
            if (launches[launch].chunk > 0 && launches[launch].reductions[index].operation <= TILEK_MULTIPLY) return 1;
    return 0;
}

/* Whether tiles say in which order sums of real numbers are rounded, and the user has not said that it does not matter: what is fastest today may not change them. */
static int must_keep_sums(const tilek_kernel *kernel)
{
    return (kernel->flags & TILEK_FAST_MATH) == 0 &&
           (rounds(kernel->host_launches, kernel->host_launch_count) || rounds(kernel->device_launches, kernel->device_launch_count));
}

void tilek_tune(tilek_state *state, tilek_call *call, tilek_target target, tilek_side side)
{
    const tilek_kernel *kernel = state->kernel;
    tilek_tuning *one;
    if (abs(tilek_layout_at(kernel, side, 0)) == TILEK_USUAL || must_keep_sums(kernel)) return;
    tilek_state_lock();
    one = tuning_for(state, call, target, side);
    if (one != NULL) {
        attempt *const own = &one->attempts[next_place(one)];
        tilek_take_layout(kernel, call, own->layout);
        if (!one->is_settled && own->begun < TRIALS) {
            ++own->begun;
            call->adaptation = one;
        }
    }
    tilek_state_unlock();
}

/* Under the state's lock. */
static void settle(tilek_tuning *one)
{
    int is_settled = 1;
    for (int place = 0; place < one->count; ++place) {
        const attempt *own = &one->attempts[place], *best = &one->attempts[one->fastest];
        is_settled &= own->ended == TRIALS;
        if (own->ran > 0 && (best->ran == 0 || own->time < best->time)) one->fastest = place;
    }
    one->is_settled = is_settled;
}

/* A launch of the call's layout has ended; in negative nanoseconds where it has not run. */
static void end(tilek_tuning *one, const tilek_call *call, int64_t nanoseconds)
{
    /* Launches of one kind differ in size. */
    const double time = (double)nanoseconds / (call->operations > 0 ? call->operations : 1);
    tilek_state_lock();
    for (int place = 0; place < one->count; ++place) {
        attempt *const own = &one->attempts[place];
        if (own->layout != call->layout) continue;
        ++own->ended;
        if (nanoseconds >= 0 && (own->ran++ == 0 || time < own->time)) own->time = time;
    }
    settle(one);
    tilek_state_unlock();
}

void tilek_tuned(const tilek_call *call, tilek_target target, int64_t nanoseconds)
{
    tilek_tuning *const one = call->adaptation;
    if (one != NULL && one->target == target) end(one, call, nanoseconds);
}

void tilek_tuning_declined(const tilek_call *call)
{
    if (call->adaptation != NULL) end(call->adaptation, call, -1);
}

/* What has so many bits at most is less than this. */
static double limit_of(int bits)
{
    double limit = 1;
    while (bits-- > 0) limit *= 2;
    return limit;
}

void tilek_tunings_print(const tilek_state *state)
{
    const tilek_kernel *kernel = state->kernel;
    for (const tilek_tuning *one = state->tunings; one != NULL; one = one->next) {
        const int layout = one->attempts[one->fastest].layout;
        const tilek_kernel *version = tilek_version_of(kernel, layout);
        (void)fprintf(stderr, "  %s on %s, arrays below %.0f bytes", kernel->name, tilek_target_name(one->target), limit_of(one->byte_bits));
        if (one->trip_bits > 0) (void)fprintf(stderr, ", below %.0f iterations", limit_of(one->trip_bits));
        (void)fputs(one->is_settled ? ": takes" : ": so far best is", stderr);
        if (kernel->version_count > 0) (void)fprintf(stderr, " version %d", version->version);
        for (int index = 0; index < version->size_count; ++index)
            (void)fprintf(stderr, " %s=%" PRId64, version->sizes[index].name, tilek_layout_size(kernel, layout, index));
        (void)fprintf(stderr, ", of %d\n", one->count);
    }
}

void tilek_tunings_free(tilek_state *state)
{
    while (state->tunings != NULL) {
        tilek_tuning *one = state->tunings;
        state->tunings = one->next;
        free(one);
    }
}
