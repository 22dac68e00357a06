/* graph_cases.c: runs that come again: recorded once, then played. The fake device keeps the launches that it records, with their values. */
#define _POSIX_C_SOURCE 200809L
#include "launch/launch_graphs.h"
#include "kernels.h"

#include <pthread.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 103, STEPS = 12, RUNS = 4 };

/* ---- for (k = 0; k < steps; ++k) for (i = k; i < n; ++i) A[i] = A[i] * 0.5 + k + b; --------------------------------- */

static const tilek_loop_shape loops[] = {{"i", 3, kinds, axes, 0, INT32_MIN, INT32_MAX}};
#define SCALAR_PARAMETER {TILEK_PARAMETER_SCALAR, 2, 0, NULL}
static const tilek_parameter parameters[] = {GANG_PARAMETERS(VALUE, NULL, NULL, NULL, NULL, NULL, NULL), SCALAR_PARAMETER};
enum { P_SCALAR = P_PARTIALS };

static void fade_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    double *A = call->arrays[0].base;
    const int k = *(const int *)call->values[0];
    const double b = *(const double *)call->scalars[2];
    for (int64_t gang = first; gang < last; ++gang)
        FOR_GANG(call->loops[0], call->tiles[0], call->axes[TILEK_AXIS_WORKER]) {
            const int64_t i = call->loops[0]->lower + point;
            A[i] = A[i] * 0.5 + k + b;
        }
}

static void fade_device(const fake_call *call)
{
    double *A = call->pointers[P_ARRAY];
    const int k = *(const int *)call->scalars[P_VALUE];
    const double b = *(const double *)call->scalars[P_SCALAR];
    const bare_loop loop = {call->numbers[P_TRIP]};
    const tilek_tile tiles[] = {{0, call->numbers[P_STRIDE0]}, {0, call->numbers[P_STRIDE1]}};
    for (int64_t gang = call->gang[0]; gang < call->numbers[P_GANGS]; gang += call->groups[0])
        FOR_GANG(&loop, tiles, call->numbers[P_WORKERS]) {
            const int64_t i = call->numbers[P_LOWER] + point - call->numbers[P_ORIGIN];
            A[i] = A[i] * 0.5 + k + b;
        }
}

static int order(struct tilek_run *run, const tilek_call *call)
{
    const int64_t n = *(const int64_t *)call->scalars[0];
    const int steps = *(const int *)call->scalars[1];
    for (int k = 0; k < steps; ++k) {
        const tilek_bounds bounds[] = {{k, n, 1, tilek_trip(k, n, 1, '<')}};
        const void *const values[] = {&k};
        const int stop = tilek_step(run, 0, bounds, values);
        if (stop != 0) return stop;
    }
    return 0;
}

static const size_t value_sizes[] = {sizeof(int)};
#define GANG_WORKER (1u << TILEK_AXIS_GANG | 1u << TILEK_AXIS_WORKER)
static const tilek_launch_shape hosts[] = {{"fade", 1, loops, GANG_WORKER, fade_host, 0, NULL, 0, NULL, 1, value_sizes, 0}};
static const tilek_launch_shape devices[] = {{"fade", 1, loops, GANG_WORKER, NULL, 0, NULL, 10, parameters, 1, value_sizes, 0}};
static const tilek_array_shape arrays[] = {{"A", TILEK_CONTIGUOUS, 1, sizeof(double), 1, number, TILEK_READS | TILEK_WRITES | TILEK_COPY_IN | TILEK_COPY_OUT}};
static const size_t scalar_sizes[] = {sizeof(int64_t), sizeof(int), sizeof(double)};
static const char *const text[] = {"the fake device reads no text", NULL};
static const int64_t tile_arguments[3];
static void *own_state;
static const tilek_kernel kernel = {
    .abi = TILEK_ABI, .name = "fade", .file = "graphs.c", .line = 5, .flags = TILEK_USES_DOUBLE | TILEK_VARYING_STEPS, .targets = 15, .preferred = TILEK_AUTO, .opencl = text,
    .array_count = 1, .arrays = arrays, .scalar_count = 3, .scalar_sizes = scalar_sizes, .host_launch_count = 1, .host_launches = hosts, .device_launch_count = 1,
    .device_launches = devices, .tile_argument_count = 3, .host_steps = order, .device_steps = order, .state = &own_state};

void register_graph_kernels(void) { fake_register(&devices[0], fade_device); }

typedef struct fade_call { tilek_call call; tilek_array arrays[1]; const void *scalars[3]; int64_t n; int steps; double b, *A; } fade_call;

static void make(fade_call *own, double *A, int64_t n, int steps, double b)
{
    memset(own, 0, sizeof *own);
    own->A = A;
    own->n = n;
    own->steps = steps;
    own->b = b;
    own->arrays[0] = (tilek_array){.base = A, .lower = {0}, .length = {n}, .extent = {N}};
    own->scalars[0] = &own->n;
    own->scalars[1] = &own->steps;
    own->scalars[2] = &own->b;
    own->call = (tilek_call){.arrays = own->arrays, .scalars = own->scalars, .tile_arguments = tile_arguments, .device = -1, .queue = -1, .enabled = 1};
}

static void original(const fade_call *own, double *A)
{
    for (int k = 0; k < own->steps; ++k)
        for (int64_t i = k; i < own->n; ++i) A[i] = A[i] * 0.5 + k + own->b;
}

static void check(const fade_call *own)
{
    double A[N];
    fill(A, N);
    original(own, A);
    CHECK(memcmp(A, own->A, sizeof A) == 0);
}

/* Fills A, runs the kernel over it, and compares. */
static void run_once(double *A, int64_t n, int steps, double b)
{
    fade_call own;
    make(&own, A, n, steps, b);
    fill(A, N);
    CHECK(tilek_launch(&kernel, &own.call) == 0);
    check(&own);
}

/* ---- Tests ----------------------------------------------------------------------------------------------------------- */

/* The second run is recorded, which runs nothing, and played; those after it are played alone. Two kinds of runs in turn are recorded each. */
void graphs(void)
{
    double A[N], B[N];
    for (int run = 0; run < RUNS; ++run) run_once(A, N, STEPS, 1);
    CHECK(fake.records == 1 && fake.plays == RUNS - 1 && fake.runs == 2 * STEPS && fake.builds == 1);
    for (int run = 0; run < RUNS; ++run) {
        run_once(A, N, STEPS, 2);
        run_once(B, N - 1, STEPS, 2);
    }
    CHECK(fake.records == 3 && fake.plays == 3 * (RUNS - 1) && fake.live_graphs == 3);
    for (int b = 3; b < 9; ++b) run_once(A, N, STEPS, b);
    CHECK(fake.records == 3 && fake.live_graphs == 0); /* the oldest went first */
}

/* The same runs on a device of which any call may fail: the original runs where the launch does not. */
void graphs_anyhow(void)
{
    double A[N];
    for (int run = 0; run < RUNS; ++run) {
        fade_call own;
        make(&own, A, N, STEPS, 1);
        fill(A, N);
        if (tilek_launch(&kernel, &own.call) != 0) {
            original(&own, A);
            tilek_complete(&kernel, &own.call);
        }
        check(&own);
    }
}

/* Another scalar each time, more kinds of runs in turn than are remembered, too few launches, and more than a queue takes at once. */
void graphs_rarely(void)
{
    double A[N];
    for (int b = 0; b < 9; ++b) run_once(A, N, STEPS, b);
    for (int run = 0; run < 4 * 6; ++run) run_once(A, N - run % 6, STEPS, 1);
    for (int run = 0; run < RUNS; ++run) run_once(A, N, TILEK_LEAST_RECORDED - 1, 1);
    for (int run = 0; run < RUNS; ++run) {
        fade_call own;
        make(&own, A, N, 0, 1);
        CHECK(tilek_launch(&kernel, &own.call) == 0);
    }
    CHECK(fake.records == 0 && fake.plays == 0);
    for (int run = 0; run < RUNS; ++run) run_once(A, N, TILEK_LEAST_RECORDED, 1);
    CHECK(fake.records == 1 && fake.plays == RUNS - 1);
}

static void launch_again(double *A, double *expected)
{
    fade_call own;
    make(&own, A, N, STEPS, 1);
    CHECK(tilek_launch(&kernel, &own.call) == 0);
    original(&own, expected);
}

/* The same numbers where the data lie elsewhere on the device: B takes the buffer that A had before, and plays what was recorded of that; A gets another. */
void graphs_elsewhere(void)
{
    static const tilek_array_shape shape = {"A", TILEK_CONTIGUOUS, 1, sizeof(double), 1, number, TILEK_READS | TILEK_WRITES};
    double A[N], B[N], expected_A[N], expected_B[N];
    const tilek_data_item items[] = {{&shape, {.base = A, .lower = {0}, .length = {N}, .extent = {N}}, TILEK_COPY},
                                     {&shape, {.base = B, .lower = {0}, .length = {N}, .extent = {N}}, TILEK_COPY}};
    for (int run = 0; run < 2; ++run) run_once(A, N, STEPS, 1);
    CHECK(fake.records == 1 && fake.plays == 1 && fake.runs == 2 * STEPS);
    fill(A, N), fill(B, N), fill(expected_A, N), fill(expected_B, N);
    tilek_data_enter("d.c", 1, 2, items);
    launch_again(B, expected_B);
    CHECK(fake.records == 1 && fake.plays == 2 && fake.runs == 2 * STEPS);
    launch_again(A, expected_A);
    CHECK(fake.records == 1 && fake.plays == 2 && fake.runs == 3 * STEPS);
    launch_again(A, expected_A);
    CHECK(fake.records == 2 && fake.plays == 3 && fake.runs == 4 * STEPS);
    launch_again(B, expected_B);
    launch_again(A, expected_A);
    CHECK(fake.records == 2 && fake.plays == 5 && fake.runs == 4 * STEPS);
    tilek_data_exit("d.c", 2, 2, items);
    CHECK(memcmp(A, expected_A, sizeof A) == 0 && memcmp(B, expected_B, sizeof B) == 0);
}

/* Whatever fails, the launches run one by one, and recording isn't tried again. */
void graphs_refused(void)
{
    int *const failures[] = {&fake.fail_record, &fake.fail_recorded, &fake.fail_play, &fake.fail_run};
    double A[N];
    for (int kind = 0; kind < 4; ++kind) {
        const int before = fake.plays, records = fake.records;
        run_once(A, N, STEPS, kind);
        *failures[kind] = kind == 3 ? 5 : 1; /* a launch, in the midst of a recording */
        for (int run = 0; run < RUNS; ++run) run_once(A, N, STEPS, kind);
        CHECK(*failures[kind] == 0 && fake.records == records + 1 && fake.plays == before + (kind == 2) && fake.live_graphs == 0);
    }
}

/* The device fails while it plays: the host's data are as they were, and the kernel runs elsewhere. */
void graphs_lost(void)
{
    double A[N];
    for (int run = 0; run < 2; ++run) run_once(A, N, STEPS, 1);
    fake.fail_wait = 1;
    run_once(A, N, STEPS, 1);
    CHECK(fake.plays == 2 && fake.fail_wait == 0);
    run_once(A, N, STEPS, 1);
    CHECK(fake.plays == 2);
}

void graphs_queued(void)
{
    static double A[3][N];
    static fade_call own[3];
    for (int run = 0; run < RUNS; ++run) {
        for (int index = 0; index < 3; ++index) {
            make(&own[index], A[index], N, STEPS, 1);
            fill(A[index], N);
            own[index].call.queue = index;
            CHECK(tilek_launch(&kernel, &own[index].call) == 0);
            own[index].scalars[2] = NULL; /* it was copied */
        }
        tilek_wait(-1, NULL);
        for (int index = 0; index < 3; ++index) check(&own[index]);
    }
}

static void *run_often(void *unused)
{
    double A[N];
    (void)unused;
    for (int run = 0; run < 25; ++run) run_once(A, N - run / 5 % 2, STEPS, 1);
    return NULL;
}

void graphs_concurrent(void)
{
    pthread_t threads[3];
    for (int index = 0; index < 3; ++index) CHECK(pthread_create(&threads[index], NULL, run_often, NULL) == 0);
    for (int index = 0; index < 3; ++index) CHECK(pthread_join(threads[index], NULL) == 0);
    CHECK(fake.plays > 0);
}

static int is_child;

/* When all of the runtime's exit handlers have run. */
static void look_behind(void)
{
    if (is_child && fake.live_graphs != 1) _exit(3);
}

/* A child leaves its parent's graphs alone, as all else on the device. */
void graphs_forked(void)
{
    double A[N];
    int status;
    pid_t child;
    CHECK(atexit(look_behind) == 0);
    for (int run = 0; run < 2; ++run) run_once(A, N, STEPS, 1);
    child = fork();
    if (child == 0) {
        run_once(A, N, STEPS, 1);
        CHECK(fake.plays == 1);
        is_child = 1;
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    run_once(A, N, STEPS, 1);
    CHECK(fake.plays == 2);
}

/* Run with TILEK_GRAPHS=0 or TILEK_PROFILE. */
void graphs_not(void)
{
    double A[N];
    for (int run = 0; run < RUNS; ++run) run_once(A, N, STEPS, 1);
    CHECK(fake.records == 0 && fake.plays == 0 && fake.runs == RUNS * STEPS);
}

/* Run with TILEK_VERIFY=1. */
void graphs_verified(void)
{
    double A[N];
    for (int run = 0; run < RUNS; ++run) {
        fade_call own;
        make(&own, A, N, STEPS, 1);
        fill(A, N);
        CHECK(tilek_launch(&kernel, &own.call) == 1);
        original(&own, A);
        tilek_complete(&kernel, &own.call);
        check(&own);
    }
    CHECK(fake.plays == RUNS - 1);
}
