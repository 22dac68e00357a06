/* device_choice.h: how both device back ends find their devices once and choose among them.
 * Internal. */
#ifndef TILEK_DEVICE_CHOICE_H
#define TILEK_DEVICE_CHOICE_H

#include "base/locks.h"
#include "device/common/backend.h"

/* Whether a device of this name is meant by TILEK_DEVICE=part; letters match in either case. */
int tilek_name_contains(const char *name, const char *part);

/* The device of this process among `count`, whose limits lie `stride` bytes apart: the first whose
 * name contains `name_part` (NULL: any). Where ranks of a program share the machine, they take the
 * devices like the first in turn. -1: none has such a name. */
int tilek_device_of_rank(int count, size_t stride, const tilek_limits *first, const char *name_part);

/* The devices of an API. */
typedef struct tilek_device_list {
    const char *api;      /* "OpenCL", "CUDA" */
    tilek_lock_name lock; /* guards what follows until it was searched */
    int searched;
    tilek_status status;  /* of the search */
    tilek_message why;
    int count;
    size_t stride;        /* bytes between the limits of two */
    const tilek_limits *first;
} tilek_device_list;

/* The device with this number, or with a negative one that of this process among those with this
 * part in their names; `search` fills in the list at first. */
tilek_status tilek_choose_device(tilek_device_list *list, void (*search)(void), int64_t number, const char *name_part,
                                 int *chosen, tilek_message *why);

/* When all are closed. */
void tilek_forget_devices(tilek_device_list *list);

#endif
