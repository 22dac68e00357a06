/* tile_sizes.h: the version and the tile sizes of a call. */
#ifndef TILEK_TILE_SIZES_H
#define TILEK_TILE_SIZES_H

#include "kernel/variant.h"

/* A layout is a version of a kernel with some tile sizes. 0: not decided; of launches of hosts
 * TILEK_USUAL: the kernel itself with the sizes that stand with their names, TILEK_USUAL + 1 + k:
 * what choice k says, those for processors being counted behind those of hosts; of launches of
 * devices the same numbers, negative. */
enum { TILEK_USUAL = 1 };

/* The bytes of all arrays that hosts reach, by which layouts are chosen; INT64_MAX where they are
 * more than can be counted. */
int64_t tilek_bytes_on_hosts(const tilek_kernel *kernel, const tilek_call *call);

/* The layouts that launches of one side may have, in the order in which the kernel looks at its
 * choices, and TILEK_USUAL (or its negative) last: the one with this number, from 0; 0: there are
 * no more. */
int tilek_layout_at(const tilek_kernel *kernel, tilek_side side, int number);

/* What a layout says; NULL: nothing but what stands with the sizes' names. */
const tilek_choice *tilek_choice_of(const tilek_kernel *kernel, int layout);

/* The layout that the kernel's choices name for a call with arrays of so many bytes. */
int tilek_layout_chosen(const tilek_kernel *kernel, const tilek_call *call, tilek_side side, int64_t bytes);

/* The version that a layout is of, and what it has for tile size `index` of that. */
const tilek_kernel *tilek_version_of(const tilek_kernel *kernel, int layout);
int64_t tilek_layout_size(const tilek_kernel *kernel, int layout, int index);

/* Whether two layouts of one side are the same throughout. */
int tilek_layouts_are_alike(const tilek_kernel *kernel, int layout, int other);

/* Decides the call's layout. */
void tilek_take_layout(const tilek_kernel *kernel, tilek_call *call, int layout);

/* Sets sizes[k] for each tile size k of the kernel: what TILEK_SIZES gives, else that of the call's
 * layout, which the kernel chooses where it is not decided, else the size's own. TILEK_INVALID: a
 * size is below 1. */
tilek_status tilek_choose_sizes(const tilek_kernel *kernel, const tilek_call *call, tilek_side side, int64_t sizes[],
                                tilek_message *why);

#endif
