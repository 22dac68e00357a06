/* recorder.c: a CUDA driver that runs nothing. It keeps the machine code that the runtime loads, and
 * says what is launched.
 *
 * The runtime finds it by TILEK_CUDA_LIBRARY, compiles by the real NVRTC, and takes it for the device
 * that TILEK_RECORDER_ATTRIBUTES describes: "75:9,76:0,16:132", numbers of CUdevice_attribute and
 * their values. In TILEK_RECORDER_FOLDER stand then N.cubin for each module, and `launches`, a line
 * for each launch: the module's N, the entry point, the grid, the block. No memory is there:
 * addresses are numbers, copies leave what they were to fill. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/cuda_api.h"

#define EXPORT __attribute__((visibility("default")))
/* A function of the driver's that cannot fail. */
#define SUCCEEDS(name, parameters, action) EXPORT CUresult name parameters { action; return CUDA_SUCCESS; }

enum { INVALID_IMAGE = 200 };

struct CUfunc_st { int module; char name[256]; struct CUfunc_st *next; };
struct CUmod_st { int number; CUfunction functions; };

/* What an ELF64 header says of the tables of segments and sections: in a cubin one of them comes last. */
typedef struct elf_header {
    unsigned char magic[16];
    unsigned short type, machine;
    unsigned version;
    unsigned long long entry, segments, sections;
    unsigned flags;
    unsigned short size, segment_size, segment_count, section_size, section_count, names;
} elf_header;

static int modules; /* so far */
static CUdeviceptr next_address = 1 << 20;

static FILE *open_file(const char *name, const char *mode)
{
    const char *folder = getenv("TILEK_RECORDER_FOLDER");
    char path[4096];
    if (folder == NULL || snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return NULL;
    return fopen(path, mode);
}

/* ---- The device ------------------------------------------------------------------------------- */

EXPORT CUresult cuInit(unsigned flags) { return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }

SUCCEEDS(cuDriverGetVersion, (int *version), *version = 12090)
SUCCEEDS(cuGetErrorString, (int error, const char **text),
         *text = error == CUDA_SUCCESS ? "no error" : "the recorder does not take this")
SUCCEEDS(cuDeviceGetCount, (int *count), *count = 1)
SUCCEEDS(cuDeviceGet, (int *id, int number), *id = number)
SUCCEEDS(cuDeviceGetName, (char *name, int size, int id), (void)snprintf(name, (size_t)size, "tilepragma recorder"))
SUCCEEDS(cuDeviceTotalMem_v2, (size_t *bytes, int id), *bytes = (size_t)64 << 30)

EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, int id)
{
    const char *at = getenv("TILEK_RECORDER_ATTRIBUTES");
    int number;
    while (at != NULL && sscanf(at, "%d:%d", &number, value) == 2) {
        if (number == attribute)
            return CUDA_SUCCESS;
        at = strchr(at, ',');
        at = at != NULL ? at + 1 : NULL;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

SUCCEEDS(cuDevicePrimaryCtxRetain, (void **context, int id), *context = &modules)
SUCCEEDS(cuDevicePrimaryCtxRelease_v2, (int id), )

EXPORT CUresult cuCtxPushCurrent_v2(void *context)
{
    return context == &modules ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SUCCEEDS(cuCtxPopCurrent_v2, (void **context), *context = &modules)

/* ---- Modules ---------------------------------------------------------------------------------- */

EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    const elf_header *header = image;
    char name[32];
    *module = memcmp(header->magic, "\177ELF", 4) == 0 ? calloc(1, sizeof **module) : NULL;
    if (*module == NULL)
        return INVALID_IMAGE;
    const size_t ends[] = {(size_t)header->segments + (size_t)header->segment_size * header->segment_count,
                           (size_t)header->sections + (size_t)header->section_size * header->section_count};
    (*module)->number = modules++;
    (void)snprintf(name, sizeof name, "%d.cubin", (*module)->number);
    FILE *out = open_file(name, "wb");
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const size_t size = ends[0] > ends[1] ? ends[0] : ends[1];
    const int written = fwrite(image, 1, size, out) == size;
    return fclose(out) == 0 && written ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuModuleUnload(CUmodule module)
{
    for (CUfunction function = module->functions, next; function != NULL; function = next) {
        next = function->next;
        free(function);
    }
    free(module);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    *function = calloc(1, sizeof **function);
    if (*function == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    (*function)->module = module->number;
    (void)snprintf((*function)->name, sizeof (*function)->name, "%s", name);
    (*function)->next = module->functions;
    module->functions = *function;
    return CUDA_SUCCESS;
}

/* The one that the runtime asks for: the most threads of a block. */
EXPORT CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function)
{
    *value = 1024;
    return attribute == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Memory, streams, events ------------------------------------------------------------------ */

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    *address = next_address;
    next_address += (bytes + 255) / 256 * 256;
    return CUDA_SUCCESS;
}

SUCCEEDS(cuMemFree_v2, (CUdeviceptr address), )
SUCCEEDS(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, void *stream), )
SUCCEEDS(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, void *stream), )
SUCCEEDS(cuStreamCreate, (void **stream, unsigned flags), *stream = &next_address)
SUCCEEDS(cuStreamDestroy_v2, (void *stream), )
SUCCEEDS(cuStreamSynchronize, (void *stream), )
SUCCEEDS(cuEventCreate, (void **event, unsigned flags), *event = &next_address)
SUCCEEDS(cuEventDestroy_v2, (void *event), )
SUCCEEDS(cuEventRecord, (void *event, void *stream), )
SUCCEEDS(cuEventSynchronize, (void *event), )
SUCCEEDS(cuEventElapsedTime, (float *milliseconds, void *start, void *end), *milliseconds = 1)

/* ---- Launches --------------------------------------------------------------------------------- */

EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, void *stream,
                               void **parameters, void **extra)
{
    FILE *out = open_file("launches", "a");
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    (void)fprintf(out, "%d %s %u %u %u %u %u %u\n", function->module, function->name, grid_x, grid_y, grid_z, block_x,
                  block_y, block_z);
    /* The cubin says nothing of shared memory that a launch adds; the runtime adds none. */
    return fclose(out) == 0 && shared == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                          void *stream, void **parameters)
{
    return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters,
                          NULL);
}

/* So many start together as to try launches of all wavefronts. */
SUCCEEDS(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, CUfunction function, int threads, size_t shared),
         *blocks = 2)
