/* reduce.h: combining the partial values of reductions. */
#ifndef TILEK_REDUCE_H
#define TILEK_REDUCE_H

#include "tilek.h"

/* Bytes of one value. */
size_t tilek_type_size(tilek_type type);

/* *value = *value OPERATION (partials[0] OPERATION partials[1] …), in the type's own arithmetic (integers wrap). Deterministic:
 * always in index order. TILEK_INVALID for a bit operator on a floating type. */
tilek_status tilek_combine(tilek_operator operation, tilek_type type, void *value, const void *partials, int64_t count);

#endif
