/* cuda_device.h: what cuda_device.c, cuda_program.c and cuda_graphs.c share. Internal. */
#ifndef TILEK_CUDA_DEVICE_H
#define TILEK_CUDA_DEVICE_H

#include <pthread.h>

#include "device/cuda/cuda_api.h"

struct tilek_device {
    const tilek_cuda_api *api;
    CUdevice id;
    int capability;       /* 10 major + minor */
    tilek_limits limits;
    pthread_mutex_t lock; /* guards what follows */
    CUcontext context;    /* the primary one, shared with the program's own CUDA code; NULL until the device is opened */
    CUstream streams[TILEK_RECORDING_QUEUE + 1]; /* NULL until named */
    int recording;        /* some thread is */
};

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
tilek_status tilek_cuda_build(tilek_device *device, const tilek_build *build, tilek_program **program, int *from_cache, tilek_message *why);
void tilek_cuda_drop(tilek_device *device, tilek_program *program);
tilek_status tilek_cuda_find(tilek_device *device, tilek_program *program, const char *name, tilek_entry **entry, int64_t *group_total, tilek_message *why);

tilek_status tilek_cuda_record(tilek_device *device, tilek_message *why);
tilek_status tilek_cuda_recorded(tilek_device *device, tilek_graph **graph, tilek_message *why);
tilek_status tilek_cuda_play(tilek_device *device, int queue, tilek_graph *graph, tilek_message *why);
void tilek_cuda_forget(tilek_device *device, tilek_graph *graph);

/* Makes the device's context the calling thread's, above what the program itself has there; leave restores that. Both nest. */
CUresult tilek_cuda_enter(tilek_device *device);
void tilek_cuda_leave(tilek_device *device);

/* Enters the context and finds the queue's stream; TILEK_OK leaves the caller in the context. */
tilek_status tilek_cuda_enter_queue(tilek_device *device, int queue, CUstream *stream, tilek_message *why);

/* The status that an error stands for; the sentence says what was being done. */
tilek_status tilek_cuda_failed(const tilek_device *device, CUresult error, const char *doing, tilek_message *why);

#endif
