/* steps_cases.c: kernels whose launches run in steps, in the form of docs/EMISSION.md, and tests of them. */
#define _POSIX_C_SOURCE 200809L
#include "kernels.h"
#include "launch/launch_geometry.h"
#include "tune/tile_sizes.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { N = 203, STEPS = 31 };

/* ---- for (k = 0; k < steps; ++k) {
 *          for (i = k; i < n; ++i) A[i] = A[i] * 0.5 + k + size;
 *          if (k % 2 == 1) for (i = 0; i < 4 * k && i < n; ++i) s += A[i]; } ---------------------------------------------- */

static const tilek_loop_shape wide_loops[] = {{"i", 3, kinds, axes, 0, INT32_MIN, INT32_MAX}};
static const tilek_loop_shape narrow_loops[] = {{"i", 3, kinds, axes, 0, INT8_MIN, INT8_MAX}};

static void decay_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    double *A = call->arrays[0].base;
    const int k = *(const int *)call->values[0];
    for (int64_t gang = first; gang < last; ++gang)
        FOR_GANG(call->loops[0], call->tiles[0], call->axes[TILEK_AXIS_WORKER]) {
            const int64_t i = call->loops[0]->lower + point;
            A[i] = A[i] * 0.5 + k + (double)call->sizes[0];
        }
}

#define PARAMETERS(trip, last) {GANG_PARAMETERS(VALUE, NULL, trip, NULL, NULL, NULL, NULL), last}
#define SIZE_PARAMETER {TILEK_PARAMETER_SIZE, 0, 0, "size"}
static const tilek_parameter parameters[] = PARAMETERS(NULL, SIZE_PARAMETER);
static const tilek_parameter wrong_parameters[] = PARAMETERS("i_trip", SIZE_PARAMETER); /* it differs from step to step */
#define PARTIALS_PARAMETER {TILEK_PARAMETER_PARTIALS, 0, 0, NULL}
static const tilek_parameter sum_parameters[] = PARAMETERS(NULL, PARTIALS_PARAMETER);

static void decay_device(const fake_call *call)
{
    double *A = call->pointers[P_ARRAY];
    const int k = *(const int *)call->scalars[P_VALUE];
    const bare_loop loop = {call->numbers[P_TRIP]};
    const tilek_tile tiles[] = {{0, call->numbers[P_STRIDE0]}, {0, call->numbers[P_STRIDE1]}};
    for (int64_t gang = call->gang[0]; gang < call->numbers[P_GANGS]; gang += call->groups[0])
        FOR_GANG(&loop, tiles, call->numbers[P_WORKERS]) {
            const int64_t i = call->numbers[P_LOWER] + point - call->numbers[P_ORIGIN];
            A[i] = A[i] * 0.5 + k + (double)call->numbers[P_SIZE];
        }
}

static int64_t double_until(int k, int64_t n) { return 4 * k < n ? 4 * k : n; }

static int order(struct tilek_run *run, const tilek_call *call)
{
    const int64_t n = *(const int64_t *)call->scalars[0];
    const int steps = *(const int *)call->scalars[1];
    int stop;
    CHECK(tilek_size_of(run, 0) >= 1);
    for (int k = 0; k < steps; ++k) {
        const tilek_bounds loops[] = {{k, n, 1, tilek_trip(k, n, 1, '<')}}, others[] = {{0, double_until(k, n), 1, tilek_trip(0, double_until(k, n), 1, '<')}};
        const void *const values[] = {&k};
        if ((stop = tilek_step(run, 0, loops, values)) != 0) return stop;
        if (k % 2 == 1 && (stop = tilek_step(run, 1, others, values)) != 0) return stop;
    }
    return 0;
}

/* Steps of one iteration whose bounds differ from those of the step before. */
static int tiny_order(struct tilek_run *run, const tilek_call *call)
{
    const int steps = *(const int *)call->scalars[1];
    for (int k = 0; k < steps; ++k) {
        const tilek_bounds loops[] = {{k % 2, k % 2 + 1, 1, tilek_trip(k % 2, k % 2 + 1, 1, '<')}};
        const void *const values[] = {&k};
        const int stop = tilek_step(run, 0, loops, values);
        if (stop != 0) return stop;
    }
    return 0;
}

/* One reducing launch again and again. */
static int sums_order(struct tilek_run *run, const tilek_call *call)
{
    const int steps = *(const int *)call->scalars[1];
    for (int k = 0; k < steps; ++k) {
        const tilek_bounds loops[] = {{0, 1, 1, tilek_trip(0, 1, 1, '<')}};
        const void *const values[] = {&k};
        const int stop = tilek_step(run, 1, loops, values);
        if (stop != 0) return stop;
    }
    return 0;
}

/* One launch of n iterations, in blocks whose size is the kernel's. */
static int even_order(struct tilek_run *run, const tilek_call *call)
{
    const int64_t n = *(const int64_t *)call->scalars[0], size = tilek_size_of_blocks(run, 0, 0, n - 1, 1, 0);
    const int k = 0;
    const tilek_bounds loops[] = {{0, n, 1, tilek_trip(0, n, 1, '<')}};
    const void *const values[] = {&k};
    CHECK(size == tilek_size_of(run, 0) && size == tilek_size_of_blocks(run, 0, 0, n - 1, 1, 0));
    return tilek_step(run, 0, loops, values);
}

static const size_t value_sizes[] = {sizeof(int)};
static const tilek_reduction sums[] = {{TILEK_ADD, TILEK_DOUBLE, 1}};
#define GANG_WORKER (1u << TILEK_AXIS_GANG | 1u << TILEK_AXIS_WORKER)
#define LAUNCHES(loops, host, list, name)                                                                                 \
    {                                                                                                                     \
        {name "decay", 1, loops, GANG_WORKER, host ? decay_host : NULL, 0, NULL, host ? 0 : 10, host ? NULL : list, 1, value_sizes, 0}, \
        {name "add", 1, loops, GANG_WORKER, host ? sum_host : NULL, 1, sums, host ? 0 : 10, host ? NULL : sum_parameters, 1, value_sizes, 0} \
    }
static const tilek_launch_shape hosts[] = LAUNCHES(wide_loops, 1, parameters, ""), narrow_hosts[] = LAUNCHES(narrow_loops, 1, parameters, "narrow_");
static const tilek_launch_shape devices[] = LAUNCHES(wide_loops, 0, parameters, ""), narrow_devices[] = LAUNCHES(narrow_loops, 0, parameters, "narrow_"),
                                wrong_devices[] = LAUNCHES(wide_loops, 0, wrong_parameters, "wrong_");

static const tilek_array_shape arrays[] = {
    {"A", TILEK_CONTIGUOUS, 1, sizeof(double), 1, number, TILEK_READS | TILEK_WRITES | TILEK_COPY_IN | TILEK_COPY_OUT},
    {"s", TILEK_SCALAR, 0, sizeof(double), 1, number, TILEK_READS | TILEK_WRITES | TILEK_COPY_IN | TILEK_COPY_OUT}};
static const size_t scalar_sizes[] = {sizeof(int64_t), sizeof(int)};
static const char *const text[] = {"the fake device reads no text", NULL};
static const tilek_size sizes[] = {{"size", 3, 3}};
static const int64_t in_small[] = {4}, in_short[] = {5}, in_wrong[] = {0};
static const tilek_choice choices[] = {{10 * sizeof(double) + 8, INT64_MAX, in_small, 0}, {INT64_MAX, 2, in_short, 0}};
static const tilek_choice wrong_choices[] = {{INT64_MAX, INT64_MAX, in_wrong, 0}};
static const int64_t tile_arguments[3];

#define KERNEL(kernel_name, own_hosts, own_devices, steps, own_flags, own_state, own_choices, own_choice_count)                                  \
    {                                                                                                                                        \
        .abi = TILEK_ABI, .name = kernel_name, .file = "steps.c", .line = 7, .flags = TILEK_USES_DOUBLE | (own_flags), .targets = 15,        \
        .preferred = TILEK_AUTO, .opencl = text, .array_count = 2, .arrays = arrays, .scalar_count = 2, .scalar_sizes = scalar_sizes,        \
        .host_launch_count = 2, .host_launches = own_hosts, .device_launch_count = 2, .device_launches = own_devices,                        \
        .tile_argument_count = 3, .host_steps = steps, .device_steps = steps, .size_count = 1, .sizes = sizes, .choice_count = own_choice_count,      \
        .choices = own_choices, .state = own_state                                                                                           \
    }
static void *states[10];
static const tilek_kernel kernel = KERNEL("decay", hosts, devices, order, TILEK_VARYING_STEPS, &states[0], NULL, 0);
static const tilek_kernel narrow_kernel = KERNEL("narrow", narrow_hosts, narrow_devices, order, TILEK_VARYING_STEPS, &states[1], NULL, 0);
static const tilek_kernel wrong_kernel = KERNEL("wrong", hosts, wrong_devices, order, TILEK_VARYING_STEPS, &states[2], NULL, 0);
static const tilek_kernel unsaid_kernel = KERNEL("unsaid", hosts, wrong_devices, order, 0, &states[3], NULL, 0); /* it does not say that its steps vary, either */
static const tilek_kernel tiny_kernel = KERNEL("tiny", hosts, devices, tiny_order, TILEK_VARYING_STEPS, &states[4], NULL, 0);
static const tilek_kernel choosing_kernel = KERNEL("choosing", hosts, devices, order, TILEK_VARYING_STEPS, &states[5], choices, 2);
static const tilek_kernel misled_kernel = KERNEL("misled", hosts, devices, order, TILEK_VARYING_STEPS, &states[6], wrong_choices, 1);
static const tilek_kernel sums_kernel = KERNEL("sums", hosts, devices, sums_order, TILEK_VARYING_STEPS, &states[7], NULL, 0);
static const tilek_kernel even_kernel = KERNEL("even", hosts, devices, even_order, TILEK_VARYING_STEPS, &states[8], NULL, 0);
static const tilek_kernel even_choosing_kernel = KERNEL("even_choosing", hosts, devices, even_order, TILEK_VARYING_STEPS, &states[9], choices, 2);

void register_step_kernels(void)
{
    fake_register(&devices[0], decay_device);
    fake_register(&devices[1], sum_device);
    fake_register(&narrow_devices[0], decay_device);
    fake_register(&narrow_devices[1], sum_device);
    fake_register(&wrong_devices[0], decay_device);
    fake_register(&wrong_devices[1], sum_device);
}

typedef struct step_call { tilek_call call; tilek_array arrays[2]; const void *scalars[2]; int64_t n; int steps; double s, A[N]; } step_call;

static void make(step_call *own, int64_t n, int steps)
{
    memset(own, 0, sizeof *own);
    fill(own->A, N);
    own->n = n;
    own->steps = steps;
    own->arrays[0] = (tilek_array){.base = own->A, .lower = {0}, .length = {n}, .extent = {N}};
    own->arrays[1] = (tilek_array){.base = &own->s};
    own->scalars[0] = &own->n;
    own->scalars[1] = &own->steps;
    own->call = (tilek_call){.arrays = own->arrays, .scalars = own->scalars, .tile_arguments = tile_arguments, .device = -1, .queue = -1, .enabled = 1};
}

static void original(double *A, double *s, int64_t n, int steps)
{
    for (int k = 0; k < steps; ++k) {
        for (int64_t i = k; i < n; ++i) A[i] = A[i] * 0.5 + k + 3;
        for (int64_t i = 0; k % 2 == 1 && i < double_until(k, n); ++i) *s += A[i];
    }
}

static void check(const step_call *own)
{
    double A[N], s = 0;
    fill(A, N);
    original(A, &s, own->n, own->steps);
    CHECK(memcmp(A, own->A, sizeof A) == 0);
    CHECK(own->s > s * (1 - 1e-12) - 1e-9 && own->s < s * (1 + 1e-12) + 1e-9); /* sums of instances, in another order */
}

/* ---- Tests ----------------------------------------------------------------------------------------------------------- */

/* Also fewer iterations than steps: the last steps are empty; and no step at all. */
void steps(void)
{
    static const int64_t lengths[] = {N, 100, 7, 1, 0};
    for (size_t index = 0; index < sizeof lengths / sizeof lengths[0]; ++index)
        for (int count = 0; count <= STEPS; count += 1 + count * 4) {
            step_call own;
            make(&own, lengths[index], count);
            CHECK(tilek_launch(&kernel, &own.call) == 0);
            check(&own);
        }
}

/* The last steps leave the iterator's type: none has run when that is found. */
void steps_refused(void)
{
    step_call own;
    double before[N];
    make(&own, 100, 5);
    CHECK(tilek_launch(&narrow_kernel, &own.call) == 0);
    check(&own);
    make(&own, N, STEPS);
    memcpy(before, own.A, sizeof before);
    CHECK(tilek_launch(&narrow_kernel, &own.call) == 1);
    CHECK(memcmp(before, own.A, sizeof before) == 0 && own.s == 0);
    original(own.A, &own.s, own.n, own.steps);
    tilek_complete(&narrow_kernel, &own.call);
}

/* A number that was taken for a constant differs in a later step: the device is left, and the data are unharmed. */
void steps_differ(void)
{
    step_call own;
    make(&own, N, STEPS);
    CHECK(tilek_launch(&wrong_kernel, &own.call) == 0 && fake.runs == 0);
    check(&own);
}

/* Steps have begun when a later one turns out larger than any that the kernel owned up to: the program ends. */
void steps_unsaid(void)
{
    step_call own;
    make(&own, N, STEPS);
    (void)tilek_launch(&unsaid_kernel, &own.call);
    CHECK(!"the program goes on");
}

/* Workers that no loop of the launch asks for: as many as the largest tile is long, and a power of two. */
void steps_workers(void)
{
    static const tilek_tile_kind own_kinds[] = {TILEK_TILE_GANG, TILEK_TILE_DYNAMIC};
    static const int own_axes[] = {TILEK_AXIS_GANG, -1};
    static const tilek_loop_shape loops[] = {{"x", 2, own_kinds, own_axes, 0, INT64_MIN, INT64_MAX}};
    static const int64_t extents[][2] = {{0, 256}, {1, 1}, {16, 16}, {20, 32}, {1000, 256}};
    const tilek_launch_shape launch = {"tiles", 1, loops, GANG_WORKER, NULL, 0, NULL, 0, NULL, 0, NULL, 0};
    const tilek_bounds bounds = {3, 10, 1, 7};
    tilek_limits limits = {.compute_units = 4, .grid = {100, 100, 100}, .group = {1024, 1024, 64}, .group_total = 1024};
    step_call own;
    make(&own, N, STEPS);
    for (size_t index = 0; index < sizeof extents / sizeof extents[0]; ++index) {
        const tilek_machine machine = {&limits, 1, 1024, NULL, extents[index][0], 0, NULL};
        tilek_tile tiles[2];
        tilek_geometry numbers = {.bounds = {&bounds}, .values = tiles};
        tilek_message why;
        CHECK(tilek_decide_geometry(&launch, &own.call, &machine, &numbers, &why) == TILEK_OK);
        CHECK(numbers.axes[TILEK_AXIS_WORKER] == extents[index][1] && numbers.axes[TILEK_AXIS_GANG] == 7);
    }
}

/* Decides a launch whose two loops have `trip` iterations, on a device of `units` multiprocessors. */
static void decide(const tilek_launch_shape *launch, const int64_t *arguments, int64_t trip, int is_gpu, int64_t units,
                   const int64_t *divisors, tilek_geometry *numbers)
{
    const tilek_bounds bounds = {0, trip, 1, trip};
    const tilek_limits limits = {.is_gpu = is_gpu, .compute_units = units, .grid = {1000, 1000, 1000}, .group = {1024, 1024, 64}, .group_total = 1024};
    tilek_machine machine = {&limits, 1, 1024, NULL, 0, 0, NULL};
    step_call own;
    tilek_message why;
    make(&own, N, STEPS);
    own.call.tile_arguments = arguments;
    machine.divisors = divisors;
    numbers->bounds[0] = numbers->bounds[1] = &bounds;
    CHECK(tilek_decide_geometry(launch, &own.call, &machine, numbers, &why) == TILEK_OK);
}

/* Workers have as many points as leave no multiprocessor without a gang, and as hide latencies: a half, a quarter,
 * and so on of what the launch says. What was decided for the program holds for all its launches. */
void steps_points(void)
{
    static const tilek_tile_kind own_kinds[] = {TILEK_TILE_DYNAMIC, TILEK_TILE_GANG, TILEK_TILE_STATIC, TILEK_TILE_WORKER};
    static const int own_axes[2][4] = {{-1, TILEK_AXIS_GANG + 1, -1, TILEK_AXIS_WORKER + 1}, {-1, TILEK_AXIS_GANG, -1, TILEK_AXIS_WORKER}};
    static const tilek_loop_shape loops[] = {{"i", 4, own_kinds, own_axes[0], 0, INT64_MIN, INT64_MAX},
                                             {"j", 4, own_kinds, own_axes[1], 4, INT64_MIN, INT64_MAX}};
    static const int64_t arguments[] = {0, 0, 8, 0, 0, 0, 4, 0}, said[] = {4, 2, 1};
    /* trip, multiprocessors; gangs along j and i, points along i and j */
    static const int64_t cases[][6] = {{128, 20, 4, 4, 4, 1}, {130, 20, 5, 5, 4, 1}, {256, 20, 4, 8, 4, 2}, {2048, 20, 16, 32, 8, 4}, {16, 132, 1, 2, 1, 1}};
    const unsigned axes = TILEK_LAUNCH_POINTS | 3u << TILEK_AXIS_GANG | 3u << TILEK_AXIS_WORKER;
    const tilek_launch_shape launch = {"product", 2, loops, axes, NULL, 0, NULL, 0, NULL, 0, NULL, 0};
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; ++index) {
        const int64_t *const expected = cases[index];
        tilek_tile tiles[8];
        tilek_geometry numbers = {.values = tiles};
        decide(&launch, arguments, expected[0], 0, expected[1], NULL, &numbers);
        CHECK(numbers.axes[TILEK_AXIS_GANG] == expected[2] && numbers.axes[TILEK_AXIS_GANG + 1] == expected[3]);
        CHECK(tiles[2].count == expected[4] && tiles[6].count == expected[5]);
        decide(&launch, arguments, expected[0], 0, expected[1], said, &numbers);
        CHECK(tiles[2].count == 4 && tiles[6].count == 1);
    }
}

/* Gangs that are too few for a GPU's multiprocessors have fewer workers, 64 at least; on a processor, and where the
 * user says how many gangs there are, they keep them. Gangs that copy tiles keep 128, as far as these are preferred
 * along the last axis. A step without iterations takes the least, so that it does not
 * decide for the others. */
void steps_spread(void)
{
    static const tilek_tile_kind own_kinds[] = {TILEK_TILE_DYNAMIC, TILEK_TILE_GANG, TILEK_TILE_WORKER};
    static const int own_axes[2][3] = {{-1, TILEK_AXIS_GANG + 1, TILEK_AXIS_WORKER + 1}, {-1, TILEK_AXIS_GANG, TILEK_AXIS_WORKER}};
    static const tilek_loop_shape loops[] = {{"i", 3, own_kinds, own_axes[0], 0, INT64_MIN, INT64_MAX},
                                             {"j", 3, own_kinds, own_axes[1], 3, INT64_MIN, INT64_MAX}};
    static const int64_t arguments[6] = {0}; /* trip, multiprocessors, a GPU; workers along j and i, and along i where gangs copy tiles */
    static const int64_t cases[][6] = {{128, 20, 1, 32, 8, 8}, {128, 132, 1, 32, 2, 4}, {128, 132, 0, 32, 8, 8}, {16, 132, 1, 16, 4, 8}, {1, 132, 1, 1, 1, 8}, {0, 132, 1, 1, 1, 8}};
    const unsigned axes = 3u << TILEK_AXIS_GANG | 3u << TILEK_AXIS_WORKER;
    const tilek_launch_shape launch = {"stencil", 2, loops, axes, NULL, 0, NULL, 0, NULL, 0, NULL, 0};
    const tilek_launch_shape copying = {"tiles", 2, loops, axes | TILEK_LAUNCH_COPIES, NULL, 0, NULL, 0, NULL, 0, NULL, 0};
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; ++index) {
        const int64_t *const expected = cases[index];
        tilek_tile tiles[6];
        tilek_geometry numbers = {.values = tiles};
        decide(&launch, arguments, expected[0], (int)expected[2], expected[1], NULL, &numbers);
        CHECK(numbers.axes[TILEK_AXIS_WORKER] == expected[3] && numbers.axes[TILEK_AXIS_WORKER + 1] == expected[4]);
        CHECK(expected[0] > 0 || (numbers.axes[TILEK_AXIS_GANG] == 1 && numbers.axes[TILEK_AXIS_GANG + 1] == 1));
        numbers = (tilek_geometry){.values = tiles};
        decide(&copying, arguments, expected[0], (int)expected[2], expected[1], NULL, &numbers);
        CHECK(numbers.axes[TILEK_AXIS_WORKER] == expected[3] && numbers.axes[TILEK_AXIS_WORKER + 1] == expected[5]);
    }
}

/* Some step in the middle fails. */
void steps_lost(void)
{
    step_call own;
    make(&own, N, STEPS);
    fake.fail_run = 20;
    CHECK(tilek_launch(&kernel, &own.call) == 0 && fake.runs == 20);
    check(&own);
}

/* One copy in, one out, whatever the number of steps; reductions move their own few values. */
void steps_copies(void)
{
    step_call own;
    make(&own, N, 2);
    own.call.enabled = 1;
    CHECK(tilek_launch(&kernel, &own.call) == 0);
    CHECK(fake.writes == 3 && fake.reads == 4 && fake.builds == 1); /* in: A, s, s by one reduction; out: partials, s, A, s */
    make(&own, 100, 2);
    CHECK(tilek_launch(&kernel, &own.call) == 0);
    CHECK(fake.builds == 1);
    fake.writes = fake.reads = 0;
    make(&own, N, 5);
    CHECK(tilek_launch(&sums_kernel, &own.call) == 0);
    CHECK(fake.writes == 3 && fake.reads == 8); /* the same, though partials come out five times */
}

/* One step does not reach the second launch: the program specialised for it leaves that out, one for all numbers does not. */
void steps_unreached(void)
{
    step_call own;
    make(&own, N, 2);
    CHECK(tilek_launch(&kernel, &own.call) == 0);
    CHECK(fake.builds == 1 && fake.unreached == 0);
    make(&own, N, 1);
    CHECK(tilek_launch(&kernel, &own.call) == 0);
    check(&own);
    CHECK(fake.builds == 2 && fake.unreached == 1);
}

void steps_queued(void)
{
    static step_call own[3];
    for (int index = 0; index < 3; ++index) {
        make(&own[index], N - index, STEPS);
        own[index].call.queue = index % 2;
        CHECK(tilek_launch(&kernel, &own[index].call) == 0);
        own[index].scalars[0] = own[index].scalars[1] = NULL; /* they were copied */
    }
    tilek_wait(-1, NULL);
    for (int index = 0; index < 3; ++index) check(&own[index]);
}

static void *launch_own(void *argument)
{
    for (int round = 0; round < 20; ++round) {
        step_call *own = argument;
        make(own, N - round, STEPS);
        CHECK(tilek_launch(&kernel, &own->call) == 0);
        check(own);
    }
    return NULL;
}

void steps_concurrent(void)
{
    static step_call own[3];
    pthread_t threads[3];
    for (int index = 0; index < 3; ++index) CHECK(pthread_create(&threads[index], NULL, launch_own, &own[index]) == 0);
    for (int index = 0; index < 3; ++index) CHECK(pthread_join(threads[index], NULL) == 0);
}

/* Run with TILEK_VERIFY=1. */
void steps_verified(void)
{
    step_call own;
    make(&own, N, STEPS);
    CHECK(tilek_launch(&kernel, &own.call) == 1);
    original(own.A, &own.s, own.n, own.steps);
    tilek_complete(&kernel, &own.call);
    check(&own);
}

/* Prints what TILEK_SIZES makes of the size. */
void steps_size(void)
{
    step_call own;
    make(&own, 1, 1);
    own.A[0] = 0;
    CHECK(tilek_launch(&kernel, &own.call) == 0);
    (void)printf("%g\n", own.A[0]);
}

/* What a launch whose first array has `length` elements and whose outermost loop has `trips` iterations takes for the size. */
static double size_at(int64_t length, int64_t trips)
{
    step_call own;
    make(&own, 1, 1);
    own.A[0] = 0;
    own.arrays[0].length[0] = length;
    own.arrays[0].extent[0] = -1;
    own.call.trips = trips;
    CHECK(tilek_launch(&choosing_kernel, &own.call) == 0);
    return own.A[0];
}

/* Prints the sizes of launches that are small enough for a choice, or not: in bytes, in trips, in neither, in both; and without an end. */
void steps_chosen(void)
{
    static const int64_t launches[][2] = {{10, 3}, {11, 2}, {11, 3}, {10, 0}, {11, -1}};
    for (size_t index = 0; index < sizeof launches / sizeof launches[0]; ++index) (void)printf("%g ", size_at(launches[index][0], launches[index][1]));
}

/* Likewise of an empty section, which does not count, and of ones beyond 32 and 64 bits. */
void steps_chosen_extremes(void)
{
    static const int64_t launches[][2] = {{-5, 3}, {INT64_C(1) << 32, 3}, {INT64_C(1) << 61, 3}, {INT64_MAX / 8, 3}, {INT64_MAX, 2}};
    for (size_t index = 0; index < sizeof launches / sizeof launches[0]; ++index) (void)printf("%g ", size_at(launches[index][0], launches[index][1]));
}

/* What counts: rows, what is the kernel's own on hosts, scalars; not what hosts have no memory for, nor arrays without elements. */
void steps_chosen_arrays(void)
{
    static const tilek_array_shape shapes[] = {{"rows", TILEK_ROWS, 2, sizeof(double), 1, number, TILEK_READS},
                                               {"own", TILEK_CONTIGUOUS, 1, sizeof(double), 1, number, TILEK_WRITES | TILEK_TEMPORARY},
                                               {"far", TILEK_CONTIGUOUS, 1, sizeof(double), 1, number, TILEK_WRITES | TILEK_TEMPORARY | TILEK_DEVICES_ONLY},
                                               {"none", TILEK_CONTIGUOUS, 2, sizeof(double), 1, number, TILEK_READS},
                                               {"s", TILEK_SCALAR, 0, sizeof(double), 1, number, TILEK_WRITES}};
    static const tilek_choice exact[] = {{12 * sizeof(double), 7, in_small, 0}}, close[] = {{12 * sizeof(double) - 1, 7, in_small, 0}};
    tilek_array own[] = {{.length = {3, 2}}, {.length = {5}}, {.length = {1000}}, {.length = {1000, 0}}, {.base = NULL}};
    const tilek_call call = {.arrays = own, .trips = 7};
    const tilek_choice *const tables[] = {exact, close};
    for (int table = 0; table < 2; ++table) {
        const tilek_kernel made = {.name = "made", .array_count = 5, .arrays = shapes, .size_count = 1, .sizes = sizes, .choice_count = 1, .choices = tables[table]};
        tilek_message why;
        int64_t taken;
        CHECK(tilek_choose_sizes(&made, &call, TILEK_SIDE_HOST, &taken, &why) == TILEK_OK && taken == (table == 0 ? 4 : 3));
        CHECK(tilek_choose_sizes(&made, &call, TILEK_SIDE_PROCESSOR, &taken, &why) == TILEK_OK && taken == (table == 0 ? 4 : 3));
        CHECK(tilek_choose_sizes(&made, &call, TILEK_SIDE_DEVICE, &taken, &why) == TILEK_OK && taken == 3);
    }
}

/* Processors look at their own choices, then at those of hosts; nobody else looks at theirs. All layouts of a side are numbered, and each says what it has. */
void steps_chosen_sides(void)
{
    static const int64_t of_hosts[] = {6}, of_devices[] = {7};
    static const tilek_choice hosts[] = {{100, INT64_MAX, of_hosts, 0}}, devices[] = {{200, INT64_MAX, of_devices, 0}};
    static const tilek_choice processors[] = {{80, 5, in_small, 0}, {50, INT64_MAX, in_short, 0}};
    static const tilek_kernel made = {.name = "made", .array_count = 1, .arrays = arrays, .size_count = 1, .sizes = sizes, .choice_count = 1, .choices = hosts,
                                      .device_choice_count = 1, .device_choices = devices, .processor_choice_count = 2, .processor_choices = processors};
    static const struct { int64_t length, trips, sizes[3]; } cases[] = {
        {10, 5, {7, 6, 4}}, {10, 6, {7, 6, 6}}, {6, 6, {7, 6, 5}}, {12, 5, {7, 6, 6}}, {13, 5, {7, 3, 3}}, {26, 5, {3, 3, 3}}};
    static const int64_t layouts[][5] = {{7, 3}, {6, 3}, {4, 5, 6, 3}};
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; ++index)
        for (int side = TILEK_SIDE_DEVICE; side <= TILEK_SIDE_PROCESSOR; ++side) {
            tilek_array own[] = {{.length = {cases[index].length}}};
            const tilek_call call = {.arrays = own, .trips = cases[index].trips};
            tilek_message why;
            int64_t taken;
            CHECK(tilek_choose_sizes(&made, &call, (tilek_side)side, &taken, &why) == TILEK_OK && taken == cases[index].sizes[side]);
        }
    for (int side = TILEK_SIDE_DEVICE; side <= TILEK_SIDE_PROCESSOR; ++side)
        for (int number = 0;; ++number) {
            const int layout = tilek_layout_at(&made, (tilek_side)side, number);
            CHECK((layout != 0) == (layouts[side][number] != 0));
            if (layout == 0) break;
            CHECK(tilek_layout_size(&made, layout, 0) == layouts[side][number]);
        }
}

/* A choice that breaks the contract: nothing has run when that is found. */
void steps_misled(void)
{
    step_call own;
    make(&own, 1, 1);
    own.A[0] = 0;
    CHECK(tilek_launch(&misled_kernel, &own.call) == 1 && own.A[0] == 0);
    tilek_complete(&misled_kernel, &own.call);
}

/* Prints the size of blocks of which a launch has so many iterations: by default, and of a kernel that chooses 4 up to 10. */
void steps_even(void)
{
    static const int64_t lengths[] = {3, 4, 5, 12};
    const tilek_kernel *const both[] = {&even_kernel, &even_choosing_kernel};
    for (size_t index = 0; index < 2 * sizeof lengths / sizeof lengths[0]; ++index) {
        step_call own;
        make(&own, lengths[index / 2], 3);
        own.A[0] = 0;
        own.call.trips = 3;
        CHECK(tilek_launch(both[index % 2], &own.call) == 0);
        (void)printf("%g ", own.A[0]);
    }
}

/* Prints the mean cost of a launch, in nanoseconds of processor time, of a kernel that chooses sizes and of one that does not. */
void steps_choice_cost(void)
{
    enum { COUNT = 100000 };
    const tilek_kernel *const kernels[] = {&choosing_kernel, &kernel};
    for (int which = 0; which < 2; ++which) {
        struct timespec from, to;
        step_call own;
        make(&own, 2, 1);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
        for (int count = 0; count < COUNT; ++count) CHECK(tilek_launch(kernels[which], &own.call) == 0);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
        (void)printf("%.1f\n", ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / COUNT);
    }
}

/* Prints the mean cost of a step of one iteration, its rehearsal included, in nanoseconds of processor time. */
void steps_cost(void)
{
    enum { COUNT = 200000 };
    struct timespec from, to;
    step_call own;
    make(&own, 2, COUNT);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    CHECK(tilek_launch(&tiny_kernel, &own.call) == 0);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    (void)printf("%.1f\n", ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / COUNT);
}
