/* cuda_api.h: the parts of the CUDA driver API and of NVRTC that cuda_device.c uses, declared here
 * so that no header of CUDA is needed. Names and values are NVIDIA's. Internal. */
#ifndef TILEK_CUDA_API_H
#define TILEK_CUDA_API_H

#include "device/common/backend.h"

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef int nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
    CUDA_ERROR_LAUNCH_FAILED = 719
};

enum {
    CU_STREAM_NON_BLOCKING = 1,
    CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
    NVRTC_SUCCESS = 0,
    NVRTC_ERROR_COMPILATION = 6
};

enum { /* CUdevice_attribute */
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2, /* Y and Z follow */
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,  /* Y and Z follow */
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8, /* bytes */
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,     /* kHz */
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT = 17,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36, /* kHz */
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37, /* bits */
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95
};

enum { CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0 };

/* X(result, member, symbol, parameters): the symbol carries the version of the interface that is
 * declared here. */
#define TILEK_CUDA_FUNCTIONS(X) \
    X(CUresult, cuInit, "cuInit", (unsigned)) \
    X(CUresult, cuDriverGetVersion, "cuDriverGetVersion", (int *)) \
    X(CUresult, cuGetErrorString, "cuGetErrorString", (CUresult, const char **)) \
    X(CUresult, cuDeviceGetCount, "cuDeviceGetCount", (int *)) \
    X(CUresult, cuDeviceGet, "cuDeviceGet", (CUdevice *, int)) \
    X(CUresult, cuDeviceGetName, "cuDeviceGetName", (char *, int, CUdevice)) \
    X(CUresult, cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, CUdevice)) \
    X(CUresult, cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, CUdevice)) \
    X(CUresult, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice)) \
    X(CUresult, cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice)) \
    X(CUresult, cuCtxPushCurrent, "cuCtxPushCurrent_v2", (CUcontext)) \
    X(CUresult, cuCtxPopCurrent, "cuCtxPopCurrent_v2", (CUcontext *)) \
    X(CUresult, cuModuleLoadData, "cuModuleLoadData", (CUmodule *, const void *)) \
    X(CUresult, cuModuleUnload, "cuModuleUnload", (CUmodule)) \
    X(CUresult, cuModuleGetFunction, "cuModuleGetFunction", (CUfunction *, CUmodule, const char *)) \
    X(CUresult, cuFuncGetAttribute, "cuFuncGetAttribute", (int *, int, CUfunction)) \
    X(CUresult, cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t)) \
    X(CUresult, cuMemFree, "cuMemFree_v2", (CUdeviceptr)) \
    X(CUresult, cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void *, size_t, CUstream)) \
    X(CUresult, cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *, CUdeviceptr, size_t, CUstream)) \
    X(CUresult, cuStreamCreate, "cuStreamCreate", (CUstream *, unsigned)) \
    X(CUresult, cuStreamDestroy, "cuStreamDestroy_v2", (CUstream)) \
    X(CUresult, cuStreamSynchronize, "cuStreamSynchronize", (CUstream)) \
    X(CUresult, cuEventCreate, "cuEventCreate", (CUevent *, unsigned)) \
    X(CUresult, cuEventDestroy, "cuEventDestroy_v2", (CUevent)) \
    X(CUresult, cuEventRecord, "cuEventRecord", (CUevent, CUstream)) \
    X(CUresult, cuEventSynchronize, "cuEventSynchronize", (CUevent)) \
    X(CUresult, cuEventElapsedTime, "cuEventElapsedTime", (float *, CUevent, CUevent)) \
    X(CUresult, cuLaunchKernel, "cuLaunchKernel", \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))

/* Drivers before 11.4 lack some of these; all else works without them. */
#define TILEK_CUDA_GRAPH_FUNCTIONS(X) \
    X(CUresult, cuStreamBeginCapture, "cuStreamBeginCapture_v2", (CUstream, int)) \
    X(CUresult, cuStreamEndCapture, "cuStreamEndCapture", (CUstream, CUgraph *)) \
    X(CUresult, cuGraphDestroy, "cuGraphDestroy", (CUgraph)) \
    X(CUresult, cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", \
      (CUgraphExec *, CUgraph, unsigned long long)) \
    X(CUresult, cuGraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec)) \
    X(CUresult, cuGraphLaunch, "cuGraphLaunch", (CUgraphExec, CUstream))

/* Drivers before 9.0 lack these. */
#define TILEK_CUDA_COOPERATIVE_FUNCTIONS(X) \
    X(CUresult, cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor", \
      (int *, CUfunction, int, size_t)) \
    X(CUresult, cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **))

#define TILEK_NVRTC_FUNCTIONS(X) \
    X(nvrtcResult, nvrtcVersion, "nvrtcVersion", (int *, int *)) \
    X(nvrtcResult, nvrtcGetNumSupportedArchs, "nvrtcGetNumSupportedArchs", (int *)) \
    X(nvrtcResult, nvrtcGetSupportedArchs, "nvrtcGetSupportedArchs", (int *)) \
    X(const char *, nvrtcGetErrorString, "nvrtcGetErrorString", (nvrtcResult)) \
    X(nvrtcResult, nvrtcCreateProgram, "nvrtcCreateProgram", \
      (nvrtcProgram *, const char *, const char *, int, const char *const *, const char *const *)) \
    X(nvrtcResult, nvrtcDestroyProgram, "nvrtcDestroyProgram", (nvrtcProgram *)) \
    X(nvrtcResult, nvrtcCompileProgram, "nvrtcCompileProgram", (nvrtcProgram, int, const char *const *)) \
    X(nvrtcResult, nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize", (nvrtcProgram, size_t *)) \
    X(nvrtcResult, nvrtcGetProgramLog, "nvrtcGetProgramLog", (nvrtcProgram, char *)) \
    X(nvrtcResult, nvrtcGetCUBINSize, "nvrtcGetCUBINSize", (nvrtcProgram, size_t *)) \
    X(nvrtcResult, nvrtcGetCUBIN, "nvrtcGetCUBIN", (nvrtcProgram, char *)) \
    X(nvrtcResult, nvrtcGetPTXSize, "nvrtcGetPTXSize", (nvrtcProgram, size_t *)) \
    X(nvrtcResult, nvrtcGetPTX, "nvrtcGetPTX", (nvrtcProgram, char *))

#define TILEK_MEMBER(result, member, symbol, parameters) result(*member) parameters;
typedef struct tilek_cuda_graph_api { TILEK_CUDA_GRAPH_FUNCTIONS(TILEK_MEMBER) } tilek_cuda_graph_api;
typedef struct tilek_cuda_cooperative_api { TILEK_CUDA_COOPERATIVE_FUNCTIONS(TILEK_MEMBER) } tilek_cuda_cooperative_api;
typedef struct tilek_cuda_api {
    TILEK_CUDA_FUNCTIONS(TILEK_MEMBER)
    tilek_cuda_graph_api graphs;
    tilek_cuda_cooperative_api cooperative;
    int has_graphs; /* the driver has all that `graphs` holds */
    int has_cooperative; /* likewise */
} tilek_cuda_api;
typedef struct tilek_nvrtc_api { TILEK_NVRTC_FUNCTIONS(TILEK_MEMBER) } tilek_nvrtc_api;
#undef TILEK_MEMBER

/* Open the driver, and the compiler, and fill their tables: TILEK_NO_DEVICE where the driver is
 * absent or does not start, TILEK_COMPILE where the compiler is. Each to be called once; both
 * libraries stay loaded. */
tilek_status tilek_cuda_load(tilek_cuda_api *api, tilek_message *why);
tilek_status tilek_nvrtc_load(tilek_nvrtc_api *api, tilek_message *why);

/* The driver's own sentence. */
const char *tilek_cuda_error(const tilek_cuda_api *api, CUresult error);

#endif
