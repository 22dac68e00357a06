/* even_blocks.c: parts of rows that give all threads about as many. The rules, word for word, are in tilepragma/plan/even_blocks.py; a test holds both equal. */
#include "even_blocks.h"

#include "tilek.h"

enum { BLOCK_COST = 5, MOST_TIMES = 3, OTHER_COST = 12, OTHER_TIMES = 2, COLUMN_COST = 12, COLUMNS_EACH = 2, LEAST_OPERATIONS = 1 << 20, LATE_OPERATIONS = 40000 };

static int64_t rounded_up(int64_t size, int64_t unit) { return tilek_ceiling_quotient(size, unit) * unit; }

static int can_be_even(int64_t usual, int64_t upper, int64_t threads)
{
    return threads >= 2 && threads < 1 << 16 && usual < 1 << 20 && usual <= upper && upper < INT64_MAX >> 24;
}

/* What blocks of a size cost: `part` times the rows of the busiest thread, and its blocks, each as much as `usual` rows. The second thread begins so `late`. */
typedef struct blocks_cost {
    int64_t usual, count, threads, part, late;
} blocks_cost;

/* Of the thread with blocks `number`, number + threads, number + 2 threads, … */
static int64_t thread_cost(const blocks_cost *cost, int64_t size, int64_t number)
{
    const int64_t blocks = tilek_ceiling_quotient(cost->count, size), own = tilek_ceiling_quotient(blocks - number, cost->threads);
    const int64_t missing = own > 0 && blocks - 1 - number == (own - 1) * cost->threads ? blocks * size - cost->count : 0; /* the last block, which may be short, is its own */
    return cost->part * (own * size - missing) + own * cost->usual;
}

/* The first thread has most to do, or the second where it begins late. */
static int64_t cost_of(const blocks_cost *cost, int64_t size)
{
    const int64_t first = thread_cost(cost, size, 0);
    return cost->late > 0 ? tilek_maximum(first, thread_cost(cost, size, 1) + cost->late) : first;
}

int64_t tilek_even_blocks(int64_t usual, int64_t lower, int64_t upper, int64_t unit, int64_t threads, double operations)
{
    blocks_cost cost = {usual, 0, threads, OTHER_COST, 0};
    int64_t best = usual, times = OTHER_TIMES, least_cost;
    if (unit < 1 || lower < 0 || lower > upper || lower >= usual || !can_be_even(tilek_minimum(usual, upper), upper, threads)) return usual;
    cost.count = upper + 1;
    if (operations > 0) {
        const double every = BLOCK_COST * (double)cost.count, late = LATE_OPERATIONS * every / operations;
        cost.part = BLOCK_COST;
        cost.late = (int64_t)(late < every ? late : every);
        times = MOST_TIMES;
    }
    if (upper < usual) {
        const double worth = operations / LEAST_OPERATIONS;
        const int64_t parts = worth < (double)threads ? (int64_t)worth : threads;
        return parts < 2 ? usual : tilek_minimum(usual, rounded_up(tilek_ceiling_quotient(cost.count, parts), unit));
    }
    least_cost = cost_of(&cost, usual);
    for (int64_t size = rounded_up(tilek_minimum(tilek_ceiling_quotient(cost.count, threads), tilek_ceiling_quotient(usual, OTHER_TIMES)), unit); size <= times * usual; size += unit) {
        const int64_t own = cost_of(&cost, size);
        if (own >= least_cost) continue;
        best = size;
        least_cost = own;
    }
    return best;
}

/* COLUMN_COST times the threads' share of the rows, or a column, which one of them is at work on at a time; and the columns; for all threads. */
static int64_t columns_cost(int64_t usual, int64_t size, int64_t count, int64_t threads)
{
    return COLUMN_COST * tilek_maximum(tilek_minimum(size, count) * threads, count) + usual * tilek_ceiling_quotient(count, size);
}

int64_t tilek_even_columns(int64_t usual, int64_t upper, int64_t unit, int64_t threads)
{
    int64_t best = usual, count, least_cost;
    if (unit < 1 || upper < 0 || !can_be_even(tilek_minimum(usual, upper), upper, threads)) return usual;
    count = upper + 1;
    least_cost = columns_cost(usual, usual, count, threads);
    for (int64_t columns = 1; columns <= COLUMNS_EACH * threads; ++columns) {
        const int64_t size = rounded_up(tilek_ceiling_quotient(count, columns), unit);
        const int64_t cost = size < usual ? columns_cost(usual, size, count, threads) : least_cost;
        if (cost >= least_cost) continue;
        best = size;
        least_cost = cost;
    }
    return best;
}
