/* launch.c: the entry of generated code: which way a call goes, and what happens when a way is
 * closed. */
#define _POSIX_C_SOURCE 200809L
#include "tilek.h"

#include "arrays/overlap.h"
#include "arrays/present_table.h"
#include "arrays/temporary_arrays.h"
#include "base/environment.h"
#include "base/interruption.h"
#include "base/message.h"
#include "base/trouble.h"
#include "base/visits.h"
#include "check/differential_check.h"
#include "check/zero_sign.h"
#include "device/open_devices.h"
#include "dispatch/async_launch.h"
#include "dispatch/async_queues.h"
#include "dispatch/execute.h"
#include "entry/lifecycle.h"
#include "host/host_launch.h"
#include "kernel/profile.h"
#include "kernel/variant.h"
#include "tune/online_tuning.h"
#include "tune/tile_sizes.h"

#include <stdarg.h>
#include <stdio.h>

/* Whether the call can be run at all by this library. */
static int is_valid(const tilek_kernel *kernel)
{
    if (kernel->abi == TILEK_ABI) return 1;
    tilek_trouble(
        kernel->file, kernel->line,
        "kernel %s was translated for another version of the runtime (%d, this is %d); its original loop runs",
        kernel->name, kernel->abi, TILEK_ABI);
    return 0;
}

/* The caller is about to run the original loop. `state` NULL: there is no memory for one, or the
 * program is ending. */
static int decline(const tilek_kernel *kernel, tilek_state *state, const tilek_call *call)
{
    tilek_message why;
    if (tilek_host_begins(kernel, state, call, &why) != TILEK_OK)
        tilek_fail(kernel->file, kernel->line, TILEK_EXIT_STRICT, "kernel %s: %s", kernel->name, why.text);
    if (state != NULL && tilek_profiling()) tilek_record_launch(state, TILEK_AUTO, call);
    return 1;
}

/* In a signal handler that has interrupted this thread inside of the runtime: nothing but the
 * original loop can run, on what the host has. */
static int decline_within(const tilek_kernel *kernel, const tilek_call *call)
{
    static int is_told; /* atomic */
    if (!__atomic_exchange_n(&is_told, 1, __ATOMIC_RELAXED))
        tilek_warn_at_once(
            kernel->file, kernel->line,
            "kernel %s is launched while its thread is inside of another launch or directive, as by a signal "
            "handler; its original loop runs",
            kernel->name);
    if (!tilek_host_may_begin(kernel, call))
        tilek_end_at_once(
            "a signal handler inside of a launch or a directive launches a kernel whose newest values are on a "
            "device, where it cannot fetch them");
    return 1;
}

/* Whether a launch of the kernel asks the C library for memory, or a device's library for
 * anything. */
static int needs_memory(const tilek_kernel *kernel)
{
    const tilek_settings *settings;
    if (__atomic_load_n(kernel->state, __ATOMIC_ACQUIRE) == NULL) return 1;
    settings = tilek_get_settings();
    if (tilek_has_devices() || tilek_has_temporaries(kernel, 0) || tilek_compares_rows(kernel) || tilek_profiling() ||
        settings->adapt || settings->verify)
        return 1;
    return tilek_host_needs_memory(kernel, !settings->target_given || settings->target != TILEK_SERIAL);
}

/* In a signal handler that may have interrupted the C library. Where the newest values are on a
 * device, or come from a queue, there is no way but to wait for them. */
static int must_decline_in_handler(const tilek_kernel *kernel, const tilek_call *call)
{
    static int is_told; /* atomic */
    if (!call->enabled || call->queue != TILEK_QUEUE_SYNCHRONOUS || call->wait_count != 0 || !needs_memory(kernel) ||
        !tilek_is_in_handler() || !tilek_host_may_begin(kernel, call))
        return 0;
    if (!__atomic_exchange_n(&is_told, 1, __ATOMIC_RELAXED))
        tilek_warn_at_once(
            kernel->file, kernel->line,
            "kernel %s is launched in a signal handler, which may have interrupted malloc or a device's library; its "
            "original loop runs (set a flag in the handler instead, and launch outside of it)",
            kernel->name);
    return 1;
}

static void wait_for(const tilek_call *call)
{
    if (call->wait_count != 0) tilek_queues_wait(call->wait_count, call->waits);
}

/* Whether there is no state yet, and memory for it cannot be asked for. */
static int is_first_in_handler(const tilek_kernel *kernel)
{
    return __atomic_load_n(kernel->state, __ATOMIC_ACQUIRE) == NULL && tilek_is_in_handler();
}

/* A check is reported once a kernel, whichever it is: loops that launch again and again would
 * report it each time with other values. */
static int is_reported(const tilek_kernel *kernel)
{
    tilek_state *state = tilek_state_of(kernel);
    int reported;
    if (state == NULL) return 0;
    tilek_state_lock();
    reported = state->check_reported;
    state->check_reported = 1;
    tilek_state_unlock();
    return reported;
}

typedef struct failed_check { const tilek_kernel *kernel; const char *check, *values; } failed_check;

static int report_check(void *context, tilek_admission admission)
{
    const failed_check *const failed = context;
    const tilek_kernel *const kernel = failed->kernel;
    if (admission != TILEK_ADMITTED || kernel->abi != TILEK_ABI || is_first_in_handler(kernel) || is_reported(kernel))
        return 0;
    tilek_trouble(kernel->file, kernel->line,
                  "kernel %s runs as the original loop: its launch check '%s' does not hold%s", kernel->name,
                  failed->check, failed->values);
    return 0;
}

void tilek_check_failed(const tilek_kernel *kernel, const char *check, int value_count, ...)
{
    char values[512] = "";
    failed_check failed = {kernel, check, values};
    size_t used = 0;
    va_list pairs;
    va_start(pairs, value_count);
    for (int index = 0; index < value_count && used < sizeof values; ++index) {
        const char *name = va_arg(pairs, const char *);
        const long long value = va_arg(pairs, int64_t);
        const int natural = *name == '+';
        const char *const begins = index == 0 ? " (" : ", ", *const sign = !natural && value < 0 ? "-" : "",
                          *const ends = index == value_count - 1 ? ")" : "";
        const unsigned long long size = *sign != 0 ? 0 - (unsigned long long)value : (unsigned long long)value;
        const int written = snprintf(values + used, sizeof values - used, "%s%s = %s%llu%s", begins, name + natural,
                                     sign, size, ends);
        used += written > 0 ? (size_t)written : 0;
    }
    va_end(pairs);
    (void)tilek_enter(report_check, &failed);
}

static void check_apart(const tilek_kernel *kernel, tilek_call *call)
{
    int which[2];
    if ((kernel->flags & TILEK_MUST_BE_APART) == 0 || !call->enabled || !tilek_arrays_meet(kernel, call, which)) return;
    call->enabled = 0;
    if (is_reported(kernel)) return;
    if (which[0] == which[1])
        tilek_trouble(kernel->file, kernel->line, "kernel %s runs as the original loop: rows of %s share memory",
                      kernel->name, kernel->arrays[which[0]].name);
    else
        tilek_trouble(kernel->file, kernel->line, "kernel %s runs as the original loop: %s and %s share memory",
                      kernel->name, kernel->arrays[which[0]].name, kernel->arrays[which[1]].name);
}

/* Launches a kernel whose original loop must run again if the sign of a zero is in doubt. */
static int launch_for_zeros(tilek_state *state, tilek_call *call)
{
    const tilek_kernel *const kernel = state->kernel;
    tilek_values_before before;
    tilek_message why;
    tilek_target ran;
    const char *name;
    if (tilek_keep_values(state, call, &before, &why) != TILEK_OK || tilek_execute(state, call, 0, &ran) != TILEK_OK)
        return decline(kernel, state, call);
    if (tilek_find_ordered_zero(state, call, ran, &before, &name, &why) != TILEK_OK)
        tilek_fail(kernel->file, kernel->line, TILEK_EXIT_STRICT, "kernel %s: %s", kernel->name, why.text);
    if (name == NULL) return 0;
    if (!is_reported(kernel))
        tilek_warn(
            kernel->file, kernel->line,
            "kernel %s: %s has become a zero, whose sign the order of the iterations decides, so the original loop "
            "ran again; a reduction clause for %s would allow any order",
            kernel->name, name, name);
    (void)decline(kernel, state, call);
    tilek_restore_values(kernel, call, &before);
    return 1;
}

typedef struct visitor { const tilek_kernel *kernel; tilek_call *call; } visitor;

static int choose_version(void *context, tilek_admission admission)
{
    const tilek_kernel *const kernel = ((visitor *)context)->kernel;
    tilek_call *const call = ((visitor *)context)->call;
    const tilek_settings *settings;
    tilek_state *state;
    tilek_target target;
    tilek_side side;
    int64_t wanted;
    if (admission != TILEK_ADMITTED || kernel->abi != TILEK_ABI || !call->enabled || is_first_in_handler(kernel) ||
        (state = tilek_state_of(kernel)) == NULL)
        return 0;
    settings = tilek_get_settings();
    wanted = settings->version;
    if (wanted == 0 || wanted > kernel->version_count) return 0;
    if (!tilek_likely_target(state, call, &target, &side)) return 0;
    if (wanted > 0)
        return side != TILEK_SIDE_DEVICE || kernel->versions[wanted - 1]->device_launch_count > 0 ? (int)wanted : 0;
    if (settings->adapt) tilek_tune(state, call, target, side);
    if (call->layout == 0)
        tilek_take_layout(kernel, call, tilek_layout_chosen(kernel, call, side, tilek_bytes_on_hosts(kernel, call)));
    return tilek_version_of(kernel, call->layout)->version;
}

int tilek_version(const tilek_kernel *kernel, tilek_call *call)
{
    visitor visitor = {kernel, call};
    return tilek_enter(choose_version, &visitor);
}

static int launch(void *context, tilek_admission admission)
{
    const tilek_kernel *const kernel = ((visitor *)context)->kernel;
    tilek_call *const call = ((visitor *)context)->call;
    tilek_state *state;
    tilek_target ran;
    if (admission == TILEK_WITHIN) return decline_within(kernel, call);
    if (!is_valid(kernel) || admission == TILEK_LATE) return decline(kernel, NULL, call);
    if (kernel->host_launch_count + kernel->device_launch_count > 0 && must_decline_in_handler(kernel, call)) return 1;
    check_apart(kernel, call);
    state = tilek_state_of(kernel);
    /* Nothing could run in place of a call without its temporaries once the caller has gone on. */
    if (call->queue != TILEK_QUEUE_SYNCHRONOUS && state != NULL && call->enabled && !tilek_has_temporaries(kernel, 1) &&
        !tilek_has_ordered_zeros(kernel) && !tilek_get_settings()->verify && tilek_host_can_run(state, call) &&
        tilek_launch_async(kernel, call) == TILEK_OK)
        return 0;
    wait_for(call);
    if (call->queue != TILEK_QUEUE_SYNCHRONOUS) tilek_queues_wait(1, &call->queue);
    if (state == NULL || !call->enabled || kernel->host_launch_count + kernel->device_launch_count == 0) {
        tilek_tuning_declined(call);
        return decline(kernel, state, call);
    }
    if (tilek_get_settings()->verify) return tilek_verify_launch(state, call);
    if (tilek_has_ordered_zeros(kernel)) return launch_for_zeros(state, call);
    if (tilek_execute(state, call, 0, &ran) == TILEK_OK) return 0;
    return decline(kernel, state, call);
}

/* Whether a call of a kernel without launches has nothing to tell the runtime, and nothing to learn
 * from it: no array is on a device, nothing runs in a queue, and nobody counts. Not the first call,
 * in which the settings may be wrong. */
static int needs_no_runtime(const tilek_kernel *kernel, const tilek_call *call)
{
    return kernel->host_launch_count + kernel->device_launch_count == 0 && kernel->abi == TILEK_ABI &&
           __atomic_load_n(kernel->state, __ATOMIC_ACQUIRE) != NULL && call->queue == TILEK_QUEUE_SYNCHRONOUS &&
           call->wait_count == 0 && tilek_nothing_is_present() && !tilek_has_queues() && !tilek_profiling();
}

int tilek_launch(const tilek_kernel *kernel, tilek_call *call)
{
    visitor visitor = {kernel, call};
    if (needs_no_runtime(kernel, call)) return 1;
    if (kernel->abi == TILEK_ABI) call->state = NULL;
    return tilek_enter(launch, &visitor);
}

static int complete(void *context, tilek_admission admission)
{
    const tilek_kernel *const kernel = ((visitor *)context)->kernel;
    tilek_call *const call = ((visitor *)context)->call;
    tilek_state *state;
    if (admission == TILEK_WITHIN) {
        if (!tilek_host_may_end(kernel, call))
            tilek_end_at_once(
                "a signal handler inside of a launch or a directive has changed an array that is present on a device");
        return 0;
    }
    if (kernel->abi == TILEK_ABI && call->state != NULL && admission == TILEK_ADMITTED &&
        (state = tilek_state_of(kernel)) != NULL)
        tilek_verify_complete(state, call);
    tilek_host_ended(kernel, call);
    return 0;
}

void tilek_complete(const tilek_kernel *kernel, tilek_call *call)
{
    visitor visitor = {kernel, call};
    if (needs_no_runtime(kernel, call)) return;
    (void)tilek_enter(complete, &visitor);
}
