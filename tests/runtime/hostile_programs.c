/* hostile_programs.c: what programs do around launches that launches are not to be harmed by. Usage: hostile CASE; exit status 0 and "right" is success. Built with tilecc. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 3000, LONG = 400 };

static void halve(int n, double *a)
{
#pragma tilek kernel
    for (int i = 0; i < n; ++i)
        a[i] = a[i] * 0.5 + 1;
}

/* A second kernel, whose state is made after the first one's. */
static void doubles(int n, double *a)
{
#pragma tilek kernel
    for (int i = 0; i < n; ++i)
        a[i] = a[i] * 2;
}

/* Takes about as long as it is told to. */
static void grind(int n, int rounds, double *a)
{
#pragma tilek kernel
    for (int i = 0; i < n; ++i) {
        double s = a[i];
        for (int k = 0; k < rounds; ++k)
            s = s * 0.5 + i;
        a[i] = s;
    }
}

static void in_region(int n, double *a)
{
#pragma tilek enter data copyin(a[0:n])
    halve(n, a);
#pragma tilek exit data copyout(a[0:n])
}

static double *zeros(int n)
{
    double *a = calloc((size_t)n, sizeof *a);
    if (a == NULL)
        exit(9);
    return a;
}

static void expect(int condition, const char *what)
{
    if (condition)
        return;
    printf("wrong: %s\n", what);
    fflush(stdout);
    _exit(1);
}

static void right(void)
{
    puts("right");
    fflush(stdout);
}

static double shared[N];

static void *launch_for_ever(void *unused)
{
    double *a = zeros(N);
    (void)unused;
    for (;;)
        halve(N, a);
    return NULL;
}

static void *launch_in_regions_for_ever(void *unused)
{
    double *a = zeros(N);
    (void)unused;
    for (;;)
        in_region(N, a);
    return NULL;
}

static void start(int count, void *(*body)(void *))
{
    pthread_t thread;
    for (int k = 0; k < count; ++k)
        if (pthread_create(&thread, NULL, body, NULL) != 0)
            exit(9);
}

/* ---- The end of the program ---------------------------------------------------------------------------------------- */

static void exits(void)
{
    double *a = zeros(N);
    halve(N, a);
    start(3, launch_for_ever);
    usleep(10000);
    right();
    exit(0);
}

static void *launch_some(void *unused)
{
    double *a = zeros(N);
    for (int k = 0; k < 20; ++k)
        halve(N, a);
    expect(a[5] > 1.9, "launches beside the main thread's end");
    free(a);
    return unused;
}

static void *queue_some(void *unused)
{
    double *a = shared;
    usleep(50000); /* the others have ended, and the pool with them */
    for (int i = 0; i < N; ++i)
        a[i] = 0;
#pragma tilek kernel async(1)
    for (int i = 0; i < N; ++i)
        a[i] = a[i] + 1;
#pragma tilek kernel async(2) wait(1)
    for (int i = 0; i < N; ++i)
        a[i] = a[i] * 2;
#pragma tilek wait
    expect(a[5] == 2, "queues after the main thread's end");
    right();
    return unused;
}

/* The main thread ends before the others, and the process with the last of these. */
static void main_ends_idle(void)
{
    start(3, launch_some);
    start(1, queue_some);
    pthread_exit(NULL);
}

static void main_ends(void)
{
    double *a = zeros(N);
    halve(N, a);
    free(a);
    main_ends_idle();
}

static void copy_out_at_exit(void)
{
#pragma tilek exit data copyout(shared[0:N])
    expect(shared[5] == 1.5, "an exit data in a handler of exit");
    right();
}

static void launch_at_exit(void)
{
    doubles(N, shared);
    expect(shared[5] == 3, "a launch in a handler of exit");
    right();
}

static void update_at_exit(void)
{
#pragma tilek update self(shared[0:N])
    expect(shared[5] == 1.5, "an update in a handler of exit");
    right();
}

static void run_twice_in_a_region(void)
{
#pragma tilek enter data copyin(shared[0:N])
    halve(N, shared);
    halve(N, shared);
}

static void handlers_data(void)
{
    atexit(copy_out_at_exit);
    run_twice_in_a_region();
}

static void handlers_launch(void)
{
    atexit(launch_at_exit);
    run_twice_in_a_region();
}

static void handlers_update(void)
{
    atexit(update_at_exit);
    run_twice_in_a_region();
}

static void leave(int number)
{
    (void)number;
    right();
    exit(0);
}

static void exit_in_handler(void)
{
    double *a = zeros(N);
    halve(N, a);
    signal(SIGALRM, leave);
    ualarm(20000, 0);
    for (;;)
        grind(N, LONG, a);
}

/* ---- Children ------------------------------------------------------------------------------------------------------ */

static void fork_often(int times, void (*work)(int, double *))
{
    double *a = zeros(N);
    for (int k = 0; k < times; ++k) {
        int status;
        pid_t child;
        usleep(300);
        child = fork();
        if (child == 0) {
            alarm(20);
            for (int launch = 0; launch < 3; ++launch)
                work(N, a);
            expect(a[7] == 1.75, "a child's launches");
            _exit(0);
        }
        waitpid(child, &status, 0);
        expect(status == 0, WIFSIGNALED(status) ? "a child that waits for ever" : "a child's status");
    }
    right();
    fflush(stdout);
    _exit(0);
}

static void forks(void)
{
    start(2, launch_for_ever);
    fork_often(15, halve);
}

static void forks_in_regions(void)
{
    start(2, launch_in_regions_for_ever);
    fork_often(15, in_region);
}

/* The other thread is opening its device, or compiles. */
static void forks_early(void)
{
    start(1, launch_for_ever);
    fork_often(6, halve);
}

/* ---- Threads that do not come back --------------------------------------------------------------------------------- */

static void *grind_long(void *a)
{
    grind(N, 20000, a);
    return NULL;
}

static void cancels(void)
{
    double *a = zeros(N), *b = zeros(N), reference;
    pthread_t thread;
    void *result;
    grind(N, LONG, b);
    reference = b[5];
    expect(pthread_create(&thread, NULL, grind_long, a) == 0, "a thread");
    usleep(5000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    memset(b, 0, N * sizeof *b);
    grind(N, LONG, b);
    expect(b[5] == reference, "a launch after a cancellation");
    right();
}

static sigjmp_buf out;

static __thread volatile sig_atomic_t in_malloc; /* the calling thread is in the C library's */

/* A jump out of malloc, which a device's library calls too, leaves its lock held: no program goes on from there. */
static void jump(int number)
{
    const struct itimerval soon = {{0, 0}, {0, 100}};
    (void)number;
    if (in_malloc > 0)
        setitimer(ITIMER_REAL, &soon, NULL);
    else
        siglongjmp(out, 1);
}

static void jumps(void)
{
    double *a = zeros(N), *b = zeros(N);
    volatile int jumped = 0;
    signal(SIGALRM, jump);
    for (volatile int round = 0; round < 3; ++round) {
        if (sigsetjmp(out, 1) == 0) {
            ualarm(30000, 0);
            grind(N, 40000, a);
            ualarm(0, 0);
        } else
            ++jumped;
        memset(b, 0, N * sizeof *b);
        halve(N, b);
        expect(b[5] == 1, "a launch after a jump out of one");
    }
    expect(jumped > 0, "no jump");
    right();
}

static void end_thread(int number)
{
    (void)number;
    pthread_exit(NULL);
}

static void ends_in_handler(void)
{
    double *a = zeros(N), *b = zeros(N);
    pthread_t thread;
    signal(SIGUSR1, end_thread);
    halve(N, b);
    expect(pthread_create(&thread, NULL, grind_long, a) == 0, "a thread");
    usleep(5000);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
    memset(b, 0, N * sizeof *b);
    halve(N, b);
    expect(b[5] == 1, "a launch after a thread's end in one");
    right();
}

static double *handlers;
static volatile int handled;

static void launch_in_handler(int number)
{
    (void)number;
    halve(100, handlers);
    ++handled;
}

static void launches_in_handler(void)
{
    const struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
    double *a = zeros(N);
    handlers = zeros(100);
    halve(N, a);
    halve(100, handlers);
    signal(SIGALRM, launch_in_handler);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int k = 0; k < 1000 || handled < 5; ++k)
        halve(N, a);
    setitimer(ITIMER_REAL, &never, NULL);
    expect(a[5] == 2, "launches around a handler's");
    expect(handlers[5] > 1 && handlers[5] <= 2, "a handler's launches");
    right();
}

/* In place of the C library's locks: whoever asks for memory inside of a handler that has interrupted such a question would wait for ever. */
static volatile int interrupts;
static volatile __thread int inside; /* compilers know that raise changes no variable of this file */

static double total(int n, const double *a)
{
    double sum = 0;
#pragma tilek kernel reduction(+: sum)
    for (int i = 0; i < n; ++i)
        sum += a[i];
    return sum;
}

static double totalled;

static void launch_in_malloc(int number)
{
    (void)number;
    halve(100, handlers);
    doubles(100, handlers); /* for the first time */
    totalled = total(100, handlers);
}

static void interrupts_malloc(void)
{
    double *a = zeros(N);
    void *(*volatile ask)(size_t) = malloc; /* compilers know that malloc changes nothing */
    handlers = zeros(100);
    halve(N, a);
    halve(100, handlers);
    (void)total(N, a);
    signal(SIGUSR1, launch_in_malloc);
    interrupts = 1;
    free(ask(100));
    expect(interrupts == 0 && handlers[5] == 3 && totalled == 300, "launches in a handler that has interrupted malloc");
    doubles(100, handlers);
    expect(handlers[5] == 6, "a launch after that");
    right();
}

/* ---- Threads of the runtime's own ---------------------------------------------------------------------------------- */

/* A signal for the thread that waits for it would end the program in another. */
static void signals(void)
{
    sigset_t waited;
    int number;
    double *a = zeros(N);
    halve(N, a);
    sigemptyset(&waited);
    sigaddset(&waited, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &waited, NULL);
    kill(getpid(), SIGUSR1);
    expect(sigwait(&waited, &number) == 0 && number == SIGUSR1, "a signal");
    right();
}

static int count_threads(void)
{
    char line[200];
    int count = 0;
    FILE *file = fopen("/proc/self/status", "r");
    expect(file != NULL, "/proc");
    while (fgets(line, sizeof line, file) != NULL)
        sscanf(line, "Threads: %d", &count);
    fclose(file);
    return count;
}

static void threads(void)
{
    double *a = zeros(100 * N);
    grind(100 * N, 3, a);
    printf("%d threads\n", count_threads());
    right();
}

static void *launch_bound(void *a)
{
    cpu_set_t all, first;
    int core = 0;
    sched_getaffinity(0, sizeof all, &all);
    while (!CPU_ISSET(core, &all))
        ++core;
    CPU_ZERO(&first);
    CPU_SET(core, &first);
    sched_setaffinity(0, sizeof first, &first);
    grind(N, LONG, a);
    printf("%d threads of %d\n", count_threads() - 1, CPU_COUNT(&all));
    return NULL;
}

static void bound(void)
{
    pthread_t thread;
    double *a = zeros(N);
    expect(pthread_create(&thread, NULL, launch_bound, a) == 0, "a thread");
    pthread_join(thread, NULL);
    right();
}

static void with_large_array(int n, double *a)
{
#pragma tilek kernel
    for (int i = 0; i < n; ++i) {
        double t[2000000];
        for (int k = 0; k < 2000000; ++k)
            t[k] = i + k;
        a[i] = t[1999999] + t[17];
    }
}

static void *call_with_large_array(void *a)
{
    with_large_array(8, a);
    return NULL;
}

/* Whoever has called it has stack enough; its workers are to have, too. */
static void stacks(void)
{
    double *a = zeros(8);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)64 << 20);
    expect(pthread_create(&thread, &attributes, call_with_large_array, a) == 0, "a thread");
    pthread_join(thread, NULL);
    expect(a[5] == 2000026, "an array on the stack");
    right();
}

/* The same, by the process's limit alone. */
static void stacks_by_limit(void)
{
    const struct rlimit limit = {(rlim_t)64 << 20, RLIM_INFINITY};
    setrlimit(RLIMIT_STACK, &limit);
    stacks();
}

/* The first launch of all, in a thread with little more stack than threads must have. */
static void little_stack(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)32 << 10);
    if (pthread_create(&thread, &attributes, launch_some, NULL) != 0)
        exit(9);
    pthread_join(thread, NULL);
    right();
}

/* ---- Memory -------------------------------------------------------------------------------------------------------- */

static int fails_calloc;

#ifdef FAILING_CALLOC
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

static void ask_for_memory(void)
{
    static const char text[] = "wrong: malloc inside of malloc\n";
    if (inside) {
        (void)!write(STDOUT_FILENO, text, sizeof text - 1);
        _exit(1);
    }
    if (!interrupts)
        return;
    interrupts = 0;
    inside = 1;
    raise(SIGUSR1);
    inside = 0;
}

void *malloc(size_t size)
{
    void *block;
    ask_for_memory();
    ++in_malloc;
    block = __libc_malloc(size);
    --in_malloc;
    return block;
}

void *calloc(size_t count, size_t size)
{
    void *block;
    ask_for_memory();
    if (fails_calloc > 0 && --fails_calloc == 0)
        return NULL;
    ++in_malloc;
    block = __libc_calloc(count, size);
    --in_malloc;
    return block;
}

void *realloc(void *block, size_t size)
{
    ask_for_memory();
    ++in_malloc;
    block = __libc_realloc(block, size);
    --in_malloc;
    return block;
}

void free(void *block)
{
    if (block != NULL)
        ask_for_memory();
    ++in_malloc;
    __libc_free(block);
    --in_malloc;
}
#endif

/* The second kernel's state cannot be made while a device has the newest values. */
static void exhausted(void)
{
    double *a = zeros(N);
#pragma tilek data copy(a[0:N])
    {
        halve(N, a);
        fails_calloc = 1;
        doubles(N, a);
        fails_calloc = 0;
    }
    expect(a[5] == 2, "a launch without memory");
    right();
}

static void absurd_rows(int64_t l, int64_t n, int64_t m, float *a)
{
    float(*b)[m] = (void *)a;
#pragma tilek enter data copyin(b[l:n][0:m])
}

static void absurd(void)
{
    static float a[16];
    absurd_rows(0, INT64_MAX, INT64_MAX, a);
    absurd_rows(INT64_MIN / 2, INT64_MAX, 2, a);
    absurd_rows(-((int64_t)1 << 61), (int64_t)1 << 62, 2, a);
    absurd_rows(-((int64_t)1 << 62), ((int64_t)1 << 62) + 5, 1, a);
    absurd_rows((int64_t)1 << 60, (int64_t)1 << 59, 1, a);
    right();
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } cases[] = {
        {"exits", exits}, {"main_ends", main_ends}, {"main_ends_idle", main_ends_idle}, {"handlers_data", handlers_data}, {"handlers_launch", handlers_launch}, {"handlers_update", handlers_update},
        {"exit_in_handler", exit_in_handler}, {"forks", forks}, {"forks_in_regions", forks_in_regions}, {"forks_early", forks_early},
        {"cancels", cancels}, {"jumps", jumps}, {"ends_in_handler", ends_in_handler}, {"launches_in_handler", launches_in_handler}, {"interrupts_malloc", interrupts_malloc},
        {"signals", signals}, {"threads", threads}, {"bound", bound}, {"stacks", stacks}, {"stacks_by_limit", stacks_by_limit}, {"little_stack", little_stack},
        {"exhausted", exhausted}, {"absurd", absurd}};
    for (size_t k = 0; argc > 1 && k < sizeof cases / sizeof cases[0]; ++k)
        if (strcmp(argv[1], cases[k].name) == 0) {
            cases[k].run();
            return 0;
        }
    return 2;
}
