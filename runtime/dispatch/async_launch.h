/* async_launch.h: asynchronous launches. */
#ifndef TILEK_ASYNC_LAUNCH_H
#define TILEK_ASYNC_LAUNCH_H

#include "tilek.h"

/* Queues a launch; the call's numbers and sections are copied. */
tilek_status tilek_launch_async(const tilek_kernel *kernel, const tilek_call *call);

#endif
