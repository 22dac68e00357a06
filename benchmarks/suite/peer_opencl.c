/* Linked into PPCG's OpenCL programs where the system has no OpenCL: they run on the driver that ours finds in Python's wheels, which
 * is made to compile for the same processor. Built with the runtime, whose way to the driver it takes. */
#include "device/opencl/opencl_api.h"
#include "device/opencl/opencl_wheel.h"

enum { MOST = 16 };

__attribute__((constructor)) static void prepare(void)
{
    tilek_opencl_api api;
    tilek_message why;
    int from_wheel;
    cl_platform_id platforms[MOST];
    cl_uint platform_count = 0;
    (void)tilek_opencl_prepare_wheel(TILEK_WHEEL_OPENCL);
    if (tilek_opencl_load(&api, &from_wheel, &why) != TILEK_OK || api.clGetPlatformIDs(MOST, platforms, &platform_count) != CL_SUCCESS)
        return; /* the program says it when it looks for a device */
    for (cl_uint p = 0; p < platform_count && p < MOST; ++p) {
        cl_device_id devices[MOST];
        cl_uint device_count = 0;
        if (api.clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MOST, devices, &device_count) != CL_SUCCESS)
            continue;
        for (cl_uint d = 0; d < device_count && d < MOST; ++d)
            tilek_opencl_repair_pocl(&api, devices[d]);
    }
}
