/* library.c: an OpenCL library that hands every call on to the real one, and lets one of them fail.
 *
 * TILEK_FAULTS_LIBRARY names the real one. TILEK_FAULTS_CALL=7 makes the seventh call fail, whichever it is, those that give something back left out; =0 names each call on
 * stderr. TILEK_FAULTS_FROM=7 makes the seventh and all later ones fail, as those of a device that is gone. A call that fails does nothing, except that a read spoils its
 * destination, and that a wait has waited. TILEK_FAULTS_ERROR=36: it gives -36. What is left at the end is reported on stderr.
 *
 * Its devices may be lesser ones: TILEK_FAULTS_LOCAL=16384 bytes of local memory, TILEK_FAULTS_GROUP=64 work-items of a group, TILEK_FAULTS_DOUBLE=0 without double. What asks
 * for more fails as on such a device. TILEK_FAULTS_GPU=1: they say that they are GPUs. */
#define _GNU_SOURCE
#include "device/opencl/opencl_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static tilek_opencl_api real;
static long calls; /* guarded by `lock` */
static int contexts, queues, buffers, programs, kernels, events, devices;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static long number(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? strtol(text, NULL, 10) : -1;
}

__attribute__((constructor)) static void open_real(void)
{
    const char *name = getenv("TILEK_FAULTS_LIBRARY");
    void *library = dlopen(name != NULL ? name : "libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "faults: %s\n", dlerror());
        return;
    }
#define LOOK_UP(result, function, parameters) *(void **)&real.function = dlsym(library, #function);
    TILEK_OPENCL_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
}

__attribute__((destructor)) static void report(void)
{
    if (contexts + queues + buffers + programs + kernels + events + devices != 0)
        fprintf(stderr, "faults: left behind: %d contexts, %d queues, %d buffers, %d programs, %d kernels, %d events, %d devices\n", contexts, queues, buffers, programs,
                kernels, events, devices);
}

static int fails(const char *name)
{
    const long which = number("TILEK_FAULTS_CALL"), from = number("TILEK_FAULTS_FROM");
    (void)pthread_mutex_lock(&lock);
    const long call = ++calls;
    (void)pthread_mutex_unlock(&lock);
    if (which == 0) fprintf(stderr, "faults: call of %s\n", name);
    return call == which || (from > 0 && call >= from);
}

/* What is made and given back. */
static void count(int *kind, int change) { (void)__atomic_add_fetch(kind, change, __ATOMIC_RELAXED); }

static cl_int error(void)
{
    const long wished = number("TILEK_FAULTS_ERROR");
    return wished > 0 ? (cl_int)-wished : CL_OUT_OF_RESOURCES;
}

#define STATUS(name, parameters, arguments) \
    EXPORT cl_int name parameters { return fails(#name) ? error() : real.name arguments; }
#define MAKES(kind, result, name, parameters, arguments) \
    EXPORT result name parameters \
    { \
        result made = NULL; \
        if (fails(#name)) *status = error(); \
        else made = real.name arguments; \
        count(&kind, made != NULL); \
        return made; \
    }
#define GIVES_BACK(kind, name, type) \
    EXPORT cl_int name(type object) \
    { \
        count(&kind, -1); \
        return real.name(object); \
    }

typedef void (*context_callback)(const char *, const void *, size_t, void *);
typedef void (*build_callback)(cl_program, void *);

STATUS(clGetPlatformIDs, (cl_uint room, cl_platform_id *ids, cl_uint *found), (room, ids, found))
STATUS(clGetPlatformInfo, (cl_platform_id id, cl_uint what, size_t size, void *answer, size_t *needed), (id, what, size, answer, needed))
STATUS(clGetDeviceIDs, (cl_platform_id platform, cl_bitfield type, cl_uint room, cl_device_id *ids, cl_uint *found), (platform, type, room, ids, found))
MAKES(contexts, cl_context, clCreateContext, (const cl_context_property *properties, cl_uint many, const cl_device_id *ids, context_callback callback, void *data, cl_int *status),
      (properties, many, ids, callback, data, status))
MAKES(queues, cl_command_queue, clCreateCommandQueue, (cl_context context, cl_device_id id, cl_bitfield properties, cl_int *status), (context, id, properties, status))
MAKES(buffers, cl_mem, clCreateBuffer, (cl_context context, cl_bitfield flags, size_t bytes, void *start, cl_int *status), (context, flags, bytes, start, status))
MAKES(programs, cl_program, clCreateProgramWithBinary,
      (cl_context context, cl_uint many, const cl_device_id *ids, const size_t *sizes, const unsigned char **bytes, cl_int *accepted, cl_int *status),
      (context, many, ids, sizes, bytes, accepted, status))
GIVES_BACK(contexts, clReleaseContext, cl_context)
GIVES_BACK(queues, clReleaseCommandQueue, cl_command_queue)
GIVES_BACK(buffers, clReleaseMemObject, cl_mem)
GIVES_BACK(programs, clReleaseProgram, cl_program)
GIVES_BACK(kernels, clReleaseKernel, cl_kernel)
GIVES_BACK(events, clReleaseEvent, cl_event)
GIVES_BACK(devices, clReleaseDevice, cl_device_id)
STATUS(clBuildProgram, (cl_program program, cl_uint many, const cl_device_id *ids, const char *options, build_callback callback, void *data),
       (program, many, ids, options, callback, data))
STATUS(clGetProgramInfo, (cl_program program, cl_uint what, size_t size, void *answer, size_t *needed), (program, what, size, answer, needed))
STATUS(clGetProgramBuildInfo, (cl_program program, cl_device_id id, cl_uint what, size_t size, void *answer, size_t *needed), (program, id, what, size, answer, needed))
STATUS(clSetKernelArg, (cl_kernel kernel, cl_uint place, size_t size, const void *value), (kernel, place, size, value))
STATUS(clFlush, (cl_command_queue queue), (queue))
STATUS(clEnqueueWriteBuffer,
       (cl_command_queue queue, cl_mem buffer, cl_bool waits, size_t offset, size_t bytes, const void *source, cl_uint many, const cl_event *before, cl_event *event),
       (queue, buffer, waits, offset, bytes, source, many, before, event))
STATUS(clEnqueueUnmapMemObject, (cl_command_queue queue, cl_mem buffer, void *mapped, cl_uint many, const cl_event *before, cl_event *event),
       (queue, buffer, mapped, many, before, event))
STATUS(clGetEventProfilingInfo, (cl_event event, cl_uint what, size_t size, void *answer, size_t *needed), (event, what, size, answer, needed))

/* ---- Lesser devices ----------------------------------------------------------------------------------------------- */

enum { LOCAL_MEM_TYPE = 0x1022, LOCAL_MEM_SIZE = 0x1023, KERNEL_LOCAL_MEM_SIZE = 0x11B2, NO_LOCAL_MEMORY = 0, INVALID_WORK_GROUP_SIZE = -54 };

static size_t least(size_t number, long most) { return most >= 0 && number > (size_t)most ? (size_t)most : number; }

EXPORT cl_int clGetDeviceInfo(cl_device_id id, cl_uint what, size_t size, void *answer, size_t *needed)
{
    const long local = number("TILEK_FAULTS_LOCAL"), group = number("TILEK_FAULTS_GROUP");
    const cl_int status = fails(__func__) ? error() : real.clGetDeviceInfo(id, what, size, answer, needed);
    if (status != CL_SUCCESS || answer == NULL) return status;
    if (what == LOCAL_MEM_SIZE && local >= 0) *(cl_ulong *)answer = (cl_ulong)local;
    if (what == LOCAL_MEM_TYPE && local == 0) *(cl_uint *)answer = NO_LOCAL_MEMORY;
    if (what == CL_DEVICE_MAX_WORK_GROUP_SIZE) *(size_t *)answer = least(*(size_t *)answer, group);
    if (what == CL_DEVICE_MAX_WORK_ITEM_SIZES)
        for (size_t k = 0; k < 3; ++k) ((size_t *)answer)[k] = least(((size_t *)answer)[k], group);
    if (what == CL_DEVICE_DOUBLE_FP_CONFIG && number("TILEK_FAULTS_DOUBLE") == 0) *(cl_bitfield *)answer = 0;
    if (what == CL_DEVICE_TYPE && number("TILEK_FAULTS_GPU") == 1) *(cl_bitfield *)answer = CL_DEVICE_TYPE_GPU;
    return status;
}

/* Without double no program may have the word, behind the compiler's own declarations. */
EXPORT cl_program clCreateProgramWithSource(cl_context context, cl_uint many, const char **texts, const size_t *lengths, cl_int *status)
{
    static const char without[] = "#undef cl_khr_fp64\n#define double this_device_has_no_double\n";
    cl_program made = NULL;
    if (fails(__func__)) {
        *status = error();
    } else if (number("TILEK_FAULTS_DOUBLE") != 0) {
        made = real.clCreateProgramWithSource(context, many, texts, lengths, status);
    } else {
        char *text = malloc(sizeof without + strlen(texts[0]));
        if (text == NULL) abort();
        strcat(strcpy(text, without), texts[0]); /* the runtime gives one text, closed by 0 */
        made = real.clCreateProgramWithSource(context, 1, (const char *[]){text}, NULL, status);
        free(text);
    }
    count(&programs, made != NULL);
    return made;
}

EXPORT cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *status)
{
    cl_kernel made = NULL;
    if (fails(__func__)) *status = error();
    else made = real.clCreateKernel(program, name, status);
    count(&kernels, made != NULL);
    return made;
}

EXPORT cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id id, cl_uint what, size_t size, void *answer, size_t *needed)
{
    const cl_int status = fails(__func__) ? error() : real.clGetKernelWorkGroupInfo(kernel, id, what, size, answer, needed);
    if (status == CL_SUCCESS && what == CL_KERNEL_WORK_GROUP_SIZE) *(size_t *)answer = least(*(size_t *)answer, number("TILEK_FAULTS_GROUP"));
    return status;
}

/* What a launch asks for beyond the device; the kernel's device is the only one. */
static cl_int refused(cl_kernel kernel, cl_uint dimensions, const size_t *local)
{
    const long memory = number("TILEK_FAULTS_LOCAL"), group = number("TILEK_FAULTS_GROUP");
    cl_ulong used = 0;
    size_t items = 1;
    for (cl_uint k = 0; k < dimensions; ++k) items *= local[k];
    if (group >= 0 && items > (size_t)group) return INVALID_WORK_GROUP_SIZE;
    if (memory < 0 || real.clGetKernelWorkGroupInfo(kernel, NULL, KERNEL_LOCAL_MEM_SIZE, sizeof used, &used, NULL) != CL_SUCCESS) return CL_SUCCESS;
    return used > (cl_ulong)memory ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
}

/* ---- Calls that make or read several things ----------------------------------------------------------------------- */

EXPORT cl_int clCreateSubDevices(cl_device_id id, const cl_device_partition_property *how, cl_uint room, cl_device_id *parts, cl_uint *found)
{
    const cl_int status = fails(__func__) ? error() : real.clCreateSubDevices(id, how, room, parts, found);
    if (status == CL_SUCCESS) count(&devices, (int)*found);
    return status;
}

EXPORT cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *first, const size_t *global, const size_t *local, cl_uint many,
                                     const cl_event *before, cl_event *event)
{
    const cl_int beyond = refused(kernel, dimensions, local);
    const cl_int status = fails(__func__)        ? error()
                          : beyond != CL_SUCCESS ? beyond
                                                 : real.clEnqueueNDRangeKernel(queue, kernel, dimensions, first, global, local, many, before, event);
    if (status == CL_SUCCESS && event != NULL) count(&events, 1);
    return status;
}

EXPORT void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool waits, cl_bitfield flags, size_t offset, size_t bytes, cl_uint many, const cl_event *before,
                                cl_event *event, cl_int *status)
{
    if (!fails(__func__)) return real.clEnqueueMapBuffer(queue, buffer, waits, flags, offset, bytes, many, before, event, status);
    *status = error();
    return NULL;
}

EXPORT cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool waits, size_t offset, size_t bytes, void *destination, cl_uint many, const cl_event *before,
                                  cl_event *event)
{
    if (!fails(__func__)) return real.clEnqueueReadBuffer(queue, buffer, waits, offset, bytes, destination, many, before, event);
    memset(destination, 0xA5, bytes);
    return error();
}

EXPORT cl_int clFinish(cl_command_queue queue)
{
    const cl_int status = real.clFinish(queue);
    return fails(__func__) ? error() : status;
}

EXPORT cl_int clWaitForEvents(cl_uint many, const cl_event *awaited)
{
    const cl_int status = real.clWaitForEvents(many, awaited);
    return fails(__func__) ? error() : status;
}
