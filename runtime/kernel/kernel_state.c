/* kernel_state.c: what the runtime keeps for the process and for each kernel, and its end. */
#define _POSIX_C_SOURCE 200809L
#include "kernel/kernel_state.h"

#include "tune/online_tuning.h"
#include "host/cores.h"
#include "base/dynamic_library.h"
#include "base/environment.h"
#include "launch/launch_graphs.h"
#include "entry/launch.h"
#include "base/locks.h"
#include "base/message.h"
#include "launch/persistent_launch.h"
#include "kernel/profile.h"
#include "host/thread_pool.h"
#include "base/visits.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BACKENDS = 2 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread int is_own_thread;
static int devices_are_left;                   /* atomic */
static tilek_state *states;                    /* atomic head */
static const tilek_backend *opened[BACKENDS];  /* in the order of opening */
static int opened_count;
static int opening[BACKENDS];                  /* threads that are about to, by target */
static tilek_built *parents_programs;          /* held, so that no checker takes them for lost */
static const tilek_backend *parents[BACKENDS]; /* those that were open at a fork; changes only where there is one thread */

void tilek_state_lock(void) { tilek_lock(TILEK_LOCK_STATES); }
void tilek_state_unlock(void) { tilek_unlock(TILEK_LOCK_STATES); }

tilek_state *tilek_first_state(void) { return __atomic_load_n(&states, __ATOMIC_ACQUIRE); }

static const tilek_backend *backend_of(tilek_target target)
{
    return target == TILEK_CUDA ? tilek_cuda_backend() : tilek_opencl_backend();
}

static void drop_programs(void)
{
    for (tilek_state *state = tilek_first_state(); state != NULL; state = state->next) {
        tilek_recordings_free(state);
        while (state->built != NULL) {
            tilek_built *built = state->built;
            state->built = built->next;
            backend_of(built->target)->drop(built->device, built->program);
            free(built->entries);
            free(built->group_totals);
            free(built);
        }
    }
}

static void *release_devices(void *unused)
{
    (void)unused;
    tilek_present_release_devices();
    drop_programs();
    for (int index = opened_count - 1; index >= 0; --index) opened[index]->shutdown();
    opened_count = 0;
    memset(opened, 0, sizeof opened);
    return NULL;
}

/* Runs before the device libraries' own exit handlers, since it was registered after their opening. The thread-local objects that such a
 * library has made in this thread are gone by now (Oclgrind writes to them all the same), so that a fresh thread calls it. */
static void finish_devices(void)
{
    pthread_t releasing;
    if (!tilek_visits_end()) return;
    tilek_queues_finish();
    if (tilek_devices_are_left()) return;
    if (tilek_thread_create(&releasing, release_devices, NULL)) (void)pthread_join(releasing, NULL);
    else (void)release_devices(NULL);
}

/* What another thread's launch still computes with is left to the system, which takes all memory back in a moment. */
static void finish(void)
{
    if (!tilek_visits_end()) {
        if (tilek_profiling()) tilek_warn_at_once(NULL, 0, "exit was called in a signal handler during a launch: there is no profile");
        return;
    }
    tilek_queues_finish();
    tilek_profile_finish();
    tilek_verify_finish();
    tilek_sizes_finish();
    tilek_threads_free();
    tilek_host_thread_ends();
    if (tilek_visits_go_on()) return;
    tilek_present_free();
    while (states != NULL) {
        tilek_state *state = states;
        states = state->next;
        if (state->kernel->state != NULL) *state->kernel->state = NULL;
        for (int target = 0; target < TILEK_TARGETS; ++target) {
            free(state->steps[target][0]);
            free(state->steps[target][1]);
        }
        while (state->taken != NULL) {
            tilek_taken *taken = state->taken;
            state->taken = taken->next;
            free(taken);
        }
        tilek_adaptations_free(state);
        free(state->differences);
        free(state->scratch);
        free(state->changing);
        free(state);
    }
    tilek_messages_free();
    tilek_settings_free();
    tilek_visits_free();
}

static void abandon_programs(void)
{
    for (tilek_state *state = states; state != NULL; state = state->next) {
        tilek_recordings_abandon(state);
        while (state->built != NULL) {
            tilek_built *built = state->built;
            state->built = built->next;
            built->next = parents_programs;
            parents_programs = built;
        }
    }
}

static int is_among(const tilek_backend *const backends[BACKENDS], const tilek_backend *backend)
{
    int is = 0;
    for (int index = 0; index < BACKENDS; ++index) is |= __atomic_load_n(&backends[index], __ATOMIC_ACQUIRE) == backend;
    return is;
}

static void add_parents(const tilek_backend *backend)
{
    int free_place = 0;
    if (is_among(parents, backend)) return;
    while (parents[free_place] != NULL) ++free_place;
    parents[free_place] = backend;
}

/* What the parent has on devices is not touched in the child, neither used nor freed; so is what it was about to open. */
static void forked(void)
{
    static tilek_backend const *(*const backends[BACKENDS])(void) = {tilek_opencl_backend, tilek_cuda_backend};
    tilek_locks_forked();
    tilek_visits_forked();
    tilek_cores_forked();
    tilek_threads_forked();
    tilek_queues_forked();
    tilek_present_forked();
    tilek_flags_forked();
    tilek_buffers_forked();
    abandon_programs();
    for (int index = 0; index < opened_count; ++index) add_parents(opened[index]);
    for (int index = 0; index < BACKENDS; ++index)
        if (opening[index] > 0) add_parents(backends[index]());
    memset(opening, 0, sizeof opening);
    opened_count = 0;
    memset(opened, 0, sizeof opened);
}

static void start(void)
{
    tilek_visits_start();
    (void)pthread_atfork(tilek_locks_before_fork, tilek_locks_after_fork, forked);
    (void)atexit(finish);
}

int tilek_start(void)
{
    (void)pthread_once(&once, start);
    return !tilek_is_ending();
}

int tilek_has_devices(void) { return __atomic_load_n(&opened[0], __ATOMIC_ACQUIRE) != NULL; }
int tilek_backend_is_parents(const tilek_backend *backend) { return is_among(parents, backend); }

void tilek_backend_opening(tilek_target target, int change)
{
    tilek_state_lock();
    opening[target == TILEK_CUDA] += change;
    tilek_state_unlock();
}

void tilek_backend_opened(const tilek_backend *backend)
{
    if (is_among(opened, backend)) return;
    tilek_state_lock();
    if (!is_among(opened, backend) && opened_count < BACKENDS) {
        /* Device libraries have threads that would wait for the loader's lock, which whoever closes this library holds. */
        if (opened_count == 0) tilek_library_keep(&states);
        if (opened_count == 0) (void)atexit(finish_devices);
        __atomic_store_n(&opened[opened_count++], backend, __ATOMIC_RELEASE);
    }
    tilek_state_unlock();
}

void tilek_devices_left(void) { __atomic_store_n(&devices_are_left, 1, __ATOMIC_RELEASE); }
int tilek_devices_are_left(void) { return __atomic_load_n(&devices_are_left, __ATOMIC_ACQUIRE); }

void tilek_mark_own_thread(void) { is_own_thread = 1; }
int tilek_is_own_thread(void) { return is_own_thread; }

/* Two kernels with one text in two files have states of their own: a state hangs on the kernel's own pointer. The state needs the kernel
 * to the end, for profiles and device programs, so another library's kernels must not go away before. A library with a runtime of its own
 * may go: closing it runs the handlers that the runtime has given to atexit. */
tilek_state *tilek_state_of(const tilek_kernel *kernel)
{
    tilek_state *state = __atomic_load_n(kernel->state, __ATOMIC_ACQUIRE);
    if (state != NULL) return state;
    if (!tilek_start()) return NULL;
    tilek_state_lock();
    state = *kernel->state;
    if (state == NULL && tilek_library_differs(kernel, &states)) tilek_library_keep(kernel);
    if (state == NULL && (state = calloc(1, sizeof *state)) != NULL) {
        state->kernel = kernel;
        state->next = states;
        __atomic_store_n(&states, state, __ATOMIC_RELEASE);
        __atomic_store_n(kernel->state, (void *)state, __ATOMIC_RELEASE);
    }
    tilek_state_unlock();
    return state;
}
