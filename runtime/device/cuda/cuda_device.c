/* cuda_device.c: devices, memory and launches on CUDA. Contexts are in cuda_context.c, programs in
 * cuda_program.c, graphs in cuda_graphs.c, the libraries in cuda_api.c. */
#define _POSIX_C_SOURCE 200809L
#include "device/cuda/cuda_device.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "device/common/device_choice.h"
#include "device/cuda/cuda_graphs.h"
#include "device/cuda/cuda_program.h"

/* The devices, found once, in the driver's order. */
static struct {
    tilek_device_list list;
    tilek_cuda_api api;
    tilek_device *devices;
} cuda = {.list = {.api = "CUDA", .lock = TILEK_LOCK_CUDA}}; /* the list's lock guards all until it was searched */

/* ---- The search ------------------------------------------------------------------------------ */

/* Units of a multiprocessor for float and double, by compute capability (CUDA C++ Programming
 * Guide, arithmetic throughput). A newer one counts as the last known. */
static void units_of(int capability, int *units_float, int *units_double)
{
    static const struct { int capability, units_float, units_double;
    } known[] = {{50, 128, 4}, {60, 64, 32}, {61, 128, 4},  {70, 64, 32},   {75, 64, 2},
                 {80, 64, 32}, {86, 128, 2}, {90, 128, 64}, {100, 128, 64}, {120, 128, 2}};
    *units_float = *units_double = 0;
    for (size_t k = 0; k < sizeof known / sizeof known[0] && known[k].capability <= capability; ++k) {
        *units_float = known[k].units_float;
        *units_double = known[k].units_double;
    }
}

/* 0 where the device does not tell. */
static int attribute(const tilek_device *device, int what)
{
    int value = 0;
    return device->api->cuDeviceGetAttribute(&value, what, device->id) == CUDA_SUCCESS ? value : 0;
}

/* Whether the device has told all that launches are planned with. */
static int is_described(const tilek_device *device)
{
    const tilek_limits *limits = &device->limits;
    int is_complete = device->capability >= 10 && limits->memory > 0 && limits->compute_units > 0 &&
                      limits->group_total > 0;
    for (int k = 0; k < 3; ++k)
        is_complete = is_complete && limits->grid[k] > 0 && limits->group[k] > 0;
    return is_complete;
}

static void describe(tilek_device *device)
{
    tilek_limits *limits = &device->limits;
    int driver = 0, units_float, units_double;
    size_t memory = 0;
    (void)device->api->cuDeviceGetName(limits->name, sizeof limits->name, device->id);
    (void)device->api->cuDriverGetVersion(&driver);
    (void)device->api->cuDeviceTotalMem(&memory, device->id);
    (void)snprintf(limits->driver, sizeof limits->driver, "CUDA driver %d.%d", driver / 1000, driver % 1000 / 10);
    device->capability = 10 * attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                         attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    units_of(device->capability, &units_float, &units_double);
    limits->is_gpu = 1;
    limits->has_double = 1;
    limits->records = device->api->has_graphs;
    /* A device that draws a display ends what runs for seconds: the launch of all wavefronts
     * might. */
    limits->persists = device->api->has_cooperative && attribute(device, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) != 0 &&
                       attribute(device, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT) == 0;
    limits->compute_units = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    for (int k = 0; k < 3; ++k) {
        limits->grid[k] = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + k);
        limits->group[k] = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + k);
    }
    limits->group_total = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    limits->local_memory = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    if (limits->local_memory <= 0)
        limits->local_memory = INT64_MAX;
    limits->memory = limits->allocation = memory;
    /* Hz; a fused multiply-add a cycle is two operations */
    const double clock = 1e3 * attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    limits->flops_float = 2 * clock * units_float * (double)limits->compute_units;
    limits->flops_double = 2 * clock * units_double * (double)limits->compute_units;
    /* both edges */
    limits->bandwidth = 2e3 * attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
                        attribute(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
}

/* With TILEK_LOCK_CUDA held. */
static void search(void)
{
    int count = 0;
    cuda.list.status = tilek_cuda_load(&cuda.api, &cuda.list.why);
    if (cuda.list.status != TILEK_OK)
        return;
    if (cuda.api.cuDeviceGetCount(&count) != CUDA_SUCCESS || count <= 0) {
        tilek_say(&cuda.list.why, "the CUDA driver is here, but no CUDA device");
        cuda.list.status = TILEK_NO_DEVICE;
        return;
    }
    cuda.devices = calloc((size_t)count, sizeof *cuda.devices);
    if (cuda.devices == NULL) {
        tilek_say(&cuda.list.why, "no memory for the list of CUDA devices");
        cuda.list.status = TILEK_NO_MEMORY;
        return;
    }
    cuda.list.count = count;
    cuda.list.first = &cuda.devices[0].limits;
    cuda.list.stride = sizeof *cuda.devices;
    for (int k = 0; k < count; ++k) {
        tilek_device *device = &cuda.devices[k];
        device->api = &cuda.api;
        (void)pthread_mutex_init(&device->lock, NULL);
        if (cuda.api.cuDeviceGet(&device->id, k) == CUDA_SUCCESS)
            describe(device);
    }
}

static tilek_status retain_context(tilek_device *device, tilek_message *why)
{
    CUresult error = CUDA_SUCCESS;
    (void)pthread_mutex_lock(&device->lock);
    if (device->context == NULL)
        error = device->api->cuDevicePrimaryCtxRetain(&device->context, device->id);
    if (error != CUDA_SUCCESS)
        device->context = NULL;
    (void)pthread_mutex_unlock(&device->lock);
    if (error == CUDA_SUCCESS)
        return TILEK_OK;
    (void)tilek_cuda_failed(device, error, "the device was opened", why);
    return TILEK_NO_DEVICE;
}

static tilek_status open_device(int64_t number, const char *name_part, tilek_device **device, tilek_message *why)
{
    *device = NULL;
    int index;
    const tilek_status status = tilek_choose_device(&cuda.list, search, number, name_part, &index, why);
    if (status != TILEK_OK)
        return status;
    tilek_device *const chosen = &cuda.devices[index];
    if (!is_described(chosen)) {
        tilek_say(why, "the CUDA driver does not tell what device %d is", (int)(chosen - cuda.devices));
        return TILEK_NO_DEVICE;
    }
    const tilek_status opened = retain_context(chosen, why);
    if (opened == TILEK_OK)
        *device = chosen;
    return opened;
}

static const tilek_limits *device_limits(const tilek_device *device) { return &device->limits; }

/* ---- Streams and memory ---------------------------------------------------------------------- */

/* Leaves the context with the status of what was done there. */
static tilek_status leave_with(tilek_device *device, CUresult error, const char *doing, tilek_message *why)
{
    tilek_cuda_leave(device);
    return error == CUDA_SUCCESS ? TILEK_OK : tilek_cuda_failed(device, error, doing, why);
}

static tilek_status allocate(tilek_device *device, size_t bytes, tilek_buffer *buffer, tilek_message *why)
{
    CUdeviceptr address = 0;
    *buffer = (tilek_buffer){0};
    CUresult error = tilek_cuda_enter(device);
    if (error != CUDA_SUCCESS)
        return tilek_cuda_failed(device, error, "memory was allocated", why);
    error = device->api->cuMemAlloc(&address, bytes);
    if (error == CUDA_SUCCESS)
        *buffer = (tilek_buffer){.address = address, .bytes = bytes};
    return leave_with(device, error, "memory was allocated", why);
}

static void release(tilek_device *device, tilek_buffer *buffer)
{
    if (buffer->address != 0 && tilek_cuda_enter(device) == CUDA_SUCCESS) {
        (void)device->api->cuMemFree(buffer->address);
        tilek_cuda_leave(device);
    }
    *buffer = (tilek_buffer){0};
}

/* Waits for a copy that was queued with this result, and leaves the context. */
static tilek_status end_copy(tilek_device *device, CUstream stream, CUresult queued, const char *doing,
                             tilek_message *why)
{
    return leave_with(device, queued == CUDA_SUCCESS ? device->api->cuStreamSynchronize(stream) : queued, doing, why);
}

static tilek_status write_buffer(tilek_device *device, int queue, const tilek_buffer *buffer, size_t offset,
                                 const void *source, size_t bytes, tilek_message *why)
{
    CUstream stream;
    const tilek_status status = tilek_cuda_enter_queue(device, queue, &stream, why);
    if (status != TILEK_OK)
        return status;
    const CUresult error = bytes > 0 ? device->api->cuMemcpyHtoDAsync(buffer->address + offset, source, bytes, stream)
                                     : CUDA_SUCCESS;
    return end_copy(device, stream, error, "data were copied to the device", why);
}

static tilek_status read_buffer(tilek_device *device, int queue, const tilek_buffer *buffer, size_t offset,
                                void *destination, size_t bytes, tilek_message *why)
{
    CUstream stream;
    const tilek_status status = tilek_cuda_enter_queue(device, queue, &stream, why);
    if (status != TILEK_OK)
        return status;
    const CUresult error = bytes > 0
                             ? device->api->cuMemcpyDtoHAsync(destination, buffer->address + offset, bytes, stream)
                             : CUDA_SUCCESS;
    return end_copy(device, stream, error, "data were copied from the device", why);
}

/* ---- Launches -------------------------------------------------------------------------------- */

/* Starts all gangs together. Where the device holds fewer than it said, since other programs use it
 * too, fewer gangs are started. */
static CUresult launch_resident(const tilek_device *device, CUstream stream, const tilek_entry *entry,
                                void **parameters, int64_t groups, const int64_t group[3])
{
    CUresult error;
    do {
        error = device->api->cooperative.cuLaunchCooperativeKernel(entry->function, (unsigned)groups, 1, 1,
                                                                   (unsigned)group[0], (unsigned)group[1],
                                                                   (unsigned)group[2], 0, stream, parameters);
        groups /= 2;
    } while (error == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE && groups > 0);
    return error;
}

static CUresult launch(const tilek_device *device, CUstream stream, const tilek_entry *entry, void **parameters,
                       const int64_t groups[3], const int64_t group[3], int all_resident)
{
    if (all_resident)
        return launch_resident(device, stream, entry, parameters, groups[0], group);
    return device->api->cuLaunchKernel(entry->function, (unsigned)groups[0], (unsigned)groups[1], (unsigned)groups[2],
                                       (unsigned)group[0], (unsigned)group[1], (unsigned)group[2], 0, stream,
                                       parameters, NULL);
}

/* The launch between two events; waits for the second. */
static CUresult timed_launch(const tilek_device *device, CUstream stream, const tilek_entry *entry, void **parameters,
                             const int64_t groups[3], const int64_t group[3], int all_resident, int64_t *nanoseconds)
{
    const tilek_cuda_api *api = device->api;
    CUevent start = NULL, end = NULL;
    float milliseconds = 0;
    CUresult error = api->cuEventCreate(&start, 0);
    if (error == CUDA_SUCCESS)
        error = api->cuEventCreate(&end, 0);
    if (error == CUDA_SUCCESS)
        error = api->cuEventRecord(start, stream);
    if (error == CUDA_SUCCESS)
        error = launch(device, stream, entry, parameters, groups, group, all_resident);
    if (error == CUDA_SUCCESS)
        error = api->cuEventRecord(end, stream);
    if (error == CUDA_SUCCESS)
        error = api->cuEventSynchronize(end);
    if (error == CUDA_SUCCESS)
        error = api->cuEventElapsedTime(&milliseconds, start, end);
    if (start != NULL)
        (void)api->cuEventDestroy(start);
    if (end != NULL)
        (void)api->cuEventDestroy(end);
    *nanoseconds = (int64_t)((double)milliseconds * 1e6);
    return error;
}

static tilek_status run_with(tilek_device *device, int queue, const tilek_entry *entry, void **parameters,
                             const int64_t groups[3], const int64_t group[3], int all_resident, int64_t *nanoseconds,
                             tilek_message *why)
{
    CUstream stream;
    const tilek_status status = tilek_cuda_enter_queue(device, queue, &stream, why);
    if (status != TILEK_OK)
        return status;
    const CUresult error = nanoseconds != NULL
                             ? timed_launch(device, stream, entry, parameters, groups, group, all_resident, nanoseconds)
                             : launch(device, stream, entry, parameters, groups, group, all_resident);
    return leave_with(device, error, "a kernel was launched", why);
}

static tilek_status run_either(tilek_device *device, int queue, tilek_entry *entry, int argument_count,
                               const tilek_argument arguments[], const int64_t groups[3], const int64_t group[3],
                               int all_resident, int64_t *nanoseconds, tilek_message *why)
{
    enum { USUAL = 128 };
    void *usual[USUAL], **parameters = usual;
    for (int k = 0; k < 3; ++k)
        if (groups[k] > INT_MAX || group[k] > INT_MAX) {
            tilek_say(why, "%lld gangs of %lld workers are more than CUDA can count", (long long)groups[k],
                      (long long)group[k]);
            return TILEK_UNSUPPORTED;
        }
    if (argument_count > USUAL)
        parameters = malloc((size_t)argument_count * sizeof *parameters);
    if (parameters == NULL) {
        tilek_say(why, "no memory for %d arguments", argument_count);
        return TILEK_NO_MEMORY;
    }
    for (int k = 0; k < argument_count; ++k) /* the driver reads through these pointers only */
        parameters[k] = arguments[k].kind == TILEK_ARGUMENT_BUFFER ? (void *)(uintptr_t)&arguments[k].buffer->address
                                                                   : (void *)(uintptr_t)arguments[k].value;
    const tilek_status status = run_with(device, queue, entry, parameters, groups, group, all_resident, nanoseconds,
                                         why);
    if (parameters != usual)
        free(parameters);
    return status;
}

static tilek_status run(tilek_device *device, int queue, tilek_entry *entry, int argument_count,
                        const tilek_argument arguments[], const int64_t groups[3], const int64_t group[3],
                        int64_t *nanoseconds, tilek_message *why)
{
    return run_either(device, queue, entry, argument_count, arguments, groups, group, 0, nanoseconds, why);
}

static tilek_status run_resident(tilek_device *device, int queue, tilek_entry *entry, int argument_count,
                                 const tilek_argument arguments[], int64_t groups, const int64_t group[3],
                                 int64_t *nanoseconds, tilek_message *why)
{
    return run_either(device, queue, entry, argument_count, arguments, (const int64_t[3]){groups, 1, 1}, group, 1,
                      nanoseconds, why);
}

static int64_t resident(tilek_device *device, tilek_entry *entry, const int64_t group[3])
{
    int blocks = 0;
    const int64_t workers = group[0] * group[1] * group[2];
    if (!device->limits.persists || workers > device->limits.group_total || tilek_cuda_enter(device) != CUDA_SUCCESS)
        return 0;
    const CUresult error =
        device->api->cooperative.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, entry->function, (int)workers, 0);
    tilek_cuda_leave(device);
    return error == CUDA_SUCCESS ? blocks * device->limits.compute_units : 0;
}

static tilek_status wait_queue(tilek_device *device, int queue, tilek_message *why)
{
    CUstream stream;
    const tilek_status status = tilek_cuda_enter_queue(device, queue, &stream, why);
    if (status != TILEK_OK)
        return status;
    return leave_with(device, device->api->cuStreamSynchronize(stream), "a launch ended", why);
}

static tilek_status enter(tilek_device *device, tilek_message *why)
{
    const CUresult error = tilek_cuda_enter(device);
    return error == CUDA_SUCCESS ? TILEK_OK : tilek_cuda_failed(device, error, "the device was used", why);
}

/* The libraries stay loaded: the program may use CUDA itself. */
static void shutdown_all(void)
{
    for (int k = 0; k < cuda.list.count; ++k) {
        tilek_device *device = &cuda.devices[k];
        if (device->context != NULL && tilek_cuda_enter(device) == CUDA_SUCCESS) {
            for (int queue = 0; queue <= TILEK_RECORDING_QUEUE; ++queue)
                if (device->streams[queue] != NULL)
                    (void)device->api->cuStreamDestroy(device->streams[queue]);
            tilek_cuda_leave(device);
            (void)device->api->cuDevicePrimaryCtxRelease(device->id);
        }
        (void)pthread_mutex_destroy(&device->lock);
    }
    free(cuda.devices);
    cuda.devices = NULL;
    tilek_forget_devices(&cuda.list);
}

const tilek_backend *tilek_cuda_backend(void)
{
    static const tilek_backend backend = {.name = "CUDA",
                                          .open = open_device,
                                          .limits = device_limits,
                                          .allocate = allocate,
                                          .release = release,
                                          .write = write_buffer,
                                          .read = read_buffer,
                                          .build = tilek_cuda_build,
                                          .drop = tilek_cuda_drop,
                                          .find = tilek_cuda_find,
                                          .run = run,
                                          .resident = resident,
                                          .run_resident = run_resident,
                                          .enter = enter,
                                          .leave = tilek_cuda_leave,
                                          .record = tilek_cuda_record,
                                          .recorded = tilek_cuda_recorded,
                                          .play = tilek_cuda_play,
                                          .forget = tilek_cuda_forget,
                                          .wait = wait_queue,
                                          .shutdown = shutdown_all};
    return &backend;
}
