/* opencl_arguments.c: how many arguments the OpenCL back end sets, and how often it asks for a program, counted. Exit status as devices.c's. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/opencl/opencl_device.h"
#include "device/opencl/opencl_program.h"

enum { SKIPPED = 77, COUNT = 64 };

static const char text[] =
    "__kernel void add(__global long *a, const long step, const int factor, __global const long *b)\n"
    "{\n    const long i = get_global_id(0);\n    a[i] += step * factor + (b ? b[i] : 0);\n}\n";

static const tilek_backend *backend;
static tilek_device *device;
static tilek_entry *entry;
static tilek_message why;
static const tilek_opencl_api *real;
static int sets, builds, refusals;
static const char *said = "";

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s is false; %s (%d arguments set)\n", __FILE__, __LINE__, #condition, why.text, sets); \
            exit(1); \
        } \
    } while (0)

static cl_int counted(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    ++sets;
    return real->clSetKernelArg(kernel, index, size, value);
}

/* A compiler that refuses a program `refusals` times. */
static cl_int refusing(cl_program program, cl_uint count, const cl_device_id *devices, const char *options, void (*done)(cl_program, void *), void *data)
{
    return ++builds <= refusals ? CL_BUILD_PROGRAM_FAILURE : real->clBuildProgram(program, count, devices, options, done, data);
}

static cl_int telling(cl_program program, cl_device_id id, cl_uint what, size_t size, void *answer, size_t *length)
{
    (void)program, (void)id, (void)what;
    if (length != NULL)
        *length = strlen(said) + 1;
    if (answer != NULL)
        (void)snprintf(answer, size, "%s", said);
    return CL_SUCCESS;
}

/* What comes of a program that is refused so often, with these words; it is asked for `expected` times. */
static void build_refused(const tilek_build *build, int times, const char *words, int expected, tilek_status result)
{
    tilek_program *program;
    int from_cache;
    builds = 0;
    refusals = times;
    said = words;
    CHECK(backend->build(device, build, &program, &from_cache, &why) == result);
    CHECK(builds == expected);
    backend->drop(device, program);
}

static tilek_buffer filled(int64_t value)
{
    int64_t values[COUNT];
    tilek_buffer buffer;
    for (int k = 0; k < COUNT; ++k)
        values[k] = value;
    CHECK(backend->allocate(device, sizeof values, &buffer, &why) == TILEK_OK);
    CHECK(backend->write(device, 0, &buffer, 0, values, sizeof values, &why) == TILEK_OK);
    return buffer;
}

/* A launch that sets `expected` arguments; all of `a` is `result` then. */
static void add(const tilek_buffer *a, int64_t step, int factor, const tilek_buffer *b, int expected, int64_t result)
{
    int64_t values[COUNT];
    const tilek_argument arguments[] = {{TILEK_ARGUMENT_BUFFER, a, NULL, 0}, {TILEK_ARGUMENT_VALUE, NULL, &step, sizeof step},
                                        {TILEK_ARGUMENT_VALUE, NULL, &factor, sizeof factor}, {TILEK_ARGUMENT_BUFFER, b, NULL, 0}};
    sets = 0;
    CHECK(backend->run(device, 0, entry, 4, arguments, (int64_t[]){COUNT / 8, 1, 1}, (int64_t[]){8, 1, 1}, NULL, &why) == TILEK_OK);
    CHECK(sets == expected);
    CHECK(backend->read(device, 0, a, 0, values, sizeof values, &why) == TILEK_OK);
    for (int k = 0; k < COUNT; ++k)
        CHECK(values[k] == result);
}

int main(void)
{
    const tilek_build build = {.name = "add", .file = "opencl_arguments.c", .source = text};
    const tilek_buffer nothing = {0};
    tilek_program *program;
    int from_cache;
    int64_t most;
    backend = tilek_opencl_backend();
    if (backend->open(-1, NULL, &device, &why) != TILEK_OK) {
        printf("%s\n", why.text);
        return SKIPPED;
    }
    tilek_opencl_api api = *device->api;
    real = device->api;
    api.clSetKernelArg = counted;
    api.clBuildProgram = refusing;
    api.clGetProgramBuildInfo = telling;
    device->api = &api;
    build_refused(&build, 1, "\n", 2, TILEK_OK);
    build_refused(&build, 2, "", 2, TILEK_COMPILE);
    build_refused(&build, 1, "no such type", 1, TILEK_COMPILE);
    refusals = 0;
    CHECK(backend->build(device, &build, &program, &from_cache, &why) == TILEK_OK);
    CHECK(backend->find(device, program, "add", &entry, &most, &why) == TILEK_OK);
    tilek_buffer a = filled(0), b = filled(1000), other = filled(5);
    add(&a, 3, 2, &nothing, 4, 6);
    add(&a, 3, 2, &nothing, 0, 12);
    add(&a, 4, 2, &nothing, 1, 20);
    add(&a, 4, 3, &b, 2, 1032);
    add(&b, 4, 3, &a, 2, 2044);
    add(&other, 4, 3, &a, 1, 1049);
    backend->release(device, &b); /* its handle may be that of the next buffer */
    b = filled(7);
    add(&b, 4, 3, &nothing, 4, 19);
    add(&b, 4, 3, &nothing, 0, 31);
    backend->release(device, &a);
    backend->release(device, &b);
    backend->release(device, &other);
    backend->drop(device, program);
    device->api = real;
    backend->shutdown();
    return 0;
}
