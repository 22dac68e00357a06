/* async.c: asynchronous queues. Each has a thread that runs its jobs in order; a job waits for others by their numbers. */
#define _POSIX_C_SOURCE 200809L
#include "async.h"

#include "state.h"

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

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards everything here */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* a job was added or completed, or the end has come */
static queue *queues;
static int queue_count; /* atomic for tilek_has_queues */
static int stopping;

static void await(const milestone *wait)
{
    while (wait->owner->completed < wait->number) (void)pthread_cond_wait(&changed, &mutex);
}

static void *serve(void *argument)
{
    queue *own = argument;
    tilek_mark_own_thread();
    (void)pthread_mutex_lock(&mutex);
    for (;;) {
        job *next;
        while (own->first == NULL && !stopping) (void)pthread_cond_wait(&changed, &mutex);
        if (own->first == NULL) break;
        next = own->first;
        for (int index = 0; index < next->wait_count; ++index) await(&next->waits[index]);
        (void)pthread_mutex_unlock(&mutex);
        next->run(next->argument, own->device_queue);
        (void)pthread_mutex_lock(&mutex);
        own->first = next->next;
        if (own->first == NULL) own->end = &own->first;
        free(next);
        ++own->completed;
        (void)pthread_cond_broadcast(&changed);
    }
    (void)pthread_mutex_unlock(&mutex);
    return NULL;
}

static queue *find(int64_t name)
{
    queue *one = queues;
    while (one != NULL && one->name != name) one = one->next;
    return one;
}

static queue *find_or_make(int64_t name)
{
    queue *one = find(name);
    if (one != NULL || (one = calloc(1, sizeof *one)) == NULL) return one;
    one->name = name;
    one->device_queue = 1 + queue_count % (TILEK_DEVICE_QUEUES - 1);
    one->end = &one->first;
    if (pthread_create(&one->thread, NULL, serve, one) != 0) {
        free(one);
        return NULL;
    }
    one->next = queues;
    queues = one;
    (void)__atomic_add_fetch(&queue_count, 1, __ATOMIC_RELEASE);
    return one;
}

static void add_wait(job *added, queue *owner)
{
    if (owner != NULL) added->waits[added->wait_count++] = (milestone){owner, owner->submitted};
}

tilek_status tilek_enqueue(int64_t name, int wait_count, const int64_t waits[], void (*run)(void *argument, int device_queue), void *argument)
{
    tilek_status status = TILEK_NO_MEMORY;
    queue *own;
    job *added = NULL;
    (void)pthread_mutex_lock(&mutex);
    own = find_or_make(name);
    if (own != NULL) added = malloc(sizeof *added + (size_t)tilek_maximum(wait_count, queue_count) * sizeof(milestone));
    if (added != NULL) {
        added->next = NULL;
        added->run = run;
        added->argument = argument;
        added->wait_count = 0;
        for (int index = 0; index < wait_count; ++index)
            if (waits[index] != name) add_wait(added, find(waits[index]));
        for (queue *other = queues; wait_count < 0 && other != NULL; other = other->next)
            if (other != own) add_wait(added, other);
        *own->end = added;
        own->end = &added->next;
        ++own->submitted;
        (void)pthread_cond_broadcast(&changed);
        status = TILEK_OK;
    }
    (void)pthread_mutex_unlock(&mutex);
    return status;
}

int tilek_has_queues(void) { return __atomic_load_n(&queue_count, __ATOMIC_ACQUIRE) > 0; }

static void wait_for(queue *one)
{
    const milestone all = {one, one->submitted};
    await(&all);
}

void tilek_wait(int count, const int64_t names[])
{
    int everything = count <= 0; /* `wait` without queues */
    if (!tilek_has_queues() || tilek_is_own_thread()) return;
    (void)pthread_mutex_lock(&mutex);
    for (int index = 0; index < count; ++index) {
        queue *one = find(names[index]);
        everything |= names[index] == TILEK_QUEUES_ALL;
        if (one != NULL) wait_for(one);
    }
    for (queue *one = queues; everything && one != NULL; one = one->next) wait_for(one);
    (void)pthread_mutex_unlock(&mutex);
}

/* At exit all that was queued still runs. */
void tilek_queues_finish(void)
{
    tilek_wait(-1, NULL);
    (void)pthread_mutex_lock(&mutex);
    stopping = 1;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&mutex);
    while (queues != NULL) {
        queue *one = queues;
        (void)pthread_join(one->thread, NULL);
        queues = one->next;
        free(one);
    }
    __atomic_store_n(&queue_count, 0, __ATOMIC_RELEASE);
}

/* A fork's child has no queue threads; what they were doing is the parent's. */
void tilek_queues_forked(void)
{
    (void)pthread_mutex_init(&mutex, NULL);
    (void)pthread_cond_init(&changed, NULL);
    while (queues != NULL) {
        queue *one = queues;
        queues = one->next;
        free(one);
    }
    queue_count = 0;
}
