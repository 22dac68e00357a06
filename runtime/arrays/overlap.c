/* overlap.c: compares the memory of a call's arrays. */
#define _POSIX_C_SOURCE 200809L
#include "arrays/overlap.h"

#include "arrays/section.h"
#include "base/message.h"

#include <stdlib.h>
#include <string.h>

/* The bytes of a row, or of an array without rows. */
typedef struct piece { uintptr_t start, end; int array; } piece;

typedef struct pieces { piece *items; size_t count; } pieces;

static unsigned flags_of(const tilek_kernel *kernel, int array) { return kernel->arrays[array].flags; }

static int is_checked(const tilek_kernel *kernel, int array)
{
    return (flags_of(kernel, array) & (TILEK_ROWS_APART | TILEK_ROWS_DISTINCT)) != 0;
}

static int meet(int which[2], int first, int second)
{
    which[0] = first < second ? first : second;
    which[1] = first < second ? second : first;
    return 1;
}

/* Compares sections: of rows these are the pointers to them. */
static int sections_meet(const tilek_kernel *kernel, const tilek_call *call, int which[2])
{
    for (int index = 0; index < kernel->array_count; ++index)
        for (int other = 0; other < index; ++other) {
            tilek_section a, b;
            tilek_message why;
            const unsigned flags = flags_of(kernel, index) | flags_of(kernel, other);
            if ((flags & TILEK_WRITES) == 0 || (flags & TILEK_TEMPORARY) != 0) continue;
            if (tilek_section_of(&kernel->arrays[index], &call->arrays[index], &a, &why) != TILEK_OK ||
                tilek_section_of(&kernel->arrays[other], &call->arrays[other], &b, &why) != TILEK_OK ||
                tilek_sections_meet(&a, &b))
                return meet(which, other, index);
        }
    return 0;
}

/* Adds the array's pieces to `all`, or counts them where there is no room yet. A missing row has
 * none: where it is used, the original loop fails too. */
static void add_pieces(const tilek_kernel *kernel, const tilek_call *call, int index, pieces *all)
{
    const tilek_array_shape *shape = &kernel->arrays[index];
    const tilek_array *array = &call->arrays[index];
    const int is_rows = shape->storage == TILEK_ROWS;
    tilek_section section;
    tilek_message unused;
    if ((shape->flags & TILEK_TEMPORARY) != 0 || (is_rows && !is_checked(kernel, index))) return;
    if (tilek_section_of(shape, array, &section, &unused) != TILEK_OK || section.bytes == 0) return;
    if (all->items == NULL) {
        all->count += is_rows ? (size_t)array->length[0] : 1;
        return;
    }
    if (!is_rows) {
        const piece whole = {(uintptr_t)section.start, (uintptr_t)section.start + section.bytes, index};
        all->items[all->count++] = whole;
        return;
    }
    for (int64_t place = 0; place < array->length[0]; ++place) {
        const char *const row = ((char **)array->base)[array->lower[0] + place];
        const uintptr_t start = (uintptr_t)row + (uintptr_t)array->lower[1] * shape->element_size;
        const piece item = {start, start + (uintptr_t)array->length[1] * shape->element_size, index};
        if (row != NULL) all->items[all->count++] = item;
    }
}

/* Behind the last piece of the ascending run that begins at `first`. */
static size_t run_end(const piece *items, size_t first, size_t count)
{
    size_t end = first + 1;
    while (end < count && items[end - 1].start <= items[end].start) ++end;
    return end < count ? end : count;
}

/* Merges ascending runs until there is one; rows mostly ascend, so that runs are few. `spare` has
 * room for as many. Returns the sorted pieces: `items` or `spare`. */
static piece *sort_pieces(piece *items, piece *spare, size_t count)
{
    while (run_end(items, 0, count) < count) {
        piece *swapped = items;
        for (size_t first = 0, place = 0; first < count;) {
            const size_t middle = run_end(items, first, count);
            const size_t end = middle < count ? run_end(items, middle, count) : count;
            size_t left = first, right = middle;
            while (place < end)
                spare[place++] = right == end || (left < middle && items[left].start <= items[right].start)
                                   ? items[left++]
                                   : items[right++];
            first = end;
        }
        items = spare;
        spare = swapped;
    }
    return items;
}

/* Sweeps over the sorted pieces; `ends` has for each array where its pieces so far end. */
static int pieces_meet(const tilek_kernel *kernel, const piece *items, size_t count, uintptr_t *ends, int which[2])
{
    for (size_t place = 0; place < count; ++place) {
        const piece *const item = &items[place];
        for (int other = 0; other < kernel->array_count; ++other) {
            const unsigned flags = flags_of(kernel, item->array) | flags_of(kernel, other);
            const int counts = other != item->array || (flags & TILEK_ROWS_DISTINCT) != 0;
            if (counts && (flags & TILEK_WRITES) != 0 && ends[other] > item->start)
                return meet(which, other, item->array);
        }
        if (item->end > ends[item->array]) ends[item->array] = item->end;
    }
    return 0;
}

/* Whether rows that the launch checks meet; so they may where memory is exhausted. */
static int rows_meet(const tilek_kernel *kernel, const tilek_call *call, int which[2])
{
    pieces all = {NULL, 0};
    size_t count, bytes;
    char *block;
    int is_shared;
    for (int index = 0; index < kernel->array_count; ++index) {
        add_pieces(kernel, call, index, &all);
        if (is_checked(kernel, index)) (void)meet(which, index, index);
    }
    count = all.count;
    if (__builtin_mul_overflow(count, 2 * sizeof(piece), &bytes) ||
        __builtin_add_overflow(bytes, (size_t)kernel->array_count * sizeof(uintptr_t), &bytes) ||
        (block = calloc(1, bytes)) == NULL)
        return 1;
    all.items = (piece *)(void *)block;
    all.count = 0;
    for (int index = 0; index < kernel->array_count; ++index) add_pieces(kernel, call, index, &all);
    is_shared = pieces_meet(kernel, sort_pieces(all.items, all.items + count, all.count), all.count,
                            (uintptr_t *)(void *)(block + 2 * count * sizeof(piece)), which);
    free(block);
    return is_shared;
}

int tilek_compares_rows(const tilek_kernel *kernel)
{
    for (int index = 0; index < kernel->array_count; ++index)
        if (is_checked(kernel, index)) return 1;
    return 0;
}

int tilek_arrays_meet(const tilek_kernel *kernel, const tilek_call *call, int which[2])
{
    return sections_meet(kernel, call, which) || (tilek_compares_rows(kernel) && rows_meet(kernel, call, which));
}
