/* What a GPU reaches: the driver's copy within its memory, and cublasSgemm where libcublas is found. Built with the runtime, whose
 * way to the driver it takes; needs no header of CUDA.
 *
 * Usage: limits COPIED_BYTES SIDE. Prints a line of JSON: the device's name, bytes per second of the copy (read and written), and
 * operations per second of a product of SIDE x SIDE floats (null: no libcublas), each the best of several tries. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>

#include "base/dynamic_library.h"
#include "device/cuda/cuda_context.h"
#include "device/cuda/cuda_device.h"

enum { TRIES = 20, CUBLAS_NO_TRANSPOSITION = 0 };

typedef struct copy_api {
    CUresult (*copy)(CUdeviceptr, CUdeviceptr, size_t, CUstream);
} copy_api;

typedef struct cublas_api {
    int (*create)(void **);
    int (*destroy)(void *);
    int (*set_stream)(void *, CUstream);
    int (*sgemm)(void *, int, int, int, int, int, const float *, CUdeviceptr, int, CUdeviceptr, int, const float *, CUdeviceptr, int);
} cublas_api;

static const tilek_symbol copy_symbols[] = {{"cuMemcpyDtoDAsync_v2", offsetof(copy_api, copy)}};
static const tilek_symbol cublas_symbols[] = {{"cublasCreate_v2", offsetof(cublas_api, create)},
                                              {"cublasDestroy_v2", offsetof(cublas_api, destroy)},
                                              {"cublasSetStream_v2", offsetof(cublas_api, set_stream)},
                                              {"cublasSgemm_v2", offsetof(cublas_api, sgemm)}};

static tilek_device *device;
static CUstream stream; /* of the device's queue 0 */
static CUevent before, after;

static void fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "%s: %s\n", what, why);
    exit(2);
}

static void check(const char *what, CUresult error)
{
    if (error != CUDA_SUCCESS)
        fail(what, tilek_cuda_error(device->api, error));
}

static void require(tilek_status status, const tilek_message *why)
{
    if (status != TILEK_OK)
        fail("CUDA", why->text);
}

/* Seconds of what was queued since start(). */
static double stop(void)
{
    float milliseconds = 0.0f;
    check("cuEventRecord", device->api->cuEventRecord(after, stream));
    check("cuEventSynchronize", device->api->cuEventSynchronize(after));
    check("cuEventElapsedTime", device->api->cuEventElapsedTime(&milliseconds, before, after));
    return 1e-3 * (double)milliseconds;
}

static void start(void)
{
    check("cuEventRecord", device->api->cuEventRecord(before, stream));
}

static tilek_buffer allocated(size_t bytes)
{
    tilek_buffer memory;
    tilek_message why;
    require(tilek_cuda_backend()->allocate(device, bytes, &memory, &why), &why);
    return memory;
}

static double best_copy(size_t bytes)
{
    const char *const named = getenv("TILEK_CUDA_LIBRARY");
    copy_api api;
    void *const library = tilek_library_open(named != NULL ? (const char *[]){named, NULL} : (const char *[]){"libcuda.so.1", "libcuda.so", NULL});
    if (library == NULL || tilek_library_bind(library, 1, copy_symbols, &api) != NULL)
        fail("libcuda", "no cuMemcpyDtoDAsync");
    tilek_buffer from = allocated(bytes), to = allocated(bytes);
    double best = 0.0;
    for (int try = 0; try < TRIES; ++try) {
        start();
        check("cuMemcpyDtoDAsync", api.copy(to.address, from.address, bytes, stream));
        const double rate = 2.0 * (double)bytes / stop();
        best = rate > best ? rate : best;
    }
    tilek_cuda_backend()->release(device, &from);
    tilek_cuda_backend()->release(device, &to);
    return best;
}

/* Operations per second of cublasSgemm, 0 without the library. */
static double best_product(int side)
{
    const char *const named = getenv("TILEK_CUBLAS_LIBRARY");
    cublas_api api;
    void *handle = NULL;
    void *const library =
        tilek_library_open(named != NULL ? (const char *[]){named, NULL}
                                         : (const char *[]){"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so",
                                                            "/usr/local/cuda/lib64/libcublas.so", NULL});
    if (library == NULL || tilek_library_bind(library, sizeof cublas_symbols / sizeof cublas_symbols[0], cublas_symbols, &api) != NULL)
        return 0.0;
    if (api.create(&handle) != 0 || api.set_stream(handle, stream) != 0)
        fail("libcublas", "does not start");
    const size_t bytes = (size_t)side * (size_t)side * sizeof(float);
    float *const values = malloc(bytes);
    tilek_buffer matrices[] = {allocated(bytes), allocated(bytes), allocated(bytes)};
    tilek_message why;
    if (values == NULL)
        fail("limits", "out of memory");
    for (size_t k = 0; k < bytes / sizeof *values; ++k)
        values[k] = (float)(k % 1021) / 1021.0f;
    for (int k = 0; k < 3; ++k)
        require(tilek_cuda_backend()->write(device, 0, &matrices[k], 0, values, bytes, &why), &why);
    const float one = 1.0f;
    double best = 0.0;
    for (int try = 0; try < TRIES; ++try) {
        start();
        if (api.sgemm(handle, CUBLAS_NO_TRANSPOSITION, CUBLAS_NO_TRANSPOSITION, side, side, side, &one, matrices[0].address, side,
                      matrices[1].address, side, &one, matrices[2].address, side) != 0)
            fail("cublasSgemm", "failed");
        const double rate = 2.0 * side * (double)side * side / stop();
        best = rate > best ? rate : best;
    }
    (void)api.destroy(handle);
    free(values);
    for (int k = 0; k < 3; ++k)
        tilek_cuda_backend()->release(device, &matrices[k]);
    return best;
}

int main(int argc, char **argv)
{
    tilek_message why;
    if (argc != 3)
        fail(argv[0], "usage: limits COPIED_BYTES SIDE");
    require(tilek_cuda_backend()->open(0, NULL, &device, &why), &why);
    require(tilek_cuda_enter_queue(device, 0, &stream, &why), &why);
    check("cuEventCreate", device->api->cuEventCreate(&before, 0));
    check("cuEventCreate", device->api->cuEventCreate(&after, 0));
    const double copy = best_copy((size_t)strtoull(argv[1], NULL, 10)), product = best_product(atoi(argv[2]));
    printf("{\"device\": \"%s\", \"copy\": %.6e, \"sgemm\": ", device->limits.name, copy);
    printf(product > 0.0 ? "%.6e}\n" : "null}\n", product);
    check("cuEventDestroy", device->api->cuEventDestroy(before));
    check("cuEventDestroy", device->api->cuEventDestroy(after));
    tilek_cuda_leave(device);
    tilek_cuda_backend()->shutdown();
    return 0;
}
