/* own_threads.c: the threads that the runtime makes. */
#define _POSIX_C_SOURCE 200809L
#include "base/own_threads.h"

#include "base/environment.h"

#include <sys/resource.h>

static __thread int is_own_thread;

void tilek_mark_own_thread(void) { is_own_thread = 1; }
int tilek_is_own_thread(void) { return is_own_thread; }

/* Threads run kernels with arrays on the stack, for which the program's limit is set. Memory is
 * taken only as it is touched. */
static size_t stack_bytes(void)
{
    const size_t unlimited = sizeof(void *) > 4 ? (size_t)1 << 30 : (size_t)1 << 26;
    struct rlimit limit;
    if (tilek_get_settings()->stack_bytes > 0) return (size_t)tilek_get_settings()->stack_bytes;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > unlimited)
        return unlimited;
    return (size_t)limit.rlim_cur;
}

void tilek_signals_block(sigset_t *before)
{
    static const int synchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t blocked;
    (void)sigfillset(&blocked);
    for (size_t index = 0; index < sizeof synchronous / sizeof synchronous[0]; ++index)
        (void)sigdelset(&blocked, synchronous[index]);
    (void)pthread_sigmask(SIG_BLOCK, &blocked, before);
}

void tilek_signals_restore(const sigset_t *before) { (void)pthread_sigmask(SIG_SETMASK, before, NULL); }

/* A process with little address space left gets smaller stacks, where no size is given. */
int tilek_thread_create(pthread_t *thread, void *(*body)(void *argument), void *argument)
{
    static const size_t granule = 65536;
    const size_t least = tilek_get_settings()->stack_bytes > 0 ? stack_bytes() : (size_t)2 << 20;
    pthread_attr_t attributes;
    sigset_t before;
    int failed = 1;
    if (pthread_attr_init(&attributes) != 0) return 0;
    tilek_signals_block(&before);
    for (size_t bytes = stack_bytes(); failed && bytes > 0; bytes = bytes / 2 >= least ? bytes / 2 : 0) {
        (void)pthread_attr_setstacksize(&attributes, (bytes + granule - 1) / granule * granule);
        failed = pthread_create(thread, &attributes, body, argument);
    }
    tilek_signals_restore(&before);
    (void)pthread_attr_destroy(&attributes);
    return !failed;
}
