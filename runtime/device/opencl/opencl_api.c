/* opencl_api.c: finding an OpenCL library.
 *
 * In this order, the first that offers a platform: TILEK_OPENCL_LIBRARY (and nothing else, where it
 * is set); what the program was started with (a tool such as oclgrind preloads its own); the
 * system's libOpenCL; the loader in pyopencl's Python wheel, whose path the build of this library
 * names (TILEK_WHEEL_OPENCL), so that OpenCL works with no system package. */
#define _POSIX_C_SOURCE 200809L
#include "device/opencl/opencl_api.h"

#include <stdlib.h>

#include "base/dynamic_library.h"
#include "base/message.h"
#include "device/opencl/opencl_wheel.h"

/* ---- Loading --------------------------------------------------------------------------------- */

static int offers_platform(void *library, tilek_opencl_api *api)
{
#define TILEK_SYMBOL(result, name, parameters) {#name, offsetof(tilek_opencl_api, name)},
    static const tilek_symbol symbols[] = {TILEK_OPENCL_FUNCTIONS(TILEK_SYMBOL)};
#undef TILEK_SYMBOL
    cl_uint platforms = 0;
    return library != NULL && tilek_library_bind(library, sizeof symbols / sizeof symbols[0], symbols, api) == NULL &&
           api->clGetPlatformIDs(0, NULL, &platforms) == CL_SUCCESS && platforms > 0;
}

tilek_status tilek_opencl_load(tilek_opencl_api *api, int *from_wheel, tilek_message *why)
{
    static const char *const system_names[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
    const char *chosen = getenv("TILEK_OPENCL_LIBRARY");
    *from_wheel = 0;
    if (tilek_program_is_static()) {
        tilek_say(why, "the program is linked statically, so that it cannot open the driver's library");
        return TILEK_NO_DEVICE;
    }
    if (chosen != NULL && *chosen != '\0') {
        *from_wheel = tilek_opencl_prepare_wheel(chosen);
        if (offers_platform(tilek_library_open((const char *[]){chosen, NULL}), api))
            return TILEK_OK;
        tilek_say(why, "TILEK_OPENCL_LIBRARY names %s, which does not open or has no platform", chosen);
        return TILEK_NO_DEVICE;
    }
    if (offers_platform(tilek_library_program(), api) || offers_platform(tilek_library_open(system_names), api))
        return TILEK_OK;
#ifdef TILEK_WHEEL_OPENCL
    *from_wheel = tilek_opencl_prepare_wheel(TILEK_WHEEL_OPENCL);
    if (offers_platform(tilek_library_open((const char *[]){TILEK_WHEEL_OPENCL, NULL}), api))
        return TILEK_OK;
    tilek_say(why, "no OpenCL platform found (looked for libOpenCL.so.1 and in pyopencl's wheel, %s)",
              TILEK_WHEEL_OPENCL);
#else
    tilek_say(why, "no OpenCL platform found (looked for libOpenCL.so.1; TILEK_OPENCL_LIBRARY may name another)");
#endif
    return TILEK_NO_DEVICE;
}

/* ---- Errors ---------------------------------------------------------------------------------- */

const char *tilek_opencl_error(cl_int error)
{
    static const char *const first[] = {"CL_SUCCESS",
                                        "CL_DEVICE_NOT_FOUND",
                                        "CL_DEVICE_NOT_AVAILABLE",
                                        "CL_COMPILER_NOT_AVAILABLE",
                                        "CL_MEM_OBJECT_ALLOCATION_FAILURE",
                                        "CL_OUT_OF_RESOURCES",
                                        "CL_OUT_OF_HOST_MEMORY",
                                        "CL_PROFILING_INFO_NOT_AVAILABLE",
                                        "CL_MEM_COPY_OVERLAP",
                                        "CL_IMAGE_FORMAT_MISMATCH",
                                        "CL_IMAGE_FORMAT_NOT_SUPPORTED",
                                        "CL_BUILD_PROGRAM_FAILURE",
                                        "CL_MAP_FAILURE",
                                        "CL_MISALIGNED_SUB_BUFFER_OFFSET",
                                        "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
                                        "CL_COMPILE_PROGRAM_FAILURE"};
    static const char *const from_30[] = {"CL_INVALID_VALUE",           "CL_INVALID_DEVICE_TYPE",
                                          "CL_INVALID_PLATFORM",        "CL_INVALID_DEVICE",
                                          "CL_INVALID_CONTEXT",         "CL_INVALID_QUEUE_PROPERTIES",
                                          "CL_INVALID_COMMAND_QUEUE",   "CL_INVALID_HOST_PTR",
                                          "CL_INVALID_MEM_OBJECT",      "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
                                          "CL_INVALID_IMAGE_SIZE",      "CL_INVALID_SAMPLER",
                                          "CL_INVALID_BINARY",          "CL_INVALID_BUILD_OPTIONS",
                                          "CL_INVALID_PROGRAM",         "CL_INVALID_PROGRAM_EXECUTABLE",
                                          "CL_INVALID_KERNEL_NAME",     "CL_INVALID_KERNEL_DEFINITION",
                                          "CL_INVALID_KERNEL",          "CL_INVALID_ARG_INDEX",
                                          "CL_INVALID_ARG_VALUE",       "CL_INVALID_ARG_SIZE",
                                          "CL_INVALID_KERNEL_ARGS",     "CL_INVALID_WORK_DIMENSION",
                                          "CL_INVALID_WORK_GROUP_SIZE", "CL_INVALID_WORK_ITEM_SIZE",
                                          "CL_INVALID_GLOBAL_OFFSET",   "CL_INVALID_EVENT_WAIT_LIST",
                                          "CL_INVALID_EVENT",           "CL_INVALID_OPERATION",
                                          "CL_INVALID_GL_OBJECT",       "CL_INVALID_BUFFER_SIZE",
                                          "CL_INVALID_MIP_LEVEL",       "CL_INVALID_GLOBAL_WORK_SIZE"};
    const cl_int first_count = sizeof first / sizeof first[0], last_count = sizeof from_30 / sizeof from_30[0];
    if (error <= 0 && -error < first_count)
        return first[-error];
    if (error <= -30 && -error - 30 < last_count)
        return from_30[-error - 30];
    return "an error without a name in OpenCL 1.2";
}

tilek_status tilek_opencl_failed(cl_int error, const char *doing, tilek_message *why)
{
    tilek_say(why, "OpenCL gave %s (%d) when %s", tilek_opencl_error(error), (int)error, doing);
    switch (error) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY: return TILEK_NO_MEMORY;
    case CL_INVALID_BUFFER_SIZE: return TILEK_UNSUPPORTED;
    default: return TILEK_DEVICE_LOST;
    }
}
