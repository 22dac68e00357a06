/* thread_pool.c: one pool of threads for the process. A launch is published by a new generation
 * number; workers spin shortly for it, then sleep until there is one with a part for them: those
 * that were made for launches of more parts take no core from others. Static partition: worker k
 * takes part k, so that a core meets the same data launch after launch. A part whose worker has not
 * begun it (it sleeps, or others have its core) is taken by a thread that has finished its own. */
#define _POSIX_C_SOURCE 200809L
#include "host/thread_pool.h"

#include "base/environment.h"
#include "base/locks.h"
#include "base/message.h"
#include "base/own_threads.h"
#include "host/cores.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* About a millisecond where every thread has a core of its own; where not, spinning keeps others
 * from their work. */
enum { SPINS = 50000, CROWDED_SPINS = 50, MOST_WORKERS = TILEK_MOST_THREADS - 1 };

static struct {
    const void *owner;     /* atomic: `launching` of the thread whose launch uses the pool; NULL: of none */
    pthread_cond_t done;   /* this and `work` go with TILEK_LOCK_POOL */
    uint64_t generation;   /* atomic; each launch adds 1 */
    int64_t unfinished;    /* atomic: parts of the current launch that are not through */
    int caller_sleeps;     /* atomic: the launch's caller, as `sleeps` of workers */
    int spins;             /* atomic */
    int left;              /* atomic: the caller has jumped away */
    int lost;              /* this is the child of a fork during a launch, whose workers are the parent's */
    int stopping;
    int64_t parts; /* this and what follows may be read only by a thread with a part that is not through */
    void (*body)(void *, int64_t);
    void *context;
    struct slot {
        uint64_t taken; /* atomic: the last generation whose part was taken */
        int core;       /* atomic: where its thread was last seen */
        char line[64 - sizeof(uint64_t) - sizeof(int)];
    } slots[MOST_WORKERS + 1];
    int sleeps[MOST_WORKERS + 1];          /* atomic: a worker sleeps, or is about to look a last time before it does */
    pthread_cond_t work[MOST_WORKERS + 1]; /* what it waits for then */
    pthread_t threads[MOST_WORKERS];
    int64_t thread_count;
    int is_full;           /* a thread could not be had */
} pool = {.done = PTHREAD_COND_INITIALIZER};

/* What the calling thread has to do with the pool, in memory that outlives a jump of its own. */
static __thread struct {
    uint64_t generation; /* of its launch, from before it is published; 0: it has none */
    int64_t taken;       /* parts that it has taken and not reported */
} launching;

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* A thread that goes to sleep says so first and then looks again; a thread that changes something
 * looks for sleepers afterwards. Both in one total order (SEQ_CST), so that one of the two always
 * sees the other, and no thread takes the mutex while all are awake. */

/* A generation after `seen`, or 0 where the pool ends. It may be none of those without a part for
 * worker `number`, which sleeps when its spins are used up. */
static uint64_t await_work(int64_t number, uint64_t seen, int *spins)
{
    int *const sleeps = &pool.sleeps[number];
    uint64_t generation;
    int stop;
    for (; *spins > 0; --*spins) {
        generation = __atomic_load_n(&pool.generation, __ATOMIC_ACQUIRE);
        if (generation != seen) return generation;
        relax();
    }
    tilek_lock(TILEK_LOCK_POOL);
    __atomic_store_n(sleeps, 1, __ATOMIC_SEQ_CST);
    while ((generation = __atomic_load_n(&pool.generation, __ATOMIC_SEQ_CST)) == seen && !pool.stopping)
        tilek_lock_await(TILEK_LOCK_POOL, &pool.work[number]);
    __atomic_store_n(sleeps, 0, __ATOMIC_SEQ_CST);
    stop = pool.stopping;
    tilek_unlock(TILEK_LOCK_POOL);
    return stop ? 0 : generation;
}

/* Whether the caller has got part `part` of a generation. All slots of threads are taken when a
 * generation ends, so a thread that comes late gets nothing. */
static int take(int64_t part, uint64_t generation)
{
    uint64_t taken = __atomic_load_n(&pool.slots[part].taken, __ATOMIC_RELAXED);
    return taken < generation && __atomic_compare_exchange_n(&pool.slots[part].taken, &taken, generation, 0,
                                                             __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Runs the parts that no thread has begun, and counts them before they run. The caller has a part
 * of this generation that is not reported yet. */
static void run_left_over(uint64_t generation, int64_t *taken)
{
    for (int64_t part = 1; part < pool.parts; ++part) {
        if (!take(part, generation)) continue;
        ++*taken;
        pool.body(pool.context, part);
    }
}

/* Sees to it that worker `number` is not on a core of the pool's other threads. Systems start a
 * thread, or wake it, where its maker is, and a balance comes late between two that spin: for a
 * quarter of a second such a pair was slower than one thread alone. */
static void settle(int64_t number)
{
    const int core = tilek_current_core();
    const int64_t parts = __atomic_load_n(&pool.parts, __ATOMIC_RELAXED);
    int others[MOST_WORKERS + 1];
    int64_t count = 0, shared = 0;
    if (core < 0 || number >= parts) return;
    if (core == __atomic_load_n(&pool.slots[number].core, __ATOMIC_RELAXED) &&
        core != __atomic_load_n(&pool.slots[0].core, __ATOMIC_RELAXED))
        return;
    if (__atomic_load_n(&pool.spins, __ATOMIC_RELAXED) == CROWDED_SPINS) return; /* some must share */
    for (int64_t other = 0; other < parts; ++other) {
        if (other == number) continue;
        others[count] = __atomic_load_n(&pool.slots[other].core, __ATOMIC_RELAXED);
        shared += others[count++] == core;
    }
    __atomic_store_n(&pool.slots[number].core, shared > 0 ? tilek_move_to_free_core(others, count) : core,
                     __ATOMIC_RELAXED);
}

typedef struct worker_start { int64_t number; uint64_t generation; } worker_start;

static void *work(void *argument)
{
    const worker_start start = *(worker_start *)argument;
    uint64_t seen = start.generation;
    int spins = __atomic_load_n(&pool.spins, __ATOMIC_RELAXED);
    free(argument);
    tilek_mark_own_thread();
    tilek_use_all_cores();
    while ((seen = await_work(start.number, seen, &spins)) != 0) {
        int64_t ran = 1;
        settle(start.number);
        if (start.number < __atomic_load_n(&pool.parts, __ATOMIC_RELAXED))
            spins = __atomic_load_n(&pool.spins, __ATOMIC_RELAXED);
        if (!take(start.number, seen)) continue;
        pool.body(pool.context, start.number);
        run_left_over(seen, &ran);
        if (__atomic_sub_fetch(&pool.unfinished, ran, __ATOMIC_SEQ_CST) == 0 &&
            __atomic_load_n(&pool.caller_sleeps, __ATOMIC_SEQ_CST)) {
            tilek_lock(TILEK_LOCK_POOL);
            (void)pthread_cond_signal(&pool.done);
            tilek_unlock(TILEK_LOCK_POOL);
        }
    }
    return NULL;
}

static int add_worker(void)
{
    const int64_t number = pool.thread_count + 1;
    worker_start *const start = malloc(sizeof *start);
    if (start == NULL) return 0;
    start->number = number;
    start->generation = __atomic_load_n(&pool.generation, __ATOMIC_RELAXED);
    __atomic_store_n(&pool.slots[number].core, -1, __ATOMIC_RELAXED);
    (void)pthread_cond_init(&pool.work[number], NULL);
    if (tilek_thread_create(&pool.threads[pool.thread_count], work, start)) {
        ++pool.thread_count;
        return 1;
    }
    (void)pthread_cond_destroy(&pool.work[number]);
    free(start);
    return 0;
}

/* Makes workers up to `wanted`; the caller owns the pool. Signals wait: a handler that jumps away
 * would leave a worker behind that is not counted. */
static void grow(int64_t wanted)
{
    sigset_t before;
    __atomic_store_n(&pool.spins, wanted < tilek_core_count() ? SPINS : CROWDED_SPINS, __ATOMIC_RELAXED);
    if (pool.thread_count >= wanted || pool.is_full) return;
    tilek_signals_block(&before);
    while (pool.thread_count < wanted && add_worker()) {}
    pool.is_full = pool.thread_count < wanted;
    tilek_signals_restore(&before);
    if (pool.is_full)
        tilek_warn(NULL, 0, "of %lld threads only %lld can be made, and run what is meant for all of them",
                   (long long)wanted + 1, (long long)pool.thread_count + 1);
}

/* Wakes those of the first workers that sleep. */
static void wake(int64_t workers)
{
    int64_t first = 1;
    sigset_t before;
    while (first <= workers && !__atomic_load_n(&pool.sleeps[first], __ATOMIC_SEQ_CST)) ++first;
    if (first > workers) return;
    tilek_signals_block(&before); /* no handler is to jump away with the lock */
    tilek_lock(TILEK_LOCK_POOL);
    for (int64_t number = first; number <= workers; ++number)
        if (__atomic_load_n(&pool.sleeps[number], __ATOMIC_SEQ_CST)) (void)pthread_cond_signal(&pool.work[number]);
    tilek_unlock(TILEK_LOCK_POOL);
    tilek_signals_restore(&before);
}

static void publish(uint64_t generation, int64_t parts, void (*body)(void *, int64_t), void *context)
{
    __atomic_store_n(&pool.parts, parts, __ATOMIC_RELAXED);
    __atomic_store_n(&pool.slots[0].core, tilek_current_core(), __ATOMIC_RELAXED);
    pool.body = body;
    pool.context = context;
    for (int64_t part = parts; part <= pool.thread_count; ++part)
        __atomic_store_n(&pool.slots[part].taken, generation, __ATOMIC_RELAXED);
    __atomic_store_n(&pool.unfinished, parts - 1, __ATOMIC_RELAXED);
    __atomic_store_n(&pool.generation, generation, __ATOMIC_SEQ_CST);
    wake(tilek_minimum(parts - 1, pool.thread_count));
}

/* Sleeps for a moment, unless all is done; whether it is. A handler may jump away between two of
 * these. */
static int rest(void)
{
    sigset_t before;
    int is_done;
    tilek_signals_block(&before);
    tilek_lock(TILEK_LOCK_POOL);
    __atomic_store_n(&pool.caller_sleeps, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&pool.unfinished, __ATOMIC_SEQ_CST) != 0)
        tilek_lock_await_shortly(TILEK_LOCK_POOL, &pool.done, 50);
    is_done = __atomic_load_n(&pool.unfinished, __ATOMIC_SEQ_CST) == 0;
    __atomic_store_n(&pool.caller_sleeps, 0, __ATOMIC_SEQ_CST);
    tilek_unlock(TILEK_LOCK_POOL);
    tilek_signals_restore(&before);
    return is_done;
}

static void await_done(void)
{
    for (int spin = __atomic_load_n(&pool.spins, __ATOMIC_RELAXED); spin > 0; --spin) {
        if (__atomic_load_n(&pool.unfinished, __ATOMIC_ACQUIRE) == 0) return;
        relax();
    }
    while (!rest())
        if (pool.lost)
            tilek_end_at_once(
                "the child of a fork in a signal handler during a launch cannot go on with that launch: its other "
                "threads are the parent's");
}

/* Whether the pool is the calling thread's now. */
static int take_pool(void)
{
    const void *none = NULL;
    return __atomic_load_n(&pool.owner, __ATOMIC_RELAXED) == NULL &&
           __atomic_compare_exchange_n(&pool.owner, &none, &launching, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void give_pool(void)
{
    launching.generation = 0;
    launching.taken = 0;
    __atomic_store_n(&pool.owner, NULL, __ATOMIC_RELEASE);
}

static void report_taken(void)
{
    (void)__atomic_sub_fetch(&pool.unfinished, launching.taken, __ATOMIC_SEQ_CST);
    launching.taken = 0;
}

void tilek_parallel(int64_t parts, void (*body)(void *context, int64_t part), void *context)
{
    if (parts > 1 && parts <= TILEK_MOST_THREADS && take_pool()) {
        int is_done = 0;
        grow(parts - 1);
        if (pool.thread_count > 0) {
            launching.generation = __atomic_load_n(&pool.generation, __ATOMIC_RELAXED) + 1;
            __atomic_signal_fence(__ATOMIC_SEQ_CST);
            publish(launching.generation, parts, body, context);
            body(context, 0);
            run_left_over(launching.generation, &launching.taken);
            report_taken();
            await_done();
            is_done = 1;
        }
        give_pool();
        if (is_done) return;
    }
    for (int64_t part = 0; part < parts; ++part) body(context, part);
}

void tilek_parallel_left(void)
{
    const uint64_t generation = launching.generation;
    if (__atomic_load_n(&pool.owner, __ATOMIC_ACQUIRE) != &launching) return;
    if (generation != 0 && __atomic_load_n(&pool.generation, __ATOMIC_ACQUIRE) == generation) {
        __atomic_store_n(&pool.left, 1, __ATOMIC_RELEASE);
        for (int64_t part = 1; part < pool.parts; ++part) launching.taken += take(part, generation);
        report_taken();
        while (__atomic_load_n(&pool.unfinished, __ATOMIC_ACQUIRE) > 0 && !pool.lost)
            (void)nanosleep(&(struct timespec){0, 100000}, NULL);
        __atomic_store_n(&pool.left, 0, __ATOMIC_RELEASE);
    /* it was about to be published: no thread runs it, and the next one has another number */
    } else if (generation != 0) {
        for (int64_t part = 0; part <= MOST_WORKERS; ++part)
            __atomic_store_n(&pool.slots[part].taken, generation, __ATOMIC_RELAXED);
        __atomic_store_n(&pool.generation, generation, __ATOMIC_SEQ_CST);
    }
    give_pool();
}

void tilek_await(const int *value, int least)
{
    for (int spin = __atomic_load_n(&pool.spins, __ATOMIC_RELAXED); spin > 0; --spin) {
        if (__atomic_load_n(value, __ATOMIC_ACQUIRE) >= least) return;
        relax();
    }
    /* who is waited for may want this core */
    while (__atomic_load_n(value, __ATOMIC_ACQUIRE) < least && !__atomic_load_n(&pool.left, __ATOMIC_ACQUIRE))
        (void)sched_yield();
}

void tilek_threads_free(void)
{
    if (!take_pool()) return; /* a launch runs at exit: its threads end with the process */
    tilek_lock(TILEK_LOCK_POOL);
    pool.stopping = 1;
    for (int64_t number = 1; number <= pool.thread_count; ++number) (void)pthread_cond_signal(&pool.work[number]);
    tilek_unlock(TILEK_LOCK_POOL);
    for (int64_t index = 0; index < pool.thread_count; ++index) {
        (void)pthread_join(pool.threads[index], NULL);
        (void)pthread_cond_destroy(&pool.work[index + 1]);
    }
    pool.thread_count = 0;
    pool.is_full = 0;
    pool.stopping = 0;
    give_pool();
}

/* A fork's child has only the thread that forked: the pool starts over. */
void tilek_threads_forked(void)
{
    (void)pthread_cond_init(&pool.done, NULL);
    pool.lost = pool.owner == &launching && pool.unfinished > 0;
    if (!pool.lost) {
        pool.owner = NULL;
        pool.unfinished = 0;
    }
    pool.thread_count = 0;
    pool.is_full = pool.left = 0;
    pool.caller_sleeps = 0;
    memset(pool.sleeps, 0, sizeof pool.sleeps);
}
