/* row_ownership.c: who owns the newest values of which rows of an array. */
#define _POSIX_C_SOURCE 200809L
#include "arrays/row_ownership.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 8 };

int tilek_ownership_start(tilek_row_ownership *ownership, int64_t first, int64_t end, uint64_t owners)
{
    *ownership = (tilek_row_ownership){first, 0, FIRST_ROOM, malloc(FIRST_ROOM * sizeof *ownership->runs)};
    if (ownership->runs == NULL) return 0;
    if (first < end) ownership->runs[ownership->count++] = (tilek_owned_rows){end, owners};
    return 1;
}

void tilek_ownership_free(tilek_row_ownership *ownership)
{
    free(ownership->runs);
    *ownership = (tilek_row_ownership){0, 0, 0, NULL};
}

/* The run that holds `row`. */
static int run_at(const tilek_row_ownership *ownership, int64_t row)
{
    int index = 0;
    while (ownership->runs[index].end <= row) ++index;
    return index;
}

uint64_t tilek_owners_at(const tilek_row_ownership *ownership, int64_t row, int64_t *end)
{
    const tilek_owned_rows *run = &ownership->runs[run_at(ownership, row)];
    *end = run->end;
    return run->owners;
}

/* Lets a run begin at `row`, which is one of the rows; its index. There is room for it. */
static int split(tilek_row_ownership *ownership, int64_t row)
{
    const int index = run_at(ownership, row);
    if (row == (index > 0 ? ownership->runs[index - 1].end : ownership->first)) return index;
    memmove(&ownership->runs[index + 1], &ownership->runs[index],
            (size_t)(ownership->count - index) * sizeof *ownership->runs);
    ownership->runs[index].end = row;
    ++ownership->count;
    return index + 1;
}

/* Neighbours with the same owners become one. */
static void join(tilek_row_ownership *ownership)
{
    int kept = 0;
    for (int index = 1; index < ownership->count; ++index) {
        if (ownership->runs[index].owners == ownership->runs[kept].owners)
            ownership->runs[kept].end = ownership->runs[index].end;
        else ownership->runs[++kept] = ownership->runs[index];
    }
    ownership->count = kept + 1;
}

int tilek_change_owners(tilek_row_ownership *ownership, int64_t first, int64_t end, uint64_t keep, uint64_t added)
{
    const int64_t last = ownership->count > 0 ? ownership->runs[ownership->count - 1].end : ownership->first;
    int begin, beyond;
    if (first < ownership->first) first = ownership->first;
    if (end > last) end = last;
    if (first >= end) return 1;
    if (ownership->count + 2 > ownership->room) {
        tilek_owned_rows *runs = realloc(ownership->runs, (size_t)ownership->room * 2 * sizeof *runs);
        if (runs == NULL) return 0;
        ownership->runs = runs;
        ownership->room *= 2;
    }
    begin = split(ownership, first);
    beyond = end < last ? split(ownership, end) : ownership->count;
    for (int index = begin; index < beyond; ++index)
        ownership->runs[index].owners = (ownership->runs[index].owners & keep) | added;
    join(ownership);
    return 1;
}
