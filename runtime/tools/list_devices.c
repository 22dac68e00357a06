/* list_devices.c: what `tilepragma devices` prints. One line a device, tab-separated, as the
 * runtime itself would number them: target, number, name, driver, "gpu" or "cpu", compute units,
 * bytes of memory. A target that is absent: target, "-", the reason. */
#include "device/cuda/cuda_device.h"
#include "device/opencl/opencl_device.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST_DEVICES = 64 };

static void list(const char *target, const tilek_backend *backend)
{
    tilek_message why = {{0}};
    int64_t number = 0;
    for (; number < MOST_DEVICES; ++number) {
        tilek_device *device = NULL;
        if (backend->open(number, NULL, &device, &why) != TILEK_OK) {
            break;
        }
        const tilek_limits *limits = backend->limits(device);
        printf("%s\t%" PRId64 "\t%s\t%s\t%s\t%" PRId64 "\t%" PRIu64 "\n", target, number, limits->name, limits->driver,
               limits->is_gpu ? "gpu" : "cpu", limits->compute_units, limits->memory);
    }
    if (number == 0) {
        printf("%s\t-\t%s\n", target, why.text);
    }
}

int main(void)
{
    const tilek_backend *const opencl = tilek_opencl_backend();
    const tilek_backend *const cuda = tilek_cuda_backend();
    list("opencl", opencl);
    list("cuda", cuda);
    opencl->shutdown();
    cuda->shutdown();
    return 0;
}
