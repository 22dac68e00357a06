/* cuda_context.h: a CUDA device, and being inside of its context. Internal. */
#ifndef TILEK_CUDA_CONTEXT_H
#define TILEK_CUDA_CONTEXT_H

#include <pthread.h>

#include "device/cuda/cuda_api.h"

struct tilek_device {
    const tilek_cuda_api *api;
    CUdevice id;
    int capability;       /* 10 major + minor */
    tilek_limits limits;
    pthread_mutex_t lock; /* guards what follows */
    /* the primary one, shared with the program's own CUDA code; NULL until the device is opened */
    CUcontext context;
    CUstream streams[TILEK_RECORDING_QUEUE + 1]; /* NULL until named */
    int recording;        /* a thread records launches */
};

/* Makes the device's context the calling thread's, above what the program itself has there; leave
 * restores that. Both nest. */
CUresult tilek_cuda_enter(tilek_device *device);
void tilek_cuda_leave(tilek_device *device);

/* Enters the context and finds the queue's stream; TILEK_OK leaves the caller in the context. */
tilek_status tilek_cuda_enter_queue(tilek_device *device, int queue, CUstream *stream, tilek_message *why);

/* The status that an error stands for; the sentence says what was being done. */
tilek_status tilek_cuda_failed(const tilek_device *device, CUresult error, const char *doing, tilek_message *why);

#endif
