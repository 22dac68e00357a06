/* open_devices.h: the devices that are open, by target. */
#ifndef TILEK_OPEN_DEVICES_H
#define TILEK_OPEN_DEVICES_H

#include "device/common/backend.h"

/* The device API of a target. */
const tilek_backend *tilek_backend_of(tilek_target target);

/* The device that a call asks for, opened once. */
tilek_status tilek_open_device(tilek_target target, int64_t number, int gpu_only, const tilek_backend **backend,
                               tilek_device **device, tilek_message *why);

/* Whether a device is open. */
int tilek_has_devices(void);

/* Says that a thread has left a device's library in the midst of a call: no device is used from
 * then on. Asks whether one has. */
void tilek_devices_left(void);
int tilek_devices_are_left(void);

/* What exit is to call before the device libraries' own handlers run; set before any device is
 * opened. */
void tilek_devices_at_exit(void (*finish)(void));

/* At exit: closes all. */
void tilek_devices_close(void);

/* In a fork's child: what its parent had open, or was opening, is not touched there, neither used
 * nor freed. A library does not survive a fork. */
void tilek_devices_forked(void);

#endif
