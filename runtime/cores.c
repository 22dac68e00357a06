/* cores.c: the cores that this process may use, by the system's affinity where it has one. */
#define _GNU_SOURCE /* sched_getaffinity, sched_getcpu where they exist */
#define _POSIX_C_SOURCE 200809L
#include "cores.h"

#include "rank.h"

#include <sched.h>
#include <unistd.h>

#if defined(__linux__) && defined(CPU_COUNT)
#define HAS_AFFINITY 1
#else
#define HAS_AFFINITY 0
#endif

static int64_t count_cores(void)
{
    long cores;
#if HAS_AFFINITY
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
    cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? cores : 1;
}

int64_t tilek_core_count(void)
{
    static int64_t known; /* atomic: two threads that find 0 write the same */
    int64_t cores = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (cores == 0) __atomic_store_n(&known, cores = tilek_cores_of_rank(count_cores()), __ATOMIC_RELAXED);
    return cores;
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
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        cpu_set_t unused = allowed;
        int core = 0;
        for (int64_t index = 0; index < count; ++index)
            if (taken[index] >= 0 && taken[index] < CPU_SETSIZE) CPU_CLR(taken[index], &unused);
        while (core < CPU_SETSIZE && !CPU_ISSET(core, &unused)) ++core;
        CPU_ZERO(&one);
        if (core < CPU_SETSIZE) {
            CPU_SET(core, &one);
            if (sched_setaffinity(0, sizeof one, &one) == 0) (void)sched_setaffinity(0, sizeof allowed, &allowed);
        }
    }
#else
    (void)taken;
    (void)count;
#endif
    return tilek_current_core();
}
