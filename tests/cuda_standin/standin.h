/* standin.h: a small stand-in for libcuda and NVRTC that runs CUDA C on the CPU, so that the CUDA path is tested without a GPU.
 *
 * nvrtc.c compiles the program's text with the host's C compiler; driver.c keeps the device's memory and launches; blocks.c runs the
 * threads of a block, one block after another, or in turns in a cooperative launch. An error of a kernel is found as on a device: at the next call that looks.
 *
 * TILEK_STANDIN_FAIL=alloc|copyin|launch|compile|nodevice|capture|endcapture|graph|play|cooperative|timeout|resident|toolarge makes every call of the kind fail; alloc:3 only the third;
 * any:7 the seventh of all calls but those that give something back, whichever it is, nvrtc:7 the seventh of NVRTC's, and any:0 or nvrtc:0 says at the end how many there
 * were. A failed launch
 * leaves the device lost, as a real one does. TILEK_STANDIN_DEVICES=N shows so many devices. TILEK_STANDIN_BLANK=TEXT leaves this out of every program, to see what
 * becomes of one without it. Built with STANDIN_WITHOUT_GRAPHS it is a driver from before them. */
#ifndef STANDIN_H
#define STANDIN_H

#include <stddef.h>

/* What prelude.h puts into every kernel library, found there by name. */
typedef struct standin_index { unsigned x, y, z; } standin_index;
typedef void (*standin_call)(void **parameters); /* "standin_call_" and the kernel's name */
typedef void (*standin_barrier_function)(int line);
typedef void (*standin_yield_function)(void);

typedef struct standin_kernel {
    standin_call call;
    int has_barriers;
    standin_index *thread, *block, *block_size, *grid_size; /* threadIdx, blockIdx, blockDim, gridDim */
    standin_barrier_function *barrier;
    standin_yield_function *yield; /* __nanosleep: the caller waits for others */
    const unsigned long *sizes; /* of the parameters, closed by 0: "standin_sizes_" and the kernel's name */
} standin_kernel;

typedef enum standin_outcome { STANDIN_DONE, STANDIN_DIVERGED, STANDIN_BAD_ADDRESS, STANDIN_NO_STACKS, STANDIN_STUCK } standin_outcome;

/* Threads of all blocks that a cooperative launch may have. */
enum { STANDIN_MOST_RESIDENT = 8192 };

/* Runs all blocks, one after another or, in a cooperative launch, in turns. One launch at a time: the caller holds a lock, since a kernel's shared arrays are
 * static (which is why cooperative launches may have none). */
standin_outcome standin_run(const standin_kernel *kernel, standin_index grid, standin_index block, void **parameters, int cooperative);

/* Whether this call of the kind is to fail. */
int standin_fails(const char *kind);

/* ---- Between driver.c and graphs.c ------------------------------------------------------------------------------- */

typedef struct CUgraph_st *CUgraph;
typedef struct CUmod_st { void *library; struct CUfunc_st *functions; } *CUmodule;
typedef struct CUfunc_st { standin_kernel kernel; CUmodule module; struct CUfunc_st *next; } *CUfunction;
typedef struct CUstream_st { CUgraph capturing; int spoiled; } *CUstream; /* capturing: NULL but during a capture, which is spoiled by calls that it forbids */

enum { STANDIN_SUCCESS = 0, STANDIN_INVALID_VALUE = 1, STANDIN_OUT_OF_MEMORY = 2, STANDIN_UNKNOWN = 999, STANDIN_CAPTURE_UNSUPPORTED = 900, STANDIN_CAPTURE_INVALIDATED = 901 };

/* The error that a call gives on a stream that captures, or (stream NULL) in a thread that does; 0 where nothing is captured. */
int standin_capture_forbids(CUstream stream);

/* Keeps a launch in the stream's capture, with copies of its parameters. */
int standin_capture(CUstream stream, CUfunction function, standin_index grid, standin_index block, void **parameters);

/* What any call that needs the context says first; and a launch, not counted. */
int standin_not_ready(void);
void standin_launch(CUfunction function, standin_index grid, standin_index block, void **parameters);

/* Executable graphs that are there, and those of them with functions of `module`, where one is given. */
int standin_graphs(CUmodule module);

/* Calls of cuGraphInstantiateWithFlags and cuGraphLaunch that went well. */
extern int standin_recorded, standin_played;

/* A compiled program, as the stand-in's "machine code": this, then the bytes of a shared library. */
typedef struct standin_image { char magic[8]; size_t size; } standin_image;
#define STANDIN_MAGIC "standin"

#define STANDIN_EXPORT __attribute__((visibility("default")))

#endif
