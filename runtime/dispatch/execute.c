/* execute.c: running a call on the first of its kernel's targets that can. */
#define _POSIX_C_SOURCE 200809L
#include "dispatch/execute.h"

#include "arrays/temporary_arrays.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/trouble.h"
#include "base/visits.h"
#include "device/open_devices.h"
#include "host/host_launch.h"
#include "kernel/profile.h"
#include "kernel/targets.h"
#include "launch/device_launch.h"
#include "multi_device/partition.h"
#include "tune/online_tuning.h"

/* Under TILEK_STRICT this does not return. */
static void report(const tilek_kernel *kernel, tilek_target target, const tilek_candidate *next, int is_last_try,
                   const tilek_message *why)
{
    const char *name = tilek_target_name(target);
    if (tilek_get_settings()->strict)
        tilek_trouble(kernel->file, kernel->line, "kernel %s cannot run on %s: %s", kernel->name, name, why->text);
    else
        tilek_trouble(kernel->file, kernel->line, "kernel %s cannot run on %s: %s; it runs %s%s instead%s%s%s",
                      kernel->name, name, why->text, next != NULL ? "on " : "as ",
                      next != NULL ? tilek_target_name(next->target) : "the original loop", is_last_try ? ", and " : "",
                      is_last_try ? name : "", is_last_try ? " is not tried again" : "");
}

/* Bit t: target t is absent, or a call on its device failed. It is not tried again, so that this
 * costs one warning in all. */
static unsigned lost;

/* An absent device that this call alone asks for (device clause, a GPU only) says nothing about
 * others. */
static int loses_target(const tilek_call *call, const tilek_candidate *candidate, tilek_status status)
{
    return status == TILEK_DEVICE_LOST ||
           (status == TILEK_NO_DEVICE && candidate->demanded && !candidate->gpu_only && call->device < 0);
}

/* Marks that change only under the state's lock; a stale answer costs one more failed trial. */
static int is_refused(const tilek_state *state, tilek_target target)
{
    unsigned refused;
    tilek_state_lock();
    refused = state->refused | lost;
    tilek_state_unlock();
    return (refused >> target & 1u) != 0;
}

static int is_device(tilek_target target) { return target == TILEK_OPENCL || target == TILEK_CUDA; }

/* Whether some candidate is a device that may still be tried. */
static int may_use_devices(const tilek_state *state, const tilek_candidate candidates[], int count)
{
    for (int index = 0; index < count; ++index)
        if (is_device(candidates[index].target) && !is_refused(state, candidates[index].target)) return 1;
    return 0;
}

/* Where the caller has had no version to choose, the layout is decided here. */
static void adapt(tilek_state *state, tilek_call *call, const tilek_candidate *candidate)
{
    const tilek_kernel *kernel = state->kernel;
    tilek_side side;
    if (kernel->version_count > 0 ||
        kernel->choice_count + kernel->device_choice_count + kernel->processor_choice_count == 0)
        return;
    (void)tilek_find_side(kernel, call, candidate, &side);
    tilek_tune(state, call, candidate->target, side);
}

/* On the candidate's device, or on all that are like it. */
static tilek_status run_on_devices(tilek_state *state, const tilek_call *call, const tilek_candidate *candidate,
                                   int queue, tilek_message *why)
{
    tilek_place place = {NULL, NULL, candidate->target, queue, state};
    tilek_variant variant;
    tilek_status status = tilek_open_device(candidate->target, call->device, candidate->gpu_only, &place.backend,
                                            &place.device, why);
    if (status != TILEK_OK) return status;
    variant = tilek_device_variant(state->kernel, candidate->target, place.backend->limits(place.device));
    if (state->kernel->device_launch_count == 0 && (call->device == TILEK_DEVICES_ALL || !tilek_is_hosts(&variant))) {
        tilek_say(why, "this version of it is for processors");
        return TILEK_UNSUPPORTED;
    }
    if (call->device == TILEK_DEVICES_ALL && tilek_run_partitioned(&place, call, &status, why)) return status;
    return tilek_run_device(&place, &variant, call, why);
}

static tilek_status run_device(tilek_state *state, const tilek_call *call, const tilek_candidate *candidate, int queue,
                               tilek_message *why)
{
    const tilek_phase phase = tilek_visit_phase(TILEK_PHASE_DEVICE);
    const tilek_status status = run_on_devices(state, call, candidate, queue, why);
    (void)tilek_visit_phase(phase);
    return status;
}

static tilek_status execute(tilek_state *state, const tilek_call *call, const tilek_candidate candidates[], int count,
                            int queue, tilek_target *ran)
{
    tilek_status status = TILEK_UNSUPPORTED;
    for (int index = 0; index < count; ++index) {
        const tilek_candidate *candidate = &candidates[index];
        const int on_device = is_device(candidate->target);
        tilek_call copy = *call;
        tilek_message why;
        int64_t start = 0;
        int is_last_try;
        if (on_device && is_refused(state, candidate->target)) {
            tilek_tuned(&copy, candidate->target, -1);
            continue;
        }
        if (tilek_get_settings()->adapt) {
            adapt(state, &copy, candidate);
            start = tilek_now();
        }
        status = on_device ? run_device(state, &copy, candidate, queue, &why)
                           : tilek_run_host(state, &copy, candidate->target, &why);
        tilek_tuned(&copy, candidate->target, status == TILEK_OK ? tilek_now() - start : -1);
        if (status == TILEK_OK) {
            *ran = candidate->target;
            if (tilek_profiling()) tilek_record_launch(state, candidate->target, call);
            return TILEK_OK;
        }
        is_last_try = on_device && loses_target(call, candidate, status);
        if (status != TILEK_NO_DEVICE || candidate->demanded)
            report(state->kernel, candidate->target, index + 1 < count ? candidate + 1 : NULL, is_last_try, &why);
        if (is_last_try) {
            tilek_state_lock();
            lost |= 1u << candidate->target;
            tilek_state_unlock();
        }
    }
    return status;
}

tilek_status tilek_execute(tilek_state *state, const tilek_call *call, int queue, tilek_target *ran)
{
    const tilek_kernel *kernel = state->kernel;
    tilek_candidate candidates[TILEK_TARGETS];
    const int count = tilek_candidates(kernel, candidates), devices = may_use_devices(state, candidates, count);
    tilek_call copy = *call;
    tilek_message why;
    tilek_status status;
    tilek_scratch scratch;
    if (!tilek_has_temporaries(kernel, devices)) return execute(state, call, candidates, count, queue, ran);
    status = tilek_take_scratch(state, &copy, devices, &scratch, &why);
    if (status != TILEK_OK) {
        tilek_tuning_declined(call);
        tilek_trouble(kernel->file, kernel->line, "kernel %s runs as the original loop: %s", kernel->name, why.text);
        return status;
    }
    status = execute(state, &copy, candidates, count, queue, ran);
    tilek_give_scratch(state, &scratch);
    return status;
}

int tilek_likely_target(const tilek_state *state, const tilek_call *call, tilek_target *target, tilek_side *side)
{
    tilek_candidate candidates[TILEK_TARGETS];
    const int count = tilek_candidates(state->kernel, candidates);
    for (int index = 0; index < count; ++index) {
        *target = candidates[index].target;
        if (is_device(*target) && is_refused(state, *target)) continue;
        if (tilek_find_side(state->kernel, call, &candidates[index], side)) return 1;
    }
    return 0;
}
