/* row_ownership.h: who owns the newest values of which rows of an array. */
#ifndef TILEK_ROW_OWNERSHIP_H
#define TILEK_ROW_OWNERSHIP_H

#include <stdint.h>

/* Rows up to `end` (exclusive), from the run before on; a set of owners, a bit each. */
typedef struct tilek_owned_rows { int64_t end; uint64_t owners; } tilek_owned_rows;

typedef struct tilek_row_ownership { int64_t first; int count, room; tilek_owned_rows *runs; } tilek_row_ownership;

/* The rows [first, end), all with these owners; 0: memory is exhausted. To be freed with
 * tilek_ownership_free, after that too. */
int tilek_ownership_start(tilek_row_ownership *ownership, int64_t first, int64_t end, uint64_t owners);
void tilek_ownership_free(tilek_row_ownership *ownership);

/* Owners of `row`, which is one of the rows; all rows to *end (exclusive) have the same. */
uint64_t tilek_owners_at(const tilek_row_ownership *ownership, int64_t row, int64_t *end);

/* Of the rows [first, end), those outside left out: the owners in `keep` remain, and those in
 * `added` are added. 0: memory is exhausted, nothing has changed. */
int tilek_change_owners(tilek_row_ownership *ownership, int64_t first, int64_t end, uint64_t keep, uint64_t added);

#endif
