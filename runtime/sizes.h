/* sizes.h: the tile sizes of a call. */
#ifndef TILEK_SIZES_H
#define TILEK_SIZES_H

#include "backend.h"

/* Sets sizes[k] for each tile size k of the kernel: what TILEK_SIZES gives, else on hosts what the kernel chooses for such a call, else the size's own. `is_hosts`:
 * the call runs the launches of hosts. TILEK_INVALID: a size is below 1. */
tilek_status tilek_choose_sizes(const tilek_kernel *kernel, const tilek_call *call, int is_hosts, int64_t sizes[], tilek_message *why);

#endif
