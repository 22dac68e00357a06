/* What the suite's own kernels share: data and clock of ../../polybench_support.c, and the names of the element type. */
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

/* `count` elements of `data`, filled when the clock starts, written out when it stops. */
static inline real *suite_array(unsigned long long count)
{
    return polybench_alloc_data(count, (int)sizeof(real));
}

#endif
