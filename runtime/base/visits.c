/* visits.c: threads inside of the runtime. */
#define _GNU_SOURCE /* for syscall where there is one */
#define _XOPEN_SOURCE 700
#include "base/visits.h"

#include "base/locks.h"
#include "base/message.h"
#include "base/own_threads.h"
#include "base/trouble.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

enum { ENTERING = 2 };
static const int64_t INSIDE = 1, COMPUTING = (int64_t)1 << 32;

/* The calling thread's visit, in memory that outlives its stack frame: a jump may do away with
 * that. */
static __thread struct {
    int is_inside; /* ENTERING while what follows is written */
    uintptr_t frame;
    tilek_phase phase;
    int is_late;
    int is_known;  /* to the key's destructor, when the thread ends */
} here;

static int ending;        /* atomic */
/* atomic, of all threads: INSIDE for each visit that may use everything, COMPUTING for each other
 * one, in host code */
static int64_t visiting;
static int64_t visitors;  /* atomic: threads of the program that have been inside and have not ended */
static pthread_key_t key;
static int has_key;
static const tilek_visit_parts *parts; /* set before any thread is inside */

static void count(int64_t change) { (void)__atomic_add_fetch(&visiting, change, __ATOMIC_SEQ_CST); }

int tilek_is_ending(void) { return __atomic_load_n(&ending, __ATOMIC_SEQ_CST); }

tilek_phase tilek_visit_phase(tilek_phase phase)
{
    const tilek_phase before = here.phase;
    const int was_host = before == TILEK_PHASE_HOST, is_host = phase == TILEK_PHASE_HOST;
    if (!here.is_inside) return before;
    if (was_host != is_host && !here.is_late) count(is_host ? COMPUTING - INSIDE : INSIDE - COMPUTING);
    here.phase = phase;
    return before;
}

static void leave(void)
{
    const int64_t counted = here.is_late ? 0 : here.phase == TILEK_PHASE_HOST ? COMPUTING : INSIDE;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    here.is_inside = 0; /* from here on a signal handler may begin a visit of its own */
    count(-counted);
}

/* The visit did not end, and never will. What it was doing on the host comes to an end; a device's
 * library may have been left with its locks held. */
static void give_up(void *unused)
{
    (void)unused;
    if (!here.is_inside) return;
    if (tilek_locks_held() != 0 &&
        (here.phase != TILEK_PHASE_DEVICE || tilek_locks_held() != 1u << TILEK_LOCK_BUILDING))
        tilek_end_at_once(
            "a signal handler has left a launch or a directive in the midst of a change that cannot be undone");
    tilek_locks_forget(); /* that of compilations for devices */
    parts->left(here.phase);
    leave();
}

int tilek_has_visitors(void) { return __atomic_load_n(&visitors, __ATOMIC_SEQ_CST) > 0; }

/* Whether the main thread has called pthread_exit, or may have. A program that launches in one
 * short-lived thread after another keeps the pool where it has not. */
static int main_has_ended(void)
{
#ifdef __linux__
    char line[256] = "";
    const char *name_end;
    const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t length = -1;
    if ((pid_t)syscall(SYS_gettid) == getpid()) length = 0;
    else if (file >= 0) length = read(file, line, sizeof line - 1);
    if (file >= 0) (void)close(file);
    name_end = length > 0 ? strrchr(line, ')') : NULL; /* NUMBER (NAME) STATE … of the main thread */
    return name_end == NULL || strncmp(name_end, ") Z", 3) == 0;
#else
    return 1;
#endif
}

/* A process whose main thread has called pthread_exit ends with its last thread. The runtime's
 * threads, which wait for work, must end before. */
static void end_runtime_threads(void)
{
    sigset_t before;
    tilek_signals_block(&before); /* no handler is to launch in this thread meanwhile */
    count(INSIDE);                /* a handler of exit, which does the same, waits for this */
    if (!tilek_is_ending() && main_has_ended()) parts->end_threads();
    count(-INSIDE);
    tilek_signals_restore(&before);
}

static void ended(void *unused)
{
    if (here.is_inside) {
        tilek_warn(NULL, 0, "a thread has ended in a signal handler during a launch");
        give_up(unused);
    }
    parts->thread_ends();
    here.is_known = 0; /* a destructor that runs later may launch again */
    if (!tilek_is_own_thread() && __atomic_sub_fetch(&visitors, 1, __ATOMIC_SEQ_CST) == 0) end_runtime_threads();
}

static int is_on_handlers_stack(void)
{
    stack_t stack;
    return sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK) != 0;
}

/* Whether the frame of the thread's visit is gone from the stack, which only grows down from there
 * unless the thread has jumped. A jump to frames that lie deeper than that is not seen before the
 * thread comes back from them. */
static int was_left(uintptr_t frame) { return here.is_inside == 1 && here.frame <= frame && !is_on_handlers_stack(); }

static tilek_admission enter(uintptr_t frame)
{
    if (was_left(frame)) {
        const tilek_phase phase = here.phase;
        give_up(NULL);
        tilek_trouble(
            NULL, 0, "a signal handler has jumped out of a launch, and its arrays are half written%s",
            phase == TILEK_PHASE_DEVICE
                ? "; it ran on a device, whose library cannot be used after that: kernels run on the host from now on"
                : "");
    }
    if (here.is_inside) return TILEK_WITHIN;
    here.is_inside = ENTERING;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    here.frame = frame;
    here.phase = TILEK_PHASE_RUNTIME;
    here.is_late = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    here.is_inside = 1;
    count(INSIDE);
    if (!tilek_is_ending()) return TILEK_ADMITTED;
    here.is_late = 1;
    count(-INSIDE);
    return TILEK_LATE;
}

/* pthread_exit in a signal handler gives the visit up. This is a separate function, since compilers
 * cannot know whether values in registers survive that. */
static int go_through(int (*body)(void *context, tilek_admission admission), void *context, tilek_admission admission)
{
    volatile int result;
    pthread_cleanup_push(give_up, NULL);
    result = body(context, admission);
    pthread_cleanup_pop(0);
    return result;
}

int tilek_visit(const tilek_visit_parts *upper, int (*body)(void *context, tilek_admission admission), void *context)
{
    int cancelling, result;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    if (!here.is_known) {
        upper->start();
        here.is_known = has_key && pthread_setspecific(key, &here) == 0;
        if (here.is_known && !tilek_is_own_thread()) (void)__atomic_add_fetch(&visitors, 1, __ATOMIC_SEQ_CST);
    }
    const tilek_admission admission = enter((uintptr_t)__builtin_frame_address(0));
    if (admission == TILEK_WITHIN) {
        result = body(context, admission);
    } else {
        result = go_through(body, context, admission);
        leave();
    }
    (void)pthread_setcancelstate(cancelling, NULL);
    return result;
}

void tilek_visit_exits(void)
{
    if (here.is_inside) leave(); /* no handler of exit waits for it */
}

int tilek_visits_end(void)
{
    __atomic_store_n(&ending, 1, __ATOMIC_SEQ_CST);
    if (was_left((uintptr_t)__builtin_frame_address(0))) give_up(NULL);
    if (tilek_locks_held() != 0 || here.is_inside) return 0;
    while (__atomic_load_n(&visiting, __ATOMIC_SEQ_CST) % COMPUTING > 0)
        (void)nanosleep(&(struct timespec){0, 100000}, NULL);
    return 1;
}

int tilek_visits_go_on(void) { return __atomic_load_n(&visiting, __ATOMIC_SEQ_CST) > 0; }

void tilek_visits_forked(void)
{
    __atomic_store_n(&visiting,
                     !here.is_inside || here.is_late  ? 0
                     : here.phase == TILEK_PHASE_HOST ? COMPUTING
                                                      : INSIDE,
                     __ATOMIC_SEQ_CST);
    __atomic_store_n(&visitors, here.is_known, __ATOMIC_SEQ_CST);
}

void tilek_visits_start(const tilek_visit_parts *upper)
{
    parts = upper;
    has_key = pthread_key_create(&key, ended) == 0;
}

void tilek_visits_free(void)
{
    if (has_key) (void)pthread_key_delete(key); /* there are few keys, and a plugin may be opened often */
    has_key = 0;
}
