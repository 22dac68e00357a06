/* What the programs of this folder share: a kernel, with the arrays that it needs, is registered
 * under its name, and kernel_run.c runs it. With -DBY_HAND=FLAGS the CUDA of by_hand.cu runs in its place. */
#ifndef KERNEL_RUN_H
#define KERNEL_RUN_H

#include <stddef.h>

void register_kernel(const char *name, void (*run)(int n, int steps));
void *run_array(int number);

/* How often a run does the kernel: what the setting REPEATS says, once without it. */
int run_repeats(void);

/* An array of the run; `places`: of ints, to be filled with indices below n. */
void add_array(size_t count, size_t width, int places);

/* Around the kernel: data, and copies of them on the device; what is left, and how long it took. */
void begin_run(int n);
void end_run(void);

/* After a kernel: `arrays` for it, `call` of it, `by_hand` the launches that do the same. */
#define RUN(name, arrays, call, by_hand)                                       \
    static void run_##name(int n, int steps)                                   \
    {                                                                          \
        (void)steps;                                                           \
        arrays                                                                 \
        begin_run(n);                                                          \
        for (int repeat = 0; repeat < run_repeats(); repeat++) {               \
            CALL_OR_LAUNCH(call, by_hand);                                     \
        }                                                                      \
        end_run();                                                             \
    }                                                                          \
    __attribute__((constructor)) static void register_##name(void) { register_kernel(#name, run_##name); }

#define ARRAY(type, count) add_array((size_t)(count), sizeof(type), 0);
#define VECTOR ARRAY(float, n)
#define MATRIX ARRAY(float, (size_t)n * n)
#define CUBE ARRAY(float, (size_t)n * n * n)
#define PLACES add_array((size_t)n, sizeof(int), 1);
#define A(number) run_array(number)

#ifdef BY_HAND
#include "device/common/backend.h"

const tilek_buffer *run_buffer(int number);

/* One worker for each element of x * y * z, in gangs of `group`. */
void launch(const char *kernel, const int64_t size[3], const int64_t group[3], int count,
            const tilek_argument arguments[]);

/* The kernel's arguments are n, then those that follow. */
#define LAUNCH(kernel, x, y, z, group_x, group_y, ...)                                                   \
    launch(kernel, (int64_t[]){x, y, z}, (int64_t[]){group_x, group_y, 1},                               \
           (int)(sizeof(tilek_argument[]){VALUE(int, n), __VA_ARGS__} / sizeof(tilek_argument)),         \
           (tilek_argument[]){VALUE(int, n), __VA_ARGS__})
#define LINE(kernel, size, ...) LAUNCH(kernel, size, 1, 1, 256, 1, __VA_ARGS__)
#define PLANE(kernel, size, ...) LAUNCH(kernel, size, size, 1, 32, 8, __VA_ARGS__)
#define SPACE(kernel, size, ...) LAUNCH(kernel, size, size, size, 32, 8, __VA_ARGS__)
#define VALUE(type, number) {TILEK_ARGUMENT_VALUE, NULL, &(type){number}, sizeof(type)}
#define BUFFER(number) {TILEK_ARGUMENT_BUFFER, run_buffer(number), NULL, 0}
#define NOT_BY_HAND launch(NULL, NULL, NULL, 0, NULL)
#define CALL_OR_LAUNCH(call, by_hand) by_hand
#else
#define CALL_OR_LAUNCH(call, by_hand) call
#endif

#endif
