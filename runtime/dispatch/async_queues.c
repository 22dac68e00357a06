/* async_queues.c: asynchronous queues. Each has a thread that runs its jobs in order; a job waits
 * for others by their numbers. */
#define _POSIX_C_SOURCE 200809L
#include "dispatch/async_queues.h"

#include "base/locks.h"
#include "base/own_threads.h"
#include "base/visits.h"
#include "host/cores.h"
#include "host/host_launch.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct queue queue;

/* `owner` has run its first `number` jobs. */
typedef struct milestone { queue *owner; int64_t number; } milestone;

typedef struct job {
    struct job *next;
    void (*run)(void *, int);
    void *argument;
    int wait_count;
    milestone waits[];
} job;

struct queue {
    queue *next;
    int64_t name;
    int device_queue;
    pthread_t thread;
    job *first, **end;
    int64_t submitted, completed;
};

/* TILEK_LOCK_QUEUES guards everything here. */
/* a job was added or completed, or queues close or have closed */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static queue *queues;
static int queue_count; /* atomic for tilek_has_queues */
static int stopping; /* the queues are closing: threads that want to use them wait */

static void await(const milestone *wait)
{
    while (wait->owner->completed < wait->number) tilek_lock_await(TILEK_LOCK_QUEUES, &changed);
}

static void *serve(void *argument)
{
    queue *served = argument;
    tilek_mark_own_thread();
    tilek_use_all_cores();
    tilek_lock(TILEK_LOCK_QUEUES);
    for (;;) {
        job *next;
        while (served->first == NULL && !stopping) tilek_lock_await(TILEK_LOCK_QUEUES, &changed);
        if (served->first == NULL) break;
        next = served->first;
        for (int index = 0; index < next->wait_count; ++index) await(&next->waits[index]);
        tilek_unlock(TILEK_LOCK_QUEUES);
        next->run(next->argument, served->device_queue);
        tilek_lock(TILEK_LOCK_QUEUES);
        served->first = next->next;
        if (served->first == NULL) served->end = &served->first;
        free(next);
        ++served->completed;
        (void)pthread_cond_broadcast(&changed);
    }
    tilek_unlock(TILEK_LOCK_QUEUES);
    tilek_host_thread_ends();
    return NULL;
}

/* Frees the queues, whose threads are gone. */
static void forget_queues(void)
{
    while (queues != NULL) {
        queue *const first = queues;
        queues = first->next;
        free(first);
    }
    __atomic_store_n(&queue_count, 0, __ATOMIC_RELEASE);
}

static queue *find(int64_t name)
{
    queue *named = queues;
    while (named != NULL && named->name != name) named = named->next;
    return named;
}

static queue *find_or_make(int64_t name)
{
    queue *made = find(name);
    if (made != NULL || (made = calloc(1, sizeof *made)) == NULL) return made;
    made->name = name;
    made->device_queue = 1 + queue_count % (TILEK_DEVICE_QUEUES - 1);
    made->end = &made->first;
    if (!tilek_thread_create(&made->thread, serve, made)) {
        free(made);
        return NULL;
    }
    made->next = queues;
    queues = made;
    (void)__atomic_add_fetch(&queue_count, 1, __ATOMIC_RELEASE);
    return made;
}

static void add_wait(job *added, queue *owner)
{
    if (owner != NULL) added->waits[added->wait_count++] = (milestone){owner, owner->submitted};
}

tilek_status tilek_enqueue(int64_t name, int wait_count, const int64_t waits[],
                           void (*run)(void *argument, int device_queue), void *argument)
{
    tilek_status status = TILEK_NO_MEMORY;
    queue *chosen;
    job *added = NULL;
    tilek_lock(TILEK_LOCK_QUEUES);
    while (stopping) tilek_lock_await(TILEK_LOCK_QUEUES, &changed);
    chosen = find_or_make(name);
    if (chosen != NULL)
        added = malloc(sizeof *added + (size_t)tilek_maximum(wait_count, queue_count) * sizeof(milestone));
    if (added != NULL) {
        added->next = NULL;
        added->run = run;
        added->argument = argument;
        added->wait_count = 0;
        for (int index = 0; index < wait_count; ++index)
            if (waits[index] != name) add_wait(added, find(waits[index]));
        for (queue *other = queues; wait_count < 0 && other != NULL; other = other->next)
            if (other != chosen) add_wait(added, other);
        *chosen->end = added;
        chosen->end = &added->next;
        ++chosen->submitted;
        (void)pthread_cond_broadcast(&changed);
        status = TILEK_OK;
    }
    tilek_unlock(TILEK_LOCK_QUEUES);
    return status;
}

int tilek_has_queues(void) { return __atomic_load_n(&queue_count, __ATOMIC_ACQUIRE) > 0; }

/* For threads of the program: a signal handler may jump away from here, between two short waits,
 * where no lock is held. Queues live to the end. */
static void wait_for(queue *waited, const sigset_t *before)
{
    const int64_t number = waited->submitted;
    sigset_t blocked;
    while (waited->completed < number) {
        tilek_lock_await_shortly(TILEK_LOCK_QUEUES, &changed, 50);
        tilek_unlock(TILEK_LOCK_QUEUES);
        tilek_signals_restore(before);
        tilek_signals_block(&blocked);
        tilek_lock(TILEK_LOCK_QUEUES);
    }
}

void tilek_queues_wait(int count, const int64_t names[])
{
    int everything = count <= 0; /* `wait` without queues */
    sigset_t before;
    if (!tilek_has_queues() || tilek_is_own_thread()) return;
    tilek_signals_block(&before);
    tilek_lock(TILEK_LOCK_QUEUES);
    while (stopping) tilek_lock_await(TILEK_LOCK_QUEUES, &changed);
    for (int index = 0; index < count; ++index) {
        queue *named = find(names[index]);
        everything |= names[index] == TILEK_QUEUES_ALL;
        if (named != NULL) wait_for(named, &before);
    }
    for (queue *each = queues; everything && each != NULL; each = each->next) wait_for(each, &before);
    tilek_unlock(TILEK_LOCK_QUEUES);
    tilek_signals_restore(&before);
}

/* Whether the queues are to close, whose threads still run all that was queued. Meanwhile no thread
 * of the program uses one. */
static int begin_closing(int is_exit)
{
    int begins;
    tilek_queues_wait(-1, NULL);
    tilek_lock(TILEK_LOCK_QUEUES);
    begins = !stopping && (is_exit || !tilek_has_visitors());
    if (begins) stopping = 1;
    (void)pthread_cond_broadcast(&changed);
    tilek_unlock(TILEK_LOCK_QUEUES);
    return begins;
}

static void close_queues(int is_exit)
{
    if (!begin_closing(is_exit)) return;
    for (queue *each = queues; each != NULL; each = each->next) (void)pthread_join(each->thread, NULL);
    tilek_lock(TILEK_LOCK_QUEUES);
    forget_queues();
    stopping = 0;
    (void)pthread_cond_broadcast(&changed);
    tilek_unlock(TILEK_LOCK_QUEUES);
}

void tilek_queues_close(void) { close_queues(0); }
void tilek_queues_finish(void) { close_queues(1); }

/* A fork's child has no queue threads; what they were doing is the parent's. */
void tilek_queues_forked(void)
{
    (void)pthread_cond_init(&changed, NULL);
    forget_queues();
    stopping = 0;
}
