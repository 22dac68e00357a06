/* row_ownership.c: who holds the newest values of which rows of an array. */
#define _POSIX_C_SOURCE 200809L
#include "arrays/row_ownership.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 8 };

int tilek_held_start(tilek_held *held, int64_t first, int64_t end, uint64_t holders)
{
    *held = (tilek_held){first, 0, FIRST_ROOM, malloc(FIRST_ROOM * sizeof *held->runs)};
    if (held->runs == NULL) return 0;
    if (first < end) held->runs[held->count++] = (tilek_held_run){end, holders};
    return 1;
}

void tilek_held_free(tilek_held *held)
{
    free(held->runs);
    *held = (tilek_held){0, 0, 0, NULL};
}

/* The run that holds `row`. */
static int run_at(const tilek_held *held, int64_t row)
{
    int index = 0;
    while (held->runs[index].end <= row) ++index;
    return index;
}

uint64_t tilek_held_at(const tilek_held *held, int64_t row, int64_t *end)
{
    const tilek_held_run *run = &held->runs[run_at(held, row)];
    *end = run->end;
    return run->holders;
}

/* Lets a run begin at `row`, which is one of the rows; its index. There is room for it. */
static int split(tilek_held *held, int64_t row)
{
    const int index = run_at(held, row);
    if (row == (index > 0 ? held->runs[index - 1].end : held->first)) return index;
    memmove(&held->runs[index + 1], &held->runs[index], (size_t)(held->count - index) * sizeof *held->runs);
    held->runs[index].end = row;
    ++held->count;
    return index + 1;
}

/* Neighbours with the same holders become one. */
static void join(tilek_held *held)
{
    int kept = 0;
    for (int index = 1; index < held->count; ++index) {
        if (held->runs[index].holders == held->runs[kept].holders) held->runs[kept].end = held->runs[index].end;
        else held->runs[++kept] = held->runs[index];
    }
    held->count = kept + 1;
}

int tilek_held_change(tilek_held *held, int64_t first, int64_t end, uint64_t keep, uint64_t added)
{
    const int64_t last = held->count > 0 ? held->runs[held->count - 1].end : held->first;
    int begin, beyond;
    if (first < held->first) first = held->first;
    if (end > last) end = last;
    if (first >= end) return 1;
    if (held->count + 2 > held->room) {
        tilek_held_run *runs = realloc(held->runs, (size_t)held->room * 2 * sizeof *runs);
        if (runs == NULL) return 0;
        held->runs = runs;
        held->room *= 2;
    }
    begin = split(held, first);
    beyond = end < last ? split(held, end) : held->count;
    for (int index = begin; index < beyond; ++index) held->runs[index].holders = (held->runs[index].holders & keep) | added;
    join(held);
    return 1;
}
