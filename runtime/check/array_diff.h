/* array_diff.h: differences between two copies of an array's section. */
#ifndef TILEK_ARRAY_DIFF_H
#define TILEK_ARRAY_DIFF_H

#include "tilek.h"

typedef struct tilek_array_diff {
    double absolute, relative; /* the largest */
    int beyond;                /* an element differs by more than the tolerance: the first such is described below */
    char element[512];         /* "A[3][4].x" */
    double result, reference, element_absolute, element_relative, tolerance;
} tilek_array_diff;

/* Both copies have the layout of the section, or of packed rows. Values are compared field by
 * field; NaN equals NaN. `tolerance` is relative; negative: 0 for integers, 1e-5 for float, 1e-12
 * for wider types. Differences below 4 units in the last place of the section's largest magnitude
 * count as none: that is what cancellation leaves. */
void tilek_diff_arrays(const tilek_array_shape *shape, const tilek_array *array, const void *result,
                       const void *reference, double tolerance, tilek_array_diff *diff);

#endif
