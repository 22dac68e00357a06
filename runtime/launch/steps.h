/* steps.h: the order in which a kernel's launches run. It is gone through twice: in rehearsal,
 * where the numbers of every launch are decided and nothing runs, so that a refusal leaves the data
 * as they were, and then in earnest. */
#ifndef TILEK_STEPS_H
#define TILEK_STEPS_H

#include "kernel/variant.h"
#include "launch/launch_geometry.h"

/* What is known of one launch, from the step that was decided last. */
typedef struct tilek_planned {
    int seen;                    /* some step has been decided */
    int runs;                    /* some step has iterations */
    int64_t most_instances;      /* over all steps so far */
    int64_t most_workers;
    int64_t workers[3];          /* of the step that had most */
    int64_t divisors[3];         /* of its workers' points */
    int64_t iterations;          /* of the loops with launch bounds, of this step */
    int64_t most_iterations;
    /* wavefronts of a loop over them: so far, and of the longest loop that was rehearsed to its
     * end */
    int64_t waves, most_waves;
    tilek_bounds *bounds;        /* one a loop */
    tilek_geometry geometry;
} tilek_planned;

typedef struct tilek_run tilek_run;

struct tilek_run {
    const tilek_kernel *kernel;
    const tilek_call *call;
    int launch_count;
    const tilek_launch_shape *launches;
    const int *loop_map;        /* where `steps` is NULL */
    tilek_steps steps;
    tilek_machine machine;      /* group_total: of any launch; workers: not used */
    /* every step of a launch has the workers of its largest one, as a rehearsal before found
     * them */
    int keeps_workers;
    const int64_t *group_totals; /* per launch; NULL: not known yet */
    void *context;              /* the owner's */
    tilek_planned *planned;     /* per launch */
    int64_t *sizes;             /* per tile size */
    int unseen;                 /* launches that no step has met */
    int performed;              /* something has run */

    /* Called when the numbers of a launch were decided again; NULL: nothing more to say. */
    tilek_status (*decided)(tilek_run *run, int launch, tilek_message *why);
    /* Runs the launch as planned; NULL in rehearsal. */
    tilek_status (*perform)(tilek_run *run, int launch, const void *const values[], tilek_message *why);
    /* Ends what `perform` has put off of wavefronts (`is_wave`, of this number); NULL: nothing is
     * put off. */
    tilek_status (*finish)(tilek_run *run, tilek_message *why);
    int is_wave;
    int64_t wave;
    int wave_launch;            /* whose the last wavefront was */

    tilek_status status; /* of the step that ended the run */
    tilek_message *why;
};

/* Bytes of the block that tilek_run_start takes, a multiple of 16. */
size_t tilek_run_room(const tilek_kernel *kernel, const tilek_variant *variant);

/* Fills in everything but machine, context, decided; `room` holds tilek_run_room bytes, aligned for
 * int64_t and pointers, for the run's time. TILEK_UNSUPPORTED: a launch has more than the runtime
 * takes. TILEK_INVALID: a tile size is below 1. */
tilek_status tilek_run_start(tilek_run *run, const tilek_kernel *kernel, const tilek_call *call,
                             const tilek_variant *variant, void *room, tilek_message *why);

/* Decides launches: those of all steps where bounds may differ from step to step, else of steps
 * until all launches were met. May be called again, and then forgets what it decided. */
tilek_status tilek_rehearse(tilek_run *run, tilek_message *why);

/* After a rehearsal: runs all steps that have iterations. `why` holds for the run's time. */
tilek_status tilek_perform(tilek_run *run,
                           tilek_status (*perform)(tilek_run *run, int launch, const void *const values[],
                                                   tilek_message *why),
                           tilek_message *why);

/* What a step of `launch` has of the bytes that the largest one touches. */
size_t tilek_share(const tilek_run *run, int launch, size_t bytes);

/* Whether, as far as the rehearsal knows, there is nothing to do. */
int tilek_run_is_empty(const tilek_run *run);

#endif
