/* cases.c: tests of the runtime's core on the fake device. Usage: cases NAME; exit status 0 is success, unless the test says otherwise. */
#define _POSIX_C_SOURCE 200809L
#include "kernels.h"
#include "host/cores.h"
#include "host/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N = 1003 };
static double A[N];
static const tilek_array_shape array_shape = {"A", TILEK_CONTIGUOUS, 1, sizeof(double), 1, number, TILEK_READS | TILEK_WRITES};

static tilek_data_item item(double *base, int64_t lower, int64_t length, tilek_motion motion)
{
    return (tilek_data_item){&array_shape, {.base = base, .lower = {lower}, .length = {length}, .extent = {N}}, motion};
}

/* ---- Launches, on whatever TILEK_TARGET says ---------------------------------------------------------------------- */

static void launches(void)
{
    static const int64_t lengths[] = {0, 1, 2, 7, 255, 256, 257, N};
    for (size_t index = 0; index < sizeof lengths / sizeof lengths[0]; ++index) {
        for (int gangs = 0; gangs <= 5; gangs += 5) {
            for (int workers = 0; workers <= 3; workers += 3) {
                scale_call call;
                make_call(&call, A, N, N - lengths[index], lengths[index], NULL);
                call.call.axes[TILEK_AXIS_GANG] = gangs;
                call.call.axes[TILEK_AXIS_WORKER] = workers;
                fill(A, N);
                CHECK(launch_scale(&scale_kernel, &call) == 0);
                check_scaled(A, N, N - lengths[index], lengths[index], 3, 1);
            }
        }
    }
}

static void twice(void)
{
    scale_call call;
    make_call(&call, A, N, 1, N - 2, NULL);
    fill(A, N);
    CHECK(launch_scale(&twice_kernel, &call) == 0);
    check_scaled(A, N, 1, N - 2, 3, 2);
}

static void sums(void)
{
    double sum = 0.5, wanted = 0.5;
    scale_call call;
    fill(A, N);
    for (int i = 3; i < N; ++i) wanted += A[i];
    make_call(&call, A, N, 3, N - 3, &sum);
    CHECK(launch_scale(&sum_kernel, &call) == 0 && sum == wanted);
    make_call(&call, A, N, 3, 0, &sum);
    CHECK(launch_scale(&sum_kernel, &call) == 0 && sum == wanted);
}

/* A result that is a zero and was none before: the original loop runs, with the value from before. */
static void ordered_zeros(void)
{
    static void *own;
    /* The runtime goes through its kernels when the process ends. */
    static tilek_array_shape arrays[2];
    static tilek_kernel kernel;
    tilek_data_item scalar;
    double sum;
    scale_call call;
    kernel = sum_kernel;
    memcpy(arrays, sum_kernel.arrays, sizeof arrays);
    arrays[1].flags |= TILEK_ORDERED_ZERO_ON_HOSTS | TILEK_ORDERED_ZERO_ON_DEVICES;
    kernel.arrays = arrays;
    kernel.state = &own;
    scalar = (tilek_data_item){&arrays[1], {.base = &sum}, TILEK_COPY};
    for (int is_present = 0; is_present < 2; ++is_present) {
        memset(A, 0, sizeof A);
        A[5] = 3;
        sum = -3;
        if (is_present) tilek_data_enter("d.c", 1, 1, &scalar);
        make_call(&call, A, N, 3, N - 3, &sum);
        CHECK(tilek_launch(&kernel, &call.call) == 1 && sum == -3);
        sum = 0;
        tilek_complete(&kernel, &call.call);
        CHECK(tilek_launch(&kernel, &call.call) == 0);
        A[5] = 0;
        CHECK(tilek_launch(&kernel, &call.call) == 0);
        if (is_present) tilek_data_exit("d.c", 2, 1, &scalar);
        CHECK(sum == 3);
        sum = 0;
        CHECK(tilek_launch(&kernel, &call.call) == 0 && sum == 0);
    }
    arrays[0].storage = TILEK_SCALAR; /* too large to be restored: nothing is launched */
    arrays[0].flags |= TILEK_WRITES;
    arrays[0].element_size = 64;
    sum = 5;
    CHECK(tilek_launch(&kernel, &call.call) == 1 && sum == 5);
}

static void rows(void)
{
    enum { ROWS = 9, COLUMNS = 31 };
    double *R[ROWS];
    scale_call call;
    for (int i = 0; i < ROWS; ++i) {
        R[i] = malloc(COLUMNS * sizeof(double));
        CHECK(R[i] != NULL);
        fill(R[i], COLUMNS);
    }
    make_rows_call(&call, R, ROWS, 2, COLUMNS - 3);
    CHECK(tilek_launch(&rows_kernel, &call.call) == 0);
    for (int i = 0; i < ROWS; ++i) {
        for (int j = 0; j < COLUMNS; ++j) CHECK(R[i][j] == j + (j >= 2 && j < COLUMNS - 1 ? 3 : 0));
        free(R[i]);
    }
}

/* What cannot be tiled is declined, and the original runs. */
static void declines(void)
{
    scale_call call;
    make_call(&call, A, N, 0, N, NULL);
    fill(A, N);
    call.call.enabled = 0;
    CHECK(launch_scale(&scale_kernel, &call) == 1);
    check_scaled(A, N, 0, N, 3, 1);
    make_call(&call, A, N, 0, N, NULL);
    call.loops[0].trip = -1;
    CHECK(tilek_launch(&scale_kernel, &call.call) == 1);
    make_call(&call, A, N, 0, N, NULL);
    call.loops[0].lower = INT32_MAX - 5;
    CHECK(tilek_launch(&scale_kernel, &call.call) == 1);
    make_call(&call, A, N, 0, N, NULL);
    call.call.axes[TILEK_AXIS_GANG] = -2;
    CHECK(tilek_launch(&scale_kernel, &call.call) == 1);
    check_scaled(A, N, 0, N, 3, 1);
}

/* ---- The device ----------------------------------------------------------------------------------------------------- */

/* A program a set of numbers, until there have been eight; then one for all. TILEK_SPECIALIZE=0: one from the start. */
static void specialises(void)
{
    const int specialising = getenv("TILEK_SPECIALIZE") == NULL;
    for (int round = 0; round < 2; ++round) {
        for (int length = 1; length <= 12; ++length) {
            scale_call call;
            make_call(&call, A, N, 0, length, NULL);
            fill(A, N);
            CHECK(launch_scale(&scale_kernel, &call) == 0);
            check_scaled(A, N, 0, length, 3, 1);
        }
    }
    CHECK(fake.builds == (specialising ? 3 : 1));
    CHECK(fake.allocations == 12 && fake.live_buffers == 12);
}

static void fewer_workers(void)
{
    scale_call call;
    fake.group_total = 20;
    make_call(&call, A, N, 0, N, NULL);
    fill(A, N);
    CHECK(launch_scale(&scale_kernel, &call) == 0 && fake.runs == 1);
    call.call.axes[TILEK_AXIS_WORKER] = 64; /* the user's count is not changed: the next target takes it */
    CHECK(launch_scale(&scale_kernel, &call) == 0 && fake.runs == 1);
    check_scaled(A, N, 0, N, 3, 2);
}

/* One call of the device fails; data are as if it had not been tried, and threads do the work. */
static void failing(int *countdown)
{
    double small[8];
    scale_call call;
    *countdown = 1;
    make_call(&call, small, 8, 0, 8, NULL);
    fill(small, 8);
    CHECK(launch_scale(&twice_kernel, &call) == 0 && *countdown == 0);
    check_scaled(small, 8, 0, 8, 3, 2);
}

/* A device that has lost a call is given up: later kernels run on threads, without another word. */
static void lost(int *countdown)
{
    double small[8];
    scale_call call;
    failing(countdown);
    const int runs = fake.runs;
    make_call(&call, small, 8, 0, 8, NULL);
    fill(small, 8);
    CHECK(launch_scale(&scale_kernel, &call) == 0 && fake.runs == runs);
    check_scaled(small, 8, 0, 8, 3, 1);
}

static void lost_write(void) { lost(&fake.fail_write); }
static void lost_run(void) { lost(&fake.fail_run); }
static void lost_wait(void) { lost(&fake.fail_wait); }
static void lost_read(void) { lost(&fake.fail_read); }

/* The first read fails of an array that is staged, and of one that is not; the data are as if the device had not been tried. */
static void lost_result(int length)
{
    enum { LARGE = 1 << 20 };
    static double large[LARGE];
    scale_call call;
    make_call(&call, large, LARGE, 0, length, NULL);
    fill(large, LARGE);
    fake.fail_read = 1;
    CHECK(launch_scale(&scale_kernel, &call) == 0 && fake.runs == 1 && fake.reads == 1);
    check_scaled(large, LARGE, 0, length, 3, 1);
}

static void lost_result_small(void) { lost_result(500); }
static void lost_result_large(void) { lost_result(1 << 20); }

/* What may go better next time is tried again; what does not compile is not. */
static void failures(void)
{
    double small[8];
    scale_call call;
    failing(&fake.fail_allocate);
    make_call(&call, small, 8, 0, 8, NULL);
    fill(small, 8);
    CHECK(launch_scale(&scale_kernel, &call) == 0 && fake.runs == 1);
    fake.refuse_build = 1;
    for (int round = 0; round < 3; ++round) {
        scale_call call;
        double sum = 0;
        make_call(&call, A, N, 0, N, &sum);
        CHECK(launch_scale(&sum_kernel, &call) == 0);
    }
    CHECK(fake.builds == 3); /* twice, scale, sum */
}

/* Memory that the runtime keeps for later is given up before a kernel is. */
static void scarce_memory(void)
{
    scale_call call;
    make_call(&call, A, N, 0, 10, NULL);
    fill(A, N);
    CHECK(launch_scale(&scale_kernel, &call) == 0 && fake.live_buffers == 1);
    make_call(&call, A, N, 0, 20, NULL);
    fake.fail_allocate = 1;
    CHECK(launch_scale(&scale_kernel, &call) == 0 && fake.live_buffers == 1 && fake.runs == 2);
}

/* ---- Processors ------------------------------------------------------------------------------------------------------ */

static void be_processor(int shares_memory)
{
    fake.is_gpu = 0;
    fake.shares_memory = shares_memory;
}

/* The host's launches: groups of one worker, and no copies of arrays where memory is shared; a reduction's scalar moves nowhere else. */
static void processors(void)
{
    const int at_most = 16 * 4;
    double sum = 0.5, wanted = 0.5;
    scale_call call;
    be_processor(1);
    make_call(&call, A, N, 3, N - 5, NULL);
    fill(A, N);
    CHECK(launch_scale(&processor_scale_kernel, &call) == 0);
    check_scaled(A, N, 3, N - 5, 3, 1);
    CHECK(fake.runs == 1 && fake.most_workers == 1 && fake.most_groups > 1 && fake.most_groups <= at_most);
    CHECK(fake.writes == 0 && fake.reads == 0 && fake.allocations == 0 && fake.reclaims == 1);
    call.call.axes[TILEK_AXIS_GANG] = 100;
    call.call.axes[TILEK_AXIS_WORKER] = 3;
    CHECK(launch_scale(&processor_scale_kernel, &call) == 0);
    check_scaled(A, N, 3, N - 5, 3, 2);
    CHECK(fake.most_workers == 1 && fake.most_groups == at_most);
    for (int i = 3; i < N; ++i) wanted += A[i];
    make_call(&call, A, N, 3, N - 3, &sum);
    CHECK(launch_scale(&processor_sum_kernel, &call) == 0 && sum == wanted);
}

/* Memory that is not shared is copied. */
static void distant_processors(void)
{
    scale_call call;
    be_processor(0);
    make_call(&call, A, N, 3, N - 5, NULL);
    fill(A, N);
    CHECK(launch_scale(&processor_scale_kernel, &call) == 0 && fake.most_workers == 1 && fake.writes > 0 && fake.reads > 0);
    check_scaled(A, N, 3, N - 5, 3, 1);
}

/* TILEK_OPENCL_FORM=gpu: the program for GPUs, whatever the device is. */
static void processors_as_gpus(void)
{
    scale_call call;
    be_processor(1);
    make_call(&call, A, N, 3, N - 5, NULL);
    fill(A, N);
    CHECK(launch_scale(&processor_scale_kernel, &call) == 0 && fake.most_workers > 1 && fake.writes > 0);
    check_scaled(A, N, 3, N - 5, 3, 1);
}

/* TILEK_OPENCL_FORM=cpu: the other way round. */
static void gpus_as_processors(void)
{
    scale_call call;
    make_call(&call, A, N, 3, N - 5, NULL);
    fill(A, N);
    CHECK(launch_scale(&processor_scale_kernel, &call) == 0 && fake.most_workers == 1);
    check_scaled(A, N, 3, N - 5, 3, 1);
}

/* The array is half written, as the host's own launch would leave it. */
static void processors_lost(void)
{
    scale_call call;
    be_processor(1);
    make_call(&call, A, N, 0, N, NULL);
    fake.fail_wait = 1;
    (void)launch_scale(&processor_scale_kernel, &call);
    CHECK(!"the program goes on");
}

/* ---- Data regions --------------------------------------------------------------------------------------------------- */

static void data_region(void)
{
    tilek_data_item whole = item(A, 0, N, TILEK_COPY), part = item(A, 10, 20, TILEK_UPDATE_SELF), inner = item(A, 5, 50, TILEK_COPYIN);
    scale_call call;
    make_call(&call, A, N, 100, 200, NULL);
    fill(A, N);
    tilek_data_enter("d.c", 1, 1, &whole);
    tilek_data_enter("d.c", 2, 1, &inner);
    for (int step = 0; step < 3; ++step) CHECK(launch_scale(&scale_kernel, &call) == 0);
    CHECK(fake.writes == 1 && fake.reads == 0 && fake.allocations == 1);
    check_scaled(A, N, 0, 0, 3, 0);
    make_call(&call, A, N, 10, 20, NULL);
    CHECK(launch_scale(&scale_kernel, &call) == 0);
    tilek_data_update("d.c", 3, 1, &part, -1);
    check_scaled(A, N, 10, 20, 3, 1);
    part.motion = TILEK_UPDATE_DEVICE;
    fill(A, N);
    tilek_data_update("d.c", 4, 1, &part, -1);
    tilek_data_exit("d.c", 5, 1, &inner);
    CHECK(fake.reads == 1);
    tilek_data_exit("d.c", 6, 1, &whole);
    CHECK(fake.reads == 2);
    check_scaled(A, N, 100, 200, 3, 3);
}

/* A kernel that falls to the host inside a region finds what the device computed, and the device finds what it computed. */
static void coherence(void)
{
    tilek_data_item whole = item(A, 0, N, TILEK_COPY);
    scale_call call;
    make_call(&call, A, N, 0, N, NULL);
    fill(A, N);
    tilek_data_enter("d.c", 1, 1, &whole);
    CHECK(launch_scale(&scale_kernel, &call) == 0);
    call.call.enabled = 0;
    CHECK(launch_scale(&scale_kernel, &call) == 1);
    call.call.enabled = 1;
    CHECK(launch_scale(&scale_kernel, &call) == 0 && fake.runs == 2);
    const int reads = fake.reads;
    tilek_data_home("d.c", 5, 1u << TILEK_INT32); /* A has none */
    CHECK(fake.reads == reads);
    tilek_data_home("d.c", 5, 1u << TILEK_INT32 | 1u << TILEK_DOUBLE);
    CHECK(fake.reads == reads + 1);
    check_scaled(A, N, 0, N, 3, 3);
    tilek_data_exit("d.c", 6, 1, &whole);
    check_scaled(A, N, 0, N, 3, 3);
}

static void create_and_present(void)
{
    tilek_data_item created = item(A, 0, 50, TILEK_CREATE), larger = item(A, 40, 30, TILEK_COPY), absent = item(A, 500, 5, TILEK_PRESENT);
    scale_call call;
    fill(A, N);
    tilek_data_enter("d.c", 1, 1, &created);
    make_call(&call, A, N, 0, 50, NULL);
    CHECK(launch_scale(&scale_kernel, &call) == 0 && fake.writes == 0 && fake.runs == 1);
    tilek_data_enter("d.c", 2, 1, &larger); /* partly present: a warning, and nothing else */
    tilek_data_enter("d.c", 3, 1, &absent);
    tilek_data_exit("d.c", 4, 1, &larger);
    make_call(&call, A, N, 40, 30, NULL);
    tilek_data_exit("d.c", 5, 1, &created);
    check_scaled(A, N, 0, 0, 3, 0);
    CHECK(launch_scale(&scale_kernel, &call) == 0);
    check_scaled(A, N, 40, 30, 3, 1);
}

/* A kernel that fails on data which only the device had ends the program with status 71. */
static void lost_values(void)
{
    tilek_data_item whole = item(A, 0, N, TILEK_COPY);
    scale_call call;
    make_call(&call, A, N, 0, N, NULL);
    tilek_data_enter("d.c", 1, 1, &whole);
    CHECK(launch_scale(&scale_kernel, &call) == 0);
    fake.fail_wait = 1;
    (void)launch_scale(&scale_kernel, &call);
    CHECK(!"the program goes on");
}

/* A launch that is not queued has changed nothing: what the device has is fetched. */
static void fetched_values(void)
{
    tilek_data_item whole = item(A, 0, N, TILEK_COPY);
    scale_call call;
    fill(A, N);
    make_call(&call, A, N, 0, N, NULL);
    tilek_data_enter("d.c", 1, 1, &whole);
    CHECK(launch_scale(&scale_kernel, &call) == 0);
    fake.fail_run = 1;
    CHECK(launch_scale(&scale_kernel, &call) == 0);
    tilek_data_exit("d.c", 2, 1, &whole);
    check_scaled(A, N, 0, N, 3, 2);
}

/* A launch fails while the host still has the values: they are used. */
static void kept_values(void)
{
    tilek_data_item whole = item(A, 0, N, TILEK_COPY);
    scale_call call;
    make_call(&call, A, N, 0, N, NULL);
    fill(A, N);
    tilek_data_enter("d.c", 1, 1, &whole);
    fake.fail_run = 1;
    CHECK(launch_scale(&scale_kernel, &call) == 0 && launch_scale(&scale_kernel, &call) == 0);
    tilek_data_exit("d.c", 2, 1, &whole);
    check_scaled(A, N, 0, N, 3, 2);
}

/* ---- Queues and threads --------------------------------------------------------------------------------------------- */

static void queues(void)
{
    const int64_t both[] = {1, TILEK_QUEUE_DEFAULT};
    scale_call call;
    fill(A, N);
    for (int step = 0; step < 6; ++step) {
        make_call(&call, A, N, 0, N, NULL);
        call.call.queue = step % 2 ? 1 : TILEK_QUEUE_DEFAULT;
        call.call.waits = both;
        call.call.wait_count = step % 3 ? 2 : -1;
        CHECK(launch_scale(&scale_kernel, &call) == 0);
        memset(&call, 0xee, sizeof call); /* the launch has its own copy */
    }
    tilek_wait(2, both);
    check_scaled(A, N, 0, N, 3, 6);
    make_call(&call, A, N, 0, N, NULL);
    call.call.queue = 7;
    CHECK(launch_scale(&scale_kernel, &call) == 0); /* drained at exit; A is static */
}

/* Under STRICT the queue's own thread ends the program. */
static void lost_in_queue(void)
{
    const int64_t queue = 1;
    scale_call call;
    fill(A, N);
    make_call(&call, A, N, 0, N, NULL);
    CHECK(launch_scale(&scale_kernel, &call) == 0);
    fake.fail_run = 1;
    call.call.queue = queue;
    CHECK(launch_scale(&scale_kernel, &call) == 0);
    tilek_wait(1, &queue);
    check_scaled(A, N, 0, N, 3, 2);
}

static void *launch_own(void *argument)
{
    double *own = argument;
    for (int step = 0; step < 50; ++step) {
        tilek_data_item whole = item(own, 0, N, TILEK_COPY);
        double sum = 0, wanted = 0;
        scale_call call;
        fill(own, N);
        if (step % 3 == 0) tilek_data_enter("d.c", 1, 1, &whole);
        make_call(&call, own, N, 0, N, NULL);
        if (step % 5 == 0) call.call.queue = 3;
        CHECK(launch_scale(&scale_kernel, &call) == 0);
        if (step % 5 == 0) tilek_wait(0, NULL);
        make_call(&call, own, N, 0, N, &sum);
        CHECK(launch_scale(&sum_kernel, &call) == 0);
        if (step % 3 == 0) tilek_data_exit("d.c", 2, 1, &whole);
        check_scaled(own, N, 0, N, 3, 1);
        for (int i = 0; i < N; ++i) wanted += own[i];
        CHECK(sum == wanted);
    }
    return NULL;
}

static void concurrency(void)
{
    static double own[4][N];
    pthread_t threads[4];
    for (int index = 0; index < 4; ++index) CHECK(pthread_create(&threads[index], NULL, launch_own, own[index]) == 0);
    for (int index = 0; index < 4; ++index) CHECK(pthread_join(threads[index], NULL) == 0);
}

#ifdef __SANITIZE_ADDRESS__
/* Every part waits until all have begun, each in a thread of its own. */
static void meet(void *context, int64_t part)
{
    int64_t *const begun = context;
    (void)part;
    (void)__atomic_add_fetch(begun, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(begun, __ATOMIC_ACQUIRE) < tilek_core_count()) (void)sched_yield();
}
#endif

static void forks(void)
{
    int status;
    pid_t child;
    scale_call call;
    make_call(&call, A, N, 0, N, NULL);
    fill(A, N);
    CHECK(launch_scale(&scale_kernel, &call) == 0);
#ifdef __SANITIZE_ADDRESS__
    {
        /* A thread that starts takes memory from the address sanitizer's own allocator. Unlike malloc, that leaves its locks to a
         * fork's child as they are (libasan did so until 2023: LLVM's pull request 75290), and the child hangs when it starts a thread.
         * So all of the pool's threads are beyond their start before the fork. */
        int64_t begun = 0;
        tilek_parallel(tilek_core_count(), meet, &begun);
        CHECK(begun == tilek_core_count());
    }
#endif
    child = fork();
    if (child == 0) {
        call.call.queue = 2;
        CHECK(launch_scale(&scale_kernel, &call) == 0);
        tilek_wait(0, NULL);
        check_scaled(A, N, 0, N, 3, 2);
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check_scaled(A, N, 0, N, 3, 1);
}

/* ---- Verification: run with TILEK_VERIFY=1 --------------------------------------------------------------------------- */

static void verified(void)
{
    tilek_data_item whole = item(A, 0, N, TILEK_COPY);
    double sum = 0;
    scale_call call;
    make_call(&call, A, N, 7, N - 9, NULL);
    fill(A, N);
    CHECK(launch_scale(&scale_kernel, &call) == 1);
    tilek_data_enter("d.c", 1, 1, &whole);
    CHECK(launch_scale(&scale_kernel, &call) == 1);
    call.call.queue = 4;
    CHECK(launch_scale(&scale_kernel, &call) == 1);
    tilek_data_exit("d.c", 2, 1, &whole);
    make_call(&call, A, N, 7, N - 9, &sum);
    CHECK(launch_scale(&sum_kernel, &call) == 1);
}

/* The user's own loop gives something else for one element: status 70 where `difference` is beyond the tolerance. */
static void differ(double difference)
{
    scale_call call;
    make_call(&call, A, N, 0, N, NULL);
    fill(A, N);
    CHECK(tilek_launch(&scale_kernel, &call.call) == 1);
    for (int i = 0; i < N; ++i) A[i] = A[i] * 3 + 1 + (i == 77 ? difference : 0);
    tilek_complete(&scale_kernel, &call.call);
    CHECK(!"the program goes on");
}

static void differs(void) { differ(0.001); }
static void differs_slightly(void) { differ(1e-13); }

/* ---- Cost ------------------------------------------------------------------------------------------------------------ */

/* Prints the mean cost of a warm launch of a tiny kernel, in microseconds of processor time, which other processes do not change. */
static void warm(void)
{
    enum { LAUNCHES = 20000 };
    struct timespec from, to;
    scale_call call;
    make_call(&call, A, N, 0, 1, NULL);
    for (int step = 0; step < 100; ++step) CHECK(launch_scale(&scale_kernel, &call) == 0);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (int step = 0; step < LAUNCHES; ++step) (void)launch_scale(&scale_kernel, &call);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    (void)printf("%.3f\n", ((double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3) / LAUNCHES);
}

/* Whether scale runs that has 1 GiB for itself too, too much beside its other array, with this flag. */
static int runs_with_own(int flag)
{
    static void *states[2];
    static tilek_array_shape shapes[2][2];
    static tilek_kernel kernels[2];
    const int own = flag != 0;
    scale_call call;
    shapes[own][0] = scale_kernel.arrays[0];
    shapes[own][1] = (tilek_array_shape){"own", TILEK_CONTIGUOUS, 1, sizeof(double), 1, number, TILEK_READS | TILEK_WRITES | TILEK_TEMPORARY | flag};
    kernels[own] = scale_kernel;
    kernels[own].arrays = shapes[own];
    kernels[own].array_count = 2;
    kernels[own].state = &states[own];
    fill(A, N);
    make_call(&call, A, N, 0, N, NULL);
    call.arrays[1] = (tilek_array){.length = {1 << 27}, .extent = {1 << 27}};
    if (launch_scale(&kernels[own], &call) != 0) return 0;
    check_scaled(A, N, 0, N, 3, 1);
    return 1;
}

static void own_arrays(void) { CHECK(!runs_with_own(0) && !runs_with_own(TILEK_DEVICES_ONLY)); }

static void own_arrays_of_devices(void) { CHECK(!runs_with_own(0) && runs_with_own(TILEK_DEVICES_ONLY)); }

static const struct { const char *name; void (*run)(void); } cases[] = {
    {"own_arrays", own_arrays}, {"own_arrays_of_devices", own_arrays_of_devices},
    {"trips", trips}, {"tiles", tiles}, {"reductions", reductions}, {"launches", launches}, {"twice", twice}, {"sums", sums}, {"ordered_zeros", ordered_zeros}, {"rows", rows}, {"declines", declines},
    {"specialises", specialises}, {"fewer_workers", fewer_workers}, {"failures", failures}, {"lost_write", lost_write}, {"lost_run", lost_run}, {"lost_wait", lost_wait}, {"lost_read", lost_read}, {"lost_in_queue", lost_in_queue}, {"lost_result_small", lost_result_small}, {"lost_result_large", lost_result_large}, {"scarce_memory", scarce_memory}, {"data_region", data_region},
    {"coherence", coherence}, {"create_and_present", create_and_present}, {"lost_values", lost_values}, {"fetched_values", fetched_values}, {"kept_values", kept_values}, {"queues", queues},
    {"concurrency", concurrency}, {"parallel", parallel}, {"spare_threads", spare_threads}, {"cores", cores}, {"forks", forks}, {"verified", verified}, {"differs", differs}, {"differs_slightly", differs_slightly}, {"warm", warm},
    {"steps", steps}, {"steps_refused", steps_refused}, {"steps_differ", steps_differ}, {"steps_unsaid", steps_unsaid}, {"steps_lost", steps_lost}, {"steps_copies", steps_copies}, {"steps_unreached", steps_unreached}, {"steps_queued", steps_queued},
    {"steps_concurrent", steps_concurrent}, {"steps_verified", steps_verified}, {"steps_size", steps_size},
    {"adapts", adapts}, {"adapts_not", adapts_not}, {"adapts_to_many", adapts_to_many}, {"adapts_concurrently", adapts_concurrently},
    {"adapts_to_failures", adapts_to_failures}, {"adapts_apart", adapts_apart},
    {"flags_of_many_sizes", flags_of_many_sizes}, {"flags_and_boxes", flags_and_boxes}, {"flags_scarce", flags_scarce}, {"flags_concurrent", flags_concurrent},
    {"columns_of_wavefronts", columns_of_wavefronts},
    {"versions_by_rules", versions_by_rules}, {"versions_as_said", versions_as_said}, {"versions_adapt", versions_adapt}, {"versions_declined", versions_declined}, {"versions_cost", versions_cost},
    {"steps_chosen", steps_chosen}, {"steps_chosen_extremes", steps_chosen_extremes}, {"steps_chosen_arrays", steps_chosen_arrays}, {"steps_chosen_sides", steps_chosen_sides}, {"steps_misled", steps_misled}, {"steps_even", steps_even}, {"steps_choice_cost", steps_choice_cost},
    {"waves", waves}, {"waves_apart", waves_apart}, {"steps_cost", steps_cost}, {"steps_workers", steps_workers}, {"steps_points", steps_points}, {"steps_spread", steps_spread},
    {"graphs", graphs}, {"graphs_rarely", graphs_rarely}, {"graphs_elsewhere", graphs_elsewhere}, {"graphs_refused", graphs_refused}, {"graphs_lost", graphs_lost}, {"graphs_queued", graphs_queued},
    {"graphs_concurrent", graphs_concurrent}, {"graphs_forked", graphs_forked}, {"graphs_not", graphs_not}, {"graphs_verified", graphs_verified},
    {"divided", divided}, {"divided_far", divided_far}, {"divided_overlaps", divided_overlaps}, {"divided_programs", divided_programs}, {"divided_alone", divided_alone}, {"divided_scarce", divided_scarce}, {"divided_lost_write", divided_lost_write}, {"divided_lost_run", divided_lost_run}, {"divided_lost_wait", divided_lost_wait}, {"divided_lost_result", divided_lost_result}, {"divided_present", divided_present}, {"held_rows", held_rows},
    {"every_call", every_call}, {"processors", processors}, {"distant_processors", distant_processors}, {"processors_as_gpus", processors_as_gpus}, {"gpus_as_processors", gpus_as_processors},
    {"processors_lost", processors_lost}};

int main(int argc, char **argv)
{
    register_kernels();
    for (size_t index = 0; argc == 2 && index < sizeof cases / sizeof cases[0]; ++index) {
        if (strcmp(argv[1], cases[index].name) != 0) continue;
        cases[index].run();
        return 0;
    }
    (void)fprintf(stderr, "no such case\n");
    return 2;
}
