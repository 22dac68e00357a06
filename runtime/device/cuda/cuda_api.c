/* cuda_api.c: finding the CUDA driver (TILEK_CUDA_LIBRARY, else the system's) and NVRTC
 * (TILEK_NVRTC_LIBRARY, else the system's by version, newest first, else NVIDIA's usual folder,
 * else the Python wheel whose path the build of this library names). */
#define _POSIX_C_SOURCE 200809L
#include "device/cuda/cuda_api.h"

#include <stdlib.h>

#include "base/dynamic_library.h"
#include "base/message.h"

#define TILEK_CUDA_SYMBOL(result, member, symbol, parameters) {symbol, offsetof(tilek_cuda_api, member)},
static const tilek_symbol cuda_symbols[] = {TILEK_CUDA_FUNCTIONS(TILEK_CUDA_SYMBOL)};
#define TILEK_CUDA_GRAPH_SYMBOL(result, member, symbol, parameters) {symbol, offsetof(tilek_cuda_graph_api, member)},
static const tilek_symbol graph_symbols[] = {TILEK_CUDA_GRAPH_FUNCTIONS(TILEK_CUDA_GRAPH_SYMBOL)};
#define TILEK_CUDA_COOPERATIVE_SYMBOL(result, member, symbol, parameters) \
    {symbol, offsetof(tilek_cuda_cooperative_api, member)},
static const tilek_symbol cooperative_symbols[] = {TILEK_CUDA_COOPERATIVE_FUNCTIONS(TILEK_CUDA_COOPERATIVE_SYMBOL)};
#define TILEK_NVRTC_SYMBOL(result, member, symbol, parameters) {symbol, offsetof(tilek_nvrtc_api, member)},
static const tilek_symbol nvrtc_symbols[] = {TILEK_NVRTC_FUNCTIONS(TILEK_NVRTC_SYMBOL)};

static const char *const cuda_names[] = {"libcuda.so.1", "libcuda.so", NULL};

static const char *const nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
                                          "/usr/local/cuda/lib64/libnvrtc.so",
#ifdef TILEK_WHEEL_NVRTC
                                          TILEK_WHEEL_NVRTC,
#endif
                                          NULL};

/* The library that the variable names, or else the first of `names`. */
static void *open_chosen(const char *variable, const char *const names[], const char **chosen)
{
    *chosen = getenv(variable);
    if (*chosen != NULL && **chosen != '\0')
        return tilek_library_open((const char *[]){*chosen, NULL});
    *chosen = NULL;
    return tilek_library_open(names);
}

tilek_status tilek_cuda_load(tilek_cuda_api *api, tilek_message *why)
{
    const char *chosen;
    void *library;
    if (tilek_program_is_static()) {
        tilek_say(why, "the program is linked statically, so that it cannot open the driver's library");
        return TILEK_NO_DEVICE;
    }
    library = open_chosen("TILEK_CUDA_LIBRARY", cuda_names, &chosen);
    if (library == NULL) {
        tilek_say(why,
                  chosen != NULL ? "TILEK_CUDA_LIBRARY names %s, which does not open"
                                 : "no CUDA driver found (looked for %s)",
                  chosen != NULL ? chosen : cuda_names[0]);
        return TILEK_NO_DEVICE;
    }
    const char *missing = tilek_library_bind(library, sizeof cuda_symbols / sizeof cuda_symbols[0], cuda_symbols, api);
    if (missing != NULL) {
        tilek_say(why, "the CUDA driver is too old: it has no %s", missing);
        return TILEK_NO_DEVICE;
    }
    api->has_graphs = tilek_library_bind(library, sizeof graph_symbols / sizeof graph_symbols[0], graph_symbols,
                                         &api->graphs) == NULL;
    api->has_cooperative = tilek_library_bind(library, sizeof cooperative_symbols / sizeof cooperative_symbols[0],
                                              cooperative_symbols, &api->cooperative) == NULL;
    const CUresult error = api->cuInit(0);
    if (error != CUDA_SUCCESS) {
        tilek_say(why, "the CUDA driver does not start: %s", tilek_cuda_error(api, error));
        return TILEK_NO_DEVICE;
    }
    return TILEK_OK;
}

tilek_status tilek_nvrtc_load(tilek_nvrtc_api *api, tilek_message *why)
{
    const char *chosen;
    void *library = open_chosen("TILEK_NVRTC_LIBRARY", nvrtc_names, &chosen);
    if (library == NULL) {
        tilek_say(
            why,
            chosen != NULL
                ? "TILEK_NVRTC_LIBRARY names %s, which does not open"
                : "CUDA's compiler library is missing (looked for %s to 11.2; TILEK_NVRTC_LIBRARY may name another)",
            chosen != NULL ? chosen : nvrtc_names[0]);
        return TILEK_COMPILE;
    }
    const char *missing = tilek_library_bind(library, sizeof nvrtc_symbols / sizeof nvrtc_symbols[0], nvrtc_symbols,
                                             api);
    if (missing != NULL) {
        tilek_say(why, "CUDA's compiler library is too old: it has no %s", missing);
        return TILEK_COMPILE;
    }
    return TILEK_OK;
}

const char *tilek_cuda_error(const tilek_cuda_api *api, CUresult error)
{
    const char *text = NULL;
    return api->cuGetErrorString(error, &text) == CUDA_SUCCESS && text != NULL ? text : "an unknown CUDA error";
}
