/* Launching hand-written CUDA through the driver API. Where a call fails, the program ends. */
#ifndef SIMULATED_CUDA_LAUNCH_H
#define SIMULATED_CUDA_LAUNCH_H

#include <stddef.h>

typedef unsigned long long cuda_address;

/* The copy of the program's array on the device, made at its first use. */
cuda_address cuda_array(void *array);

/* All copies back into the program's arrays. */
void cuda_copy_back(void);

/* Launches a kernel of the file that SIMULATED_CUDA names, compiled at the first launch. `arguments`
 * are addresses of values, and NULL. */
void cuda_launch(const char *kernel, const unsigned grid[3], const unsigned block[3], void *arguments[]);

#endif
