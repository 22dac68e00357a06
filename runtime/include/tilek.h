/* tilek.h: what generated code and the runtime agree on. C90 with stdint.h; no other header of the
 * runtime is public.
 *
 * A translated region is a constant tilek_kernel (what is known when the source is translated) and,
 * at each execution, a tilek_call (what is known when it is launched). tilek_launch runs the call
 * on a target; where it cannot, or where TILEK_VERIFY asks for it, it returns nonzero, and the
 * generated code runs the user's own loop, then tilek_complete. */
#ifndef TILEK_H
#define TILEK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A program has one runtime, that of the program or of the first library with kernels: data regions
 * of one are known to all others. */
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

#define TILEK_ABI 14

/* C90 has no `inline`. */
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define TILEK_INLINE static inline
#elif defined(__GNUC__)
#define TILEK_INLINE static __inline__ __attribute__((unused))
#else
#define TILEK_INLINE static
#endif

typedef enum tilek_status {
    TILEK_OK = 0,
    TILEK_INVALID,     /* an argument breaks this header's contract */
    TILEK_NO_MEMORY,   /* host or device memory is exhausted */
    TILEK_NO_DEVICE,   /* the target is not present on this machine */
    TILEK_COMPILE,     /* device code did not compile */
    TILEK_DEVICE_LOST, /* a device call failed */
    TILEK_UNSUPPORTED  /* sizes or counts beyond what the target can do */
} tilek_status;

typedef enum tilek_target {
    TILEK_SERIAL,
    TILEK_THREADS,
    TILEK_OPENCL,
    TILEK_CUDA,
    TILEK_TARGETS,
    TILEK_AUTO = TILEK_TARGETS
} tilek_target;

/* ---- Algorithm 1: tile counts and strides (tile.c) ------------------------------------------- */

typedef enum tilek_tile_kind {
    TILEK_TILE_STATIC,  /* argument = count */
    TILEK_TILE_SIZE,    /* argument = extent of one tile, in iterations */
    TILEK_TILE_DYNAMIC, /* argument unused */
    TILEK_TILE_THREAD,  /* argument = count of the axis, as for gang and worker */
    TILEK_TILE_GANG,
    TILEK_TILE_WORKER
} tilek_tile_kind;

/* One tile, in iterations: it takes the values 0, stride, 2 stride, … (count of them). */
typedef struct tilek_tile {
    int64_t count;
    int64_t stride;
} tilek_tile;

/* Trip count of for (i = lower; i COMPARISON upper; i += step), comparison one of '<', 'l' (<=),
 * '>', 'g' (>=), '!'. `step` nonzero; a step against the comparison's direction gives 0 for an
 * empty loop, -1 (endless) otherwise. Exact for all of int64. */
int64_t tilek_trip(int64_t lower, int64_t upper, int64_t step, char comparison);

/* docs/LANGUAGE.md, Algorithm 1. Tiles in declaration order. A tile of extent size S counts as
 * static with ceil(what is left / S)… outermost in. Without a dynamic tile the product of counts
 * must be >= trip: TILEK_INVALID otherwise (the translator appends a dynamic tile). *exact is set
 * to 1 where every combination of tile iterators is an iteration (no guard is needed). */
tilek_status tilek_tiles(int64_t trip, int tile_count, const tilek_tile_kind kinds[], const int64_t arguments[],
                         tilek_tile tiles[], int *exact);

/* The paper's figures for the same tiles: length = stride * count, both times the loop's step. */
void tilek_lengths(int64_t step, int tile_count, const tilek_tile tiles[], int64_t lengths[], int64_t strides[]);

/* ---- What a translated region is (constant) -------------------------------------------------- */

typedef enum tilek_type {
    TILEK_INT8, TILEK_UINT8, TILEK_INT16, TILEK_UINT16, TILEK_INT32, TILEK_UINT32, TILEK_INT64, TILEK_UINT64,
    TILEK_FLOAT, TILEK_DOUBLE, TILEK_LONG_DOUBLE, TILEK_BOOL
} tilek_type;

/* `count` consecutive values of `type` at `offset` in an element; a plain number is one field at
 * 0. */
typedef struct tilek_field { const char *name; size_t offset; tilek_type type; size_t count; } tilek_field;

typedef enum tilek_storage { TILEK_SCALAR, TILEK_CONTIGUOUS, TILEK_ROWS } tilek_storage;

enum { /* tilek_array_shape.flags */
    TILEK_READS = 1, TILEK_WRITES = 2,
    TILEK_COPY_IN = 4, TILEK_COPY_OUT = 8, /* what moves where the array is not present */
    TILEK_MUST_BE_PRESENT = 16,
    /* The section is not known: only in kernels without launches, of arrays that are only read and
     * share no memory with what is written, or where the user calls iterations independent. Devices
     * need such an array to be present as far as it is touched. */
    TILEK_UNKNOWN_EXTENT = 32,
    /* The kernel's own, for the time of a launch: the runtime allocates it, and `base` is NULL in
     * the call. Its section is all of it. */
    TILEK_TEMPORARY = 64,
    /* Of a temporary: no host launch touches it, so that it is allocated only where a device may be
     * chosen. */
    TILEK_DEVICES_ONLY = 128,
    /* The section holds all that may be touched, but the array may be smaller, or NULL: nothing may
     * read or write all of it. */
    TILEK_POSSIBLE_EXTENT = 256,
    /* Launches reduce this scalar to a minimum or maximum in any order, which may change the sign
     * of a zero. If it ends as a zero, the runtime restores the scalars and the original loop runs.
     * The kernel reads nothing else that it writes. */
    TILEK_ORDERED_ZERO_ON_HOSTS = 512, TILEK_ORDERED_ZERO_ON_DEVICES = 1024,
    /* Of rows: the original loop runs where one shares memory with another array, or (DISTINCT)
     * with another row, if one of the two is written. */
    TILEK_ROWS_APART = 2048, TILEK_ROWS_DISTINCT = 4096
};

/* A kernel with ordered zeros writes at most so many scalars, all of them numbers. */
enum { TILEK_MOST_RESTORED = 16 };

enum { TILEK_MAX_RANK = 8, TILEK_MAX_TILES = 16, TILEK_AXES = 7 };
/* Axes in this order everywhere: thread, gang 0..2, worker 0..2. */
enum { TILEK_AXIS_THREAD, TILEK_AXIS_GANG, TILEK_AXIS_WORKER = 4 };

typedef struct tilek_array_shape {
    const char *name;      /* as the user writes it */
    tilek_storage storage; /* SCALAR: a scalar that the kernel writes */
    int rank;
    size_t element_size;
    int field_count;
    const tilek_field *fields;
    unsigned flags;
} tilek_array_shape;

typedef struct tilek_loop_shape {
    const char *symbol; /* prefix of its numbers in kernels: i_trip, i_count0, i_stride0 */
    int tile_count;
    const tilek_tile_kind *kinds;
    const int *axes;         /* per tile the axis index, or -1 */
    int first_argument;      /* its tiles' arguments start here in tilek_call.tile_arguments (one a tile) */
    /* range of the iterator's type: bounds plus stride must stay inside, else TILEK_UNSUPPORTED */
    int64_t iterator_minimum;
    int64_t iterator_maximum; /* INT64_MAX for unsigned 64-bit */
} tilek_loop_shape;

typedef enum tilek_operator {
    TILEK_ADD,
    TILEK_MULTIPLY,
    TILEK_MINIMUM,
    TILEK_MAXIMUM,
    TILEK_BIT_AND,
    TILEK_BIT_OR,
    TILEK_BIT_XOR,
    TILEK_LOGICAL_AND,
    TILEK_LOGICAL_OR,
    TILEK_MINIMUM_NUMBER,
    TILEK_MAXIMUM_NUMBER /* fmin and fmax: NaNs are passed over */
} tilek_operator;

/* Instances deliver partial values; the runtime combines them in a binary tree over their indices
 * (tilek_combine), and then with the scalar's old value. `array` is the index of the reduced scalar
 * among the kernel's arrays (storage SCALAR). */
typedef struct tilek_reduction { tilek_operator operation; tilek_type type; int array; } tilek_reduction;

/* Parameters of a device entry point, in order. Those with a `constant` name may be given as
 * -DNAME=value instead (TILEK_SPECIALIZE): then TILEK_SPECIALIZED is defined and they are not
 * passed, and TILEK_WITHOUT_ENTRY for each entry point that no step of the call reaches. Numbers
 * that differ from launch to launch are passed even then: TILEK_ARGUMENTS_ENTRY is defined as their
 * declarations, with a comma before them where others come first. All numbers are passed as 64-bit
 * signed; SCALAR by its own bytes. */
typedef enum tilek_parameter_kind {
    TILEK_PARAMETER_ARRAY,      /* device address; index = array */
    /* CONTIGUOUS: elements between the object's start and the device copy's start; index = array */
    TILEK_PARAMETER_ORIGIN,
    /* CONTIGUOUS: the object's own length of `dimension` >= 1; ROWS: the packed length; index =
     * array */
    TILEK_PARAMETER_LENGTH,
    TILEK_PARAMETER_LOWER,      /* ROWS: first index of `dimension` that is packed; index = array */
    TILEK_PARAMETER_SCALAR,     /* index = scalar */
    TILEK_PARAMETER_LOOP_LOWER, /* index = loop, among the launch's loops */
    TILEK_PARAMETER_LOOP_STEP,
    TILEK_PARAMETER_LOOP_TRIP,
    TILEK_PARAMETER_TILE_COUNT,  /* index = loop, dimension = tile */
    TILEK_PARAMETER_TILE_STRIDE, /* index = loop, dimension = tile */
    TILEK_PARAMETER_AXIS_COUNT,  /* index = axis */
    /* index = entry of tile_arguments: for loops whose tiles are computed in the kernel */
    TILEK_PARAMETER_TILE_ARGUMENT,
    TILEK_PARAMETER_PARTIALS,    /* device buffer of one partial value a gang; index = reduction */
    /* index = axis of threads or gangs: how many of its instances a group of the launch takes at
     * most */
    TILEK_PARAMETER_AXIS_ROUNDS,
    TILEK_PARAMETER_VALUE,       /* index = value of the step (tilek_step), by its own bytes */
    TILEK_PARAMETER_SIZE,        /* index = tile size of the kernel */
    /* 32 where positions in all arrays, and what leads to them, fit in 31 bits with room to spare;
     * else 64 */
    TILEK_PARAMETER_INDEX_BITS,
    /* the value of an integer, of up to 64 bits; index = scalar */
    TILEK_PARAMETER_SCALAR_NUMBER,
    /* Of persistent launches, those of all wavefronts at once (tilek_kernel.persistent): */
    TILEK_PARAMETER_FLAGS,        /* device buffer of one 64-bit number a column */
    /* device buffer of 64-bit numbers: of each wavefront from the first to the last, of each loop
     * over gangs, its first and its last iteration */
    TILEK_PARAMETER_BOXES,
    /* no flag is greater before the launch; after n wavefronts of a column its flag is this + n */
    TILEK_PARAMETER_FLAGS_BASE,
    TILEK_PARAMETER_WAVE_FIRST,   /* the first wavefront's number (tilek_wave) */
    TILEK_PARAMETER_WAVE_LAST,
    TILEK_PARAMETER_COLUMN_LOWER, /* index = loop: the least of its iterations in any wavefront */
    TILEK_PARAMETER_COLUMN_COUNT  /* index = loop: as many from there on are in some wavefront */
} tilek_parameter_kind;

typedef struct tilek_parameter {
    tilek_parameter_kind kind;
    int index;
    int dimension;
    const char *constant;
} tilek_parameter;

struct tilek_host_call;
struct tilek_call;
struct tilek_run;

/* tilek_launch_shape.axes: the launch has work even where its first loop has no iteration, since
 * that loop is not around all of it. */
enum { TILEK_LAUNCH_ALWAYS = 1 << 8 };

/* Likewise: static tiles between gangs and workers are the points of a worker, of which the
 * runtime may take a half, a quarter, and so on, down to one. */
enum { TILEK_LAUNCH_POINTS = 1 << 9 };

/* Likewise: a gang's workers copy what its tile touches, which is more than they compute at
 * once. */
enum { TILEK_LAUNCH_COPIES = 1 << 10 };

/* One nest. A host function computes the instances [first, last) of the launch's parallel space:
 * the thread axis, else the gangs (linearised, dimension 0 fastest), else one instance. It loops
 * over workers itself. */
typedef struct tilek_launch_shape {
    const char *entry; /* name in the device source; also shown in profiles */
    int loop_count;
    const tilek_loop_shape *loops;
    unsigned axes; /* bit k: axis k is in use; TILEK_LAUNCH_ALWAYS, TILEK_LAUNCH_POINTS */
    void (*host)(const struct tilek_host_call *call, int64_t first, int64_t last); /* NULL in device launches */
    int reduction_count;
    const tilek_reduction *reductions;
    int parameter_count; /* of the entry point; 0 in host launches where the kernel has no program for processors */
    const tilek_parameter *parameters;
    int value_count;           /* values that differ from step to step: iterators of host loops around the launch */
    const size_t *value_sizes;
    /* 0: its reductions may be combined in any order. Else their order is fixed: the loops' trips
     * alone decide the number of instances, each of which takes at least this many iterations of
     * its loop. */
    int64_t chunk;
} tilek_launch_shape;

/* A tile's extent that is chosen at launch: by TILEK_SIZES=name=8,kernel.name=32, or one of
 * these. */
typedef struct tilek_size { const char *name; int64_t host, device; } tilek_size;

/* What calls take whose arrays have at most `bytes` bytes in their sections (arrays for devices
 * only do not count) and whose outermost loop has at most `trips` iterations; INT64_MAX: no limit.
 * `version`: 0: the kernel itself, else versions[version - 1] of it. `sizes`: one per tile size of
 * that version, each >= 1; NULL: the defaults in tilek_size. */
typedef struct tilek_choice { int64_t bytes, trips; const int64_t *sizes; int version; } tilek_choice;

/* What a launch touches of an array, by rows: indices of its first dimension. An iteration of the
 * divided loop whose iterator is i touches rows scale * i + least to scale * i + greatest (scale 0:
 * all iterations the same ones); INT64_MIN and INT64_MAX: all rows. `rank`: dimensions of the array
 * as device code sees it, by which rows are as long as they are. `base`: which of
 * tilek_call.row_bases, counted from 1, is added to both; 0: none. */
typedef struct tilek_row_use {
    int array;
    unsigned access; /* TILEK_READS, TILEK_WRITES */
    int rank;
    int64_t scale, least, greatest;
    int base;
} tilek_row_use;

/* How the iterations of a device launch are distributed over several devices: those of `loop` in
 * blocks, so that different iterations write different rows; -1: all of the launch on one device.
 * Arrays that it does not touch have no use. */
typedef struct tilek_division { int loop, use_count; const tilek_row_use *uses; } tilek_division;

/* The order in which a kernel's launches run, with loops around them: calls tilek_step once for
 * each, and returns at once with what tilek_step returned where that is nonzero; else 0. It changes
 * nothing but its own variables, and may be called more than once. */
typedef int (*tilek_steps)(struct tilek_run *run, const struct tilek_call *call);

enum { /* tilek_kernel.flags */
    TILEK_CONTRACT = 1,  /* the host may fuse multiply-adds, so devices may */
    TILEK_FAST_MATH = 2, /* -ffast-math */
    TILEK_USES_DOUBLE = 4,
    TILEK_TARGET_EXPLICIT = 8, /* `preferred` is the user's own target clause: it goes before TILEK_TARGET */
    TILEK_MUST_BE_APART = 16,  /* the original loop runs where a written array shares memory with another */
    TILEK_VARYING_STEPS = 32   /* a launch's bounds may differ from step to step */
};

typedef struct tilek_kernel {
    int abi; /* TILEK_ABI */
    const char *name, *file;
    int line;
    unsigned flags;
    unsigned targets;       /* bit t: built for target t */
    tilek_target preferred; /* what the source says; TILEK_AUTO leaves it to the environment */
    /* the program's text in pieces to be concatenated, ended by NULL; NULL where there is none */
    const char *const *opencl;
    const char *const *cuda;   /* likewise */
    /* Likewise: OpenCL's program for devices that are processors. Its entry points are the host's
     * launches: each group, of one work-item, computes a stretch of the instances [0, AXIS_COUNTs'
     * product). NULL: processors run `opencl`. In a version for hosts alone, `opencl` is NULL and
     * this is not. */
    const char *const *processors;
    int array_count;
    const tilek_array_shape *arrays;
    int scalar_count;
    const size_t *scalar_sizes;
    int host_launch_count;
    const tilek_launch_shape *host_launches;
    int device_launch_count;
    const tilek_launch_shape *device_launches;
    int tile_argument_count;
    /* entries of tilek_call.loops: bounds of every loop with launch bounds, shared by host and
     * device launches */
    int loop_count;
    const int *host_loops;   /* per loop of all host launches, concatenated: its entry in tilek_call.loops */
    const int *device_loops; /* likewise for device launches */
    tilek_steps host_steps;   /* NULL: every launch once, in order, with bounds from tilek_call.loops */
    tilek_steps device_steps;
    int size_count;
    const tilek_size *sizes;
    int choice_count;
    const tilek_choice *choices; /* of launches of hosts; the first one that holds counts */
    void **state; /* the runtime's memory of this kernel: address of a static void * that starts NULL */
    const tilek_division *divisions; /* one a device launch; NULL: a call runs on one device */
    int row_base_count; /* entries of tilek_call.row_bases */
    /* Behind its device_launch_count launches, device_launches has so many more, for `cuda` alone:
     * persistent variants of the launches with these numbers. They have the same loops, and the
     * same values but for the last. */
    int persistent_count;
    const int *persistent;
    int device_choice_count;
    const tilek_choice *device_choices; /* of launches of devices */
    int version_count;
    /* the same region in other ways; tilek_version says which one a call is to be launched with */
    const struct tilek_kernel *const *versions;
    int version;                /* of one of these: its number, from 1 */
    const char *version_text;   /* and what it is, for readers */
    int processor_choice_count;
    /* of launches of hosts on OpenCL devices that are processors, which look at them before
     * `choices` */
    const tilek_choice *processor_choices;
    /* ended by NULL: names of parameters' constants that specialised programs need as constants;
     * NULL: there are none */
    const char *const *constant_numbers;
    /* TILEK_LOCAL_BYTES of its device programs, which stage what fits in so many bytes of shared
     * memory; 0: they stage nothing */
    int64_t local_bytes;
} tilek_kernel;

/* ---- What a launch is ------------------------------------------------------------------------ */

typedef struct tilek_array {
    void *base; /* the object: its first element, &scalar, or the row-pointer array */
    int64_t lower[TILEK_MAX_RANK], length[TILEK_MAX_RANK]; /* the section */
    int64_t extent[TILEK_MAX_RANK]; /* CONTIGUOUS: the object's own lengths; [0] = -1 where unknown */
} tilek_array;

/* trip = tilek_trip(…), -1 where endless */
typedef struct tilek_bounds { int64_t lower, upper, step, trip; } tilek_bounds;

enum { TILEK_DEVICES_ALL = -2 }; /* device(all) */
enum { TILEK_QUEUE_SYNCHRONOUS = -1, TILEK_QUEUE_DEFAULT = -2, TILEK_QUEUES_ALL = -1 };

typedef struct tilek_call {
    tilek_array *arrays;
    const void *const *scalars; /* addresses of their values; copied where the launch is asynchronous */
    const tilek_bounds *loops;
    const int64_t *tile_arguments;
    int64_t axes[TILEK_AXES]; /* counts that the user gave; 0 = the runtime's choice */
    int64_t device;           /* device(e); -1 = TILEK_DEVICE or the first; TILEK_DEVICES_ALL */
    int64_t queue;            /* async(e); -1 = synchronous, -2 = async without argument */
    const int64_t *waits;     /* wait(e, …) */
    int wait_count;           /* -1 = wait for all queues */
    int enabled;              /* if(e) */
    double operations;        /* floating-point operations of the region, for profiles; 0 where not known */
    /* iterations of the region's outermost loop, -1 where endless; for `choices` of the kernel that
     * ask for them */
    int64_t trips;
    void *state;              /* the runtime's; NULL at first */
    const int64_t *row_bases; /* see tilek_row_use */
    int layout;               /* the runtime's; 0 at first: which tile sizes the call takes (tile_sizes.h) */
    const int64_t *sizes;     /* likewise; NULL at first */
    void *adaptation;         /* likewise */
} tilek_call;

/* What host functions receive. Counts and strides of loop l's tile t: tiles[first_tile[l] + t]. */
typedef struct tilek_host_call {
    const tilek_array *arrays;
    const void *const *scalars;
    const tilek_bounds *const *loops; /* per loop of the launch */
    const tilek_tile *const *tiles;   /* per loop of the launch: its tiles */
    const int64_t *tile_arguments;
    const int64_t *axes;  /* all counts decided */
    void *const *partials; /* per reduction: one value an instance of the parallel space, type as declared */
    const void *const *values; /* of the step, per value of the launch */
    const int64_t *sizes;      /* per tile size of the kernel, each >= 1 */
} tilek_host_call;

/* Called by tilek_steps functions alone. tilek_step runs a launch (its number among the host's or
 * the device's) with these bounds, one a loop of the launch, and these values; nonzero: stop.
 * tilek_size_of gives a tile size of the kernel. */
int tilek_step(struct tilek_run *run, int launch, const tilek_bounds loops[], const void *const values[]);
int64_t tilek_size_of(const struct tilek_run *run, int size);

/* As tilek_size_of, for blocks of the rows from `lower` to `upper`, which are distributed over
 * threads, and for columns of tiles in wavefronts, of the rows up to `upper`. On hosts a default
 * size is replaced, for this call, by the multiple of `unit` that gives all threads about the same
 * work. Few rows are distributed only where they are known to take enough `operations`. The same
 * rows give the same size in every call. */
int64_t tilek_size_of_blocks(struct tilek_run *run, int size, int64_t lower, int64_t upper, int64_t unit,
                             double operations);
int64_t tilek_size_of_columns(struct tilek_run *run, int size, int64_t upper, int64_t unit);

/* A grid of streamed tiles: `steps` time steps, each of `statements`, over `planes` planes with one
 * or two sides of `extent` elements. Scratchpads have at most `length` elements along a side (0: no
 * such side), and move `bytes` from and to memory for each element. In a launch of t time steps a
 * tile touches `reach` + (t - 1) * `growth` planes, or elements of a side, beyond those it keeps.
 * `size` is the number of the kernel's tile size for the length. */
typedef struct tilek_stream_side { int64_t extent, length, reach, growth; int size; } tilek_stream_side;
typedef struct tilek_stream {
    int64_t steps, planes, reach, growth;
    tilek_stream_side sides[2];
    int64_t statements, bytes;
} tilek_stream;

/* Replaces default sizes, time steps of a launch (`degree`), planes of a tile (`chunk`) and lengths
 * of its sides, by those that take the device of this call least time. */
void tilek_sizes_of_stream(struct tilek_run *run, int degree, int chunk, const tilek_stream *stream);

/* As tilek_step, for the only launch of a loop over wavefronts; `wave` is the wavefront's number.
 * Let c be the iterations of the launch's loops over threads or gangs. An instance c needs from
 * wavefront `wave` - k only what instances c - e have done there, where no component of e is
 * negative and their sum is at most k. So tiles of several wavefronts may run together, until
 * tilek_waves_end, which stands behind that loop. Nonzero: stop. */
int tilek_wave(struct tilek_run *run, int launch, const tilek_bounds loops[], const void *const values[], int64_t wave);
int tilek_waves_end(struct tilek_run *run);

/* Chooses the version that runs a call: 0 is the plan itself, n is versions[n - 1]. `call` is the
 * plan's; generated code then changes in it what the version has otherwise, and launches that. */
int tilek_version(const tilek_kernel *kernel, tilek_call *call);

/* Reports a launch check that does not hold, once for each kernel; the caller then runs the
 * original loop. `value_count` pairs follow, of a name (const char *) and a value (int64_t). A '+'
 * before the name says that the value is a uint64_t. */
void tilek_check_failed(const tilek_kernel *kernel, const char *check, int value_count, ...);

/* Runs the call. 0: done. Nonzero: the caller must run the original loop now, then tilek_complete
 * with the same call. */
int tilek_launch(const tilek_kernel *kernel, tilek_call *call);
void tilek_complete(const tilek_kernel *kernel, tilek_call *call);

/* ---- Data directives ------------------------------------------------------------------------- */

/* KEEP: as COPY, but an array that cannot be made present is left out without a message, since no
 * directive asks for it. */
typedef enum tilek_motion { TILEK_COPY, TILEK_COPYIN, TILEK_COPYOUT, TILEK_CREATE, TILEK_DELETE, TILEK_PRESENT,
                            TILEK_UPDATE_SELF, TILEK_UPDATE_DEVICE, TILEK_KEEP } tilek_motion;

typedef struct tilek_data_item {
    const tilek_array_shape *shape;
    tilek_array array;
    tilek_motion motion;
} tilek_data_item;

/* Locations are the directive's; each call reports its own failures (a warning, or exit under
 * TILEK_STRICT). */
void tilek_data_enter(const char *file, int line, int item_count, const tilek_data_item items[]);
void tilek_data_exit(const char *file, int line, int item_count, const tilek_data_item items[]);
void tilek_data_update(const char *file, int line, int item_count, const tilek_data_item items[], int64_t queue);

/* Before the host reads elements of these types (1u << tilek_type, several together): brings home
 * the present arrays that have such elements. */
void tilek_data_home(const char *file, int line, unsigned types);

/* Before the host reads an element: brings home the array that it lies in, if that is present. */
void tilek_element_home(const char *file, int line, const void *element, size_t bytes);
void tilek_wait(int queue_count, const int64_t queues[]); /* -1 = all */

/* ---- Small helpers of generated code --------------------------------------------------------- */

TILEK_INLINE int64_t tilek_minimum(int64_t a, int64_t b) { return a < b ? a : b; }
TILEK_INLINE int64_t tilek_maximum(int64_t a, int64_t b) { return a > b ? a : b; }
/* Rounded down and up; b > 0. */
TILEK_INLINE int64_t tilek_floor_quotient(int64_t a, int64_t b) { return a / b - (a % b < 0); }
TILEK_INLINE int64_t tilek_ceiling_quotient(int64_t a, int64_t b) { return a / b + (a % b > 0); }

/* The bounds of a loop of a step; `comparison` as for tilek_trip. */
/* The step of a loop over an int. gcc makes vectors of such a loop for steps of 1, but not where it
 * sees that the step was converted. */
TILEK_INLINE int tilek_int_step(int64_t step)
{
    int result = (int)step;
#if defined(__GNUC__)
    __asm__("" : "+r"(result));
#endif
    return result;
}

TILEK_INLINE tilek_bounds tilek_bounded(int64_t lower, int64_t upper, int64_t step, char comparison)
{
    const tilek_bounds bounds = {lower, upper, step, tilek_trip(lower, upper, step, comparison)};
    return bounds;
}

/* Generated code is C99. Where the user's own is C90, compilers take that code all the same, as an
 * extension. */
#if defined(__GNUC__) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#define TILEK_C89_GENERATED                                                                                            \
    _Pragma("GCC diagnostic ignored \"-Wpedantic\"") _Pragma("GCC diagnostic ignored \"-Wlong-long\"")                 \
    _Pragma("GCC diagnostic ignored \"-Woverlength-strings\"") _Pragma("GCC diagnostic ignored \"-Wvariadic-macros\"")
#else
#define TILEK_C89_GENERATED
#endif

/* Generated code stands between these two: warnings that a user asks for about code of their own
 * (of implicit conversions, say) are not about it. */
#if defined(__GNUC__)
#define TILEK_GENERATED_BEGIN                                                                                          \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wconversion\"")                                  \
    _Pragma("GCC diagnostic ignored \"-Wsign-conversion\"") _Pragma("GCC diagnostic ignored \"-Wfloat-conversion\"")   \
    _Pragma("GCC diagnostic ignored \"-Wsign-compare\"")                                                               \
    _Pragma("GCC diagnostic ignored \"-Wdouble-promotion\"") _Pragma("GCC diagnostic ignored \"-Wfloat-equal\"")       \
    _Pragma("GCC diagnostic ignored \"-Wcast-qual\"") _Pragma("GCC diagnostic ignored \"-Wshadow\"")                   \
    _Pragma("GCC diagnostic ignored \"-Wc++-compat\"") _Pragma("GCC diagnostic ignored \"-Wtype-limits\"")             \
    _Pragma("GCC diagnostic ignored \"-Wimplicit-fallthrough\"")                                                       \
    _Pragma("GCC diagnostic ignored \"-Wvla\"") _Pragma("GCC diagnostic ignored \"-Wdeclaration-after-statement\"")    \
    _Pragma("GCC diagnostic ignored \"-Wmisleading-indentation\"") TILEK_C89_GENERATED
#define TILEK_GENERATED_END _Pragma("GCC diagnostic pop")
#else
#define TILEK_GENERATED_BEGIN
#define TILEK_GENERATED_END
#endif

/* Functions for rows of tiles: inlined, they would share registers with all loops around. */
#if defined(__GNUC__)
#define TILEK_ROW __attribute__((noinline)) static
#else
#define TILEK_ROW static
#endif

/* Functions with register tiles, which are as wide as the vectors that -march names: compilers take
 * shorter ones on some processors. */
#if defined(__AVX512F__) && defined(__clang__)
#define TILEK_WIDE __attribute__((min_vector_width(512)))
#elif defined(__AVX512F__) && defined(__GNUC__) && __GNUC__ >= 8
#define TILEK_WIDE __attribute__((target("prefer-vector-width=512")))
#else
#define TILEK_WIDE
#endif

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
#endif
