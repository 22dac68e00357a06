/* reduction.h: combining the partial values of reductions. */
#ifndef TILEK_REDUCTION_H
#define TILEK_REDUCTION_H

#include "tilek.h"

/* Bytes of one value. */
size_t tilek_type_size(tilek_type type);

/* *value = *value OPERATION (the partials combined), in the type's own arithmetic (integers wrap).
 * The partials are combined in a binary tree over their indices: neighbours first, 0 with 1 and 2
 * with 3, then the results likewise; what has no right neighbour goes up as it is. So a tree over
 * 2^k neighbours, the first of which is a multiple of 2^k, is a subtree of any that has them.
 * TILEK_INVALID for a bit operator on a floating type. */
tilek_status tilek_combine(tilek_operator operation, tilek_type type, void *value, const void *partials, int64_t count);

#endif
