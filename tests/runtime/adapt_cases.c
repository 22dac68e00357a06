/* adapt_cases.c: TILEK_ADAPT: launches try the layouts of tile sizes, and then take the one whose time is least. Delays stand for what would be slow, so that no
 * machine's own times matter. */
#define _POSIX_C_SOURCE 200809L
#include "kernels.h"

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

static const tilek_launch_shape launches[] = {{"delayed", 0, NULL, TILEK_LAUNCH_ALWAYS, delayed_host, 0, NULL, 0, NULL, 0, NULL}};
static const tilek_array_shape arrays[] = {{"A", TILEK_CONTIGUOUS, 1, sizeof(double), 1, number, TILEK_READS}};
static const tilek_size sizes[] = {{"size", 3, 3}};
static const int64_t in_small[] = {4}, in_large[] = {5}, usual[] = {3};
static const tilek_choice choices[] = {{10 * sizeof(double), INT64_MAX, in_small}, {1000 * sizeof(double), INT64_MAX, in_large}, {INT64_MAX, 2, usual}};

#define KERNEL(own_choices, own_choice_count, own_state)                                                                                                  \
    {                                                                                                                                                     \
        .abi = TILEK_ABI, .name = "delayed", .file = "adapt.c", .line = 5, .targets = 3, .preferred = TILEK_AUTO, .array_count = 1, .arrays = arrays,     \
        .host_launch_count = 1, .host_launches = launches, .size_count = 1, .sizes = sizes, .choice_count = own_choice_count, .choices = own_choices,     \
        .state = own_state                                                                                                                                \
    }
static void *states[2];
static const tilek_kernel kernel = KERNEL(choices, 3, &states[0]), plain_kernel = KERNEL(NULL, 0, &states[1]);

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
