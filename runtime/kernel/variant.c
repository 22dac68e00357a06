/* variant.c: which of a kernel's launches a device runs. */
#define _POSIX_C_SOURCE 200809L
#include "kernel/variant.h"

#include "base/environment.h"
#include "device/open_devices.h"

tilek_variant tilek_host_variant(const tilek_kernel *kernel)
{
    const tilek_variant variant = {TILEK_SIDE_HOST,    kernel->host_launch_count, 0,   NULL, 0, kernel->host_launches,
                                   kernel->host_loops, kernel->host_steps,        NULL};
    return variant;
}

tilek_variant tilek_device_variant(const tilek_kernel *kernel, tilek_target target, const tilek_limits *limits)
{
    const tilek_opencl_form wanted = tilek_get_settings()->opencl_form;
    const int on_processor = wanted == TILEK_FORM_BY_DEVICE ? !limits->is_gpu : wanted == TILEK_FORM_CPU;
    tilek_variant variant = {TILEK_SIDE_DEVICE,
                             kernel->device_launch_count,
                             0,
                             NULL,
                             0,
                             kernel->device_launches,
                             kernel->device_loops,
                             kernel->device_steps,
                             target == TILEK_CUDA ? kernel->cuda : kernel->opencl};
    if (target == TILEK_CUDA) {
        variant.persistent_count = kernel->persistent_count;
        variant.persistent = kernel->persistent;
        variant.persists = limits->persists && tilek_get_settings()->persistent;
    }
    if (target != TILEK_OPENCL || kernel->processors == NULL || kernel->host_launch_count == 0 || !on_processor)
        return variant;
    variant = tilek_host_variant(kernel);
    variant.side = TILEK_SIDE_PROCESSOR;
    variant.program = kernel->processors;
    return variant;
}

int tilek_find_side(const tilek_kernel *kernel, const tilek_call *call, const tilek_candidate *candidate,
                    tilek_side *side)
{
    const tilek_backend *backend;
    tilek_device *device;
    tilek_message unused;
    *side = TILEK_SIDE_HOST;
    if (candidate->target == TILEK_SERIAL || candidate->target == TILEK_THREADS) return 1;
    *side = TILEK_SIDE_DEVICE;
    if (tilek_open_device(candidate->target, call->device, candidate->gpu_only, &backend, &device, &unused) != TILEK_OK)
        return 0;
    if (call->device != TILEK_DEVICES_ALL)
        *side = tilek_device_variant(kernel, candidate->target, backend->limits(device)).side;
    return 1;
}
