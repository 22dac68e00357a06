/* online_tuning_cases.c: TILEK_ADAPT: launches try the layouts of tile sizes, and then take the one whose time is least. Delays stand for what would be slow, so that no
 * machine's own times matter. */
#define _POSIX_C_SOURCE 200809L
#include "tune/online_tuning.h"
#include "kernels.h"
#include "entry/lifecycle.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { DELAY = 20000000, MOST = 8, MANY = 40 };

/* What launches have taken for the size, in their order, and the size that does without delay. */
static int taken[MOST], fast;

static void delayed_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    const int size = (int)call->sizes[0];
    CHECK(first == 0 && last == 1 && size >= 0 && size < MOST);
    (void)__atomic_add_fetch(&taken[size], 1, __ATOMIC_RELAXED);
    if (size != fast) (void)nanosleep(&(struct timespec){0, DELAY}, NULL);
}

static const tilek_launch_shape launches[] = {{"delayed", 0, NULL, TILEK_LAUNCH_ALWAYS, delayed_host, 0, NULL, 0, NULL, 0, NULL, 0}};
static const tilek_array_shape arrays[] = {{"A", TILEK_CONTIGUOUS, 1, sizeof(double), 1, number, TILEK_READS}};
static const tilek_size sizes[] = {{"size", 3, 3}};
static const int64_t in_small[] = {4}, in_large[] = {5}, usual[] = {3};
static const tilek_choice choices[] = {{10 * sizeof(double), INT64_MAX, in_small, 0}, {1000 * sizeof(double), INT64_MAX, in_large, 0}, {INT64_MAX, 2, usual, 0}};

#define KERNEL(own_choices, own_choice_count, own_state)                                                                                                  \
    {                                                                                                                                                     \
        .abi = TILEK_ABI, .name = "delayed", .file = "adapt.c", .line = 5, .targets = 3, .preferred = TILEK_AUTO, .array_count = 1, .arrays = arrays,     \
        .host_launch_count = 1, .host_launches = launches, .size_count = 1, .sizes = sizes, .choice_count = own_choice_count, .choices = own_choices,     \
        .state = own_state                                                                                                                                \
    }
static void *states[5];
static const int64_t in_vain[] = {0}; /* no launch can have it */
static const tilek_choice failing_choices[] = {{INT64_MAX, INT64_MAX, in_vain, 0}, {INT64_MAX, INT64_MAX, in_small, 0}};
static const tilek_kernel kernel = KERNEL(choices, 3, &states[0]), plain_kernel = KERNEL(NULL, 0, &states[1]), failing_kernel = KERNEL(failing_choices, 2, &states[4]);

static void launch(const tilek_kernel *which, int64_t length, int64_t trips)
{
    static double A[1];
    tilek_array own[] = {{.base = A, .length = {length}, .extent = {-1}}};
    tilek_call call = {.arrays = own, .device = -1, .queue = TILEK_QUEUE_SYNCHRONOUS, .enabled = 1, .trips = trips};
    CHECK(tilek_launch(which, &call) == 0);
}

static void launch_often(int times, int64_t length, int64_t trips)
{
    memset(taken, 0, sizeof taken);
    while (times-- > 0) launch(&kernel, length, trips);
}

/* Each of three layouts has three launches, then the fastest has all; what is learned of one length says nothing of another. */
void adapts(void)
{
    fast = 5;
    launch_often(20, 8, 100);
    CHECK(taken[4] == 3 && taken[3] == 3 && taken[5] == 14);
    fast = 3;
    launch_often(12, 500, 100);
    CHECK(taken[4] == 3 && taken[5] == 3 && taken[3] == 6);
    launch_often(12, 500, 1000);
    CHECK(taken[4] == 3 && taken[5] == 3 && taken[3] == 6);
    fast = 4;
    launch_often(12, 5000, 1);
    CHECK(taken[3] == 3 && taken[5] == 3 && taken[4] == 6);
    launch_often(5, 8, 90); /* of a kind that is settled */
    CHECK(taken[5] == 5);
    memset(taken, 0, sizeof taken);
    launch(&plain_kernel, 8, 100);
    CHECK(taken[3] == 1);
}

/* Where nobody asks for it, launches take what the choices say, however slow that is. */
void adapts_not(void)
{
    fast = 0;
    launch_often(3, 8, 100);
    CHECK(taken[4] == 3);
    launch_often(1, 11, 100);
    CHECK(taken[5] == 1);
}

/* Kinds of launches beyond those that are told apart do as the choices say. */
void adapts_to_many(void)
{
    fast = 0;
    for (int kind = 0; kind < MANY; ++kind) {
        memset(taken, 0, sizeof taken);
        launch(&kernel, 1, INT64_C(1) << kind);
        CHECK(taken[4] == 1);
    }
    launch_often(2, 1, INT64_C(1) << (MANY - 1));
    CHECK(taken[4] == 2);
    launch_often(2, 1, 1); /* the first kind is told apart */
    CHECK(taken[4] == 0 && taken[3] == 1 && taken[5] == 1);
}

/* What fails is not tried for ever: three times, as all others are. */
void adapts_to_failures(void)
{
    static double A[1];
    tilek_array own[] = {{.base = A, .length = {8}, .extent = {-1}}};
    int declined = 0;
    fast = 4;
    for (int count = 0; count < 20; ++count) {
        tilek_call call = {.arrays = own, .device = -1, .queue = TILEK_QUEUE_SYNCHRONOUS, .enabled = 1};
        declined += tilek_launch(&failing_kernel, &call);
    }
    CHECK(declined == 3 && taken[3] == 3 && taken[4] == 14);
}

/* What another target does in place of the one that the layout was for says nothing about it. */
void adapts_apart(void)
{
    tilek_array own[] = {{.length = {8}, .extent = {-1}}};
    tilek_call call = {.arrays = own};
    tilek_state *const state = tilek_start() ? tilek_state_of(&kernel) : NULL;
    CHECK(state != NULL);
    for (int count = 0; count < 9; ++count) {
        call.adaptation = NULL;
        tilek_tune(state, &call, TILEK_THREADS, 1);
        CHECK(call.adaptation != NULL);
        tilek_tuned(&call, TILEK_THREADS, call.sizes == in_large ? -1 : call.sizes == in_small ? 1000 : 2000);
        if (call.sizes == in_large) tilek_tuned(&call, TILEK_SERIAL, 1);
    }
    call.adaptation = NULL;
    tilek_tune(state, &call, TILEK_THREADS, 1);
    CHECK(call.adaptation == NULL && call.sizes == in_small);
}

static void *launch_in_thread(void *unused)
{
    (void)unused;
    for (int count = 0; count < 10; ++count) launch(&kernel, 8, 100);
    return NULL;
}

/* Threads share what they learn: no layout has more trials than it has alone. */
void adapts_concurrently(void)
{
    pthread_t threads[4];
    fast = 5;
    memset(taken, 0, sizeof taken);
    for (int index = 0; index < 4; ++index) CHECK(pthread_create(&threads[index], NULL, launch_in_thread, NULL) == 0);
    for (int index = 0; index < 4; ++index) CHECK(pthread_join(threads[index], NULL) == 0);
    CHECK(taken[3] + taken[4] + taken[5] == 40 && taken[3] >= 3 && taken[4] >= 3 && taken[5] >= 3);
    launch_often(5, 8, 100);
    CHECK(taken[5] == 5);
}

/* ---- A kernel with two versions, whose calls are as generated code makes them ------------------------------------------------------------------- */

static const tilek_size other_sizes[] = {{"other", 6, 6}};
static const tilek_kernel first_version = {
    .abi = TILEK_ABI, .name = "delayed", .file = "adapt.c", .line = 5, .targets = 3, .preferred = TILEK_AUTO, .array_count = 1, .arrays = arrays,
    .host_launch_count = 1, .host_launches = launches, .size_count = 1, .sizes = other_sizes, .state = &states[2], .version = 1, .version_text = "unroll(2)"};
static const tilek_kernel *const versions[] = {&first_version};
static const int64_t in_version[] = {7};
static const tilek_choice version_choices[] = {
    {10 * sizeof(double), INT64_MAX, NULL, 1}, {1000 * sizeof(double), INT64_MAX, in_version, 1}, {2000 * sizeof(double), INT64_MAX, in_small, 0}};
static const tilek_kernel versions_kernel = {
    .abi = TILEK_ABI, .name = "delayed", .file = "adapt.c", .line = 5, .targets = 3, .preferred = TILEK_AUTO, .array_count = 1, .arrays = arrays,
    .host_launch_count = 1, .host_launches = launches, .size_count = 1, .sizes = sizes, .choice_count = 3, .choices = version_choices,
    .state = &states[3], .version_count = 1, .versions = versions};

/* `declined`: the version that is not enabled though the kernel is, as where its own arrays may share memory; -1: none. */
static int launch_version_but(int declined, int64_t length, int enabled)
{
    static double A[1];
    tilek_array own[] = {{.base = A, .length = {length}, .extent = {-1}}};
    tilek_call call = {.arrays = own, .device = -1, .queue = TILEK_QUEUE_SYNCHRONOUS, .enabled = enabled}, other = call;
    const tilek_kernel *const kernels[] = {&versions_kernel, &first_version};
    tilek_call *const calls[] = {&call, &other};
    const int version = tilek_version(&versions_kernel, &call);
    calls[version]->layout = call.layout;
    calls[version]->sizes = call.sizes;
    calls[version]->adaptation = call.adaptation;
    if (version == declined) enabled = calls[version]->enabled = 0;
    CHECK(tilek_launch(kernels[version], calls[version]) == !enabled);
    if (!enabled) tilek_complete(kernels[version], calls[version]);
    return version;
}

static int launch_version(int64_t length, int enabled) { return launch_version_but(-1, length, enabled); }

/* The rules say which version runs, and with which sizes; where nothing is launched, it is the kernel itself. */
void versions_by_rules(void)
{
    static const int64_t lengths[] = {10, 11, 1001, 2001};
    static const int wanted[][2] = {{1, 6}, {1, 7}, {0, 4}, {0, 3}};
    for (size_t index = 0; index < sizeof lengths / sizeof lengths[0]; ++index) {
        memset(taken, 0, sizeof taken);
        fast = wanted[index][1];
        CHECK(launch_version(lengths[index], 1) == wanted[index][0]);
        CHECK(taken[wanted[index][1]] == 1);
    }
    CHECK(launch_version(10, 0) == 0);
}

/* Of a version that is asked for by TILEK_VERSION=1, the sizes are its own, whatever is the fastest. */
void versions_as_said(void)
{
    fast = 6;
    memset(taken, 0, sizeof taken);
    for (int count = 0; count < 20; ++count) CHECK(launch_version(2001, 1) == 1);
    CHECK(taken[6] == 20);
}

/* Versions are tried as other layouts are: the kernel's own sizes and another's, and a version's. */
void versions_adapt(void)
{
    fast = 6;
    memset(taken, 0, sizeof taken);
    for (int count = 0; count < 20; ++count) (void)launch_version(2001, 1);
    CHECK(taken[3] == 3 && taken[4] == 3 && taken[7] == 3 && taken[6] == 11);
    fast = 3;
    memset(taken, 0, sizeof taken);
    for (int count = 0; count < 20; ++count) (void)launch_version(10, 1);
    CHECK(taken[6] == 3 && taken[4] == 3 && taken[7] == 3 && taken[3] == 11);
}

/* A version whose launches are all declined is out after as many trials as others have, and the trial ends. */
void versions_declined(void)
{
    int declined = 0;
    fast = 4;
    memset(taken, 0, sizeof taken);
    for (int count = 0; count < 20; ++count) declined += launch_version_but(1, 2001, 1);
    CHECK(declined == 6 && taken[3] == 3 && taken[4] == 11);
}

/* Prints the mean cost of choosing a version, in nanoseconds of processor time. */
void versions_cost(void)
{
    enum { COUNT = 1000000 };
    struct timespec from, to;
    static double A[1];
    tilek_array own[] = {{.base = A, .length = {100}, .extent = {-1}}};
    tilek_call call = {.arrays = own, .device = -1, .queue = TILEK_QUEUE_SYNCHRONOUS, .enabled = 1};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (int count = 0; count < COUNT; ++count) {
        call.layout = 0;
        CHECK(tilek_version(&versions_kernel, &call) == 1);
    }
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    (void)printf("%.1f\n", ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / COUNT);
}
