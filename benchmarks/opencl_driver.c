/* opencl_driver.c: what OpenCL itself takes for a launch like that of bench_launches.py: arguments set, kernel queued, queue finished.
 * Device and program come from the runtime's backend, so that both figures are of one driver in one state. Prints seconds a launch. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "device/opencl/opencl_device.h"
#include "device/opencl/opencl_program.h"
#include "entry/lifecycle.h"

static const char source[] = "__kernel void touch(__global float *a)\n"
                             "{\n"
                             "    const long first = get_group_id(0) * 32 + get_local_id(0) * 8;\n"
                             "    for (long i = first; i < first + 8; ++i) a[i] += 1.0f;\n"
                             "}\n";

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(tilek_status status, const tilek_message *why)
{
    if (status == TILEK_OK) return;
    fprintf(stderr, "%s\n", why->text);
    exit(1);
}

int main(int argc, char **argv)
{
    const int launches = argc > 1 ? atoi(argv[1]) : 1000;
    const tilek_backend *const backend = tilek_opencl_backend();
    const tilek_build build = {.name = "touch", .file = "touch.c", .source = source};
    const size_t global = 8, local = 4;
    const float zeros[64] = {0};
    tilek_device *device;
    tilek_buffer buffer;
    tilek_program *program;
    tilek_entry *entry;
    tilek_message why;
    int64_t group_total;
    int from_cache;
    if (!tilek_start()) return 1;
    check(backend->open(-1, NULL, &device, &why), &why);
    check(backend->allocate(device, sizeof zeros, &buffer, &why), &why);
    check(backend->write(device, 0, &buffer, 0, zeros, sizeof zeros, &why), &why);
    check(backend->build(device, &build, &program, &from_cache, &why), &why);
    check(backend->find(device, program, "touch", &entry, &group_total, &why), &why);

    const cl_mem memory = buffer.object;
    const cl_command_queue queue = device->queues[0];
    double start = 0.0;
    cl_int error = CL_SUCCESS;
    for (int k = -1; k < launches && error == CL_SUCCESS; ++k) { /* the first launch is not counted */
        if (k == 0) start = now();
        error = device->api->clSetKernelArg(entry->kernel, 0, sizeof memory, &memory);
        if (error == CL_SUCCESS) error = device->api->clEnqueueNDRangeKernel(queue, entry->kernel, 1, NULL, &global, &local, 0, NULL, NULL);
        if (error == CL_SUCCESS) error = device->api->clFinish(queue);
    }
    if (error != CL_SUCCESS) return 1;
    printf("%.9f\n", (now() - start) / launches);
    backend->release(device, &buffer);
    backend->drop(device, program);
    return 0;
}
