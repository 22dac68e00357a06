/* opencl_program.c: device programs, compiled or from the disk cache. */
#define _POSIX_C_SOURCE 200809L
#include "device/opencl/opencl_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "device/common/program_text.h"

/* Results are those of the host where its flags do not allow otherwise: float division rounds
 * correctly where the device can. Warnings are off, since some compilers write them to the user's
 * terminal. TILEK_PROCESSOR: the device needs no unrolled loops. */
static void build_options(const tilek_device *device, const tilek_build *build, char *options, size_t size)
{
    (void)snprintf(options, size, "-cl-std=CL1.2 -w%s%s%s", device->limits.is_gpu ? "" : " -DTILEK_PROCESSOR",
                   build->flags & TILEK_FAST_MATH ? " -cl-fast-relaxed-math" : "",
                   !(build->flags & TILEK_FAST_MATH) && device->rounds_division
                       ? " -cl-fp32-correctly-rounded-divide-sqrt"
                       : "");
}

/* What the compiler says of a program, to be freed; NULL where it says nothing. */
static char *build_log(tilek_device *device, cl_program program)
{
    size_t size = 0;
    char *log = NULL;
    if (device->api->clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) == CL_SUCCESS &&
        size > 0)
        log = calloc(size + 1, 1);
    if (log != NULL)
        (void)device->api->clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    if (log == NULL || log[strspn(log, " \r\n")] != '\0')
        return log;
    free(log);
    return NULL;
}

static cl_program program_from_cache(tilek_device *device, const tilek_cache_key *key, const char *options)
{
    unsigned char *bytes = NULL;
    size_t size = 0;
    if (!tilek_cache_read(key, &bytes, &size))
        return NULL;
    cl_int error = CL_SUCCESS, accepted = CL_SUCCESS;
    cl_program program = device->api->clCreateProgramWithBinary(device->context, 1, &device->id, &size,
                                                                (const unsigned char *[]){bytes}, &accepted, &error);
    free(bytes);
    if (program != NULL && (error != CL_SUCCESS || accepted != CL_SUCCESS ||
                            device->api->clBuildProgram(program, 1, &device->id, options, NULL, NULL) != CL_SUCCESS)) {
        (void)device->api->clReleaseProgram(program);
        program = NULL;
    }
    return program;
}

/* A program that gives no binary is compiled again by the next process; that is all that is
 * lost. */
static void keep_binary(tilek_device *device, const tilek_cache_key *key, cl_program program)
{
    size_t size = 0;
    if (device->api->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) != CL_SUCCESS ||
        size == 0)
        return;
    unsigned char *bytes = malloc(size);
    if (bytes != NULL &&
        device->api->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL) == CL_SUCCESS)
        tilek_cache_write(key, bytes, size);
    free(bytes);
}

/* PoCL 3 refuses a program now and then, without a log, where another process compiles into the
 * same cache. So it is asked once more. */
static tilek_status compile(tilek_device *device, const tilek_build *build, const char *text, const char *options,
                            cl_program *program, tilek_message *why)
{
    for (int again = 1;; again = 0) {
        cl_int error = CL_SUCCESS;
        *program = device->api->clCreateProgramWithSource(device->context, 1, (const char *[]){text}, NULL, &error);
        if (*program == NULL)
            return tilek_opencl_failed(error, "a program was made", why);
        error = device->api->clBuildProgram(*program, 1, &device->id, options, NULL, NULL);
        if (error == CL_SUCCESS)
            return TILEK_OK;
        char *const log = build_log(device, *program);
        (void)device->api->clReleaseProgram(*program);
        *program = NULL;
        if (again && error == CL_BUILD_PROGRAM_FAILURE && log == NULL)
            continue;
        tilek_say(why, "the OpenCL compiler of %s refuses kernel %s (%s): %s", device->limits.name, build->name,
                  tilek_opencl_error(error), log != NULL ? log : "it left no log");
        free(log);
        return TILEK_COMPILE;
    }
}

/* Asked for a binary, PoCL compiles every kernel once more, for groups of any size: as long as the
 * program itself takes. What it compiles for launches it keeps in a cache of its own, from which
 * the next process has it in some hundredths of a second. */
static int keeps_programs_itself(const tilek_device *device)
{
    const char *cache = getenv("POCL_KERNEL_CACHE");
    return strstr(device->limits.driver, "PoCL") != NULL && (cache == NULL || strcmp(cache, "0") != 0);
}

/* The program of a text, from the cache or the compiler. */
static tilek_status obtain(tilek_device *device, const tilek_build *build, const char *text, cl_program *program,
                           int *from_cache, tilek_message *why)
{
    char options[128];
    build_options(device, build, options, sizeof options);
    const tilek_cache_key key = tilek_program_key("OpenCL", &device->limits, options, text);
    *program = program_from_cache(device, &key, options);
    *from_cache = *program != NULL;
    if (*from_cache)
        return TILEK_OK;
    const tilek_status status = compile(device, build, text, options, program, why);
    if (status == TILEK_OK && !keeps_programs_itself(device))
        keep_binary(device, &key, *program);
    return status;
}

tilek_status tilek_opencl_build(tilek_device *device, const tilek_build *build, tilek_program **program,
                                int *from_cache, tilek_message *why)
{
    *program = NULL;
    *from_cache = 0;
    if ((build->flags & TILEK_USES_DOUBLE) && !device->limits.has_double) {
        tilek_say(why, "kernel %s computes in double, which %s cannot", build->name, device->limits.name);
        return TILEK_UNSUPPORTED;
    }
    tilek_program *made = calloc(1, sizeof *made);
    char *text = tilek_program_text(build, "L");
    tilek_status status = TILEK_NO_MEMORY;
    if (made == NULL || text == NULL)
        tilek_say(why, "no memory for the text of kernel %s", build->name);
    else
        status = obtain(device, build, text, &made->program, from_cache, why);
    free(text);
    if (status != TILEK_OK) {
        free(made);
        return status;
    }
    (void)pthread_mutex_init(&made->lock, NULL);
    *program = made;
    return TILEK_OK;
}

void tilek_opencl_drop(tilek_device *device, tilek_program *program)
{
    if (program == NULL)
        return;
    for (tilek_entry *entry = program->entries, *next; entry != NULL; entry = next) {
        next = entry->next;
        (void)device->api->clReleaseKernel(entry->kernel);
        (void)pthread_mutex_destroy(&entry->lock);
        free(entry);
    }
    (void)device->api->clReleaseProgram(program->program);
    (void)pthread_mutex_destroy(&program->lock);
    free(program);
}

/* Drivers tell only in the launch that a group has too little local memory. 0, with a sentence,
 * where it has. */
static int has_local_memory(tilek_device *device, cl_kernel kernel, const char *name, tilek_message *why)
{
    cl_ulong bytes = 0;
    if (device->api->clGetKernelWorkGroupInfo(kernel, device->id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes, &bytes,
                                              NULL) != CL_SUCCESS ||
        bytes <= (cl_ulong)device->limits.local_memory)
        return 1;
    tilek_say(why,
              "launch %s needs %llu bytes of local memory, and a gang of %s has %lld; translate with --device of a"
              " descriptor with so few (tilepragma devices --calibrate writes it)",
              name, (unsigned long long)bytes, device->limits.name, (long long)device->limits.local_memory);
    return 0;
}

tilek_status tilek_opencl_find(tilek_device *device, tilek_program *program, const char *name, tilek_entry **entry,
                               int64_t *group_total, tilek_message *why)
{
    cl_int error = CL_SUCCESS;
    size_t most = 0;
    *entry = NULL;
    tilek_entry *made = calloc(1, sizeof *made);
    if (made == NULL) {
        tilek_say(why, "no memory for kernel %s", name);
        return TILEK_NO_MEMORY;
    }
    made->kernel = device->api->clCreateKernel(program->program, name, &error);
    if (made->kernel != NULL)
        error = device->api->clGetKernelWorkGroupInfo(made->kernel, device->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most,
                                                      &most, NULL);
    if (error != CL_SUCCESS)
        tilek_say(why, "the device program has no usable kernel %s: %s", name, tilek_opencl_error(error));
    if (error != CL_SUCCESS || !has_local_memory(device, made->kernel, name, why)) {
        if (made->kernel != NULL)
            (void)device->api->clReleaseKernel(made->kernel);
        free(made);
        return TILEK_COMPILE;
    }
    (void)pthread_mutex_init(&made->lock, NULL);
    (void)pthread_mutex_lock(&program->lock);
    made->next = program->entries;
    program->entries = made;
    (void)pthread_mutex_unlock(&program->lock);
    *entry = made;
    *group_total = (int64_t)most;
    return TILEK_OK;
}
