/* targets.c: which targets a kernel runs on, in order of trial. */
#define _POSIX_C_SOURCE 200809L
#include "kernel/targets.h"

#include "base/environment.h"
#include "base/trouble.h"

const char *tilek_target_name(tilek_target target)
{
    static const char *const names[] = {"serial", "threads", "opencl", "cuda", "original"};
    return names[target];
}

static int is_built(const tilek_kernel *kernel, tilek_target target)
{
    if ((kernel->targets >> target & 1u) == 0) return 0;
    if (target == TILEK_CUDA) return kernel->cuda != NULL && kernel->device_launch_count > 0;
    if (target == TILEK_OPENCL && kernel->processors != NULL && kernel->host_launch_count > 0) return 1;
    if (target == TILEK_OPENCL) return kernel->opencl != NULL && kernel->device_launch_count > 0;
    return kernel->host_launch_count > 0;
}

static void add(const tilek_kernel *kernel, tilek_candidate candidates[], int *count, tilek_target target, int demanded,
                int gpu_only)
{
    if (!is_built(kernel, target)) return;
    candidates[*count].target = target;
    candidates[*count].demanded = demanded;
    candidates[*count].gpu_only = gpu_only;
    ++*count;
}

/* `first`, then what stands after it: cuda, opencl, threads. */
static int from(const tilek_kernel *kernel, tilek_candidate candidates[], tilek_target first, int demanded,
                int gpu_only)
{
    int count = 0;
    if (first == TILEK_SERIAL) add(kernel, candidates, &count, TILEK_SERIAL, demanded, 0);
    if (first == TILEK_SERIAL) return count;
    if (first == TILEK_CUDA) add(kernel, candidates, &count, TILEK_CUDA, demanded, 0);
    if (first == TILEK_CUDA || first == TILEK_OPENCL)
        add(kernel, candidates, &count, TILEK_OPENCL, demanded && first == TILEK_OPENCL, gpu_only);
    add(kernel, candidates, &count, TILEK_THREADS, demanded && first == TILEK_THREADS, 0);
    return count;
}

int tilek_candidates(const tilek_kernel *kernel, tilek_candidate candidates[])
{
    const tilek_settings *settings = tilek_get_settings();
    const int is_explicit = (kernel->flags & TILEK_TARGET_EXPLICIT) != 0 && kernel->preferred != TILEK_AUTO;
    if (is_explicit) return from(kernel, candidates, kernel->preferred, 1, 0);
    if (settings->target_given && is_built(kernel, settings->target))
        return from(kernel, candidates, settings->target, 1, 0);
    if (settings->target_given && kernel->host_launch_count + kernel->device_launch_count > 0 &&
        (kernel->flags & TILEK_TARGET_EXPLICIT) == 0)
        tilek_trouble(kernel->file, kernel->line,
                      "kernel %s was not built for TILEK_TARGET=%s; it runs as if that were not set", kernel->name,
                      tilek_target_name(settings->target));
    if (kernel->preferred == TILEK_AUTO) return from(kernel, candidates, TILEK_CUDA, 0, 1);
    if (kernel->preferred == TILEK_OPENCL || kernel->preferred == TILEK_CUDA)
        return from(kernel, candidates, TILEK_CUDA, 0, 0);
    return from(kernel, candidates, kernel->preferred, 0, 0);
}
