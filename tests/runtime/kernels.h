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

/* A[i] = A[i] * b + 1 for i in [lower, lower + n); tiles gang, worker, dynamic; on double A[extent]. */
extern const tilek_kernel scale_kernel;
/* A region of two nests: the same twice. */
extern const tilek_kernel twice_kernel;
/* s += A[i] over the section; s is a written scalar. */
extern const tilek_kernel sum_kernel;
/* R[i][j] += b on double **R; tiles thread, dynamic on i. */
extern const tilek_kernel rows_kernel;

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
void steps_verified(void);
void steps_size(void);
void steps_cost(void);
void steps_workers(void);

#endif
