/* opencl_wheel.h: OpenCL from Python wheels (pyopencl's loader, PoCL's driver), so that no system
 * package is needed. Internal. */
#ifndef TILEK_OPENCL_WHEEL_H
#define TILEK_OPENCL_WHEEL_H

#include "device/opencl/opencl_api.h"

/* To be called before the loader at this path is opened; 1 where it is a wheel's (it has *.icd
 * files beside it). */
int tilek_opencl_prepare_wheel(const char *loader);

/* To be called on a device of the wheel's loader, before its first build. */
void tilek_opencl_repair_pocl(const tilek_opencl_api *api, cl_device_id device);

#endif
