/* backend.h: what the runtime's core asks of a device API (opencl_device.c, cuda_device.c).
 * Internal; not installed for users. A new API implements `tilek_backend` in a folder of its own;
 * device/open_devices.c opens it, kernel/targets.c orders it.
 *
 * Every function may be called from any thread at any time, concurrently too; a backend does its
 * own locking. None writes to stderr, exits or aborts: a failure is a status and a sentence in
 * `why` (never NULL), without a final full stop and without a newline except in compiler logs.
 * Nothing of the user's memory is touched by a call that fails, `read` excepted. */
#ifndef TILEK_BACKEND_H
#define TILEK_BACKEND_H

#include "base/message.h"
#include "tilek.h"

/* The API's own structures; the core only passes them on. */
typedef struct tilek_device tilek_device;
typedef struct tilek_program tilek_program;
typedef struct tilek_entry tilek_entry;
typedef struct tilek_graph tilek_graph;

/* Device memory; which member a backend uses is its own matter. All zero where there is none. */
typedef struct tilek_buffer { void *object; uint64_t address; size_t bytes; } tilek_buffer;

/* Numbers that are not known are 0. */
typedef struct tilek_limits {
    char name[128];
    char driver[128];         /* name and version, as the disk cache's key needs them */
    int is_gpu;
    int has_double;
    int shares_memory;        /* a processor that works in the host's memory: see `share` */
    int records;              /* launches can be recorded: see `record` */
    int persists;             /* all gangs of a launch can be there at once: see `run_resident` */
    int64_t compute_units;    /* multiprocessors; cores of a CPU device */
    int64_t grid[3];          /* most gangs per dimension */
    int64_t group[3];         /* most workers per dimension */
    int64_t group_total;
    int64_t local_memory;     /* bytes of shared memory that a gang may have; INT64_MAX where not known */
    uint64_t memory;          /* bytes of global memory */
    uint64_t allocation;      /* most bytes of one buffer */
    double bandwidth;         /* bytes per second, theoretical */
    double flops_float;       /* floating-point operations per second, theoretical */
    double flops_double;
} tilek_limits;

/* Given to the compiler as -DNAME=VALUE, printed as a 64-bit signed literal of the dialect, in
 * parentheses where negative. */
/* `short_literal`: an int where the value fits, since what it is multiplied by has the wanted type;
 * other literals are of 64 bits. */
typedef struct tilek_constant { const char *name; int64_t value; int short_literal; } tilek_constant;

/* A number that is an argument of entry point `entry`; `first`: no argument comes before it. */
typedef struct tilek_number_argument { const char *entry, *name; int first; } tilek_number_argument;

typedef struct tilek_build {
    const char *name, *file; /* the kernel's name and the user's file, for messages */
    const char *source;      /* whole program text */
    unsigned flags;          /* tilek_kernel.flags: contraction and fast math follow them */
    int specialized;         /* define TILEK_SPECIALIZED too */
    int constant_count;
    const tilek_constant *constants;
    /* numbers that this specialised program has as arguments, those of an entry point one after
     * another: TILEK_ARGUMENTS_ENTRY is defined */
    int argument_count;
    const struct tilek_number_argument *arguments;
    /* entry points that this specialised program does without: TILEK_WITHOUT_ENTRY is defined */
    int unreached_count;
    const char *const *unreached;
} tilek_build;

typedef enum tilek_argument_kind { TILEK_ARGUMENT_BUFFER, TILEK_ARGUMENT_VALUE } tilek_argument_kind;

/* One argument of an entry point. BUFFER: `buffer`, which may be all zero (an empty array: a null
 * address). VALUE: `size` bytes at `value`. */
typedef struct tilek_argument {
    tilek_argument_kind kind;
    const tilek_buffer *buffer;
    const void *value;
    size_t size;
} tilek_argument;

/* Queues are in order and numbered from 0; 0 serves synchronous launches (of all user threads), the
 * others one asynchronous queue each. Nothing orders two queues; a backend makes a queue when it is
 * first named. */
enum { TILEK_DEVICE_QUEUES = 32, TILEK_RECORDING_QUEUE = TILEK_DEVICE_QUEUES };

typedef struct tilek_backend {
    const char *name; /* "OpenCL", "CUDA" */

    /* The device with this number. -1: the first whose name contains `name_part` (NULL: any), GPUs
     * before others. A device that was opened before is the same pointer again; devices stay open
     * until shutdown. TILEK_NO_DEVICE where the library or the device is absent (the sentence says
     * which, and what was looked for); a failed search is remembered, so asking again costs
     * nothing. */
    tilek_status (*open)(int64_t number, const char *name_part, tilek_device **device, tilek_message *why);
    const tilek_limits *(*limits)(const tilek_device *device);

    /* `bytes` > 0. TILEK_NO_MEMORY where the device has too little: the core then drops what it can
     * and asks again. */
    tilek_status (*allocate)(tilek_device *device, size_t bytes, tilek_buffer *buffer, tilek_message *why);
    /* zeroes *buffer; harmless on zeros. No work on it is under way. */
    void (*release)(tilek_device *device, tilek_buffer *buffer);

    /* Memory of the host's as a buffer, in place of a copy; NULL where no device shares memory. The
     * host leaves it alone until the work is done and `reclaim` has returned; `release` then
     * forgets it. A failure of `share` is no reason to give up: copies do as well. */
    tilek_status (*share)(tilek_device *device, void *start, size_t bytes, tilek_buffer *buffer, tilek_message *why);
    tilek_status (*reclaim)(tilek_device *device, int queue, const tilek_buffer *buffer, tilek_message *why);

    /* Both return when the data have arrived: `source` may change, and every queue sees the
     * device's copy. They run after the work that was put in `queue` before them. The range lies
     * inside the buffer. */
    tilek_status (*write)(tilek_device *device, int queue, const tilek_buffer *buffer, size_t offset,
                          const void *source, size_t bytes, tilek_message *why);
    tilek_status (*read)(tilek_device *device, int queue, const tilek_buffer *buffer, size_t offset, void *destination,
                         size_t bytes, tilek_message *why);

    /* Compiles, or takes the binary from the disk cache. The core keeps programs in memory by
     * kernel, device and constants, so a backend need not. *from_cache (never NULL) says whether
     * the compiler was spared. TILEK_COMPILE: `why` holds the log's beginning. */
    tilek_status (*build)(tilek_device *device, const tilek_build *build, tilek_program **program, int *from_cache,
                          tilek_message *why);
    void (*drop)(tilek_device *device, tilek_program *program); /* with its entries; none is running */

    /* An entry point and the most workers it can have on this device (registers, local memory).
     * Entries live as long as their program. */
    tilek_status (*find)(tilek_device *device, tilek_program *program, const char *name, tilek_entry **entry,
                         int64_t *group_total, tilek_message *why);

    /* Queues a launch of `groups` gangs of `group` workers (each >= 1, within the limits);
     * arguments are copied before it returns. With `nanoseconds` not NULL it waits for the end and
     * says how long the kernel itself took, and may fail half-way; without, what fails is not
     * queued. Cheap: no formatting, no look-up by name. Two threads may run the same entry at once,
     * with different arguments. */
    tilek_status (*run)(tilek_device *device, int queue, tilek_entry *entry, int argument_count,
                        const tilek_argument arguments[], const int64_t groups[3], const int64_t group[3],
                        int64_t *nanoseconds, tilek_message *why);

    /* How many gangs of `group` workers of the entry point the device holds at once; 0: none, or it
     * does not tell. Then `run` in one dimension, of `groups` gangs or, where fewer are there at
     * once, of fewer: all of a launch's gangs run from its begin to its end, so that they may wait
     * for each other. Both NULL where no device's `persists` is set. */
    int64_t (*resident)(tilek_device *device, tilek_entry *entry, const int64_t group[3]);
    tilek_status (*run_resident)(tilek_device *device, int queue, tilek_entry *entry, int argument_count,
                                 const tilek_argument arguments[], int64_t groups, const int64_t group[3],
                                 int64_t *nanoseconds, tilek_message *why);

    /* Around calls of one thread in a row, which then cost less each: nothing of the program's own
     * may run between. Both NULL where nothing is saved. */
    tilek_status (*enter)(tilek_device *device, tilek_message *why);
    void (*leave)(tilek_device *device);

    /* Launches to be played again by one call; all NULL where no device's `records` is set. What
     * the calling thread gives to `run` in TILEK_RECORDING_QUEUE between `record` and `recorded` is
     * kept in its order, with its arguments, and does not run; it calls nothing else of the backend
     * there. TILEK_UNSUPPORTED: another thread is recording on the device. After a successful
     * `record`, `recorded` is to be called, failure or not; it leaves NULL in *graph where there is
     * none. */
    tilek_status (*record)(tilek_device *device, tilek_message *why);
    tilek_status (*recorded)(tilek_device *device, tilek_graph **graph, tilek_message *why);
    /* Queues all of a graph's launches. A graph has one user at a time, who waits for the queue
     * before it is played again or forgotten; a failure means that none of them runs. Entries live
     * longer than graphs with them. */
    tilek_status (*play)(tilek_device *device, int queue, tilek_graph *graph, tilek_message *why);
    void (*forget)(tilek_device *device, tilek_graph *graph);

    /* Until the queue is empty. Failures of earlier launches surface here at the latest. */
    tilek_status (*wait)(tilek_device *device, int queue, tilek_message *why);

    /* Frees devices, queues and libraries. Called once, at exit, when all buffers and programs are
     * gone and no thread is in the API. The core registers its exit handler after the first
     * successful open, so that the API's own exit handlers run later. */
    void (*shutdown)(void);
} tilek_backend;

#endif
