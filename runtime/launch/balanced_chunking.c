/* balanced_chunking.c: parts of rows that give all threads about as many. The rules, word for word,
 * are in tilepragma/plan/balanced_chunking.py; a test holds both equal. */
#include "launch/balanced_chunking.h"

#include "base/shared_constants.h"
#include "tilek.h"

static int64_t rounded_up(int64_t size, int64_t unit) { return tilek_ceiling_quotient(size, unit) * unit; }

static int can_be_even(int64_t usual, int64_t upper, int64_t threads)
{
    return threads >= 2 && threads < 1 << 16 && usual < 1 << 20 && usual <= upper && upper < INT64_MAX >> 24;
}

/* The cost of a block size: `part` times the rows of the busiest thread, which is the first, and
 * `usual` for each of its blocks. */
static int64_t blocks_cost(int64_t usual, int64_t size, int64_t count, int64_t threads, int64_t part)
{
    const int64_t blocks = tilek_ceiling_quotient(count, size), busiest = tilek_ceiling_quotient(blocks, threads);
    /* the first thread has the last block, which may be short */
    const int64_t missing = (blocks - 1) % threads == 0 ? blocks * size - count : 0;
    return part * (busiest * size - missing) + busiest * usual;
}

int64_t tilek_balanced_blocks(int64_t usual, int64_t lower, int64_t upper, int64_t unit, int64_t threads,
                              double operations)
{
    const int64_t part = operations > 0 ? TILEK_BLOCK_COST : TILEK_OTHER_COST;
    int64_t best = usual, least_cost, count, most;
    if (unit < 1 || lower < 0 || lower > upper || lower >= usual ||
        !can_be_even(tilek_minimum(usual, upper), upper, threads))
        return usual;
    count = upper + 1;
    most = operations > 0 ? tilek_maximum(TILEK_MOST_TIMES * usual, TILEK_FEW_ROWS) : TILEK_OTHER_TIMES * usual;
    if (upper < usual) {
        const double worth = operations / TILEK_LEAST_OPERATIONS;
        const int64_t parts = worth < (double)threads ? (int64_t)worth : threads;
        return parts < 2 ? usual : tilek_minimum(usual, rounded_up(tilek_ceiling_quotient(count, parts), unit));
    }
    least_cost = blocks_cost(usual, usual, count, threads, part);
    for (int64_t size = rounded_up(tilek_minimum(tilek_ceiling_quotient(count, threads),
                                                 tilek_ceiling_quotient(usual, TILEK_OTHER_TIMES)),
                                   unit);
         size <= most; size += unit) {
        const int64_t cost = blocks_cost(usual, size, count, threads, part);
        if (cost >= least_cost) continue;
        best = size;
        least_cost = cost;
    }
    return best;
}

/* The cost of a column width, times the threads: TILEK_COLUMN_COST times a thread's share of the
 * rows or a column, whichever is more, since one thread at a time works on a column; and `usual`
 * for each column. */
static int64_t columns_cost(int64_t usual, int64_t size, int64_t count, int64_t threads)
{
    return TILEK_COLUMN_COST * tilek_maximum(tilek_minimum(size, count) * threads, count) +
           usual * tilek_ceiling_quotient(count, size);
}

int64_t tilek_balanced_columns(int64_t usual, int64_t upper, int64_t unit, int64_t threads)
{
    int64_t best = usual, count, least_cost;
    if (unit < 1 || upper < 0 || !can_be_even(tilek_minimum(usual, upper), upper, threads)) return usual;
    count = upper + 1;
    least_cost = columns_cost(usual, usual, count, threads);
    for (int64_t columns = 1; columns <= TILEK_COLUMNS_EACH * threads; ++columns) {
        const int64_t size = rounded_up(tilek_ceiling_quotient(count, columns), unit);
        const int64_t cost = size < usual ? columns_cost(usual, size, count, threads) : least_cost;
        if (cost >= least_cost) continue;
        best = size;
        least_cost = cost;
    }
    return best;
}
