/* partition.h: a call on several devices alike, each with a block of the rows of what the call
 * computes. */
#ifndef TILEK_PARTITION_H
#define TILEK_PARTITION_H

#include "arrays/buffers.h"

/* Runs a call that asks for all devices on those that are like the one of `place`; what came of it
 * is in *status, and a failure leaves the host's data as they were. 0: there are no others, or the
 * call cannot be partitioned, and nothing was done. */
int tilek_run_partitioned(const tilek_place *place, const tilek_call *call, tilek_status *status, tilek_message *why);

#endif
