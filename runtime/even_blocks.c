/* even_blocks.c: blocks of rows that give all threads about as many. The rule, word for word, is in tilepragma/plan/even_blocks.py; a test holds both equal. */
#include "even_blocks.h"

#include "tilek.h"

enum { BLOCK_COST = 12, MOST_TIMES = 2 };

/* What the first thread has to do, who has most: blocks 0, threads, 2 threads, …; BLOCK_COST times its rows, and its blocks. */
static int64_t cost(int64_t usual, int64_t size, int64_t count, int64_t threads)
{
    const int64_t blocks = tilek_ceiling_quotient(count, size), own = tilek_ceiling_quotient(blocks, threads);
    const int64_t missing = (blocks - 1) % threads == 0 ? blocks * size - count : 0; /* the last block, which may be short, is its own */
    return BLOCK_COST * (own * size - missing) + own * usual;
}

int64_t tilek_even_blocks(int64_t usual, int64_t lower, int64_t upper, int64_t unit, int64_t threads)
{
    int64_t best = usual, least, count;
    if (threads < 2 || unit < 1 || lower < 0 || lower >= usual || upper < usual || upper >= INT64_MAX / (2 * BLOCK_COST)) return usual;
    count = upper + 1;
    least = tilek_minimum(tilek_ceiling_quotient(count, threads), tilek_ceiling_quotient(usual, MOST_TIMES));
    for (int64_t size = tilek_ceiling_quotient(least, unit) * unit; size <= MOST_TIMES * usual; size += unit)
        if (cost(usual, size, count, threads) < cost(usual, best, count, threads)) best = size;
    return best;
}
