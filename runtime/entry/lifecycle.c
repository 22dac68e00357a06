/* lifecycle.c: how the runtime begins and ends in a process, and in a fork's child. */
#define _POSIX_C_SOURCE 200809L
#include "entry/lifecycle.h"

#include "arrays/buffers.h"
#include "arrays/present_table.h"
#include "base/environment.h"
#include "base/locks.h"
#include "base/message.h"
#include "base/own_threads.h"
#include "check/differential_check.h"
#include "device/open_devices.h"
#include "dispatch/async_queues.h"
#include "host/cores.h"
#include "host/host_launch.h"
#include "host/thread_pool.h"
#include "kernel/kernel_state.h"
#include "kernel/profile.h"
#include "launch/device_programs.h"
#include "launch/launch_graphs.h"
#include "launch/persistent_launch.h"
#include "tune/online_tuning.h"

#include <pthread.h>
#include <stdlib.h>

static void print_profile(void) { tilek_profile_finish(tilek_tunings_print); }

/* Handlers of exit join the runtime's own threads, so one of those must leave without them. What
 * was measured is said all the same. */
static int may_exit(void)
{
    if (tilek_is_ending()) return 0;
    if (tilek_is_own_thread()) {
        print_profile();
        return 0;
    }
    tilek_visit_exits();
    return 1;
}

static void *release_devices(void *unused)
{
    (void)unused;
    tilek_present_release_devices();
    tilek_flags_free();
    tilek_buffers_free();
    for (tilek_state *state = tilek_first_state(); state != NULL; state = state->next) {
        tilek_recordings_free(state);
        tilek_programs_drop(state);
    }
    tilek_devices_close();
    return NULL;
}

/* Runs before the device libraries' own exit handlers, since it was registered after their opening.
 * The thread-local objects that such a library has made in this thread are gone by now (Oclgrind
 * writes to them all the same), so that a fresh thread calls it. */
static void finish_devices(void)
{
    pthread_t releasing;
    if (!tilek_visits_end()) return;
    tilek_queues_finish();
    if (tilek_devices_are_left()) return;
    if (tilek_thread_create(&releasing, release_devices, NULL)) (void)pthread_join(releasing, NULL);
    else (void)release_devices(NULL);
}

/* What another thread's launch still computes with is left to the system, which takes all memory
 * back in a moment. */
static void finish(void)
{
    if (!tilek_visits_end()) {
        if (tilek_profiling())
            tilek_warn_at_once(NULL, 0, "exit was called in a signal handler during a launch: there is no profile");
        return;
    }
    tilek_queues_finish();
    print_profile();
    tilek_verify_finish();
    tilek_sizes_finish();
    tilek_threads_free();
    tilek_host_thread_ends();
    if (tilek_visits_go_on()) return;
    tilek_present_free();
    for (tilek_state *state = tilek_first_state(); state != NULL; state = state->next) tilek_tunings_free(state);
    tilek_states_free();
    tilek_messages_free();
    tilek_settings_free();
    tilek_visits_free();
}

/* What the parent has on devices is not touched in the child, neither used nor freed; so is what it
 * was about to open. */
static void forked(void)
{
    tilek_locks_forked();
    tilek_visits_forked();
    tilek_cores_forked();
    tilek_threads_forked();
    tilek_queues_forked();
    tilek_present_forked();
    tilek_flags_forked();
    tilek_buffers_forked();
    for (tilek_state *state = tilek_first_state(); state != NULL; state = state->next) {
        tilek_recordings_abandon(state);
        tilek_programs_abandon(state);
    }
    tilek_devices_forked();
}

static void start(void)
{
    tilek_at_failure(may_exit);
    tilek_devices_at_exit(finish_devices);
    tilek_visits_start(&tilek_parts);
    (void)pthread_atfork(tilek_locks_before_fork, tilek_locks_after_fork, forked);
    (void)atexit(finish);
}

int tilek_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, start);
    return !tilek_is_ending();
}

static void begin(void) { (void)tilek_start(); }

static void left(tilek_phase phase)
{
    tilek_parallel_left();
    if (phase == TILEK_PHASE_DEVICE) tilek_devices_left();
}

static void end_threads(void)
{
    tilek_queues_close();
    tilek_threads_free();
}

const tilek_visit_parts tilek_parts = {begin, left, tilek_host_thread_ends, end_threads};
