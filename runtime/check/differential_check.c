/* differential_check.c: TILEK_VERIFY: snapshots of a call's written arrays, and their
 * comparison. */
#define _POSIX_C_SOURCE 200809L
#include "check/differential_check.h"

#include "arrays/present_table.h"
#include "base/environment.h"
#include "base/message.h"
#include "base/rank.h"
#include "base/trouble.h"
#include "check/array_diff.h"
#include "check/zero_sign.h"
#include "dispatch/execute.h"
#include "kernel/profile.h"

#include <stdio.h>
#include <stdlib.h>

/* The values of every array that the kernel writes, in the layout of a device's copy. */
typedef struct snapshot { void *copies[1]; } snapshot;

typedef struct record { snapshot *results; tilek_target target; } record;

/* Temporaries have no values afterwards. */
static int is_written(const tilek_kernel *kernel, int index)
{
    return (kernel->arrays[index].flags & (TILEK_WRITES | TILEK_TEMPORARY)) == TILEK_WRITES;
}

/* Whether what the kernel leaves in the array can be seen later: values that stay on the device and
 * go with it (live:not, create) are not compared. */
static int is_seen(const tilek_kernel *kernel, const tilek_call *call, int index)
{
    const tilek_array_shape *shape = &kernel->arrays[index];
    tilek_message unused;
    return is_written(kernel, index) &&
           ((shape->flags & TILEK_COPY_OUT) != 0 || tilek_present_has(shape, &call->arrays[index], &unused));
}

static void free_snapshot(const tilek_kernel *kernel, snapshot *taken)
{
    for (int index = 0; taken != NULL && index < kernel->array_count; ++index) free(taken->copies[index]);
    free(taken);
}

/* An array that may be smaller than its section, or has none, and so cannot be kept; NULL where
 * there is none. */
static const char *without_extent(const tilek_kernel *kernel)
{
    const unsigned without = TILEK_POSSIBLE_EXTENT | TILEK_UNKNOWN_EXTENT;
    for (int index = 0; index < kernel->array_count; ++index)
        if (is_written(kernel, index) && (kernel->arrays[index].flags & without) != 0)
            return kernel->arrays[index].name;
    return NULL;
}

static int move_array(const tilek_kernel *kernel, const tilek_call *call, int index, void *copy, int to_host)
{
    const tilek_array_shape *shape = &kernel->arrays[index];
    const tilek_array *array = &call->arrays[index];
    tilek_section section;
    tilek_message unused;
    if (tilek_section_of(shape, array, &section, &unused) != TILEK_OK) return 0;
    if (section.bytes == 0) return 1;
    if (section.is_rows)
        return (to_host ? tilek_unpack(shape, array, array, copy, &unused)
                        : tilek_pack(shape, array, array, copy, &unused)) == TILEK_OK;
    if (to_host) tilek_scatter(shape, array, &section, copy);
    else tilek_gather(shape, array, &section, copy);
    return 1;
}

static snapshot *take(const tilek_kernel *kernel, const tilek_call *call)
{
    snapshot *taken = calloc(1, sizeof *taken + (size_t)kernel->array_count * sizeof(void *));
    int ok = taken != NULL;
    for (int index = 0; ok && index < kernel->array_count; ++index) {
        tilek_section section;
        tilek_message unused;
        if (!is_written(kernel, index)) continue;
        ok = tilek_section_of(&kernel->arrays[index], &call->arrays[index], &section, &unused) == TILEK_OK;
        if (ok) ok = (taken->copies[index] = calloc(1, section.device_bytes + 1)) != NULL;
        if (ok) ok = move_array(kernel, call, index, taken->copies[index], 0);
    }
    if (ok) return taken;
    free_snapshot(kernel, taken);
    return NULL;
}

static void restore(const tilek_kernel *kernel, const tilek_call *call, const snapshot *taken)
{
    for (int index = 0; index < kernel->array_count; ++index)
        if (taken->copies[index] != NULL) (void)move_array(kernel, call, index, taken->copies[index], 1);
}

/* The host's copies hold the newest values after this. */
static void bring_home(tilek_state *state, const tilek_call *call)
{
    tilek_message why;
    if (tilek_host_begins(state->kernel, state, call, &why) != TILEK_OK)
        tilek_fail(state->kernel->file, state->kernel->line, TILEK_EXIT_STRICT, "kernel %s: %s", state->kernel->name,
                   why.text);
}

int tilek_verify_launch(tilek_state *state, tilek_call *call)
{
    const tilek_kernel *kernel = state->kernel;
    const char *const unknown = without_extent(kernel);
    snapshot *inputs;
    record *kept;
    bring_home(state, call);
    if (unknown != NULL) {
        tilek_trouble(
            kernel->file, kernel->line,
            "kernel %s is not verified: no copy of %s can be made, since no data clause says its extent; its "
            "original loop runs",
            kernel->name, unknown);
        return 1;
    }
    kept = malloc(sizeof *kept);
    inputs = take(kernel, call);
    if (kept != NULL && inputs != NULL && tilek_execute(state, call, 0, &kept->target) == TILEK_OK) {
        bring_home(state, call);
        kept->results = take(kernel, call);
        if (kept->results != NULL) {
            call->state = kept;
            restore(kernel, call, inputs);
            free_snapshot(kernel, inputs);
            return 1;
        }
        tilek_trouble(kernel->file, kernel->line, "kernel %s is not verified: its results cannot be kept",
                      kernel->name);
        free(kept);
        free_snapshot(kernel, inputs);
        return 0; /* the kernel has run, and its results are in place */
    }
    if (kept == NULL || inputs == NULL)
        tilek_trouble(kernel->file, kernel->line,
                      "kernel %s is not verified: a copy of its inputs cannot be made; its original loop runs",
                      kernel->name);
    free(kept);
    free_snapshot(kernel, inputs);
    return 1;
}

/* Keeps the maxima over all launches; says what is wrong beyond the tolerance. */
static void judge(tilek_state *state, const tilek_call *call, int index, tilek_target target, const void *result,
                  const void *reference)
{
    const tilek_kernel *kernel = state->kernel;
    tilek_array_diff diff;
    tilek_diff_arrays(&kernel->arrays[index], &call->arrays[index], result, reference, tilek_get_settings()->tolerance,
                      &diff);
    tilek_state_lock();
    if (state->differences == NULL)
        state->differences = calloc((size_t)kernel->array_count, sizeof *state->differences);
    if (state->differences != NULL) {
        tilek_difference *known = &state->differences[index];
        if (diff.absolute > known->absolute) known->absolute = diff.absolute;
        if (diff.relative > known->relative) known->relative = diff.relative;
        ++known->comparisons;
    }
    tilek_state_unlock();
    if (diff.beyond)
        tilek_fail(
            kernel->file, kernel->line, TILEK_EXIT_VERIFY,
            "kernel %s: %s is %.17g on %s and %.17g in the original loop; the difference is %.3g, relatively %.3g, "
            "and the tolerance %.3g",
            kernel->name, diff.element, diff.result, tilek_target_name(target), diff.reference, diff.element_absolute,
            diff.element_relative, diff.tolerance);
}

void tilek_verify_complete(tilek_state *state, tilek_call *call)
{
    const tilek_kernel *kernel = state->kernel;
    record *kept = call->state;
    snapshot *reference = take(kernel, call);
    /* with them, a zero of the launch may have the wrong sign */
    if (!tilek_has_ordered_zeros(kernel)) restore(kernel, call, kept->results);
    if (reference == NULL)
        tilek_trouble(kernel->file, kernel->line, "kernel %s is not verified: memory is exhausted", kernel->name);
    for (int index = 0; reference != NULL && index < kernel->array_count; ++index)
        if (is_seen(kernel, call, index))
            judge(state, call, index, kept->target, kept->results->copies[index], reference->copies[index]);
    free_snapshot(kernel, reference);
    free_snapshot(kernel, kept->results);
    free(kept);
    call->state = NULL;
}

/* One line an array: the largest differences over all launches. */
void tilek_verify_finish(void)
{
    for (const tilek_state *state = tilek_first_state(); state != NULL; state = state->next) {
        const tilek_kernel *kernel = state->kernel;
        for (int index = 0; state->differences != NULL && index < kernel->array_count; ++index) {
            const tilek_difference *known = &state->differences[index];
            if (known->comparisons > 0)
                (void)fprintf(
                    stderr,
                    "%s:%d: tilek: %sverify: kernel %s, %s: largest difference %.3g absolute, %.3g relative, in %lld "
                    "launch%s\n",
                    kernel->file, kernel->line, tilek_rank_prefix(), kernel->name, kernel->arrays[index].name,
                    known->absolute, known->relative, (long long)known->comparisons,
                    known->comparisons == 1 ? "" : "es");
        }
    }
}
