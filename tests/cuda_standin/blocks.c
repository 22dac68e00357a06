/* blocks.c: the threads of a block. Without barriers they run one after another; with barriers each is a fiber, and all run up to
 * the next barrier in turn. In a cooperative launch the threads of all blocks are fibers, and a block runs until it waits for another one (__nanosleep): the
 * first one, or with CUDA_STANDIN_ORDER=reverse the last one, as far as it can, so that what it does not wait for is not there. A launch in which all blocks wait is
 * ended. A fiber is made once and goes on in later blocks by _longjmp: swapcontext would make a system call (for
 * the signal mask) at every switch. A barrier that not all threads reach, or not all at the same line, ends the launch, as does an
 * access outside of what is mapped (driver.c puts guard pages around every allocation). */
#define _GNU_SOURCE
#include "standin.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK_BYTES = 256 * 1024, MOST_FIBERS = STANDIN_MOST_RESIDENT, MOST_IDLE_TURNS = 1 << 18 };

typedef struct fiber {
    jmp_buf place; /* where it goes on, once it has begun */
    standin_index thread, block;
    int begun;
    int finished;
    int yields; /* it waits for another block */
    int line; /* of the barrier it waits at */
} fiber;

/* Of the launch under way; there is one at a time. */
static struct {
    const standin_kernel *kernel;
    void **parameters;
    fiber *fibers; /* MOST_FIBERS of them, made at the first launch that needs them */
    char *stacks;
    fiber *current;
    jmp_buf scheduler;
    pthread_t runner;
    sigjmp_buf fault;
    int reversed;
} state;

/* Which of `count` blocks or threads comes k-th in a dimension: CUDA promises no order, so CUDA_STANDIN_ORDER=reverse turns it round,
 * and what depends on it shows. */
static unsigned placed(unsigned k, unsigned count)
{
    return state.reversed ? count - 1 - k : k;
}

/* Back to the scheduler, until that resumes the fiber. */
static void leave(fiber *self)
{
    if (_setjmp(self->place) == 0)
        _longjmp(state.scheduler, 1);
}

static void fiber_main(void)
{
    for (;;) {
        state.kernel->call(state.parameters);
        state.current->finished = 1;
        leave(state.current);
    }
}

static void wait_at_barrier(int line)
{
    fiber *self = state.current;
    self->line = line;
    leave(self);
}

static void wait_for_others(void)
{
    fiber *self = state.current;
    self->yields = 1;
    leave(self);
    self->yields = 0;
}

/* Outside of cooperative launches nobody may come meanwhile. */
static void wait_for_nobody(void)
{
    siglongjmp(state.fault, STANDIN_STUCK);
}

static void begin(fiber *self)
{
    ucontext_t context;
    self->begun = 1;
    (void)getcontext(&context);
    context.uc_stack.ss_sp = state.stacks + (size_t)(self - state.fibers) * STACK_BYTES;
    context.uc_stack.ss_size = STACK_BYTES;
    context.uc_link = NULL;
    makecontext(&context, fiber_main, 0);
    (void)setcontext(&context);
}

static void resume(fiber *next)
{
    state.current = next;
    *state.kernel->thread = next->thread;
    *state.kernel->block = next->block;
    if (_setjmp(state.scheduler) != 0)
        return;
    if (next->begun)
        _longjmp(next->place, 1);
    begin(next);
}

/* What did not end well left its fibers in the midst of the kernel. */
static void forget_fibers(void)
{
    for (int k = 0; state.fibers != NULL && k < MOST_FIBERS; ++k)
        state.fibers[k].begun = 0;
}

static int make_fibers(void)
{
    if (state.fibers == NULL) {
        void *stacks = mmap(NULL, (size_t)MOST_FIBERS * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (stacks == MAP_FAILED)
            return 0;
        state.stacks = stacks;
        state.fibers = calloc(MOST_FIBERS, sizeof *state.fibers);
    }
    return state.fibers != NULL;
}

/* Runs every fiber that is not finished up to its next barrier or its end. Returns how many wait. */
static int run_to_barrier(int count)
{
    int waiting = 0;
    for (int k = 0; k < count; ++k) {
        if (state.fibers[k].finished)
            continue;
        resume(&state.fibers[k]);
        waiting += !state.fibers[k].finished;
    }
    return waiting;
}

/* The fibers of a block's threads, from `first` on. Returns how many. */
static int assign_fibers(fiber *first, standin_index block)
{
    int count = 0;
    for (unsigned z = 0; z < block.z; ++z)
        for (unsigned y = 0; y < block.y; ++y)
            for (unsigned x = 0; x < block.x; ++x, ++count) {
                fiber *next = &first[count];
                next->thread = (standin_index){placed(x, block.x), placed(y, block.y), placed(z, block.z)};
                next->block = *state.kernel->block;
                next->finished = next->yields = next->line = 0;
            }
    return count;
}

static standin_outcome run_fibers(standin_index block)
{
    const int count = assign_fibers(state.fibers, block);
    for (;;) {
        const int waiting = run_to_barrier(count);
        if (waiting == 0)
            return STANDIN_DONE;
        if (waiting != count)
            return STANDIN_DIVERGED;
        for (int k = 1; k < count; ++k)
            if (state.fibers[k].line != state.fibers[0].line)
                return STANDIN_DIVERGED;
    }
}

static standin_outcome run_threads(standin_index block)
{
    standin_index *thread = state.kernel->thread;
    for (unsigned z = 0; z < block.z; ++z)
        for (unsigned y = 0; y < block.y; ++y)
            for (unsigned x = 0; x < block.x; ++x) {
                *thread = (standin_index){placed(x, block.x), placed(y, block.y), placed(z, block.z)};
                state.kernel->call(state.parameters);
            }
    return STANDIN_DONE;
}

static standin_outcome run_blocks(standin_index grid, standin_index block)
{
    for (unsigned z = 0; z < grid.z; ++z)
        for (unsigned y = 0; y < grid.y; ++y)
            for (unsigned x = 0; x < grid.x; ++x) {
                *state.kernel->block = (standin_index){placed(x, grid.x), placed(y, grid.y), placed(z, grid.z)};
                const standin_outcome outcome = state.kernel->has_barriers ? run_fibers(block) : run_threads(block);
                if (outcome != STANDIN_DONE)
                    return outcome;
            }
    return STANDIN_DONE;
}

/* One block of a cooperative launch, until it waits for others or is through. *moved: it has passed a barrier, or is through now. */
static standin_outcome run_turn(fiber *first, int count, int *moved, int *left)
{
    for (;;) {
        int at_barrier = 0, yielding = 0, finished = 0;
        for (int k = 0; k < count; ++k) {
            fiber *own = &first[k];
            if (!own->finished && own->line == 0)
                resume(own);
            finished += own->finished;
            yielding += !own->finished && own->yields;
            at_barrier += !own->finished && !own->yields;
        }
        *left = finished < count;
        if (yielding > 0)
            return STANDIN_DONE;
        *moved = 1;
        if (at_barrier == 0)
            return STANDIN_DONE;
        for (int k = 0; k < count; ++k)
            if (finished > 0 || first[k].line != first[0].line)
                return STANDIN_DIVERGED;
        for (int k = 0; k < count; ++k)
            first[k].line = 0;
    }
}

static standin_outcome run_cooperative(standin_index grid, standin_index block)
{
    const int count = (int)(block.x * block.y * block.z);
    int left = (int)grid.x, idle = 0;
    for (unsigned x = 0; x < grid.x; ++x) {
        *state.kernel->block = (standin_index){placed(x, grid.x), 0, 0};
        (void)assign_fibers(&state.fibers[(int)x * count], block);
    }
    while (left > 0) {
        int moved = 0;
        left = 0;
        for (unsigned x = 0; x < grid.x; ++x) {
            int unfinished;
            const standin_outcome outcome = run_turn(&state.fibers[(int)x * count], count, &moved, &unfinished);
            if (outcome != STANDIN_DONE)
                return outcome;
            left += unfinished;
        }
        idle = moved ? 0 : idle + 1;
        if (idle > MOST_IDLE_TURNS)
            return STANDIN_STUCK;
    }
    return STANDIN_DONE;
}

/* Another thread's fault is its own: with the default action restored, it comes again and ends the process. */
static void on_fault(int signal_number)
{
    if (!pthread_equal(pthread_self(), state.runner)) {
        (void)signal(signal_number, SIG_DFL);
        return;
    }
    siglongjmp(state.fault, STANDIN_BAD_ADDRESS);
}

standin_outcome standin_run(const standin_kernel *kernel, standin_index grid, standin_index block, void **parameters, int cooperative)
{
    struct sigaction action, segment, bus;
    volatile standin_outcome outcome;
    const char *order = getenv("CUDA_STANDIN_ORDER");
    if ((kernel->has_barriers || cooperative) && !make_fibers())
        return STANDIN_NO_STACKS;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_fault;
    (void)sigemptyset(&action.sa_mask);
    state.reversed = order != NULL && strcmp(order, "reverse") == 0;
    state.kernel = kernel;
    state.parameters = parameters;
    state.runner = pthread_self();
    *kernel->block_size = block;
    *kernel->grid_size = grid;
    *kernel->barrier = wait_at_barrier;
    *kernel->yield = cooperative ? wait_for_others : wait_for_nobody;
    (void)sigaction(SIGSEGV, &action, &segment);
    (void)sigaction(SIGBUS, &action, &bus);
    outcome = (standin_outcome)sigsetjmp(state.fault, 1);
    if (outcome == STANDIN_DONE)
        outcome = cooperative ? run_cooperative(grid, block) : run_blocks(grid, block);
    if (outcome != STANDIN_DONE)
        forget_fibers();
    (void)sigaction(SIGSEGV, &segment, NULL);
    (void)sigaction(SIGBUS, &bus, NULL);
    return outcome;
}
