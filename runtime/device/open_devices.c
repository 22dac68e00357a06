/* open_devices.c: the devices that are open, by target. */
#define _POSIX_C_SOURCE 200809L
#include "device/open_devices.h"

#include "base/dynamic_library.h"
#include "base/environment.h"
#include "base/locks.h"
#include "base/message.h"
#include "base/own_threads.h"
#include "base/visits.h"
#include "device/cuda/cuda_device.h"
#include "device/opencl/opencl_device.h"

#include <stdlib.h>
#include <string.h>

enum { BACKENDS = 2 };

/* TILEK_LOCK_STATES guards what is not atomic. */
static const tilek_backend *opened[BACKENDS];  /* atomic, in the order of opening */
static int opened_count;
static int opening[BACKENDS];                  /* threads that are about to, by target */
/* those that were open at a fork; changes only where there is one thread */
static const tilek_backend *parents[BACKENDS];
static int devices_are_left;                   /* atomic */
static void (*finish_at_exit)(void);

const tilek_backend *tilek_backend_of(tilek_target target)
{
    return target == TILEK_CUDA ? tilek_cuda_backend() : tilek_opencl_backend();
}

static int is_among(const tilek_backend *const backends[BACKENDS], const tilek_backend *backend)
{
    int is_member = 0;
    for (int index = 0; index < BACKENDS; ++index)
        is_member |= __atomic_load_n(&backends[index], __ATOMIC_ACQUIRE) == backend;
    return is_member;
}

int tilek_has_devices(void) { return __atomic_load_n(&opened[0], __ATOMIC_ACQUIRE) != NULL; }

void tilek_devices_left(void) { __atomic_store_n(&devices_are_left, 1, __ATOMIC_RELEASE); }
int tilek_devices_are_left(void) { return __atomic_load_n(&devices_are_left, __ATOMIC_ACQUIRE); }

void tilek_devices_at_exit(void (*finish)(void)) { finish_at_exit = finish; }

static void count_opening(tilek_target target, int change)
{
    tilek_lock(TILEK_LOCK_STATES);
    opening[target == TILEK_CUDA] += change;
    tilek_unlock(TILEK_LOCK_STATES);
}

static void opened_now(const tilek_backend *backend)
{
    if (is_among(opened, backend)) return;
    tilek_lock(TILEK_LOCK_STATES);
    if (!is_among(opened, backend) && opened_count < BACKENDS) {
        /* Device libraries have threads that would wait for the loader's lock, which whoever closes
         * this library holds. */
        if (opened_count == 0) tilek_library_keep(&opened);
        if (opened_count == 0 && finish_at_exit != NULL) (void)atexit(finish_at_exit);
        __atomic_store_n(&opened[opened_count++], backend, __ATOMIC_RELEASE);
    }
    tilek_unlock(TILEK_LOCK_STATES);
}

static tilek_status open_more(const tilek_backend *backend, int64_t number, tilek_device **device, tilek_message *why)
{
    const tilek_settings *settings = tilek_get_settings();
    const tilek_status status = backend->open(number >= 0 ? number : settings->device,
                                              number >= 0 ? NULL : settings->device_name, device, why);
    if (status == TILEK_OK) opened_now(backend);
    return status;
}

static int tried[TILEK_TARGETS]; /* atomic */

/* Threads that the device's library makes take no signals that are meant for the program's. */
static tilek_status open_first(tilek_target target, const tilek_backend *backend, int64_t number, tilek_device **device,
                               tilek_message *why)
{
    sigset_t before;
    tilek_status status;
    count_opening(target, 1);
    tilek_signals_block(&before);
    status = open_more(backend, number, device, why);
    tilek_signals_restore(&before);
    count_opening(target, -1);
    __atomic_store_n(&tried[target], 1, __ATOMIC_RELEASE);
    return status;
}

tilek_status tilek_open_device(tilek_target target, int64_t number, int gpu_only, const tilek_backend **backend,
                               tilek_device **device, tilek_message *why)
{
    tilek_status status;
    tilek_phase phase;
    *backend = tilek_backend_of(target);
    if (is_among(parents, *backend)) {
        tilek_say(why, "the process that this one was forked from uses it, and it cannot be shared");
        return gpu_only ? TILEK_NO_DEVICE : TILEK_DEVICE_LOST;
    }
    if (tilek_devices_are_left()) {
        tilek_say(why, "a signal handler has jumped out of a launch on a device");
        return TILEK_DEVICE_LOST;
    }
    phase = tilek_visit_phase(TILEK_PHASE_DEVICE);
    status = __atomic_load_n(&tried[target], __ATOMIC_ACQUIRE) ? open_more(*backend, number, device, why)
                                                               : open_first(target, *backend, number, device, why);
    (void)tilek_visit_phase(phase);
    if (status != TILEK_OK) return status;
    if (!gpu_only || number >= 0 || (*backend)->limits(*device)->is_gpu) return TILEK_OK;
    tilek_say(why, "%s is not a GPU", (*backend)->limits(*device)->name);
    return TILEK_NO_DEVICE;
}

void tilek_devices_close(void)
{
    for (int index = opened_count - 1; index >= 0; --index) opened[index]->shutdown();
    opened_count = 0;
    memset(opened, 0, sizeof opened);
}

static void add_parents(const tilek_backend *backend)
{
    int free_place = 0;
    if (is_among(parents, backend)) return;
    while (parents[free_place] != NULL) ++free_place;
    parents[free_place] = backend;
}

void tilek_devices_forked(void)
{
    for (int index = 0; index < opened_count; ++index) add_parents(opened[index]);
    if (opening[0] > 0) add_parents(tilek_backend_of(TILEK_OPENCL));
    if (opening[1] > 0) add_parents(tilek_backend_of(TILEK_CUDA));
    memset(opening, 0, sizeof opening);
    opened_count = 0;
    memset(opened, 0, sizeof opened);
}
