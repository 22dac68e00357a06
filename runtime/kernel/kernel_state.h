/* kernel_state.h: what the runtime keeps for each kernel. */
#ifndef TILEK_KERNEL_STATE_H
#define TILEK_KERNEL_STATE_H

#include "device/common/backend.h"

/* The figures of one kernel on one target, for TILEK_PROFILE. */
typedef struct tilek_figures {
    int64_t launches, bytes_in, bytes_out;
    int64_t bytes_touched; /* see tilek_touched */
    double operations;     /* tilek_call.operations of all launches */
    int64_t kernel_nanoseconds, copy_nanoseconds, compile_nanoseconds;
} tilek_figures;

/* Those of one launch among a kernel's steps. */
typedef struct tilek_step_figures { int64_t steps, nanoseconds; } tilek_step_figures;

/* Tile sizes of some call of a kernel, for the trace. */
typedef struct tilek_traced_sizes { struct tilek_traced_sizes *next; int64_t sizes[]; } tilek_traced_sizes;

/* The largest differences that TILEK_VERIFY found in one array. */
typedef struct tilek_difference { double absolute, relative; int64_t comparisons; } tilek_difference;

/* A device program of a kernel, kept until exit. */
typedef struct tilek_device_program {
    struct tilek_device_program *next;
    tilek_target target;
    tilek_device *device;
    tilek_program *program;
    tilek_entry **entries;  /* per entry point of the device's variant */
    int64_t *group_totals;  /* likewise */
    int constant_count;     /* 0: the parametric program */
    int argument_count;     /* numbers that are arguments of this specialised program */
    int specialized;
    const unsigned char *is_argument; /* per constant; NULL: none is an argument */
    const unsigned char *passed;      /* likewise per parameter of all entry points, one after another */
    int64_t constants[];
} tilek_device_program;

/* A number of a variant's launches. Programs have it as a constant until it has changed twice, or
 * once where another number is an argument already, since most numbers follow from one bound. */
typedef struct tilek_changing {
    const tilek_launch_shape *launches;
    const char *name;
    int64_t last;
    int changes, is_argument;
} tilek_changing;

/* The runtime's memory of one kernel; tilek_state_lock guards what changes. */
typedef struct tilek_state {
    struct tilek_state *next;
    const tilek_kernel *kernel;
    int valid;              /* the kernel keeps the header's contract */
    tilek_device_program *built;
    int check_reported;     /* see tilek_check_failed */
    int specialized_count;  /* specialisations that differ in their numbers */
    tilek_changing *changing; /* the numbers of its programs, as they were at the last compilation */
    int changing_count;
    struct tilek_recording *recordings; /* see launch_graphs.h */
    unsigned refused;       /* bit t: target t can never run this kernel (it does not compile) */
    tilek_figures figures[TILEK_TARGETS + 1]; /* the last: the original loop */
    /* per launch, NULL before the first step that is measured; [1]: of the host's variant */
    tilek_step_figures *steps[TILEK_TARGETS][2];
    tilek_traced_sizes *taken;     /* each different; guarded by TILEK_LOCK_PROFILE */
    struct tilek_tuning *tunings; /* see online_tuning.h */
    void *scratch;          /* memory of the last launch's temporaries, for the next; NULL while one has it */
    size_t scratch_bytes;
    /* of the last program of each target, for TILEK_PROFILE; guarded by TILEK_LOCK_PROFILE */
    int64_t local_bytes[TILEK_TARGETS];        /* shared memory, less than was planned for; 0: as planned */
    const char *long_arrays[TILEK_TARGETS];    /* an array that needs indices of 64 bits; NULL: none does */
    tilek_difference *differences; /* per array, NULL before the first verification */
} tilek_state;

/* The kernel's state, made at its first launch; NULL where memory is exhausted or the program is
 * ending. Cheap when it exists. */
tilek_state *tilek_state_of(const tilek_kernel *kernel);

/* All states, newest first; stable while the program runs. */
tilek_state *tilek_first_state(void);

/* Guards the states' changing members. */
void tilek_state_lock(void);
void tilek_state_unlock(void);

/* At exit, when nobody uses them any more and the members that others make are gone. */
void tilek_states_free(void);

#endif
