/* opencl_program.h: an OpenCL device and its programs. Internal. */
#ifndef TILEK_OPENCL_PROGRAM_H
#define TILEK_OPENCL_PROGRAM_H

#include <pthread.h>

#include "device/opencl/opencl_api.h"

struct tilek_device {
    const tilek_opencl_api *api;
    cl_platform_id platform;
    cl_device_id id;
    int is_part;                  /* `id` is a sub-device of ours */
    int rounds_division;          /* the compiler can be told to round float division and square root correctly */
    tilek_limits limits;
    pthread_mutex_t lock;         /* guards what follows */
    cl_context context;           /* NULL until the device is opened */
    cl_command_queue queues[TILEK_DEVICE_QUEUES]; /* NULL until named */
    int times_launches;           /* the queues keep times */
    uint64_t allocated;           /* bytes in our buffers */
    unsigned releases;            /* of buffers: the implementation may use the handle of a released one again */
};

/* Arguments beyond these, and larger ones, are set for every launch. */
enum { TILEK_KNOWN_ARGUMENTS = 32, TILEK_KNOWN_BYTES = 8 };

/* What an argument was set to last; size 0: not known. */
typedef struct tilek_known_argument { size_t size; unsigned char bytes[TILEK_KNOWN_BYTES]; } tilek_known_argument;

struct tilek_entry {
    cl_kernel kernel;
    /* a cl_kernel holds its arguments: from the first one until the launch is queued it has one
     * user. It guards what follows */
    pthread_mutex_t lock;
    unsigned launches;
    unsigned releases;    /* the device's when the arguments were set */
    tilek_known_argument known[TILEK_KNOWN_ARGUMENTS];
    struct tilek_entry *next;
};

struct tilek_program {
    cl_program program;
    pthread_mutex_t lock;
    struct tilek_entry *entries; /* guarded by lock */
};

/* The backend's functions of these names (backend.h). */
tilek_status tilek_opencl_build(tilek_device *device, const tilek_build *build, tilek_program **program,
                                int *from_cache, tilek_message *why);
void tilek_opencl_drop(tilek_device *device, tilek_program *program);
tilek_status tilek_opencl_find(tilek_device *device, tilek_program *program, const char *name, tilek_entry **entry,
                               int64_t *group_total, tilek_message *why);

#endif
