/* device_launch.h: running a call on one device. */
#ifndef TILEK_DEVICE_LAUNCH_H
#define TILEK_DEVICE_LAUNCH_H

#include "arrays/buffers.h"
#include "kernel/variant.h"

/* In the place's queue; the call is complete on return. A failure leaves the host's data as they
 * were. */
tilek_status tilek_run_device(const tilek_place *place, const tilek_variant *variant, const tilek_call *call,
                              tilek_message *why);

#endif
