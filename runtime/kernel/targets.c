/* targets.c: which targets a kernel runs on, in order of trial, and their devices. */
#define _POSIX_C_SOURCE 200809L
#include "kernel/targets.h"

#include "base/environment.h"
#include "base/message.h"
#include "host/thread_pool.h"
#include "base/visits.h"

const char *tilek_target_name(tilek_target target)
{
    static const char *const names[] = {"serial", "threads", "opencl", "cuda", "original"};
    return names[target];
}

static const tilek_backend *backend_of(tilek_target target)
{
    return target == TILEK_CUDA ? tilek_cuda_backend() : tilek_opencl_backend();
}

static int is_built(const tilek_kernel *kernel, tilek_target target)
{
    if ((kernel->targets >> target & 1u) == 0) return 0;
    if (target == TILEK_CUDA) return kernel->cuda != NULL && kernel->device_launch_count > 0;
    if (target == TILEK_OPENCL && kernel->processors != NULL && kernel->host_launch_count > 0) return 1;
    if (target == TILEK_OPENCL) return kernel->opencl != NULL && kernel->device_launch_count > 0;
    return kernel->host_launch_count > 0;
}

static void add(const tilek_kernel *kernel, tilek_candidate candidates[], int *count, tilek_target target, int demanded, int gpu_only)
{
    if (!is_built(kernel, target)) return;
    candidates[*count].target = target;
    candidates[*count].demanded = demanded;
    candidates[*count].gpu_only = gpu_only;
    ++*count;
}

/* `first`, then what stands after it: cuda, opencl, threads. */
static int from(const tilek_kernel *kernel, tilek_candidate candidates[], tilek_target first, int demanded, int gpu_only)
{
    int count = 0;
    if (first == TILEK_SERIAL) add(kernel, candidates, &count, TILEK_SERIAL, demanded, 0);
    if (first == TILEK_SERIAL) return count;
    if (first == TILEK_CUDA) add(kernel, candidates, &count, TILEK_CUDA, demanded, 0);
    if (first == TILEK_CUDA || first == TILEK_OPENCL) add(kernel, candidates, &count, TILEK_OPENCL, demanded && first == TILEK_OPENCL, gpu_only);
    add(kernel, candidates, &count, TILEK_THREADS, demanded && first == TILEK_THREADS, 0);
    return count;
}

int tilek_candidates(const tilek_kernel *kernel, tilek_candidate candidates[])
{
    const tilek_settings *settings = tilek_get_settings();
    const int is_explicit = (kernel->flags & TILEK_TARGET_EXPLICIT) != 0 && kernel->preferred != TILEK_AUTO;
    if (is_explicit) return from(kernel, candidates, kernel->preferred, 1, 0);
    if (settings->target_given && is_built(kernel, settings->target)) return from(kernel, candidates, settings->target, 1, 0);
    if (settings->target_given && kernel->host_launch_count + kernel->device_launch_count > 0 && (kernel->flags & TILEK_TARGET_EXPLICIT) == 0)
        tilek_trouble(kernel->file, kernel->line, "kernel %s was not built for TILEK_TARGET=%s; it runs as if that were not set",
                      kernel->name, tilek_target_name(settings->target));
    if (kernel->preferred == TILEK_AUTO) return from(kernel, candidates, TILEK_CUDA, 0, 1);
    if (kernel->preferred == TILEK_OPENCL || kernel->preferred == TILEK_CUDA) return from(kernel, candidates, TILEK_CUDA, 0, 0);
    return from(kernel, candidates, kernel->preferred, 0, 0);
}

static tilek_status open_more(const tilek_backend *backend, int64_t number, tilek_device **device, tilek_message *why)
{
    const tilek_settings *settings = tilek_get_settings();
    const tilek_status status = backend->open(number >= 0 ? number : settings->device, number >= 0 ? NULL : settings->device_name, device, why);
    if (status == TILEK_OK) tilek_backend_opened(backend);
    return status;
}

static int tried[TILEK_TARGETS]; /* atomic */

/* Threads that the device's library makes take no signals that are meant for the program's. */
static tilek_status open_first(tilek_target target, const tilek_backend *backend, int64_t number, tilek_device **device, tilek_message *why)
{
    sigset_t before;
    tilek_status status;
    tilek_backend_opening(target, 1);
    tilek_signals_block(&before);
    status = open_more(backend, number, device, why);
    tilek_signals_restore(&before);
    tilek_backend_opening(target, -1);
    __atomic_store_n(&tried[target], 1, __ATOMIC_RELEASE);
    return status;
}

tilek_status tilek_open_device(tilek_target target, int64_t number, int gpu_only, const tilek_backend **backend, tilek_device **device, tilek_message *why)
{
    tilek_status status;
    tilek_phase phase;
    *backend = backend_of(target);
    if (tilek_backend_is_parents(*backend)) {
        tilek_say(why, "the process that this one was forked from uses it, and it cannot be shared");
        return gpu_only ? TILEK_NO_DEVICE : TILEK_DEVICE_LOST;
    }
    if (tilek_devices_are_left()) {
        tilek_say(why, "a signal handler has jumped out of a launch on a device");
        return TILEK_DEVICE_LOST;
    }
    phase = tilek_visit_phase(TILEK_PHASE_DEVICE);
    status = __atomic_load_n(&tried[target], __ATOMIC_ACQUIRE) ? open_more(*backend, number, device, why) : open_first(target, *backend, number, device, why);
    (void)tilek_visit_phase(phase);
    if (status != TILEK_OK) return status;
    if (!gpu_only || number >= 0 || (*backend)->limits(*device)->is_gpu) return TILEK_OK;
    tilek_say(why, "%s is not a GPU", (*backend)->limits(*device)->name);
    return TILEK_NO_DEVICE;
}
