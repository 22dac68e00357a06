/* calibrate_cuda.c: what a CUDA device says of itself. */
#define _POSIX_C_SOURCE 200809L
#include "tools/calibrate.h"

#include "base/message.h"
#include "device/cuda/cuda_context.h"

tilek_status tilek_ask_cuda(const tilek_subject *subject, int64_t argument, tilek_samples *samples, tilek_message *why)
{
    int value = 0;
    if (subject->device->api->cuDeviceGetAttribute(&value, (int)argument, subject->device->id) != CUDA_SUCCESS) {
        tilek_say(why, "the driver does not know attribute %lld", (long long)argument);
        return TILEK_UNSUPPORTED;
    }
    samples->values[0] = value;
    samples->count = 1;
    return TILEK_OK;
}
