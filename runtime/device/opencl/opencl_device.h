/* opencl_device.h: the device API of OpenCL. */
#ifndef TILEK_OPENCL_DEVICE_H
#define TILEK_OPENCL_DEVICE_H

#include "device/common/backend.h"

const tilek_backend *tilek_opencl_backend(void);

#endif
