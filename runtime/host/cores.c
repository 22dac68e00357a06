/* cores.c: the cores that this process may use, by the system's affinity and control groups where
 * it has them. */
#define _GNU_SOURCE /* sched_getaffinity, sched_getcpu where they exist */
#define _POSIX_C_SOURCE 200809L
#include "host/cores.h"

#include "base/locks.h"
#include "base/own_threads.h"
#include "base/rank.h"
#include "host/cpu_quota.h"
#include "kernel/kernel_state.h"

#include <sched.h>
#include <unistd.h>

#if defined(__linux__) && defined(CPU_COUNT)
#define HAS_AFFINITY 1
#else
#define HAS_AFFINITY 0
#endif

static int64_t known;        /* atomic: the number of cores; 0: not counted yet */
static int64_t quota;        /* guarded by TILEK_LOCK_CORES: what control groups allow; 0: not read yet */
static __thread int is_counted; /* the calling thread's are among them */

#if HAS_AFFINITY
static cpu_set_t usable; /* guarded by TILEK_LOCK_CORES */

static void add_cores(pid_t thread)
{
    cpu_set_t cores;
    if (sched_getaffinity(thread, sizeof cores, &cores) == 0) CPU_OR(&usable, &usable, &cores);
}
#endif

/* With TILEK_LOCK_CORES held. */
static int64_t count_cores(void)
{
    long cores = 0;
#if HAS_AFFINITY
    if (__atomic_load_n(&known, __ATOMIC_RELAXED) == 0) {
        CPU_ZERO(&usable);
        add_cores(getpid());
    }
    add_cores(0);
    cores = CPU_COUNT(&usable);
#endif
    if (cores <= 0) cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (quota == 0) quota = tilek_core_quota("");
    return tilek_maximum(1, tilek_minimum(cores, quota));
}

int64_t tilek_core_count(void)
{
    int64_t cores = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (cores > 0 && (is_counted || tilek_is_own_thread())) return cores;
    tilek_lock(TILEK_LOCK_CORES);
    cores = tilek_cores_of_rank(count_cores());
    __atomic_store_n(&known, cores, __ATOMIC_RELAXED);
    tilek_unlock(TILEK_LOCK_CORES);
    is_counted = 1;
    return cores;
}

/* The child has the forking thread's cores, and may be moved to others. */
void tilek_cores_forked(void)
{
    known = quota = 0;
    is_counted = 0;
}

void tilek_use_all_cores(void)
{
#if HAS_AFFINITY
    cpu_set_t all;
    tilek_lock(TILEK_LOCK_CORES);
    all = usable;
    tilek_unlock(TILEK_LOCK_CORES);
    if (CPU_COUNT(&all) > 0) (void)sched_setaffinity(0, sizeof all, &all);
#endif
}

int tilek_current_core(void)
{
#if HAS_AFFINITY
    return sched_getcpu();
#else
    return -1;
#endif
}

int tilek_move_to_free_core(const int *taken, int64_t count)
{
#if HAS_AFFINITY
    cpu_set_t allowed, target;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        cpu_set_t unused = allowed;
        int core = 0;
        for (int64_t index = 0; index < count; ++index)
            if (taken[index] >= 0 && taken[index] < CPU_SETSIZE) CPU_CLR(taken[index], &unused);
        while (core < CPU_SETSIZE && !CPU_ISSET(core, &unused)) ++core;
        CPU_ZERO(&target);
        if (core < CPU_SETSIZE) {
            CPU_SET(core, &target);
            if (sched_setaffinity(0, sizeof target, &target) == 0) (void)sched_setaffinity(0, sizeof allowed, &allowed);
        }
    }
#else
    (void)taken;
    (void)count;
#endif
    return tilek_current_core();
}
