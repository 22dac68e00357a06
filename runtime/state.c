/* state.c: what the runtime keeps for the process and for each kernel, and its end. */
#define _POSIX_C_SOURCE 200809L
#include "state.h"

#include "adapt.h"
#include "dynamic_library.h"
#include "environment.h"
#include "graphs.h"
#include "persistent.h"
#include "threads.h"

#include <pthread.h>
#include <stdlib.h>

enum { BACKENDS = 2 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t own_thread;
static int own_thread_made;
static int ending;                             /* atomic */
static tilek_state *states;                    /* atomic head */
static const tilek_backend *opened[BACKENDS];  /* in the order of opening */
static int opened_count;
static tilek_built *parents_programs;          /* held, so that no checker takes them for lost */
static const tilek_backend *parents[BACKENDS]; /* those that were open at a fork; changes only where there is one thread */

void tilek_state_lock(void) { (void)pthread_mutex_lock(&mutex); }
void tilek_state_unlock(void) { (void)pthread_mutex_unlock(&mutex); }

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
    __atomic_store_n(&ending, 1, __ATOMIC_RELEASE);
    tilek_queues_finish();
    tilek_present_release_devices();
    drop_programs();
    for (int index = opened_count - 1; index >= 0; --index) opened[index]->shutdown();
    opened_count = 0;
    return NULL;
}

/* Runs before the device libraries' own exit handlers, since it was registered after their opening. The thread-local objects that such a
 * library has made in this thread are gone by now (Oclgrind writes to them all the same), so that a fresh thread calls it. */
static void finish_devices(void)
{
    pthread_t releasing;
    if (pthread_create(&releasing, NULL, release_devices, NULL) == 0) (void)pthread_join(releasing, NULL);
    else (void)release_devices(NULL);
}

static void finish(void)
{
    __atomic_store_n(&ending, 1, __ATOMIC_RELEASE);
    tilek_queues_finish();
    tilek_profile_finish();
    tilek_verify_finish();
    tilek_sizes_finish();
    tilek_threads_free();
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
    if (own_thread_made) (void)pthread_key_delete(own_thread); /* there are few keys, and a plugin may be opened often */
    own_thread_made = 0;
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

/* What the parent has on devices is not touched in the child, neither used nor freed. */
static void forked(void)
{
    tilek_threads_forked();
    tilek_queues_forked();
    if (opened_count > 0) {
        while (opened_count > 0) {
            --opened_count;
            parents[opened_count] = opened[opened_count];
        }
        tilek_present_forked();
        tilek_flags_forked();
        tilek_buffers_forked();
        abandon_programs();
    }
    tilek_state_unlock();
}

static void start(void)
{
    own_thread_made = pthread_key_create(&own_thread, NULL) == 0;
    (void)pthread_atfork(tilek_state_lock, tilek_state_unlock, forked);
    (void)atexit(finish);
}

int tilek_start(void)
{
    (void)pthread_once(&once, start);
    return !__atomic_load_n(&ending, __ATOMIC_ACQUIRE);
}

int tilek_backend_is_parents(const tilek_backend *backend)
{
    int is = 0;
    for (int index = 0; index < BACKENDS; ++index) is |= parents[index] == backend;
    return is;
}

void tilek_backend_opened(const tilek_backend *backend)
{
    int known = 0;
    tilek_state_lock();
    for (int index = 0; index < opened_count; ++index) known |= opened[index] == backend;
    if (!known && opened_count < BACKENDS) {
        /* Device libraries have threads that would wait for the loader's lock, which whoever closes this library holds. */
        if (opened_count == 0) tilek_library_keep(&states);
        if (opened_count == 0) (void)atexit(finish_devices);
        opened[opened_count++] = backend;
    }
    tilek_state_unlock();
}

void tilek_mark_own_thread(void)
{
    if (own_thread_made) (void)pthread_setspecific(own_thread, &own_thread);
}

int tilek_is_own_thread(void) { return own_thread_made && pthread_getspecific(own_thread) != NULL; }

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
