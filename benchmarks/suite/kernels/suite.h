/* What the suite's own kernels share: data and clock of ../../polybench_support.c, the names of the element type, what main does. */
#ifndef SUITE_H
#define SUITE_H

#if defined DATA_TYPE_IS_FLOAT
typedef float real;
#define REAL(x) x##f
#else
typedef double real;
#define REAL(x) x
#endif

/* Extents of parameters: numbers, or with -DPOLYBENCH_USE_C99_PROTO what the function is told. */
#ifdef POLYBENCH_USE_C99_PROTO
#define EXTENT(number, parameter) parameter
#else
#define EXTENT(number, parameter) number
#endif

void *polybench_alloc_data(unsigned long long count, int size);
void polybench_free_data(void *base);
void polybench_timer_start(void);
void polybench_timer_stop(void);

/* What main does. `arrays` is a macro that hands each array to its argument: name, rows, and the shape of a row, which an array of
 * one dimension lacks; `call` is what is timed. */
#define SUITE_RUN(arrays, call)   \
    do {                          \
        arrays(SUITE_ALLOCATE)    \
        polybench_timer_start();  \
        call;                     \
        polybench_timer_stop();   \
        arrays(SUITE_FREE)        \
    } while (0)
#define SUITE_ALLOCATE(name, rows, shape) \
    real(*const name) shape = (real(*) shape)polybench_alloc_data((rows) * (sizeof(real shape) / sizeof(real)), (int)sizeof(real));
#define SUITE_FREE(name, rows, shape) polybench_free_data(name);

#endif
