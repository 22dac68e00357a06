/* The arrays of a run, filled with data that depend on their names' order alone. */
#ifndef SIMULATED_ARRAYS_H
#define SIMULATED_ARRAYS_H

#include <stddef.h>

enum { MOST_ARRAYS = 8 };
typedef struct run_array { void *base; size_t bytes; } run_array;
extern run_array run_arrays[MOST_ARRAYS];
extern int run_array_count;

#endif
