/* kernels.h: hand-written kernels in the form of docs/EMISSION.md, and the calls that run them. */
#ifndef KERNELS_H
#define KERNELS_H

#include "fake_backend.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            (void)fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

/* One double; a loop with tiles gang, worker, dynamic, and what entry points of it get: GANG_PARAMETERS, then PARTIALS or a SIZE. */
static const tilek_field number[] = {{"", 0, TILEK_DOUBLE, 1}};
static const tilek_tile_kind kinds[] = {TILEK_TILE_GANG, TILEK_TILE_WORKER, TILEK_TILE_DYNAMIC};
static const int axes[] = {TILEK_AXIS_GANG, TILEK_AXIS_WORKER, -1};
enum { P_ARRAY, P_ORIGIN, P_VALUE, P_LOWER, P_TRIP, P_STRIDE0, P_STRIDE1, P_GANGS, P_WORKERS, P_PARTIALS, P_SIZE = P_PARTIALS };
#define GANG_PARAMETERS(value, lower, trip, stride0, stride1, gangs, workers)                                           \
    {TILEK_PARAMETER_ARRAY, 0, 0, NULL}, {TILEK_PARAMETER_ORIGIN, 0, 0, NULL}, {TILEK_PARAMETER_##value, 0, 0, NULL},   \
        {TILEK_PARAMETER_LOOP_LOWER, 0, 0, lower}, {TILEK_PARAMETER_LOOP_TRIP, 0, 0, trip},                             \
        {TILEK_PARAMETER_TILE_STRIDE, 0, 0, stride0}, {TILEK_PARAMETER_TILE_STRIDE, 0, 1, stride1},                     \
        {TILEK_PARAMETER_AXIS_COUNT, TILEK_AXIS_GANG, 0, gangs},                                                        \
        {TILEK_PARAMETER_AXIS_COUNT, TILEK_AXIS_WORKER, 0, workers}

/* A loop of which nothing but its trip is known, as device code knows it. */
typedef struct bare_loop { int64_t trip; } bare_loop;

/* partial += A[i] for each gang. */
void sum_host(const tilek_host_call *call, int64_t first, int64_t last);
void sum_device(const fake_call *call);

/* A[i] = A[i] * b + 1 for i in [lower, lower + n); tiles gang, worker, dynamic; on double A[extent]. */
extern const tilek_kernel scale_kernel;
/* A region of two nests: the same twice. */
extern const tilek_kernel twice_kernel;
/* s += A[i] over the section; s is a written scalar. */
extern const tilek_kernel sum_kernel;
/* R[i][j] += b on double **R; tiles thread, dynamic on i. */
extern const tilek_kernel rows_kernel;

/* The two of them with a program for processors, whose entry points are the host's launches. */
extern const tilek_kernel processor_scale_kernel, processor_sum_kernel;

typedef struct scale_call { tilek_call call; tilek_array arrays[2]; tilek_bounds loops[1]; double b; const void *scalars[1]; } scale_call;

/* A call of scale_kernel, twice_kernel or (with `sum`) sum_kernel over A[lower : length] of A[extent]. */
void make_call(scale_call *call, double *A, int64_t extent, int64_t lower, int64_t length, double *sum);
void make_rows_call(scale_call *call, double **R, int64_t rows, int64_t first_column, int64_t columns);

/* Launches; where the runtime declines, runs the loop as generated code does. Returns what tilek_launch said. */
int launch_scale(const tilek_kernel *kernel, scale_call *call);

void fill(double *A, int64_t count);
/* A[i] is as after `times` of scale on [lower, lower + length), and untouched elsewhere. */
void check_scaled(const double *A, int64_t count, int64_t lower, int64_t length, double b, int times);

void register_kernels(void);
void register_step_kernels(void);

/* Iterations of one instance of the host's parallel space. */
#define FOR_GANG(loop, tiles, workers) \
    for (int64_t worker = 0; worker < (workers); ++worker) \
        for (int64_t point = gang * (tiles)[0].stride + worker * (tiles)[1].stride, end = tilek_minimum(point + (tiles)[1].stride, (loop)->trip); point < end; ++point)

/* Tests of trips, tiles, reductions and threads (part_cases.c). */
void trips(void);
void tiles(void);
void reductions(void);
void parallel(void);
void spare_threads(void);
void cores(void);

/* Tests of kernels whose launches run in steps (steps_cases.c). */
void steps(void);
void steps_refused(void);
void steps_differ(void);
void steps_unsaid(void);
void steps_lost(void);
void steps_copies(void);
void steps_unreached(void);
void steps_queued(void);
void steps_concurrent(void);

/* Tests of tiles of wavefronts (wavefront_cases.c). */
void waves(void);
void waves_apart(void);
void steps_verified(void);
void steps_size(void);
void steps_chosen(void);
void steps_chosen_extremes(void);
void steps_chosen_arrays(void);
void steps_chosen_sides(void);
void steps_misled(void);
void steps_even(void);
void steps_choice_cost(void);
void steps_cost(void);
void steps_workers(void);
void steps_points(void);
void steps_spread(void);

/* Tests of TILEK_ADAPT (online_tuning_cases.c). */
void adapts(void);
void adapts_not(void);
void adapts_to_many(void);
void adapts_concurrently(void);
void adapts_to_failures(void);
void adapts_apart(void);
void versions_by_rules(void);
void versions_as_said(void);
void versions_adapt(void);
void versions_declined(void);
void versions_cost(void);

/* Tests of the flags of launches of all wavefronts at once (persistent_cases.c). */
void flags_of_many_sizes(void);
void flags_and_boxes(void);
void flags_scarce(void);
void flags_concurrent(void);
void columns_of_wavefronts(void);

/* Tests of calls on several devices (partition_cases.c). */
void divided(void);
void divided_far(void);
void divided_overlaps(void);
void divided_programs(void);
void divided_alone(void);
void divided_scarce(void);
void divided_lost_write(void);
void divided_lost_run(void);
void divided_lost_wait(void);
void divided_lost_result(void);
void divided_present(void);
void held_rows(void);
void register_division_kernels(void);

/* Tests of runs that are recorded and played (graph_cases.c). */
void graphs(void);
void graphs_anyhow(void);
void graphs_rarely(void);
void graphs_elsewhere(void);
void graphs_refused(void);
void graphs_lost(void);
void graphs_queued(void);
void graphs_concurrent(void);
void graphs_forked(void);
void graphs_not(void);
void graphs_verified(void);
void register_graph_kernels(void);

/* A program whose TILEK_FAKE_FAIL-th call of the device fails (fault_cases.c). */
void every_call(void);

#endif
