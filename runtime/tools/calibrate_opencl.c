/* calibrate_opencl.c: what an OpenCL device says of itself. */
#define _POSIX_C_SOURCE 200809L
#include "tools/calibrate.h"

#include "base/message.h"
#include "device/opencl/opencl_program.h"

#include <string.h>

tilek_status tilek_ask_opencl(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                              tilek_message *why)
{
    union { uint32_t narrow; uint64_t wide; char bytes[64]; } answer;
    size_t size = 0;
    memset(&answer, 0, sizeof answer);
    if (subject->device->api->clGetDeviceInfo(subject->device->id, (cl_uint)argument, sizeof answer, &answer, &size) !=
            CL_SUCCESS ||
        (size != sizeof answer.narrow && size != sizeof answer.wide)) {
        tilek_say(why, "the device has no number %lld", (long long)argument);
        return TILEK_UNSUPPORTED;
    }
    samples->values[0] = size == sizeof answer.narrow ? (double)answer.narrow : (double)answer.wide;
    samples->count = 1;
    return TILEK_OK;
}
