/* even_blocks.c: parts of rows that give all threads about as many. The rules, word for word, are in tilepragma/plan/even_blocks.py; a test holds both equal. */
#include "even_blocks.h"

#include "tilek.h"

enum { PART_COST = 12, MOST_TIMES = 2, LEAST_OPERATIONS = 1 << 20, LATE_OPERATIONS = 1 << 16 };

static int64_t rounded_up(int64_t size, int64_t unit) { return tilek_ceiling_quotient(size, unit) * unit; }

static int can_be_even(int64_t usual, int64_t upper, int64_t threads)
{
    return threads >= 2 && threads < 1 << 16 && usual < 1 << 20 && usual <= upper && upper < INT64_MAX >> 24;
}

/* Of the thread with blocks `number`, number + threads, number + 2 threads, …: PART_COST times its rows, and its blocks. */
static int64_t thread_cost(int64_t usual, int64_t size, int64_t count, int64_t threads, int64_t number)
{
    const int64_t blocks = tilek_ceiling_quotient(count, size), own = tilek_ceiling_quotient(blocks - number, threads);
    const int64_t missing = own > 0 && blocks - 1 - number == (own - 1) * threads ? blocks * size - count : 0; /* the last block, which may be short, is its own */
    return PART_COST * (own * size - missing) + own * usual;
}

/* What the busiest thread has to do: the first, which has most, or the second, which begins as late as the first has done `late` rows. */
static int64_t blocks_cost(int64_t usual, int64_t size, int64_t count, int64_t threads, int64_t late)
{
    const int64_t first = thread_cost(usual, size, count, threads, 0);
    return late > 0 ? tilek_maximum(first, thread_cost(usual, size, count, threads, 1) + PART_COST * late) : first;
}

int64_t tilek_even_blocks(int64_t usual, int64_t lower, int64_t upper, int64_t unit, int64_t threads, double operations)
{
    int64_t best = usual, least, count, least_cost, late = 0;
    if (unit < 1 || lower < 0 || lower > upper || lower >= usual || !can_be_even(tilek_minimum(usual, upper), upper, threads)) return usual;
    count = upper + 1;
    if (operations > 0) {
        const double rows = LATE_OPERATIONS * (double)count / operations;
        late = rows < (double)count ? (int64_t)rows : count;
    }
    if (upper < usual) {
        const double worth = operations / LEAST_OPERATIONS;
        const int64_t parts = worth < (double)threads ? (int64_t)worth : threads;
        return parts < 2 ? usual : tilek_minimum(usual, rounded_up(tilek_ceiling_quotient(count, parts), unit));
    }
    least = tilek_minimum(tilek_ceiling_quotient(count, threads), tilek_ceiling_quotient(usual, MOST_TIMES));
    least_cost = blocks_cost(usual, usual, count, threads, late);
    for (int64_t size = rounded_up(least, unit); size <= MOST_TIMES * usual; size += unit) {
        const int64_t cost = blocks_cost(usual, size, count, threads, late);
        if (cost >= least_cost) continue;
        best = size;
        least_cost = cost;
    }
    return best;
}

/* PART_COST times the threads' share of the rows, or a column, which one of them is at work on at a time; and the columns; for all threads. */
static int64_t columns_cost(int64_t usual, int64_t size, int64_t count, int64_t threads)
{
    return PART_COST * tilek_maximum(tilek_minimum(size, count) * threads, count) + usual * tilek_ceiling_quotient(count, size);
}

int64_t tilek_even_columns(int64_t usual, int64_t upper, int64_t unit, int64_t threads)
{
    int64_t best = usual, count, least_cost;
    if (unit < 1 || upper < 0 || !can_be_even(tilek_minimum(usual, upper), upper, threads)) return usual;
    count = upper + 1;
    least_cost = columns_cost(usual, usual, count, threads);
    for (int64_t columns = 1; columns <= MOST_TIMES * threads; ++columns) {
        const int64_t size = rounded_up(tilek_ceiling_quotient(count, columns), unit);
        const int64_t cost = size < usual ? columns_cost(usual, size, count, threads) : least_cost;
        if (cost >= least_cost) continue;
        best = size;
        least_cost = cost;
    }
    return best;
}
