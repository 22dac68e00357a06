/* opencl_device.c: devices, buffers and launches on OpenCL. Programs are in opencl_program.c, the
 * library in opencl_api.c. */
#define _POSIX_C_SOURCE 200809L
#include "device/opencl/opencl_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/message.h"
#include "device/common/device_choice.h"
#include "device/opencl/opencl_program.h"
#include "device/opencl/opencl_wheel.h"

/* The devices of all platforms, found once: GPUs first, then others, each in the platforms' order.
 * This is the order of TILEK_DEVICE. */
static struct {
    tilek_device_list list;
    tilek_opencl_api api;
    int from_wheel;
    tilek_device *devices;
/* the list's lock guards all until it was searched */
} opencl = {.list = {.api = "OpenCL", .lock = TILEK_LOCK_OPENCL}};

/* ---- The search ------------------------------------------------------------------------------ */

/* A number that the device does not tell stays as it is, 0. */
static void ask(const tilek_opencl_api *api, cl_device_id id, cl_uint what, size_t size, void *answer)
{
    (void)api->clGetDeviceInfo(id, what, size, answer, NULL);
}

static int64_t capped(uint64_t number) { return number < INT64_MAX ? (int64_t)number : INT64_MAX; }

static void describe(const tilek_opencl_api *api, cl_platform_id platform, cl_device_id id, tilek_device *device)
{
    char platform_name[128] = "", version[128] = "", driver[128] = "";
    cl_bitfield type = 0, single_config = 0, double_config = 0;
    cl_uint units = 0;
    cl_bool unified = 0;
    size_t total = 0, sizes[16] = {0};
    cl_ulong memory = 0, allocation = 0, local = UINT64_MAX;
    tilek_limits *limits = &device->limits;
    ask(api, id, CL_DEVICE_NAME, sizeof limits->name - 1, limits->name);
    ask(api, id, CL_DEVICE_VERSION, sizeof version - 1, version);
    ask(api, id, CL_DRIVER_VERSION, sizeof driver - 1, driver);
    (void)api->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name - 1, platform_name, NULL);
    (void)snprintf(limits->driver, sizeof limits->driver, "%.24s, %.24s, %.70s", platform_name, driver, version);
    ask(api, id, CL_DEVICE_TYPE, sizeof type, &type);
    ask(api, id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof single_config, &single_config);
    ask(api, id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof double_config, &double_config);
    ask(api, id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units);
    ask(api, id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof total, &total);
    ask(api, id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes);
    ask(api, id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified);
    ask(api, id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory);
    ask(api, id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof allocation, &allocation);
    ask(api, id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local);
    limits->is_gpu = (type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR)) != 0;
    limits->has_double = double_config != 0;
    limits->shares_memory = type == CL_DEVICE_TYPE_CPU && unified;
    limits->compute_units = units;
    for (int k = 0; k < 3; ++k) {
        limits->grid[k] = INT32_MAX; /* OpenCL itself bounds only the product with the group, by size_t */
        limits->group[k] = capped(sizes[k]);
    }
    limits->group_total = capped(total);
    limits->local_memory = capped(local);
    limits->memory = memory;
    limits->allocation = allocation;
    device->api = api;
    device->platform = platform;
    device->id = id;
    device->rounds_division = (single_config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
}

/* Whether the device has told all that launches are planned with; one that has not is left out. */
static int is_described(const tilek_device *device)
{
    const tilek_limits *limits = &device->limits;
    int is_complete = limits->memory > 0 && limits->allocation > 0 && limits->compute_units > 0 &&
                      limits->group_total > 0;
    for (int k = 0; k < 3; ++k)
        is_complete = is_complete && limits->group[k] > 0;
    return is_complete;
}

static int add_device(cl_platform_id platform, cl_device_id id, int is_part)
{
    tilek_device *devices = realloc(opencl.devices, ((size_t)opencl.list.count + 1) * sizeof *devices);
    if (devices == NULL)
        return 0;
    opencl.devices = devices;
    memset(&devices[opencl.list.count], 0, sizeof *devices);
    devices[opencl.list.count].is_part = is_part;
    describe(&opencl.api, platform, id, &devices[opencl.list.count]);
    if (is_described(&devices[opencl.list.count]))
        ++opencl.list.count;
    else if (is_part)
        (void)opencl.api.clReleaseDevice(id);
    return 1;
}

/* Adds a processor as TILEK_SUBDEVICES parts with equally many cores. One that has too few cores,
 * or cannot be divided, is added once for each part: the parts have contexts of their own, and
 * share the cores. */
static int add_parts(cl_platform_id platform, cl_device_id id)
{
    cl_bitfield type = 0;
    cl_uint units = 0, count = 0;
    cl_device_id parts[TILEK_MOST_SUBDEVICES];
    ask(&opencl.api, id, CL_DEVICE_TYPE, sizeof type, &type);
    ask(&opencl.api, id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units);
    const cl_uint wanted = type == CL_DEVICE_TYPE_CPU ? (cl_uint)tilek_get_settings()->subdevices : 1;
    const cl_device_partition_property each[] = {CL_DEVICE_PARTITION_EQUALLY, units / wanted, 0};
    int added = 1;
    if (wanted == 1)
        return add_device(platform, id, 0);
    const int comes_apart = units >= wanted &&
                            opencl.api.clCreateSubDevices(id, each, TILEK_MOST_SUBDEVICES, parts, &count) ==
                                CL_SUCCESS &&
                            count >= wanted;
    for (cl_uint k = 0; k < wanted && added; ++k)
        added = add_device(platform, comes_apart ? parts[k] : id, comes_apart);
    return added;
}

/* Adds the usable devices of a platform. 0 where memory is short. */
static int add_devices(cl_platform_id platform)
{
    enum { MOST = 64 };
    cl_device_id ids[MOST];
    cl_uint count = 0;
    if (opencl.api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, ids, &count) != CL_SUCCESS)
        return 1;
    for (cl_uint k = 0; k < count && k < MOST; ++k) {
        cl_bool available = 0, compiler = 0;
        ask(&opencl.api, ids[k], CL_DEVICE_AVAILABLE, sizeof available, &available);
        ask(&opencl.api, ids[k], CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler);
        if (!available || !compiler)
            continue;
        if (opencl.from_wheel)
            tilek_opencl_repair_pocl(&opencl.api, ids[k]);
        if (!add_parts(platform, ids[k]))
            return 0;
    }
    return 1;
}

static void put_gpus_first(void)
{
    for (int k = 1; k < opencl.list.count; ++k) /* insertion: stable, and the devices are few */
        for (int place = k;
             place > 0 && opencl.devices[place].limits.is_gpu && !opencl.devices[place - 1].limits.is_gpu; --place) {
            const tilek_device moved = opencl.devices[place];
            opencl.devices[place] = opencl.devices[place - 1];
            opencl.devices[place - 1] = moved;
        }
}

/* With TILEK_LOCK_OPENCL held. Pointers to devices are given out only after this, so the array may
 * move here. */
static void search(void)
{
    enum { MOST = 32 };
    cl_platform_id platforms[MOST];
    cl_uint count = 0;
    opencl.list.status = tilek_opencl_load(&opencl.api, &opencl.from_wheel, &opencl.list.why);
    if (opencl.list.status != TILEK_OK)
        return;
    if (opencl.api.clGetPlatformIDs(MOST, platforms, &count) != CL_SUCCESS)
        count = 0;
    for (cl_uint k = 0; k < count && k < MOST; ++k)
        if (!add_devices(platforms[k])) {
            tilek_say(&opencl.list.why, "no memory for the list of OpenCL devices");
            opencl.list.status = TILEK_NO_MEMORY;
            return;
        }
    put_gpus_first();
    opencl.list.first = opencl.list.count > 0 ? &opencl.devices[0].limits : NULL;
    opencl.list.stride = sizeof *opencl.devices;
    for (int k = 0; k < opencl.list.count; ++k)
        (void)pthread_mutex_init(&opencl.devices[k].lock, NULL);
    if (opencl.list.count == 0) {
        tilek_say(&opencl.list.why, "OpenCL is here, but no platform of it has a device with a compiler");
        opencl.list.status = TILEK_NO_DEVICE;
    }
}

static tilek_status make_context(tilek_device *device, tilek_message *why)
{
    const cl_context_property properties[] = {CL_CONTEXT_PLATFORM, (cl_context_property)device->platform, 0};
    cl_int error = CL_SUCCESS;
    (void)pthread_mutex_lock(&device->lock);
    if (device->context == NULL) {
        const tilek_settings *settings = tilek_get_settings();
        device->times_launches = settings->profile || settings->trace != NULL;
        device->context = device->api->clCreateContext(properties, 1, &device->id, NULL, NULL, &error);
    }
    const int made = device->context != NULL;
    (void)pthread_mutex_unlock(&device->lock);
    if (made)
        return TILEK_OK;
    (void)tilek_opencl_failed(error, "the device was opened", why);
    return TILEK_NO_DEVICE;
}

static tilek_status open_device(int64_t number, const char *name_part, tilek_device **device, tilek_message *why)
{
    *device = NULL;
    int index;
    const tilek_status status = tilek_choose_device(&opencl.list, search, number, name_part, &index, why);
    if (status != TILEK_OK)
        return status;
    tilek_device *const chosen = &opencl.devices[index];
    const tilek_status opened = make_context(chosen, why);
    if (opened == TILEK_OK)
        *device = chosen;
    return opened;
}

static const tilek_limits *device_limits(const tilek_device *device) { return &device->limits; }

/* ---- Queues and buffers ---------------------------------------------------------------------- */

/* *releases (may be NULL): the device's releases so far. */
static tilek_status find_queue(tilek_device *device, int queue, cl_command_queue *command_queue, unsigned *releases,
                               tilek_message *why)
{
    cl_int error = CL_SUCCESS;
    if (queue < 0 || queue >= TILEK_DEVICE_QUEUES) {
        tilek_say(why, "there is no OpenCL queue %d", queue);
        return TILEK_INVALID;
    }
    (void)pthread_mutex_lock(&device->lock);
    if (device->queues[queue] == NULL)
        device->queues[queue] =
            device->api->clCreateCommandQueue(device->context, device->id,
                                              device->times_launches ? CL_QUEUE_PROFILING_ENABLE : 0, &error);
    *command_queue = device->queues[queue];
    if (releases != NULL)
        *releases = device->releases;
    (void)pthread_mutex_unlock(&device->lock);
    return *command_queue != NULL ? TILEK_OK : tilek_opencl_failed(error, "a queue was made", why);
}

static tilek_status queue_of(tilek_device *device, int queue, cl_command_queue *command_queue, tilek_message *why)
{
    return find_queue(device, queue, command_queue, NULL, why);
}

/* Takes `bytes` of the device's memory into account; drivers allocate late, and would fail only in
 * a launch. 0: there is too little. */
static int reserve(tilek_device *device, size_t bytes)
{
    (void)pthread_mutex_lock(&device->lock);
    const int fits = device->limits.memory == 0 ||
                     (device->allocated <= device->limits.memory && bytes <= device->limits.memory - device->allocated);
    if (fits)
        device->allocated += bytes;
    (void)pthread_mutex_unlock(&device->lock);
    return fits;
}

static void give_back(tilek_device *device, size_t bytes)
{
    (void)pthread_mutex_lock(&device->lock);
    device->allocated -= bytes;
    (void)pthread_mutex_unlock(&device->lock);
}

static tilek_status allocate(tilek_device *device, size_t bytes, tilek_buffer *buffer, tilek_message *why)
{
    cl_int error = CL_SUCCESS;
    *buffer = (tilek_buffer){0};
    if (device->limits.allocation != 0 && bytes > device->limits.allocation) {
        tilek_say(why, "an array of %llu bytes is larger than %s allows one buffer to be (%llu bytes)",
                  (unsigned long long)bytes, device->limits.name, (unsigned long long)device->limits.allocation);
        return TILEK_UNSUPPORTED;
    }
    if (!reserve(device, bytes)) {
        tilek_say(why, "%s has too little memory left for %llu bytes", device->limits.name, (unsigned long long)bytes);
        return TILEK_NO_MEMORY;
    }
    const cl_mem object = device->api->clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    if (object == NULL) {
        give_back(device, bytes);
        return tilek_opencl_failed(error, "memory was allocated", why);
    }
    *buffer = (tilek_buffer){.object = object, .bytes = bytes};
    return TILEK_OK;
}

static void release(tilek_device *device, tilek_buffer *buffer)
{
    if (buffer->object != NULL) {
        (void)pthread_mutex_lock(&device->lock); /* before the implementation can use the handle again */
        ++device->releases;
        (void)pthread_mutex_unlock(&device->lock);
        (void)device->api->clReleaseMemObject(buffer->object);
        give_back(device, buffer->bytes);
    }
    *buffer = (tilek_buffer){0};
}

/* The bytes are counted like others, so that `release` can be the same. */
static tilek_status share(tilek_device *device, void *start, size_t bytes, tilek_buffer *buffer, tilek_message *why)
{
    cl_int error = CL_SUCCESS;
    *buffer = (tilek_buffer){0};
    if (!reserve(device, bytes)) {
        tilek_say(why, "%s has too little memory left for %llu bytes", device->limits.name, (unsigned long long)bytes);
        return TILEK_NO_MEMORY;
    }
    const cl_mem object = device->api->clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes,
                                                      start, &error);
    if (object == NULL) {
        give_back(device, bytes);
        return tilek_opencl_failed(error, "memory was shared", why);
    }
    *buffer = (tilek_buffer){.object = object, .bytes = bytes};
    return TILEK_OK;
}

static tilek_status write_buffer(tilek_device *device, int queue, const tilek_buffer *buffer, size_t offset,
                                 const void *source, size_t bytes, tilek_message *why)
{
    cl_command_queue used;
    const tilek_status status = queue_of(device, queue, &used, why);
    if (status != TILEK_OK || bytes == 0)
        return status;
    const cl_int error = device->api->clEnqueueWriteBuffer(used, buffer->object, CL_TRUE, offset, bytes, source, 0,
                                                           NULL, NULL);
    return error == CL_SUCCESS ? TILEK_OK : tilek_opencl_failed(error, "data were copied to the device", why);
}

static tilek_status read_buffer(tilek_device *device, int queue, const tilek_buffer *buffer, size_t offset,
                                void *destination, size_t bytes, tilek_message *why)
{
    cl_command_queue used;
    const tilek_status status = queue_of(device, queue, &used, why);
    if (status != TILEK_OK || bytes == 0)
        return status;
    const cl_int error = device->api->clEnqueueReadBuffer(used, buffer->object, CL_TRUE, offset, bytes, destination, 0,
                                                          NULL, NULL);
    return error == CL_SUCCESS ? TILEK_OK : tilek_opencl_failed(error, "data were copied from the device", why);
}

/* OpenCL promises that the host's memory holds what was computed while it is mapped; where it is
 * the buffer itself, nothing moves. */
static tilek_status reclaim(tilek_device *device, int queue, const tilek_buffer *buffer, tilek_message *why)
{
    cl_command_queue used;
    const tilek_status status = queue_of(device, queue, &used, why);
    if (status != TILEK_OK)
        return status;
    cl_int error = CL_SUCCESS;
    void *const mapped = device->api->clEnqueueMapBuffer(used, buffer->object, CL_TRUE, CL_MAP_READ, 0, buffer->bytes,
                                                         0, NULL, NULL, &error);
    if (mapped != NULL && error == CL_SUCCESS)
        error = device->api->clEnqueueUnmapMemObject(used, buffer->object, mapped, 0, NULL, NULL);
    if (error == CL_SUCCESS)
        error = device->api->clFinish(used);
    return error == CL_SUCCESS ? TILEK_OK : tilek_opencl_failed(error, "shared memory was taken back", why);
}

/* ---- Launches -------------------------------------------------------------------------------- */

/* A kernel object keeps its arguments: only those that differ from the launch before are set, and
 * all where a buffer was released meanwhile, since what a kernel holds of one is the
 * implementation's affair. `value`: `size` bytes; `given`: the same, or NULL for a null pointer. */
static cl_int set_argument(const tilek_opencl_api *api, tilek_entry *entry, int place, size_t size, const void *value,
                           const void *given)
{
    tilek_known_argument *known = place < TILEK_KNOWN_ARGUMENTS && size <= TILEK_KNOWN_BYTES ? &entry->known[place]
                                                                                             : NULL;
    if (known != NULL && known->size == size && memcmp(known->bytes, value, size) == 0)
        return CL_SUCCESS;
    const cl_int error = api->clSetKernelArg(entry->kernel, (cl_uint)place, size, given);
    if (known != NULL) {
        known->size = error == CL_SUCCESS ? size : 0;
        memcpy(known->bytes, value, size);
    }
    return error;
}

/* With the entry's lock held. */
static cl_int set_arguments(const tilek_opencl_api *api, tilek_entry *entry, unsigned releases, int count,
                            const tilek_argument arguments[])
{
    cl_int error = CL_SUCCESS;
    if (entry->releases != releases)
        memset(entry->known, 0, sizeof entry->known);
    entry->releases = releases;
    for (int k = 0; k < count && error == CL_SUCCESS; ++k) {
        const tilek_argument *argument = &arguments[k];
        if (argument->kind == TILEK_ARGUMENT_VALUE)
            error = set_argument(api, entry, k, argument->size, argument->value, argument->value);
        else {
            const cl_mem object = argument->buffer->object;
            error = set_argument(api, entry, k, sizeof object, &object, object != NULL ? &object : NULL);
        }
    }
    return error;
}

/* The time between a launch's start and end on the device; where it does not tell, that since the
 * launch was queued, at `queued`. */
static cl_int event_time(const tilek_opencl_api *api, cl_event event, int64_t queued, int64_t *nanoseconds)
{
    cl_ulong start = 0, end = 0;
    const cl_int error = api->clWaitForEvents(1, &event);
    *nanoseconds = tilek_now() - queued;
    if (error == CL_SUCCESS &&
        api->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL) == CL_SUCCESS &&
        api->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) == CL_SUCCESS)
        *nanoseconds = end > start ? (int64_t)(end - start) : 0;
    (void)api->clReleaseEvent(event);
    return error;
}

static tilek_status run(tilek_device *device, int queue, tilek_entry *entry, int argument_count,
                        const tilek_argument arguments[], const int64_t groups[3], const int64_t group[3],
                        int64_t *nanoseconds, tilek_message *why)
{
    const tilek_opencl_api *api = device->api;
    size_t local[3], global[3];
    cl_uint dimensions = 1;
    cl_command_queue used;
    unsigned releases = 0;
    const tilek_status status = find_queue(device, queue, &used, &releases, why);
    if (status != TILEK_OK)
        return status;
    for (int k = 0; k < 3; ++k) {
        if ((uint64_t)groups[k] > SIZE_MAX / (uint64_t)group[k]) {
            tilek_say(why, "%lld gangs of %lld workers are more than OpenCL can count", (long long)groups[k],
                      (long long)group[k]);
            return TILEK_UNSUPPORTED;
        }
        local[k] = (size_t)group[k];
        global[k] = (size_t)groups[k] * local[k];
        if (global[k] > 1)
            dimensions = (cl_uint)k + 1;
    }
    /* Where the queue keeps no times, the host measures, after all earlier work has ended. */
    const int from_outside = nanoseconds != NULL && !device->times_launches;
    cl_event event = NULL;
    cl_int error = from_outside ? api->clFinish(used) : CL_SUCCESS;
    const int64_t start = nanoseconds != NULL ? tilek_now() : 0;
    (void)pthread_mutex_lock(&entry->lock);
    if (error == CL_SUCCESS)
        error = set_arguments(api, entry, releases, argument_count, arguments);
    if (error == CL_SUCCESS)
        error = api->clEnqueueNDRangeKernel(used, entry->kernel, dimensions, NULL, global, local, 0, NULL,
                                            nanoseconds != NULL && !from_outside ? &event : NULL);
    /* Launches that no thread waits for soon must be flushed; of a loop of launches every 64th is
     * enough. */
    const int sends_off = queue != 0 || ++entry->launches % 64 == 0;
    (void)pthread_mutex_unlock(&entry->lock);
    if (error == CL_SUCCESS && from_outside) {
        error = api->clFinish(used);
        *nanoseconds = tilek_now() - start;
    } else if (error == CL_SUCCESS && nanoseconds != NULL)
        error = event_time(api, event, start, nanoseconds);
    else if (error == CL_SUCCESS && sends_off)
        (void)api->clFlush(used); /* the launch is queued: whoever waits for it sees a failure */
    return error == CL_SUCCESS ? TILEK_OK : tilek_opencl_failed(error, "a kernel was launched", why);
}

static tilek_status wait_queue(tilek_device *device, int queue, tilek_message *why)
{
    cl_command_queue used;
    const tilek_status status = queue_of(device, queue, &used, why);
    if (status != TILEK_OK)
        return status;
    const cl_int error = device->api->clFinish(used);
    return error == CL_SUCCESS ? TILEK_OK : tilek_opencl_failed(error, "a launch ended", why);
}

/* The library stays loaded: drivers have threads and exit handlers of their own in it. */
static void shutdown_all(void)
{
    for (int k = 0; k < opencl.list.count; ++k) {
        tilek_device *device = &opencl.devices[k];
        for (int queue = 0; queue < TILEK_DEVICE_QUEUES; ++queue)
            if (device->queues[queue] != NULL)
                (void)device->api->clReleaseCommandQueue(device->queues[queue]);
        if (device->context != NULL)
            (void)device->api->clReleaseContext(device->context);
        if (device->is_part)
            (void)device->api->clReleaseDevice(device->id);
        (void)pthread_mutex_destroy(&device->lock);
    }
    free(opencl.devices);
    opencl.devices = NULL;
    tilek_forget_devices(&opencl.list);
}

const tilek_backend *tilek_opencl_backend(void)
{
    static const tilek_backend backend = {.name = "OpenCL",
                                          .open = open_device,
                                          .limits = device_limits,
                                          .allocate = allocate,
                                          .release = release,
                                          .share = share,
                                          .reclaim = reclaim,
                                          .write = write_buffer,
                                          .read = read_buffer,
                                          .build = tilek_opencl_build,
                                          .drop = tilek_opencl_drop,
                                          .find = tilek_opencl_find,
                                          .run = run,
                                          .wait = wait_queue,
                                          .shutdown = shutdown_all};
    return &backend;
}
