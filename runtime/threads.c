/* threads.c: one pool of threads for the process. A launch is published by a new generation number; workers spin shortly for it,
 * then sleep until there is one with a part for them: those that were made for launches of more parts take no core from others. Static
 * partition: worker k takes part k, so that a core meets the same data launch after launch. A part whose worker has not begun it (it
 * sleeps, or others have its core) is taken by whoever is through with its own. */
#define _POSIX_C_SOURCE 200809L
#include "threads.h"

#include "cores.h"
#include "state.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* About a millisecond where every thread has a core of its own; where not, spinning keeps others from their work. */
enum { SPINS = 50000, CROWDED_SPINS = 50, MOST_WORKERS = 1023 };

static struct {
    pthread_mutex_t owner; /* held by the launch that uses the pool */
    pthread_mutex_t mutex; /* guards sleeping and waking */
    pthread_cond_t done;
    uint64_t generation;   /* atomic; each launch adds 1 */
    int64_t unfinished;    /* atomic: parts of the current launch that are not through */
    int caller_sleeps;     /* atomic: the launch's caller, as `sleeps` of workers */
    int spins;             /* atomic */
    int stopping;
    int64_t parts; /* this and what follows is to be read only by one who has taken a part that is not through */
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
} pool = {.owner = PTHREAD_MUTEX_INITIALIZER, .mutex = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Whoever goes to sleep says so first and then looks again; whoever changes something looks for sleepers afterwards. Both in one total
 * order (SEQ_CST), so that one of the two always sees the other, and nobody takes the mutex while all are awake. */

/* A generation after `seen`, or 0 where the pool ends. It may be none of those without a part for worker `number`, which sleeps when its spins are used up. */
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
    (void)pthread_mutex_lock(&pool.mutex);
    __atomic_store_n(sleeps, 1, __ATOMIC_SEQ_CST);
    while ((generation = __atomic_load_n(&pool.generation, __ATOMIC_SEQ_CST)) == seen && !pool.stopping)
        (void)pthread_cond_wait(&pool.work[number], &pool.mutex);
    __atomic_store_n(sleeps, 0, __ATOMIC_SEQ_CST);
    stop = pool.stopping;
    (void)pthread_mutex_unlock(&pool.mutex);
    return stop ? 0 : generation;
}

/* Whether the caller has got part `part` of a generation. All slots of threads are taken when a generation ends, so a thread that comes
 * late gets nothing. */
static int take(int64_t part, uint64_t generation)
{
    uint64_t taken = __atomic_load_n(&pool.slots[part].taken, __ATOMIC_RELAXED);
    return taken < generation && __atomic_compare_exchange_n(&pool.slots[part].taken, &taken, generation, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Runs the parts that nobody has begun; their number. The caller has a part of this generation that is not reported yet. */
static int64_t run_left_over(uint64_t generation)
{
    int64_t ran = 0;
    for (int64_t part = 1; part < pool.parts; ++part) {
        if (!take(part, generation)) continue;
        pool.body(pool.context, part);
        ++ran;
    }
    return ran;
}

/* Sees to it that worker `number` is not on a core of the pool's other threads. Systems start a thread, or wake it, where its maker is,
 * and a balance comes late between two that spin: for a quarter of a second such a pair was slower than one thread alone. */
static void settle(int64_t number)
{
    const int core = tilek_current_core();
    const int64_t parts = __atomic_load_n(&pool.parts, __ATOMIC_RELAXED);
    int others[MOST_WORKERS + 1];
    int64_t count = 0, shared = 0;
    if (core < 0 || number >= parts) return;
    if (core == __atomic_load_n(&pool.slots[number].core, __ATOMIC_RELAXED) && core != __atomic_load_n(&pool.slots[0].core, __ATOMIC_RELAXED)) return;
    if (__atomic_load_n(&pool.spins, __ATOMIC_RELAXED) == CROWDED_SPINS) return; /* some must share */
    for (int64_t other = 0; other < parts; ++other) {
        if (other == number) continue;
        others[count] = __atomic_load_n(&pool.slots[other].core, __ATOMIC_RELAXED);
        shared += others[count++] == core;
    }
    __atomic_store_n(&pool.slots[number].core, shared > 0 ? tilek_move_to_free_core(others, count) : core, __ATOMIC_RELAXED);
}

typedef struct worker_start { int64_t number; uint64_t generation; } worker_start;

static void *work(void *argument)
{
    const worker_start start = *(worker_start *)argument;
    uint64_t seen = start.generation;
    int spins = __atomic_load_n(&pool.spins, __ATOMIC_RELAXED);
    free(argument);
    tilek_mark_own_thread();
    while ((seen = await_work(start.number, seen, &spins)) != 0) {
        int64_t ran;
        settle(start.number);
        if (start.number < __atomic_load_n(&pool.parts, __ATOMIC_RELAXED)) spins = __atomic_load_n(&pool.spins, __ATOMIC_RELAXED);
        if (!take(start.number, seen)) continue;
        pool.body(pool.context, start.number);
        ran = 1 + run_left_over(seen);
        if (__atomic_sub_fetch(&pool.unfinished, ran, __ATOMIC_SEQ_CST) == 0 && __atomic_load_n(&pool.caller_sleeps, __ATOMIC_SEQ_CST)) {
            (void)pthread_mutex_lock(&pool.mutex);
            (void)pthread_cond_signal(&pool.done);
            (void)pthread_mutex_unlock(&pool.mutex);
        }
    }
    return NULL;
}

/* Makes workers up to `wanted`; the caller owns the pool. Returns whether there are enough. */
static int grow(int64_t wanted)
{
    if (wanted > MOST_WORKERS) return 0;
    __atomic_store_n(&pool.spins, wanted < tilek_core_count() ? SPINS : CROWDED_SPINS, __ATOMIC_RELAXED);
    while (pool.thread_count < wanted) {
        worker_start *start = malloc(sizeof *start);
        if (start == NULL) return 0;
        start->number = pool.thread_count + 1;
        start->generation = __atomic_load_n(&pool.generation, __ATOMIC_RELAXED);
        __atomic_store_n(&pool.slots[start->number].core, -1, __ATOMIC_RELAXED);
        (void)pthread_cond_init(&pool.work[start->number], NULL);
        if (pthread_create(&pool.threads[pool.thread_count], NULL, work, start) != 0) {
            (void)pthread_cond_destroy(&pool.work[start->number]);
            free(start);
            return 0;
        }
        ++pool.thread_count;
    }
    return 1;
}

/* Wakes those of the first workers that sleep. */
static void wake(int64_t workers)
{
    int64_t first = 1;
    while (first <= workers && !__atomic_load_n(&pool.sleeps[first], __ATOMIC_SEQ_CST)) ++first;
    if (first > workers) return;
    (void)pthread_mutex_lock(&pool.mutex);
    for (int64_t number = first; number <= workers; ++number)
        if (__atomic_load_n(&pool.sleeps[number], __ATOMIC_SEQ_CST)) (void)pthread_cond_signal(&pool.work[number]);
    (void)pthread_mutex_unlock(&pool.mutex);
}

/* Returns the generation. */
static uint64_t publish(int64_t parts, void (*body)(void *, int64_t), void *context)
{
    const uint64_t generation = __atomic_load_n(&pool.generation, __ATOMIC_RELAXED) + 1;
    __atomic_store_n(&pool.parts, parts, __ATOMIC_RELAXED);
    __atomic_store_n(&pool.slots[0].core, tilek_current_core(), __ATOMIC_RELAXED);
    pool.body = body;
    pool.context = context;
    for (int64_t part = parts; part <= pool.thread_count; ++part) __atomic_store_n(&pool.slots[part].taken, generation, __ATOMIC_RELAXED);
    __atomic_store_n(&pool.unfinished, parts - 1, __ATOMIC_RELAXED);
    __atomic_store_n(&pool.generation, generation, __ATOMIC_SEQ_CST);
    wake(parts - 1);
    return generation;
}

static void await_done(void)
{
    for (int spin = __atomic_load_n(&pool.spins, __ATOMIC_RELAXED); spin > 0; --spin) {
        if (__atomic_load_n(&pool.unfinished, __ATOMIC_ACQUIRE) == 0) return;
        relax();
    }
    (void)pthread_mutex_lock(&pool.mutex);
    __atomic_store_n(&pool.caller_sleeps, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&pool.unfinished, __ATOMIC_SEQ_CST) != 0) (void)pthread_cond_wait(&pool.done, &pool.mutex);
    __atomic_store_n(&pool.caller_sleeps, 0, __ATOMIC_SEQ_CST);
    (void)pthread_mutex_unlock(&pool.mutex);
}

void tilek_parallel(int64_t parts, void (*body)(void *context, int64_t part), void *context)
{
    if (parts > 1 && pthread_mutex_trylock(&pool.owner) == 0) {
        const int enough = grow(parts - 1);
        if (enough) {
            const uint64_t generation = publish(parts, body, context);
            body(context, 0);
            (void)__atomic_sub_fetch(&pool.unfinished, run_left_over(generation), __ATOMIC_SEQ_CST);
            await_done();
        }
        (void)pthread_mutex_unlock(&pool.owner);
        if (enough) return;
    }
    for (int64_t part = 0; part < parts; ++part) body(context, part);
}

void tilek_await(const int *value, int least)
{
    for (int spin = __atomic_load_n(&pool.spins, __ATOMIC_RELAXED); spin > 0; --spin) {
        if (__atomic_load_n(value, __ATOMIC_ACQUIRE) >= least) return;
        relax();
    }
    while (__atomic_load_n(value, __ATOMIC_ACQUIRE) < least) (void)sched_yield(); /* who is waited for may want this core */
}

void tilek_threads_free(void)
{
    if (pthread_mutex_trylock(&pool.owner) != 0) return; /* a launch runs at exit: its threads end with the process */
    (void)pthread_mutex_lock(&pool.mutex);
    pool.stopping = 1;
    for (int64_t number = 1; number <= pool.thread_count; ++number) (void)pthread_cond_signal(&pool.work[number]);
    (void)pthread_mutex_unlock(&pool.mutex);
    for (int64_t index = 0; index < pool.thread_count; ++index) {
        (void)pthread_join(pool.threads[index], NULL);
        (void)pthread_cond_destroy(&pool.work[index + 1]);
    }
    pool.thread_count = 0;
    pool.stopping = 0;
    (void)pthread_mutex_unlock(&pool.owner);
}

/* A fork's child has only the thread that forked: the pool starts anew. */
void tilek_threads_forked(void)
{
    (void)pthread_mutex_init(&pool.owner, NULL);
    (void)pthread_mutex_init(&pool.mutex, NULL);
    (void)pthread_cond_init(&pool.done, NULL);
    pool.thread_count = 0;
    pool.unfinished = 0;
    pool.caller_sleeps = 0;
    memset(pool.sleeps, 0, sizeof pool.sleeps);
}
