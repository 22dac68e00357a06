/* prelude.h: CUDA C's words in the host's C; included before every kernel text by nvrtc.c. `__global__` is left for nvrtc.c to find. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct standin_index { unsigned x, y, z; } standin_index;
__attribute__((visibility("default"))) standin_index threadIdx, blockIdx, blockDim, gridDim;
__attribute__((visibility("default"))) void (*standin_barrier)(int line);

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
