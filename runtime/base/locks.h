/* locks.h: every lock of the runtime that is not part of a device's structures. They are taken in
 * this order, and a fork takes them all: its child finds nothing half changed, and no lock of a
 * thread that it does not have. (A device's structures are the parent's for good, with their locks:
 * see tilek_devices_forked.) */
#ifndef TILEK_LOCKS_H
#define TILEK_LOCKS_H

#include <pthread.h>

typedef enum tilek_lock_name {
    /* one compilation at a time. It guards no data and is held for seconds: a fork does not wait
     * for it */
    TILEK_LOCK_BUILDING,
    TILEK_LOCK_OPENCL,    /* the list of OpenCL devices */
    TILEK_LOCK_CUDA,      /* the list of CUDA devices */
    TILEK_LOCK_COMPILER,  /* the CUDA compiler's library */
    TILEK_LOCK_PRESENT,   /* the table of present arrays, transfers included */
    TILEK_LOCK_FLAGS,     /* idle flags of persistent launches */
    TILEK_LOCK_BUFFERS,   /* buffers kept for later */
    TILEK_LOCK_QUEUES,    /* asynchronous queues */
    TILEK_LOCK_STATES,    /* the kernels' states */
    TILEK_LOCK_PROFILE,   /* what profiles gather */
    TILEK_LOCK_MESSAGES,  /* what was printed */
    TILEK_LOCK_CORES,     /* the cores that the process may use */
    TILEK_LOCK_POOL,      /* sleeping and waking of the pool's threads */
    TILEK_LOCKS
} tilek_lock_name;

void tilek_lock(tilek_lock_name name);
/* Returns whether the caller holds the lock now. */
int tilek_try_lock(tilek_lock_name name);
void tilek_unlock(tilek_lock_name name);

/* As pthread_cond_wait and, for `milliseconds`, pthread_cond_timedwait, with the lock held. */
void tilek_lock_await(tilek_lock_name name, pthread_cond_t *changed);
void tilek_lock_await_shortly(tilek_lock_name name, pthread_cond_t *changed, int milliseconds);

/* Bit k: the calling thread holds lock k or is about to. For signal handlers, which may have
 * interrupted it there. */
unsigned tilek_locks_held(void);

/* The calling thread has jumped out of code that held locks. No thread will take these locks
 * again. */
void tilek_locks_forget(void);

/* Around a fork, for pthread_atfork. */
void tilek_locks_before_fork(void);
void tilek_locks_after_fork(void);
void tilek_locks_forked(void);

#endif
