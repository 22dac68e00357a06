/* row_ownership.h: who holds the newest values of which rows of an array. */
#ifndef TILEK_ROW_OWNERSHIP_H
#define TILEK_ROW_OWNERSHIP_H

#include <stdint.h>

/* Rows up to `end` (exclusive), from the run before on; a set of holders, a bit each. */
typedef struct tilek_held_run { int64_t end; uint64_t holders; } tilek_held_run;

typedef struct tilek_held { int64_t first; int count, room; tilek_held_run *runs; } tilek_held;

/* The rows [first, end), all with these holders; 0: memory is exhausted. To be freed with tilek_held_free, after that too. */
int tilek_held_start(tilek_held *held, int64_t first, int64_t end, uint64_t holders);
void tilek_held_free(tilek_held *held);

/* Holders of `row`, which is one of the rows; all rows to *end (exclusive) have the same. */
uint64_t tilek_held_at(const tilek_held *held, int64_t row, int64_t *end);

/* Of the rows [first, end), those outside left out: the holders in `keep` remain, and those in `added` are added. 0: memory is exhausted, nothing has changed. */
int tilek_held_change(tilek_held *held, int64_t first, int64_t end, uint64_t keep, uint64_t added);

#endif
