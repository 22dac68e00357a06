/* sizes.h: the tile sizes of a call. */
#ifndef TILEK_SIZES_H
#define TILEK_SIZES_H

#include "backend.h"

/* A layout is one of the tile sizes that a kernel has been given. 0: not decided; TILEK_USUAL: those that stand with the sizes' names; TILEK_USUAL + 1 + k: those of
 * choice k. They are the hosts'. */
enum { TILEK_USUAL = 1 };

/* The bytes of all arrays that hosts reach, by which layouts are chosen; INT64_MAX where they are more than can be counted. */
int64_t tilek_bytes_on_hosts(const tilek_kernel *kernel, const tilek_call *call);

/* The layout that the kernel's choices name for a call with arrays of so many bytes on a host. */
int tilek_layout_chosen(const tilek_kernel *kernel, const tilek_call *call, int64_t bytes);

/* What a layout has for tile size `index`, and whether two are the same throughout. */
int64_t tilek_layout_size(const tilek_kernel *kernel, int layout, int index);
int tilek_layouts_are_alike(const tilek_kernel *kernel, int layout, int other);

/* Sets sizes[k] for each tile size k of the kernel: what TILEK_SIZES gives, else on hosts that of the call's layout, which the kernel chooses where it is not
 * decided, else the size's own. `is_hosts`: the call runs the launches of hosts. TILEK_INVALID: a size is below 1. */
tilek_status tilek_choose_sizes(const tilek_kernel *kernel, const tilek_call *call, int is_hosts, int64_t sizes[], tilek_message *why);

#endif
