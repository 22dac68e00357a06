/* balanced_chunking.h: parts of rows that give all threads about as many. */
#ifndef TILEK_BALANCED_CHUNKING_H
#define TILEK_BALANCED_CHUNKING_H

#include <stdint.h>

/* The size, a multiple of `unit`, of blocks of the rows from `lower` to `upper`, distributed over
 * `threads` in turn, in place of the `usual` one. Row 0 begins a block. The usual size stays where
 * the first blocks are empty, and where one block holds all rows, unless so many `operations` are
 * worth several threads. */
int64_t tilek_balanced_blocks(int64_t usual, int64_t lower, int64_t upper, int64_t unit, int64_t threads,
                              double operations);

/* The width, a multiple of `unit`, of columns of the rows from 0 to `upper`, each of them the work
 * of one of `threads` at a time, in place of the `usual` one, which is the widest. */
int64_t tilek_balanced_columns(int64_t usual, int64_t upper, int64_t unit, int64_t threads);

#endif
