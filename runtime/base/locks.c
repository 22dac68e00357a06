/* locks.c: the runtime's locks. */
#define _POSIX_C_SOURCE 200809L
#include "base/locks.h"

#include <time.h>

enum { FIRST_AT_FORK = TILEK_LOCK_BUILDING + 1 };

#define UNLOCKED PTHREAD_MUTEX_INITIALIZER
static pthread_mutex_t locks[TILEK_LOCKS] = {UNLOCKED, UNLOCKED, UNLOCKED, UNLOCKED, UNLOCKED, UNLOCKED, UNLOCKED,
                                             UNLOCKED, UNLOCKED, UNLOCKED, UNLOCKED, UNLOCKED, UNLOCKED};
/* set before a lock is taken and cleared after it was given back, so that a signal handler never
 * takes it for free */
static __thread unsigned held;
/* locks held at the fork, if a signal handler forks that has interrupted their holder */
static __thread unsigned before_fork;

#ifdef TILEK_CHECK_LOCKS
#include <stdlib.h>
/* Ends the program where the order is not kept: two threads could then wait for each other. */
static void check_order(tilek_lock_name name)
{
    if (held >> name != 0) abort();
}
#else
static void check_order(tilek_lock_name name) { (void)name; }
#endif

void tilek_lock(tilek_lock_name name)
{
    check_order(name);
    held |= 1u << name;
    (void)pthread_mutex_lock(&locks[name]);
}

int tilek_try_lock(tilek_lock_name name)
{
    const unsigned before = held;
    held |= 1u << name;
    if (pthread_mutex_trylock(&locks[name]) == 0) return 1;
    held = before;
    return 0;
}

void tilek_unlock(tilek_lock_name name)
{
    (void)pthread_mutex_unlock(&locks[name]);
    held &= ~(1u << name);
}

void tilek_lock_await(tilek_lock_name name, pthread_cond_t *changed) { (void)pthread_cond_wait(changed, &locks[name]); }

void tilek_lock_await_shortly(tilek_lock_name name, pthread_cond_t *changed, int milliseconds)
{
    struct timespec end;
    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += (long)milliseconds * 1000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(changed, &locks[name], &end);
}

unsigned tilek_locks_held(void) { return held; }
void tilek_locks_forget(void) { held = 0; }

void tilek_locks_before_fork(void)
{
    before_fork = held;
    for (int name = FIRST_AT_FORK; before_fork == 0 && name < TILEK_LOCKS; ++name)
        (void)pthread_mutex_lock(&locks[name]);
}

void tilek_locks_after_fork(void)
{
    for (int name = TILEK_LOCKS - 1; before_fork == 0 && name >= FIRST_AT_FORK; --name)
        (void)pthread_mutex_unlock(&locks[name]);
}

/* A lock that the forking thread itself holds stays held: it goes on from there in the child,
 * too. */
void tilek_locks_forked(void)
{
    for (int name = 0; name < TILEK_LOCKS; ++name)
        if ((before_fork >> name & 1u) == 0) (void)pthread_mutex_init(&locks[name], NULL);
}
