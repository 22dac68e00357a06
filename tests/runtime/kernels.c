/* kernels.c: hand-written kernels in the form of docs/EMISSION.md. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

static const tilek_loop_shape scale_loops[] = {{"i", 3, kinds, axes, 0, INT32_MIN, INT32_MAX}};
static const tilek_tile_kind row_kinds[] = {TILEK_TILE_THREAD, TILEK_TILE_DYNAMIC};
static const int row_axes[] = {TILEK_AXIS_THREAD, -1};
static const tilek_loop_shape row_loops[] = {{"i", 2, row_kinds, row_axes, 0, INT32_MIN, INT32_MAX}};

static void scale_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    double *A = call->arrays[0].base;
    const double b = *(const double *)call->scalars[0];
    for (int64_t gang = first; gang < last; ++gang)
        FOR_GANG(call->loops[0], call->tiles[0], call->axes[TILEK_AXIS_WORKER]) {
            const int64_t i = call->loops[0]->lower + point;
            A[i] = A[i] * b + 1;
        }
}

void sum_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    const double *A = call->arrays[0].base;
    for (int64_t gang = first; gang < last; ++gang) {
        double partial = 0;
        FOR_GANG(call->loops[0], call->tiles[0], call->axes[TILEK_AXIS_WORKER]) partial += A[call->loops[0]->lower + point];
        ((double *)call->partials[0])[gang] = partial;
    }
}

static void rows_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    double **R = call->arrays[0].base;
    const double b = *(const double *)call->scalars[0];
    for (int64_t thread = first; thread < last; ++thread)
        for (int64_t i = thread * call->tiles[0][0].stride, end = tilek_minimum(i + call->tiles[0][0].stride, call->loops[0]->trip); i < end; ++i)
            for (int64_t j = call->arrays[0].lower[1]; j < call->arrays[0].lower[1] + call->arrays[0].length[1]; ++j) R[i][j] += b;
}

static const tilek_parameter scale_parameters[] = {
    GANG_PARAMETERS(SCALAR, "i_lower", "i_trip", "i_stride0", "i_stride1", "gang0_count", "worker0_count"),
    {TILEK_PARAMETER_PARTIALS, 0, 0, NULL},
};

/* One gang of the grid: it takes gangs cyclically, since the grid may be smaller than their number. */
static void scale_device(const fake_call *call)
{
    double *A = call->pointers[P_ARRAY];
    const double b = *(const double *)call->scalars[P_VALUE];
    const bare_loop loop = {call->numbers[P_TRIP]};
    const tilek_tile tiles[] = {{0, call->numbers[P_STRIDE0]}, {0, call->numbers[P_STRIDE1]}};
    for (int64_t gang = call->gang[0]; gang < call->numbers[P_GANGS]; gang += call->groups[0])
        FOR_GANG(&loop, tiles, call->numbers[P_WORKERS]) {
            const int64_t place = call->numbers[P_LOWER] + point - call->numbers[P_ORIGIN];
            A[place] = A[place] * b + 1;
        }
}

void sum_device(const fake_call *call)
{
    const double *A = call->pointers[P_ARRAY];
    const bare_loop loop = {call->numbers[P_TRIP]};
    const tilek_tile tiles[] = {{0, call->numbers[P_STRIDE0]}, {0, call->numbers[P_STRIDE1]}};
    for (int64_t gang = call->gang[0]; gang < call->numbers[P_GANGS]; gang += call->groups[0]) {
        double partial = 0;
        FOR_GANG(&loop, tiles, call->numbers[P_WORKERS]) partial += A[call->numbers[P_LOWER] + point - call->numbers[P_ORIGIN]];
        ((double *)call->pointers[P_PARTIALS])[gang] = partial;
    }
}

enum { R_ARRAY, R_LENGTH, R_LOWER0, R_LOWER1, R_SCALAR, R_TRIP, R_STRIDE, R_THREADS, R_FIRST, R_COLUMNS, R_BITS };

static const tilek_parameter rows_parameters[] = {
    {TILEK_PARAMETER_ARRAY, 0, 0, NULL},
    {TILEK_PARAMETER_LENGTH, 0, 1, NULL},
    {TILEK_PARAMETER_LOWER, 0, 0, NULL},
    {TILEK_PARAMETER_LOWER, 0, 1, NULL},
    {TILEK_PARAMETER_SCALAR, 0, 0, NULL},
    {TILEK_PARAMETER_LOOP_TRIP, 0, 0, "i_trip"},
    {TILEK_PARAMETER_TILE_STRIDE, 0, 0, "i_stride0"},
    {TILEK_PARAMETER_AXIS_COUNT, TILEK_AXIS_THREAD, 0, "thread_count"},
    {TILEK_PARAMETER_TILE_ARGUMENT, 0, 0, NULL}, /* first column and columns, as arguments of tiles that are computed in the kernel */
    {TILEK_PARAMETER_TILE_ARGUMENT, 1, 0, NULL},
    {TILEK_PARAMETER_INDEX_BITS, 0, 0, "tilek_index_bits"},
};

static void rows_device(const fake_call *call)
{
    double *R = call->pointers[R_ARRAY];
    const double b = *(const double *)call->scalars[R_SCALAR];
    if (call->numbers[R_BITS] != 32) abort(); /* a few rows */
    for (int64_t thread = call->gang[0]; thread < call->numbers[R_THREADS]; thread += call->groups[0])
        for (int64_t i = thread * call->numbers[R_STRIDE], end = tilek_minimum(i + call->numbers[R_STRIDE], call->numbers[R_TRIP]); i < end; ++i)
            for (int64_t j = call->numbers[R_FIRST]; j < call->numbers[R_FIRST] + call->numbers[R_COLUMNS]; ++j)
                R[(i - call->numbers[R_LOWER0]) * call->numbers[R_LENGTH] + (j - call->numbers[R_LOWER1])] += b;
}

static const tilek_reduction sum_reductions[] = {{TILEK_ADD, TILEK_DOUBLE, 1}};
#define GANG_WORKER (1u << TILEK_AXIS_GANG | 1u << TILEK_AXIS_WORKER)

static const tilek_launch_shape scale_hosts[] = {{"scale", 1, scale_loops, GANG_WORKER, scale_host, 0, NULL, 0, NULL, 0, NULL, 0},
                                                 {"scale", 1, scale_loops, GANG_WORKER, scale_host, 0, NULL, 0, NULL, 0, NULL, 0}};
static const tilek_launch_shape scale_devices[] = {{"scale", 1, scale_loops, GANG_WORKER, NULL, 0, NULL, 9, scale_parameters, 0, NULL, 0},
                                                   {"scale", 1, scale_loops, GANG_WORKER, NULL, 0, NULL, 9, scale_parameters, 0, NULL, 0}};
static const tilek_launch_shape sum_hosts[] = {{"sum", 1, scale_loops, GANG_WORKER, sum_host, 1, sum_reductions, 0, NULL, 0, NULL, 0}};
static const tilek_launch_shape sum_devices[] = {{"sum", 1, scale_loops, GANG_WORKER, NULL, 1, sum_reductions, 10, scale_parameters, 0, NULL, 0}};
static const tilek_launch_shape rows_hosts[] = {{"rows", 1, row_loops, 1u << TILEK_AXIS_THREAD, rows_host, 0, NULL, 0, NULL, 0, NULL, 0}};
static const tilek_launch_shape rows_devices[] = {{"rows", 1, row_loops, 1u << TILEK_AXIS_THREAD, NULL, 0, NULL, 11, rows_parameters, 0, NULL, 0}};

static const tilek_array_shape scale_arrays[] = {
    {"A", TILEK_CONTIGUOUS, 1, sizeof(double), 1, number, TILEK_READS | TILEK_WRITES | TILEK_COPY_IN | TILEK_COPY_OUT}};
static const tilek_array_shape sum_arrays[] = {{"A", TILEK_CONTIGUOUS, 1, sizeof(double), 1, number, TILEK_READS | TILEK_COPY_IN},
                                               {"s", TILEK_SCALAR, 0, sizeof(double), 1, number, TILEK_READS | TILEK_WRITES | TILEK_COPY_IN | TILEK_COPY_OUT}};
static const tilek_array_shape rows_arrays[] = {
    {"R", TILEK_ROWS, 2, sizeof(double), 1, number, TILEK_READS | TILEK_WRITES | TILEK_COPY_IN | TILEK_COPY_OUT}};

static const size_t scalar_sizes[] = {sizeof(double)};
static const int loop_map[] = {0, 0};
static const char *const text[] = {"the fake device ", "reads no text", NULL};
static const int64_t arguments[3];
static void *states[6];

enum { ALL_TARGETS = 1 << TILEK_SERIAL | 1 << TILEK_THREADS | 1 << TILEK_OPENCL | 1 << TILEK_CUDA };

const tilek_kernel scale_kernel = {TILEK_ABI, "scale", "scale.c", 12, TILEK_USES_DOUBLE, ALL_TARGETS, TILEK_AUTO, text, text, NULL, 1, scale_arrays, 1, scalar_sizes,
                                   1, scale_hosts, 1, scale_devices, 3, 1, loop_map, loop_map, NULL, NULL, 0, NULL, 0, NULL, &states[0], NULL, 0, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0};
const tilek_kernel twice_kernel = {TILEK_ABI, "twice", "twice.c", 13, TILEK_USES_DOUBLE, ALL_TARGETS, TILEK_AUTO, text, text, NULL, 1, scale_arrays, 1, scalar_sizes,
                                   2, scale_hosts, 2, scale_devices, 3, 1, loop_map, loop_map, NULL, NULL, 0, NULL, 0, NULL, &states[1], NULL, 0, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0};
const tilek_kernel sum_kernel = {TILEK_ABI, "sum", "sum.c", 14, TILEK_USES_DOUBLE, ALL_TARGETS, TILEK_AUTO, text, text, NULL, 2, sum_arrays, 1, scalar_sizes,
                                 1, sum_hosts, 1, sum_devices, 3, 1, loop_map, loop_map, NULL, NULL, 0, NULL, 0, NULL, &states[2], NULL, 0, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0};
static const tilek_launch_shape processor_scale_hosts[] = {{"scale", 1, scale_loops, GANG_WORKER, scale_host, 0, NULL, 9, scale_parameters, 0, NULL, 0}};
static const tilek_launch_shape processor_sum_hosts[] = {{"sum", 1, scale_loops, GANG_WORKER, sum_host, 1, sum_reductions, 10, scale_parameters, 0, NULL, 0}};
const tilek_kernel processor_scale_kernel = {TILEK_ABI, "scale", "scale.c", 16, TILEK_USES_DOUBLE, ALL_TARGETS, TILEK_AUTO, text, text, text, 1, scale_arrays, 1, scalar_sizes,
                                             1, processor_scale_hosts, 1, scale_devices, 3, 1, loop_map, loop_map, NULL, NULL, 0, NULL, 0, NULL, &states[4], NULL, 0, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0};
const tilek_kernel processor_sum_kernel = {TILEK_ABI, "sum", "sum.c", 17, TILEK_USES_DOUBLE, ALL_TARGETS, TILEK_AUTO, text, text, text, 2, sum_arrays, 1, scalar_sizes,
                                           1, processor_sum_hosts, 1, sum_devices, 3, 1, loop_map, loop_map, NULL, NULL, 0, NULL, 0, NULL, &states[5], NULL, 0, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0};
const tilek_kernel rows_kernel = {TILEK_ABI, "rows", "rows.c", 15, TILEK_USES_DOUBLE, ALL_TARGETS, TILEK_AUTO, text, text, NULL, 1, rows_arrays, 1, scalar_sizes,
                                  1, rows_hosts, 1, rows_devices, 2, 1, loop_map, loop_map, NULL, NULL, 0, NULL, 0, NULL, &states[3], NULL, 0, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0};

void make_call(scale_call *call, double *A, int64_t extent, int64_t lower, int64_t length, double *sum)
{
    memset(call, 0, sizeof *call);
    call->arrays[0] = (tilek_array){.base = A, .lower = {lower}, .length = {length}, .extent = {extent}};
    call->arrays[1] = (tilek_array){.base = sum};
    call->loops[0] = (tilek_bounds){lower, lower + length, 1, tilek_trip(lower, lower + length, 1, '<')};
    call->b = 3;
    call->scalars[0] = &call->b;
    call->call = (tilek_call){.arrays = call->arrays, .scalars = call->scalars, .loops = call->loops, .tile_arguments = arguments, .device = -1, .queue = -1, .enabled = 1, .operations = 6000};
}

void make_rows_call(scale_call *call, double **R, int64_t rows, int64_t first_column, int64_t columns)
{
    static int64_t columns_told[2];
    make_call(call, (double *)(void *)R, -1, 0, rows, NULL);
    call->arrays[0] = (tilek_array){.base = R, .lower = {0, first_column}, .length = {rows, columns}};
    columns_told[0] = first_column;
    columns_told[1] = columns;
    call->call.tile_arguments = columns_told;
}

int launch_scale(const tilek_kernel *kernel, scale_call *call)
{
    const int declined = tilek_launch(kernel, &call->call);
    if (!declined) return 0;
    for (int times = 0; times < (kernel == &twice_kernel ? 2 : 1); ++times)
        for (int64_t i = call->loops[0].lower; i < call->loops[0].upper; ++i) {
            double *A = call->arrays[0].base;
            if (kernel == &sum_kernel) *(double *)call->arrays[1].base += A[i];
            else A[i] = A[i] * call->b + 1;
        }
    tilek_complete(kernel, &call->call);
    return declined;
}

void fill(double *A, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) A[i] = (double)(i % 1000);
}

void check_scaled(const double *A, int64_t count, int64_t lower, int64_t length, double b, int times)
{
    for (int64_t i = 0; i < count; ++i) {
        double wanted = (double)(i % 1000);
        for (int time = 0; time < times && i >= lower && i < lower + length; ++time) wanted = wanted * b + 1;
        if (A[i] != wanted) (void)fprintf(stderr, "A[%lld] is %g, not %g\n", (long long)i, A[i], wanted);
        CHECK(A[i] == wanted);
    }
}

void register_kernels(void)
{
    fake_register(&scale_devices[0], scale_device);
    fake_register(&sum_devices[0], sum_device);
    fake_register(&rows_devices[0], rows_device);
    register_step_kernels();
    register_graph_kernels();
    register_division_kernels();
}
