/* What the programs of this folder share. No launch of theirs runs: pages that nothing touches cost
 * no memory. */
#include <stdlib.h>

#define FLOATS(count) calloc((size_t)(count), sizeof(float))
#define DOUBLES(count) calloc((size_t)(count), sizeof(double))
#define INTS(count) calloc((size_t)(count), sizeof(int))
