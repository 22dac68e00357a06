/* call_copy.h: calls that outlive the frame of the code that launched them. */
#ifndef TILEK_CALL_COPY_H
#define TILEK_CALL_COPY_H

#include "tilek.h"

/* A copy with all numbers and sections of the call, in one block that `free` takes; it waits for no
 * queue. NULL: memory is exhausted. */
tilek_call *tilek_copy_call(const tilek_kernel *kernel, const tilek_call *call);

/* The same in a block of so many bytes, aligned as malloc's. */
size_t tilek_call_bytes(const tilek_kernel *kernel);
tilek_call *tilek_copy_call_to(void *block, const tilek_kernel *kernel, const tilek_call *call);

#endif
