/* overlap.h: whether the arrays of a call share memory. */
#ifndef TILEK_OVERLAP_H
#define TILEK_OVERLAP_H

#include "tilek.h"

/* Whether the comparison asks for memory. */
int tilek_compares_rows(const tilek_kernel *kernel);

/* Whether an array that the kernel writes may share memory with another, as it may where one has no
 * valid section, or where memory for the comparison is exhausted. The same of rows that launches
 * must check. `which`: the two arrays, which are one where two of its rows meet. */
int tilek_arrays_meet(const tilek_kernel *kernel, const tilek_call *call, int which[2]);

#endif
