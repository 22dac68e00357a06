/* driver.c: libcuda's calls for one device, with memory on the host.
 *
 * Every allocation ends at a page that may not be touched, and starts after one, so that a kernel that leaves its array is caught. Copies
 * are checked against allocations, calls against the current context. What is left at the end is reported on stderr. */
#define _GNU_SOURCE
#include "standin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, LAUNCH_FAILED = 719, TOO_LARGE = 720
};

/* Of an entry point's blocks, at any number of threads. */
enum { MULTIPROCESSORS = 4, BLOCKS_EACH = 2 };

static const size_t MEMORY = (size_t)8 << 30, PAGE = 4096, ALIGNMENT = 16;

typedef struct allocation { char *address, *mapping; size_t bytes, mapped; struct allocation *next; } allocation;
typedef struct CUctx_st { int unused; } *CUcontext;
typedef struct CUevent_st { struct timespec time; } *CUevent;

static struct {
    pthread_mutex_t lock;
    int retained, streams, events, modules;
    int launches, cooperative, waits, copies, entries; /* so far: TILEK_STANDIN_COUNTS asks for them at the end. entries: of a context */
    int lost; /* the error that all calls give once a kernel failed */
    size_t used;
    allocation *allocations;
    struct CUctx_st context;
} device = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_mutex_t launching = PTHREAD_MUTEX_INITIALIZER;
static __thread int context_depth;

/* ---- Failures on demand ------------------------------------------------------------------------------------------ */

static long standin_calls; /* of the wished kind */

int standin_fails(const char *kind)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static long calls;
    const char *wish = getenv("TILEK_STANDIN_FAIL");
    const size_t length = strlen(kind);
    if (wish == NULL || strncmp(wish, kind, length) != 0 || (wish[length] != '\0' && wish[length] != ':'))
        return 0;
    if (wish[length] == '\0')
        return 1;
    (void)pthread_mutex_lock(&lock);
    const int fails = ++calls == strtol(wish + length + 1, NULL, 10);
    standin_calls = calls;
    (void)pthread_mutex_unlock(&lock);
    return fails;
}

int standin_not_ready(void)
{
    (void)pthread_mutex_lock(&device.lock);
    const int error = context_depth <= 0 || device.retained <= 0 ? INVALID_CONTEXT : device.lost;
    (void)pthread_mutex_unlock(&device.lock);
    return error;
}

/* ---- The device -------------------------------------------------------------------------------------------------- */

STANDIN_EXPORT int cuInit(unsigned flags)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    return flags != 0 ? INVALID_VALUE : standin_fails("nodevice") ? NO_DEVICE : SUCCESS;
}

STANDIN_EXPORT int cuDriverGetVersion(int *version)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    *version = 12000;
    return SUCCESS;
}

STANDIN_EXPORT int cuGetErrorString(int error, const char **text)
{
    static const struct { int error; const char *text; } known[] = {
        {SUCCESS, "no error"}, {INVALID_VALUE, "invalid argument"}, {OUT_OF_MEMORY, "out of memory"}, {NO_DEVICE, "no CUDA-capable device is detected"},
        {INVALID_DEVICE, "invalid device ordinal"}, {INVALID_IMAGE, "device kernel image is invalid"}, {INVALID_CONTEXT, "invalid device context"},
        {INVALID_HANDLE, "invalid resource handle"}, {NOT_FOUND, "named symbol not found"}, {ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
        {LAUNCH_FAILED, "unspecified launch failure"}};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; ++k)
        if (known[k].error == error) {
            *text = known[k].text;
            return SUCCESS;
        }
    return INVALID_VALUE;
}

/* TILEK_STANDIN_DEVICES: so many, alike; they share a context, and with it memory. */
static int device_count(void)
{
    const char *wish = getenv("TILEK_STANDIN_DEVICES");
    return wish != NULL ? atoi(wish) : 1;
}

static int is_device(int id) { return id >= 0 && id < device_count(); }

STANDIN_EXPORT int cuDeviceGetCount(int *count)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    *count = device_count();
    return SUCCESS;
}

STANDIN_EXPORT int cuDeviceGet(int *id, int number)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    *id = number;
    return is_device(number) ? SUCCESS : INVALID_DEVICE;
}

STANDIN_EXPORT int cuDeviceGetName(char *name, int size, int id)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    (void)snprintf(name, (size_t)size, "tilepragma stand-in");
    return is_device(id) ? SUCCESS : INVALID_DEVICE;
}

STANDIN_EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int id)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    *bytes = MEMORY;
    return is_device(id) ? SUCCESS : INVALID_DEVICE;
}

/* By the numbers of CUdevice_attribute: an A100's, with few multiprocessors. */
STANDIN_EXPORT int cuDeviceGetAttribute(int *value, int attribute, int id)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    static const struct { int attribute, value; } known[] = {{1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152},
                                                             {13, 1410000}, {16, MULTIPROCESSORS}, {17, 0}, {36, 1215000}, {37, 5120}, {75, 8}, {76, 0}, {95, 1}};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; ++k)
        if (known[k].attribute == attribute) {
            *value = attribute == 95 && standin_fails("cooperative") ? 0 : attribute == 17 && standin_fails("timeout") ? 1 : known[k].value;
            return is_device(id) ? SUCCESS : INVALID_DEVICE;
        }
    return INVALID_VALUE;
}

STANDIN_EXPORT int cuDevicePrimaryCtxRetain(CUcontext *context, int id)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    (void)pthread_mutex_lock(&device.lock);
    ++device.retained;
    (void)pthread_mutex_unlock(&device.lock);
    *context = &device.context;
    return is_device(id) ? SUCCESS : INVALID_DEVICE;
}

STANDIN_EXPORT int cuDevicePrimaryCtxRelease_v2(int id)
{
    int allocations = 0;
    (void)pthread_mutex_lock(&device.lock);
    for (const allocation *at = device.allocations; at != NULL; at = at->next)
        ++allocations;
    const int graphs = standin_graphs(NULL);
    if (--device.retained == 0 && (allocations | device.streams | device.events | device.modules | graphs) != 0)
        (void)fprintf(stderr, "stand-in: left behind: %d allocations, %d streams, %d events, %d modules, %d graphs\n", allocations, device.streams, device.events,
                      device.modules, graphs);
    const char *wish = getenv("TILEK_STANDIN_FAIL");
    if (device.retained == 0 && wish != NULL && strstr(wish, ":0") != NULL)
        (void)fprintf(stderr, "stand-in: %ld calls\n", standin_calls);
    if (device.retained == 0 && getenv("TILEK_STANDIN_COUNTS") != NULL)
        (void)fprintf(stderr, "stand-in: %d launches, %d waits, %d copies, %d entries, %d graphs, %d played, %d cooperative\n", device.launches, device.waits,
                      device.copies, device.entries, standin_recorded, standin_played, device.cooperative);
    (void)pthread_mutex_unlock(&device.lock);
    return is_device(id) ? SUCCESS : INVALID_DEVICE;
}

static void count(int *counter, int change)
{
    (void)pthread_mutex_lock(&device.lock);
    *counter += change;
    (void)pthread_mutex_unlock(&device.lock);
}

STANDIN_EXPORT int cuCtxPushCurrent_v2(CUcontext context)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    if (context != &device.context)
        return INVALID_CONTEXT;
    ++context_depth;
    count(&device.entries, 1);
    return SUCCESS;
}

STANDIN_EXPORT int cuCtxPopCurrent_v2(CUcontext *context)
{
    if (context_depth <= 0)
        return INVALID_CONTEXT;
    --context_depth;
    *context = &device.context;
    return SUCCESS;
}

/* For calls that no thread may make during its own capture. */
static int ready_to_change(void)
{
    const int forbidden = standin_capture_forbids(NULL);
    return forbidden != SUCCESS ? forbidden : standin_not_ready();
}

/* For calls that may not touch a stream during its capture. */
static int ready_for(CUstream stream)
{
    const int forbidden = stream != NULL ? standin_capture_forbids(stream) : SUCCESS;
    return forbidden != SUCCESS ? forbidden : standin_not_ready();
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

STANDIN_EXPORT int cuMemAlloc_v2(unsigned long long *address, size_t bytes)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    const int error = ready_to_change();
    if (error != SUCCESS || bytes == 0)
        return error != SUCCESS ? error : INVALID_VALUE;
    if (standin_fails("alloc") || bytes > MEMORY)
        return OUT_OF_MEMORY;
    allocation *made = calloc(1, sizeof *made);
    if (made == NULL)
        return OUT_OF_MEMORY;
    const size_t padded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, inside = (padded + PAGE - 1) / PAGE * PAGE;
    made->mapped = inside + 2 * PAGE;
    (void)pthread_mutex_lock(&device.lock);
    void *mapping = bytes <= MEMORY - device.used ? mmap(NULL, made->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : MAP_FAILED;
    if (mapping == MAP_FAILED || mprotect((char *)mapping + PAGE, inside, PROT_READ | PROT_WRITE) != 0) {
        (void)pthread_mutex_unlock(&device.lock);
        free(made);
        return OUT_OF_MEMORY;
    }
    made->mapping = mapping;
    made->bytes = bytes;
    made->address = made->mapping + PAGE + inside - padded;
    made->next = device.allocations;
    device.allocations = made;
    device.used += bytes;
    (void)pthread_mutex_unlock(&device.lock);
    memset(made->address, 0xA5, bytes < 65536 ? bytes : 65536); /* fresh device memory holds anything */
    *address = (uintptr_t)made->address;
    return SUCCESS;
}

STANDIN_EXPORT int cuMemFree_v2(unsigned long long address)
{
    int error = context_depth > 0 ? INVALID_VALUE : INVALID_CONTEXT;
    if (standin_capture_forbids(NULL) != SUCCESS)
        return standin_capture_forbids(NULL);
    (void)pthread_mutex_lock(&device.lock);
    for (allocation **link = &device.allocations; error == INVALID_VALUE && *link != NULL; link = &(*link)->next)
        if ((uintptr_t)(*link)->address == address) {
            allocation *gone = *link;
            *link = gone->next;
            device.used -= gone->bytes;
            (void)munmap(gone->mapping, gone->mapped);
            free(gone);
            error = SUCCESS;
            break;
        }
    (void)pthread_mutex_unlock(&device.lock);
    return error;
}

/* The host's pointer to a range of device memory; NULL where it is not inside one allocation. */
static char *device_range(unsigned long long address, size_t bytes)
{
    char *range = NULL;
    (void)pthread_mutex_lock(&device.lock);
    for (const allocation *at = device.allocations; at != NULL && range == NULL; at = at->next) {
        const uintptr_t start = (uintptr_t)at->address;
        if (address >= start && address - start <= at->bytes && bytes <= at->bytes - (address - start))
            range = at->address + (address - start);
    }
    (void)pthread_mutex_unlock(&device.lock);
    return range;
}

STANDIN_EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, CUstream stream)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    const int error = ready_for(stream);
    char *range = device_range(to, bytes);
    if (error != SUCCESS || stream == NULL || range == NULL)
        return error != SUCCESS ? error : INVALID_VALUE;
    if (standin_fails("copyin"))
        return OUT_OF_MEMORY;
    memcpy(range, from, bytes);
    count(&device.copies, 1);
    return SUCCESS;
}

STANDIN_EXPORT int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, CUstream stream)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    const int error = ready_for(stream);
    const char *range = device_range(from, bytes);
    if (error != SUCCESS || stream == NULL || range == NULL)
        return error != SUCCESS ? error : INVALID_VALUE;
    memcpy(to, range, bytes);
    count(&device.copies, 1);
    return SUCCESS;
}

STANDIN_EXPORT int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, CUstream stream)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    const int error = ready_for(stream);
    char *range = device_range(to, bytes);
    const char *source = device_range(from, bytes);
    if (error != SUCCESS || stream == NULL || range == NULL || source == NULL)
        return error != SUCCESS ? error : INVALID_VALUE;
    memmove(range, source, bytes);
    count(&device.copies, 1);
    return SUCCESS;
}

/* ---- Streams and events: all work is done when its call returns ---------------------------------------------------- */

STANDIN_EXPORT int cuStreamCreate(CUstream *stream, unsigned flags)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    (void)flags;
    const int error = standin_not_ready();
    *stream = error == SUCCESS ? calloc(1, sizeof **stream) : NULL;
    if (*stream == NULL)
        return error != SUCCESS ? error : OUT_OF_MEMORY;
    count(&device.streams, 1);
    return SUCCESS;
}

STANDIN_EXPORT int cuStreamDestroy_v2(CUstream stream)
{
    free(stream);
    count(&device.streams, -1);
    return SUCCESS;
}

STANDIN_EXPORT int cuStreamSynchronize(CUstream stream)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    count(&device.waits, 1);
    return stream == NULL ? INVALID_HANDLE : ready_for(stream);
}

STANDIN_EXPORT int cuEventCreate(CUevent *event, unsigned flags)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    (void)flags;
    const int error = standin_not_ready();
    *event = error == SUCCESS ? calloc(1, sizeof **event) : NULL;
    if (*event == NULL)
        return error != SUCCESS ? error : OUT_OF_MEMORY;
    count(&device.events, 1);
    return SUCCESS;
}

STANDIN_EXPORT int cuEventDestroy_v2(CUevent event)
{
    free(event);
    count(&device.events, -1);
    return SUCCESS;
}

STANDIN_EXPORT int cuEventRecord(CUevent event, CUstream stream)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    (void)clock_gettime(CLOCK_MONOTONIC, &event->time);
    return stream == NULL ? INVALID_HANDLE : ready_for(stream);
}

STANDIN_EXPORT int cuEventSynchronize(CUevent event)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    count(&device.waits, 1);
    return event == NULL ? INVALID_HANDLE : standin_not_ready();
}

STANDIN_EXPORT int cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    *milliseconds = (float)((double)(end->time.tv_sec - start->time.tv_sec) * 1e3 + (double)(end->time.tv_nsec - start->time.tv_nsec) * 1e-6);
    return standin_not_ready();
}

/* ---- Modules ----------------------------------------------------------------------------------------------------- */

/* Opens the library in an image by way of a file that is gone when it is open. */
static void *open_image(const standin_image *image)
{
    const char *folder = getenv("TMPDIR");
    char path[512];
    if (snprintf(path, sizeof path, "%s/standin-image-XXXXXX", folder != NULL && *folder != '\0' ? folder : "/tmp") >= (int)sizeof path)
        return NULL;
    const int file = mkstemp(path);
    if (file < 0)
        return NULL;
    FILE *stream = fdopen(file, "wb");
    void *library = NULL;
    if (stream != NULL) {
        const int written = fwrite(image + 1, 1, image->size, stream) == image->size;
        if (fclose(stream) == 0 && written)
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    (void)unlink(path);
    return library;
}

STANDIN_EXPORT int cuModuleLoadData(CUmodule *module, const void *image)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    const int error = ready_to_change();
    if (error != SUCCESS)
        return error;
    if (memcmp(image, STANDIN_MAGIC, sizeof STANDIN_MAGIC) != 0)
        return INVALID_IMAGE;
    *module = calloc(1, sizeof **module);
    if (*module == NULL)
        return OUT_OF_MEMORY;
    (*module)->library = open_image(image);
    if ((*module)->library == NULL) {
        free(*module);
        return INVALID_IMAGE;
    }
    count(&device.modules, 1);
    return SUCCESS;
}

STANDIN_EXPORT int cuModuleUnload(CUmodule module)
{
    if (standin_graphs(module) > 0)
        (void)fprintf(stderr, "stand-in: a module was unloaded before %d graphs with its functions\n", standin_graphs(module));
    for (CUfunction at = module->functions, next; at != NULL; at = next) {
        next = at->next;
        free(at);
    }
    (void)dlclose(module->library);
    free(module);
    count(&device.modules, -1);
    return SUCCESS;
}

STANDIN_EXPORT int cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    char symbol[512];
    const int error = standin_not_ready();
    if (error != SUCCESS || snprintf(symbol, sizeof symbol, "standin_call_%s", name) >= (int)sizeof symbol)
        return error != SUCCESS ? error : NOT_FOUND;
    void *call = dlsym(module->library, symbol);
    if (call == NULL)
        return NOT_FOUND;
    CUfunction made = calloc(1, sizeof *made);
    if (made == NULL)
        return OUT_OF_MEMORY;
    memcpy(&made->kernel.call, &call, sizeof call);
    (void)snprintf(symbol, sizeof symbol, "standin_sizes_%s", name);
    made->kernel.sizes = dlsym(module->library, symbol);
    made->module = module;
    made->kernel.has_barriers = *(const int *)dlsym(module->library, "standin_has_barriers");
    made->kernel.thread = dlsym(module->library, "threadIdx");
    made->kernel.block = dlsym(module->library, "blockIdx");
    made->kernel.block_size = dlsym(module->library, "blockDim");
    made->kernel.grid_size = dlsym(module->library, "gridDim");
    made->kernel.barrier = dlsym(module->library, "standin_barrier");
    made->kernel.yield = dlsym(module->library, "standin_yield");
    (void)pthread_mutex_lock(&device.lock);
    made->next = module->functions;
    module->functions = made;
    (void)pthread_mutex_unlock(&device.lock);
    *function = made;
    return SUCCESS;
}

STANDIN_EXPORT int cuFuncGetAttribute(int *value, int attribute, CUfunction function)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    *value = 1024;
    return attribute == 0 && function != NULL ? standin_not_ready() : INVALID_VALUE;
}

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

static void lose_device(int error)
{
    (void)pthread_mutex_lock(&device.lock);
    device.lost = error;
    (void)pthread_mutex_unlock(&device.lock);
}

static void run_launch(CUfunction function, standin_index grid, standin_index block, void **parameters, int cooperative)
{
    if (standin_fails("launch")) {
        lose_device(LAUNCH_FAILED);
        return;
    }
    (void)pthread_mutex_lock(&launching);
    const standin_outcome outcome = standin_run(&function->kernel, grid, block, parameters, cooperative);
    (void)pthread_mutex_unlock(&launching);
    if (outcome == STANDIN_DIVERGED)
        (void)fprintf(stderr, "stand-in: not all threads of a block reached the same barrier\n");
    if (outcome == STANDIN_STUCK)
        (void)fprintf(stderr, "stand-in: blocks wait for what nobody does\n");
    if (outcome != STANDIN_DONE)
        lose_device(outcome == STANDIN_BAD_ADDRESS ? ILLEGAL_ADDRESS : outcome == STANDIN_NO_STACKS ? OUT_OF_MEMORY : LAUNCH_FAILED);
}

void standin_launch(CUfunction function, standin_index grid, standin_index block, void **parameters)
{
    run_launch(function, grid, block, parameters, 0);
}

STANDIN_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads, size_t shared)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    *blocks = threads > 1024 || standin_fails("resident") ? 0 : BLOCKS_EACH;
    return function != NULL && threads > 0 && shared == 0 ? standin_not_ready() : INVALID_VALUE;
}

STANDIN_EXPORT int cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                                             unsigned block_z, unsigned shared, CUstream stream, void **parameters)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    const int error = standin_not_ready();
    const unsigned long long threads = (unsigned long long)block_x * block_y * block_z;
    if (error != SUCCESS)
        return error;
    if (function == NULL || stream == NULL || stream->capturing != NULL || shared != 0 || grid_x == 0 || grid_y != 1 || grid_z != 1 || threads == 0 || threads > 1024)
        return INVALID_VALUE;
    if (grid_x > MULTIPROCESSORS * BLOCKS_EACH || grid_x * threads > STANDIN_MOST_RESIDENT || standin_fails("toolarge"))
        return TOO_LARGE;
    count(&device.launches, 1);
    count(&device.cooperative, 1);
    run_launch(function, (standin_index){grid_x, 1, 1}, (standin_index){block_x, block_y, block_z}, parameters, 1);
    return SUCCESS;
}

STANDIN_EXPORT int cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                                  unsigned shared, CUstream stream, void **parameters, void **extra)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    const int error = standin_not_ready();
    if (error != SUCCESS)
        return error;
    if (function == NULL || stream == NULL || shared != 0 || extra != NULL || grid_x == 0 || grid_y == 0 || grid_z == 0 || block_x == 0 || block_y == 0 ||
        block_z == 0 || grid_x > 2147483647u || grid_y > 65535 || grid_z > 65535 || block_x > 1024 || block_y > 1024 || block_z > 64 ||
        (unsigned long long)block_x * block_y * block_z > 1024)
        return INVALID_VALUE;
    const standin_index grid = {grid_x, grid_y, grid_z}, block = {block_x, block_y, block_z};
    if (stream->capturing != NULL)
        return standin_capture(stream, function, grid, block, parameters);
    count(&device.launches, 1);
    standin_launch(function, grid, block, parameters); /* one that fails is found later, as on a device, where the launch itself went well */
    return SUCCESS;
}
