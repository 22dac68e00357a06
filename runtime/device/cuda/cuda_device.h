/* cuda_device.h: the device API of CUDA. */
#ifndef TILEK_CUDA_DEVICE_H
#define TILEK_CUDA_DEVICE_H

#include "device/common/backend.h"

const tilek_backend *tilek_cuda_backend(void);

#endif
