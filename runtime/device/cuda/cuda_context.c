/* cuda_context.c: being inside of a CUDA device's context. */
#define _POSIX_C_SOURCE 200809L
#include "device/cuda/cuda_context.h"

#include "base/message.h"

tilek_status tilek_cuda_failed(const tilek_device *device, CUresult error, const char *doing, tilek_message *why)
{
    tilek_say(why, "CUDA failed when %s: %s (%d)", doing, tilek_cuda_error(device->api, error), error);
    return error == CUDA_ERROR_OUT_OF_MEMORY ? TILEK_NO_MEMORY : TILEK_DEVICE_LOST;
}

/* How many times the calling thread has entered its device; only the first entry and the last exit
 * call the driver. A thread is inside of one device at a time. */
static __thread int entered;

CUresult tilek_cuda_enter(tilek_device *device)
{
    const CUresult error = entered > 0 ? CUDA_SUCCESS : device->api->cuCtxPushCurrent(device->context);
    entered += error == CUDA_SUCCESS;
    return error;
}

void tilek_cuda_leave(tilek_device *device)
{
    CUcontext left;
    if (--entered == 0)
        (void)device->api->cuCtxPopCurrent(&left);
}

tilek_status tilek_cuda_enter_queue(tilek_device *device, int queue, CUstream *stream, tilek_message *why)
{
    CUresult error = tilek_cuda_enter(device);
    if (error != CUDA_SUCCESS)
        return tilek_cuda_failed(device, error, "the device was used", why);
    (void)pthread_mutex_lock(&device->lock);
    const int exists = queue >= 0 && queue < TILEK_DEVICE_QUEUES + device->recording;
    if (exists && device->streams[queue] == NULL)
        error = device->api->cuStreamCreate(&device->streams[queue], CU_STREAM_NON_BLOCKING);
    if (error != CUDA_SUCCESS)
        device->streams[queue] = NULL;
    *stream = exists ? device->streams[queue] : NULL;
    (void)pthread_mutex_unlock(&device->lock);
    if (*stream != NULL)
        return TILEK_OK;
    tilek_cuda_leave(device);
    if (error != CUDA_SUCCESS)
        return tilek_cuda_failed(device, error, "a stream was made", why);
    tilek_say(why, "there is no CUDA queue %d", queue);
    return TILEK_INVALID;
}
