/* temporary_arrays.h: arrays that a kernel has for itself, for the time of a launch. */
#ifndef TILEK_TEMPORARY_ARRAYS_H
#define TILEK_TEMPORARY_ARRAYS_H

#include "kernel/kernel_state.h"

/* Temporaries that host launches use, and those that only devices do where `devices` is not 0. */
int tilek_has_temporaries(const tilek_kernel *kernel, int devices);

/* Takes memory for these, of which the kernel has some: call->arrays becomes a copy, with their
 * bases. All lies in *scratch, to be given back after the launch. TILEK_UNSUPPORTED where they
 * would take more than 256 MiB and more than four times what the kernel's other arrays take. */
typedef struct tilek_scratch { void *block; size_t bytes; } tilek_scratch;
tilek_status tilek_take_scratch(tilek_state *state, tilek_call *call, int devices, tilek_scratch *scratch,
                                tilek_message *why);

/* It is kept for the kernel's next launch: fresh memory costs as much as using it. */
void tilek_give_scratch(tilek_state *state, tilek_scratch *scratch);

#endif
