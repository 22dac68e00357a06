// What small CUDA programs call of the CUDA runtime, over the driver API, for host code that
// cuda_text.py rewrote: a launch is `(simulated::configure(grid, block), kernel)(arguments)`, and a
// kernel a function that calls simulated::launch. SIMULATED_DEVICE_CODE names the file with the
// program's device code, compiled by NVRTC at the first launch. Everything is synchronous. Dynamic
// shared memory, streams at once, symbols and textures are not there.
#ifndef SIMULATED_CUDA_RUNTIME_H
#define SIMULATED_CUDA_RUNTIME_H

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <vector>

#define __global__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)

extern "C" {
int cuInit(unsigned);
int cuDeviceGet(int *, int);
int cuDeviceGetName(char *, int, int);
int cuDeviceGetAttribute(int *, int, int);
int cuDeviceTotalMem_v2(size_t *, int);
int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxPushCurrent_v2(void *);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuMemAlloc_v2(unsigned long long *, size_t);
int cuMemFree_v2(unsigned long long);
int cuMemcpyHtoDAsync_v2(unsigned long long, const void *, size_t, void *);
int cuMemcpyDtoHAsync_v2(void *, unsigned long long, size_t, void *);
int cuStreamCreate(void **, unsigned);
int cuStreamSynchronize(void *);
int cuEventCreate(void **, unsigned);
int cuEventDestroy_v2(void *);
int cuEventRecord(void *, void *);
int cuEventSynchronize(void *);
int cuEventElapsedTime(float *, void *, void *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                   void **);
int nvrtcCreateProgram(void **, const char *, const char *, int, const char *const *, const char *const *);
int nvrtcCompileProgram(void *, int, const char *const *);
int nvrtcGetPTXSize(void *, size_t *);
int nvrtcGetPTX(void *, char *);
int nvrtcGetProgramLogSize(void *, size_t *);
int nvrtcGetProgramLog(void *, char *);
}

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorUnknown = 999 };
typedef cudaError_t cudaError;
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
typedef void *cudaStream_t;
typedef void *cudaEvent_t;

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned width = 1, unsigned height = 1, unsigned depth = 1) : x(width), y(height), z(depth) {}
};

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock;
    int major, minor, warpSize, maxThreadsPerBlock, multiProcessorCount, clockRate;
};

namespace simulated {

enum { UNREADABLE = 100, REFUSED = 101 };

struct State {
    void *stream = nullptr, *module = nullptr;
    dim3 grid, block;
    int error = 0;
};

inline int fail(const char *what, const std::string &why)
{
    fprintf(stderr, "%s: %s\n", what, why.c_str());
    exit(2);
}

inline State &state()
{
    static State instance;
    if (instance.stream == nullptr) {
        void *context = nullptr;
        if (cuInit(0) != 0 || cuDevicePrimaryCtxRetain(&context, 0) != 0 || cuCtxPushCurrent_v2(context) != 0 ||
            cuStreamCreate(&instance.stream, 1) != 0)
            fail("the driver", "does not start");
    }
    return instance;
}

// PTX for compute capability 7.0, multiply-adds not contracted, of what SIMULATED_DEVICE_CODE names.
inline std::vector<char> compiled()
{
    static const char *const options[] = {"--gpu-architecture=compute_70", "--fmad=false", "--std=c++14"};
    std::string text;
    FILE *const file = fopen(SIMULATED_DEVICE_CODE, "rb");
    if (file == nullptr)
        fail(SIMULATED_DEVICE_CODE, "cannot be read");
    for (int letter; (letter = fgetc(file)) != EOF;)
        text += (char)letter;
    fclose(file);
    void *program = nullptr;
    size_t size = 0;
    if (nvrtcCreateProgram(&program, text.c_str(), SIMULATED_DEVICE_CODE, 0, nullptr, nullptr) != 0)
        fail("NVRTC", "takes no program");
    const int refused = nvrtcCompileProgram(program, 3, options) != 0;
    if ((refused ? nvrtcGetProgramLogSize(program, &size) : nvrtcGetPTXSize(program, &size)) != 0)
        fail("NVRTC", "gives nothing");
    std::vector<char> result(size + 1);
    if ((refused ? nvrtcGetProgramLog(program, result.data()) : nvrtcGetPTX(program, result.data())) != 0)
        fail("NVRTC", "gives nothing");
    if (refused)
        fail("NVRTC", result.data());
    return result;
}

inline cudaError_t kept(int error)
{
    if (error != 0)
        state().error = error;
    return error == 0 ? cudaSuccess : error == cudaErrorMemoryAllocation ? cudaErrorMemoryAllocation : cudaErrorUnknown;
}

inline void configure(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t = nullptr)
{
    if (shared_bytes != 0)
        fail("a launch", "dynamic shared memory is not simulated");
    state().grid = grid;
    state().block = block;
}

// The kernel with the grid and the blocks that were configured last.
inline void launch(const char *kernel, void **arguments)
{
    State &now = state();
    void *function = nullptr;
    if (now.module == nullptr && cuModuleLoadData(&now.module, compiled().data()) != 0)
        fail("the driver", "does not load the program's device code");
    if (cuModuleGetFunction(&function, now.module, kernel) != 0)
        fail(kernel, "is not in the program's device code");
    kept(cuLaunchKernel(function, now.grid.x, now.grid.y, now.grid.z, now.block.x, now.block.y, now.block.z, 0,
                        now.stream, arguments, nullptr));
}

inline int wait() { return cuStreamSynchronize(state().stream); }

inline int write(void *to, const void *from, size_t bytes)
{
    const int error = cuMemcpyHtoDAsync_v2((unsigned long long)(uintptr_t)to, from, bytes, state().stream);
    return error != 0 ? error : wait();
}

inline int read(void *to, const void *from, size_t bytes)
{
    const int error = cuMemcpyDtoHAsync_v2(to, (unsigned long long)(uintptr_t)from, bytes, state().stream);
    return error != 0 ? error : wait();
}

} // namespace simulated

template <class T> static inline cudaError_t cudaMalloc(T **address, size_t bytes)
{
    unsigned long long made = 0;
    simulated::state();
    const cudaError_t error = simulated::kept(cuMemAlloc_v2(&made, bytes));
    *address = (T *)(uintptr_t)made;
    return error;
}
static inline cudaError_t cudaFree(void *address)
{
    return address == nullptr ? cudaSuccess : simulated::kept(cuMemFree_v2((unsigned long long)(uintptr_t)address));
}
template <class T> static inline cudaError_t cudaMallocHost(T **address, size_t bytes)
{
    *address = (T *)malloc(bytes);
    return simulated::kept(*address == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}
static inline cudaError_t cudaFreeHost(void *address) { return free(address), cudaSuccess; }

static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    if (kind == cudaMemcpyHostToDevice)
        return simulated::kept(simulated::write(to, from, bytes));
    if (kind == cudaMemcpyDeviceToHost)
        return simulated::kept(simulated::read(to, from, bytes));
    if (kind == cudaMemcpyHostToHost)
        return memcpy(to, from, bytes), cudaSuccess;
    if (kind != cudaMemcpyDeviceToDevice)
        return simulated::kept(cudaErrorInvalidValue);
    std::vector<char> between(bytes);
    const int error = simulated::read(between.data(), from, bytes);
    return simulated::kept(error != 0 ? error : simulated::write(to, between.data(), bytes));
}
static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                                          cudaStream_t = nullptr)
{
    return cudaMemcpy(to, from, bytes, kind);
}
static inline cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    return simulated::kept(simulated::write(to, std::vector<char>(bytes, (char)value).data(), bytes));
}

static inline cudaError_t cudaDeviceSynchronize() { return simulated::kept(simulated::wait()); }
static inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
static inline cudaError_t cudaPeekAtLastError() { return (cudaError_t)simulated::state().error; }
static inline cudaError_t cudaGetLastError()
{
    const cudaError_t error = cudaPeekAtLastError();
    simulated::state().error = 0;
    return error;
}
static inline const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error" : error == cudaErrorMemoryAllocation ? "no memory" : "the driver failed";
}

static inline cudaError_t cudaSetDevice(int device) { return simulated::kept(device == 0 ? cudaSuccess : cudaErrorInvalidValue); }
static inline cudaError_t cudaGetDevice(int *device) { return *device = 0, cudaSuccess; }
static inline cudaError_t cudaGetDeviceCount(int *count) { return *count = 1, cudaSuccess; }
static inline cudaError_t cudaDeviceReset() { return cudaSuccess; }
static inline cudaError_t cudaThreadExit() { return cudaSuccess; }
template <class T> static inline cudaError_t cudaFuncSetCacheConfig(T, cudaFuncCache) { return cudaSuccess; }
static inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    simulated::state();
    *properties = cudaDeviceProp();
    int shared = 0, error = cuDeviceGetName(properties->name, sizeof properties->name, device);
    const struct { int attribute, *value; } attributes[] = {
        {1, &properties->maxThreadsPerBlock}, {8, &shared},
        {10, &properties->warpSize},          {13, &properties->clockRate},
        {16, &properties->multiProcessorCount}, {75, &properties->major},
        {76, &properties->minor},
    };
    for (const auto &wanted : attributes)
        error |= cuDeviceGetAttribute(wanted.value, wanted.attribute, device);
    properties->sharedMemPerBlock = (size_t)shared;
    return simulated::kept(error | cuDeviceTotalMem_v2(&properties->totalGlobalMem, device));
}

static inline cudaError_t cudaStreamCreate(cudaStream_t *stream) { return *stream = nullptr, cudaSuccess; }
static inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
static inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaDeviceSynchronize(); }
static inline cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    simulated::state();
    return simulated::kept(cuEventCreate(event, 0));
}
static inline cudaError_t cudaEventDestroy(cudaEvent_t event) { return simulated::kept(cuEventDestroy_v2(event)); }
static inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t = nullptr)
{
    return simulated::kept(cuEventRecord(event, simulated::state().stream));
}
static inline cudaError_t cudaEventSynchronize(cudaEvent_t event) { return simulated::kept(cuEventSynchronize(event)); }
static inline cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t stop)
{
    return simulated::kept(cuEventElapsedTime(milliseconds, start, stop));
}

#endif
