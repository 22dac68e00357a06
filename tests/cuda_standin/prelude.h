/* prelude.h: CUDA C's words in the host's C; included before every kernel text by nvrtc.c. `__global__` is left for nvrtc.c to find. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct standin_index { unsigned x, y, z; } standin_index;
__attribute__((visibility("default"))) standin_index threadIdx, blockIdx, blockDim, gridDim;
__attribute__((visibility("default"))) void (*standin_barrier)(int line);
__attribute__((visibility("default"))) void (*standin_yield)(void);

/* Vectors, through which programs may see arrays of their components. */
#define STANDIN_VECTOR(type, name, bytes, ...) \
    typedef struct name { type __VA_ARGS__; } __attribute__((aligned(bytes), may_alias)) name
STANDIN_VECTOR(float, float2, 8, x, y);
STANDIN_VECTOR(float, float4, 16, x, y, z, w);
STANDIN_VECTOR(double, double2, 16, x, y);
STANDIN_VECTOR(int, int2, 8, x, y);
STANDIN_VECTOR(int, int4, 16, x, y, z, w);
STANDIN_VECTOR(unsigned, uint2, 8, x, y);
STANDIN_VECTOR(unsigned, uint4, 16, x, y, z, w);
STANDIN_VECTOR(long long, longlong2, 16, x, y);
STANDIN_VECTOR(unsigned long long, ulonglong2, 16, x, y);

#define __CUDACC_RTC__ 1
#define __CUDA_ARCH__ 800
#define TILEK_NO_ASYNC 1
#define __device__
#define __host__
#define __shared__ static
#define __constant__ const
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __syncthreads() standin_barrier(__LINE__)
#define __syncthreads_or(same_for_all) (standin_barrier(__LINE__), (same_for_all))
#define __threadfence() __sync_synchronize()
#define __nanosleep(nanoseconds) standin_yield()
