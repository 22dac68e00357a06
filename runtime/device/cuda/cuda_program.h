/* cuda_program.h: device programs on CUDA. Internal. */
#ifndef TILEK_CUDA_PROGRAM_H
#define TILEK_CUDA_PROGRAM_H

#include "device/cuda/cuda_context.h"

struct tilek_entry {
    CUfunction function;
    struct tilek_entry *next;
};

struct tilek_program {
    CUmodule module;
    pthread_mutex_t lock;
    struct tilek_entry *entries; /* guarded by lock */
};

/* The backend's functions of these names (backend.h). */
tilek_status tilek_cuda_build(tilek_device *device, const tilek_build *build, tilek_program **program, int *from_cache,
                              tilek_message *why);
void tilek_cuda_drop(tilek_device *device, tilek_program *program);
tilek_status tilek_cuda_find(tilek_device *device, tilek_program *program, const char *name, tilek_entry **entry,
                             int64_t *group_total, tilek_message *why);

#endif
