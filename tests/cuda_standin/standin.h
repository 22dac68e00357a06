/* standin.h: a small stand-in for libcuda and NVRTC that runs CUDA C on the CPU, so that the CUDA path is tested without a GPU.
 *
 * nvrtc.c compiles the program's text with the host's C compiler; driver.c keeps the device's memory and launches; blocks.c runs the
 * threads of a block, one block after another. An error of a kernel is found as on a device: at the next call that looks.
 *
 * TILEK_STANDIN_FAIL=alloc|launch|compile|nodevice makes every call of the kind fail; alloc:3 only the third. A failed launch leaves the
 * device lost, as a real one does. */
#ifndef STANDIN_H
#define STANDIN_H

#include <stddef.h>

/* What prelude.h puts into every kernel library, found there by name. */
typedef struct standin_index { unsigned x, y, z; } standin_index;
typedef void (*standin_call)(void **parameters); /* "standin_call_" and the kernel's name */
typedef void (*standin_barrier_function)(int line);

typedef struct standin_kernel {
    standin_call call;
    int has_barriers;
    standin_index *thread, *block, *block_size, *grid_size; /* threadIdx, blockIdx, blockDim, gridDim */
    standin_barrier_function *barrier;
} standin_kernel;

typedef enum standin_outcome { STANDIN_DONE, STANDIN_DIVERGED, STANDIN_BAD_ADDRESS, STANDIN_NO_STACKS } standin_outcome;

/* Runs all blocks. One launch at a time: the caller holds a lock, since a kernel's shared arrays are static. */
standin_outcome standin_run(const standin_kernel *kernel, standin_index grid, standin_index block, void **parameters);

/* Whether this call of the kind is to fail. */
int standin_fails(const char *kind);

/* A compiled program, as the stand-in's "machine code": this, then the bytes of a shared library. */
typedef struct standin_image { char magic[8]; size_t size; } standin_image;
#define STANDIN_MAGIC "standin"

#define STANDIN_EXPORT __attribute__((visibility("default")))

#endif
