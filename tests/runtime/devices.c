/* devices.c: runs the device back ends as the runtime's core does. Usage: devices BACKEND CASE.
 *
 * Exit status: 0 passed, 1 failed (a sentence on stderr), 77 the back end has no device (a sentence on stdout). */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/cuda_device.h"
#include "device/opencl/opencl_device.h"

enum { SKIPPED = 77, COUNT = 1000, GROUP = 32 };

static const tilek_backend *backend;
static tilek_device *device;
static tilek_message why;

/* ---- Helpers ----------------------------------------------------------------------------------------------------- */

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s is false; %s\n", __FILE__, __LINE__, #condition, why.text); \
            exit(1); \
        } \
    } while (0)

/* One text for both dialects. */
static const char opencl_prelude[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "#define ENTRY __kernel void\n#define GLOBAL __global\n#define SHARED __local\n#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)\n"
    "#define GROUP_ID get_group_id(0)\n#define GROUPS get_num_groups(0)\n#define LOCAL_ID get_local_id(0)\n#define WORKERS get_local_size(0)\n";
static const char cuda_prelude[] =
    "#define ENTRY extern \"C\" __global__ void\n#define GLOBAL\n#define SHARED __shared__\n#define BARRIER __syncthreads()\n"
    "#define GROUP_ID blockIdx.x\n#define GROUPS gridDim.x\n#define LOCAL_ID threadIdx.x\n#define WORKERS blockDim.x\n";

static const char add_text[] =
    "#ifdef TILEK_SPECIALIZED\n#define SIZES\n#else\n#define SIZES , const long count, const long shift\n#endif\n"
    "ENTRY add(GLOBAL const double *a, GLOBAL const double *b, GLOBAL double *c, const float scale SIZES)\n{\n"
    "    for (long i = (long)GROUP_ID * WORKERS + LOCAL_ID; i < count; i += (long)GROUPS * WORKERS)\n"
    "        c[i] = a[i] * scale + b[i] + shift;\n}\n";
static const char sum_text[] =
    "ENTRY sum(GLOBAL const long *values, GLOBAL long *partials, const long count)\n{\n"
    "    SHARED long tree[32];\n    long partial = 0;\n"
    "    for (long i = (long)GROUP_ID * WORKERS + LOCAL_ID; i < count; i += (long)GROUPS * WORKERS)\n        partial += values[i];\n"
    "    tree[LOCAL_ID] = partial;\n"
    "    for (int width = 16; width > 0; width /= 2) {\n        BARRIER;\n        if (LOCAL_ID < width)\n            tree[LOCAL_ID] += tree[LOCAL_ID + width];\n    }\n"
    "    if (LOCAL_ID == 0)\n        partials[GROUP_ID] = tree[0];\n}\n";
static const char contract_text[] =
    "ENTRY muladd(GLOBAL const double *a, GLOBAL const double *b, GLOBAL const double *c, GLOBAL double *r, const long count)\n{\n"
    "    for (long i = (long)GROUP_ID * WORKERS + LOCAL_ID; i < count; i += (long)GROUPS * WORKERS)\n        r[i] = a[i] * b[i] + c[i];\n}\n";
static const char divergent_text[] =
    "ENTRY divergent(GLOBAL long *values)\n{\n    if (LOCAL_ID < 3)\n        BARRIER;\n    values[LOCAL_ID] = 1;\n}\n";

static const char stray_text[] = "ENTRY stray(GLOBAL long *values)\n{\n    values[LOCAL_ID + 1] = 1;\n}\n";

static char *dialect(const char *text)
{
    const char *prelude = strcmp(backend->name, "CUDA") == 0 ? cuda_prelude : opencl_prelude;
    char *whole = malloc(strlen(prelude) + strlen(text) + 1);
    CHECK(whole != NULL);
    strcpy(whole, prelude);
    strcat(whole, text);
    return whole;
}

static tilek_status build_as(const char *text, unsigned flags, int constants, const tilek_constant values[], tilek_program **program, int *from_cache)
{
    char *source = dialect(text);
    const tilek_build build = {.name = "test", .file = "devices.c", .source = source, .flags = flags, .specialized = constants > 0,
                               .constant_count = constants, .constants = values};
    const tilek_status status = backend->build(device, &build, program, from_cache, &why);
    free(source);
    return status;
}

static tilek_buffer filled(const void *bytes, size_t size)
{
    tilek_buffer buffer;
    CHECK(backend->allocate(device, size, &buffer, &why) == TILEK_OK);
    CHECK(backend->write(device, 0, &buffer, 0, bytes, size, &why) == TILEK_OK);
    return buffer;
}

static tilek_argument buffer_argument(const tilek_buffer *buffer) { return (tilek_argument){.kind = TILEK_ARGUMENT_BUFFER, .buffer = buffer}; }
static tilek_argument value_argument(const void *value, size_t size) { return (tilek_argument){.kind = TILEK_ARGUMENT_VALUE, .value = value, .size = size}; }

static void run_and_wait(int queue, tilek_entry *entry, int count, const tilek_argument arguments[], int64_t groups, int64_t *nanoseconds)
{
    CHECK(backend->run(device, queue, entry, count, arguments, (int64_t[]){groups, 1, 1}, (int64_t[]){GROUP, 1, 1}, nanoseconds, &why) == TILEK_OK);
    CHECK(backend->wait(device, queue, &why) == TILEK_OK);
}

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

static void add_on(int queue, tilek_program *program, int specialized)
{
    double a[COUNT], b[COUNT], c[COUNT];
    const int64_t count = COUNT, shift = -7;
    const float scale = 0.5f;
    int64_t most = 0, nanoseconds = -1;
    tilek_entry *entry;
    for (int i = 0; i < COUNT; ++i)
        a[i] = i * 0.25, b[i] = 1000 - i, c[i] = -1;
    tilek_buffer buffers[] = {filled(a, sizeof a), filled(b, sizeof b), filled(c, sizeof c)};
    CHECK(backend->find(device, program, "add", &entry, &most, &why) == TILEK_OK && most >= GROUP);
    const tilek_argument arguments[] = {buffer_argument(&buffers[0]), buffer_argument(&buffers[1]), buffer_argument(&buffers[2]),
                                        value_argument(&scale, sizeof scale), value_argument(&count, sizeof count), value_argument(&shift, sizeof shift)};
    run_and_wait(queue, entry, specialized ? 4 : 6, arguments, 4, queue == 0 ? &nanoseconds : NULL);
    CHECK(queue != 0 || nanoseconds >= 0);
    CHECK(backend->read(device, queue, &buffers[2], 0, c, sizeof c, &why) == TILEK_OK);
    for (int i = 0; i < COUNT; ++i)
        CHECK(c[i] == a[i] * scale + b[i] - 7);
    double part[2];
    CHECK(backend->read(device, queue, &buffers[2], 5 * sizeof(double), part, sizeof part, &why) == TILEK_OK && part[0] == c[5] && part[1] == c[6]);
    for (int k = 0; k < 3; ++k) {
        backend->release(device, &buffers[k]);
        CHECK(buffers[k].object == NULL && buffers[k].address == 0 && buffers[k].bytes == 0);
        backend->release(device, &buffers[k]);
    }
}

static void case_add(void)
{
    tilek_program *program;
    int from_cache = -1;
    const tilek_constant constants[] = {{"count", COUNT, 0}, {"shift", -7, 0}};
    CHECK(build_as(add_text, TILEK_USES_DOUBLE, 0, NULL, &program, &from_cache) == TILEK_OK);
    add_on(0, program, 0);
    add_on(3, program, 0);
    backend->drop(device, program);
    CHECK(build_as(add_text, TILEK_USES_DOUBLE, 2, constants, &program, &from_cache) == TILEK_OK);
    add_on(0, program, 1);
    backend->drop(device, program);
    printf("from_cache=%d\n", from_cache);
}

static void case_sum(void)
{
    int64_t values[COUNT], partials[5], total = 0;
    const int64_t count = COUNT;
    tilek_program *program;
    tilek_entry *entry;
    int from_cache;
    int64_t most;
    for (int i = 0; i < COUNT; ++i)
        values[i] = i * (int64_t)1000000007;
    tilek_buffer in = filled(values, sizeof values), out = filled(partials, sizeof partials);
    CHECK(build_as(sum_text, 0, 0, NULL, &program, &from_cache) == TILEK_OK);
    CHECK(backend->find(device, program, "sum", &entry, &most, &why) == TILEK_OK);
    const tilek_argument arguments[] = {buffer_argument(&in), buffer_argument(&out), value_argument(&count, sizeof count)};
    run_and_wait(0, entry, 3, arguments, 5, NULL);
    CHECK(backend->read(device, 0, &out, 0, partials, sizeof partials, &why) == TILEK_OK);
    for (int k = 0; k < 5; ++k)
        total += partials[k];
    CHECK(total == (int64_t)COUNT * (COUNT - 1) / 2 * 1000000007);
    backend->release(device, &in);
    backend->release(device, &out);
    backend->drop(device, program);
}

/* a*b rounds up to 1 where it is not fused with the addition of -1, which would leave -2^-60. */
static void case_contract(void)
{
    double a[COUNT], b[COUNT], c[COUNT], r[COUNT];
    const int64_t count = COUNT;
    tilek_program *program;
    tilek_entry *entry;
    int from_cache;
    int64_t most;
    for (int i = 0; i < COUNT; ++i)
        a[i] = 1 + 0x1p-30, b[i] = 1 - 0x1p-30, c[i] = -1, r[i] = 5;
    tilek_buffer buffers[] = {filled(a, sizeof a), filled(b, sizeof b), filled(c, sizeof c), filled(r, sizeof r)};
    CHECK(build_as(contract_text, TILEK_USES_DOUBLE, 0, NULL, &program, &from_cache) == TILEK_OK);
    CHECK(backend->find(device, program, "muladd", &entry, &most, &why) == TILEK_OK);
    const tilek_argument arguments[] = {buffer_argument(&buffers[0]), buffer_argument(&buffers[1]), buffer_argument(&buffers[2]),
                                        buffer_argument(&buffers[3]), value_argument(&count, sizeof count)};
    run_and_wait(0, entry, 5, arguments, 4, NULL);
    CHECK(backend->read(device, 0, &buffers[3], 0, r, sizeof r, &why) == TILEK_OK);
    for (int i = 0; i < COUNT; ++i)
        CHECK(r[i] == 0);
    for (int k = 0; k < 4; ++k)
        backend->release(device, &buffers[k]);
    backend->drop(device, program);
}

static void case_refusals(void)
{
    tilek_program *program;
    tilek_entry *entry;
    tilek_device *other;
    tilek_buffer buffer;
    int from_cache;
    int64_t most;
    const tilek_limits *limits = backend->limits(device);
    CHECK(build_as("ENTRY broken(GLOBAL long *a)\n{\n    a[0] = not_declared_anywhere;\n}\n", 0, 0, NULL, &program, &from_cache) == TILEK_COMPILE);
    CHECK(strstr(why.text, "not_declared_anywhere") != NULL);
    CHECK(build_as(sum_text, 0, 0, NULL, &program, &from_cache) == TILEK_OK);
    CHECK(backend->find(device, program, "absent", &entry, &most, &why) == TILEK_COMPILE && strstr(why.text, "absent") != NULL);
    backend->drop(device, program);
    CHECK(backend->open(1000, NULL, &other, &why) == TILEK_NO_DEVICE && strstr(why.text, "1000") != NULL);
    CHECK(backend->open(-1, "no such name", &other, &why) == TILEK_NO_DEVICE && strstr(why.text, "no such name") != NULL);
    CHECK(backend->open(-1, limits->name, &other, &why) == TILEK_OK && other == device);
    CHECK(backend->open(-1, NULL, &other, &why) == TILEK_OK && other == device);
    const tilek_status status = backend->allocate(device, (size_t)1 << 60, &buffer, &why);
    CHECK(status == TILEK_NO_MEMORY || status == TILEK_UNSUPPORTED);
    CHECK(why.text[0] != '\0' && buffer.bytes == 0);
    CHECK(backend->wait(device, TILEK_DEVICE_QUEUES, &why) == TILEK_INVALID);
}

/* As many buffers as fit, each of the largest size, then one too many; and one that is larger than any may be. */
static void case_memory(void)
{
    enum { MOST = 1000 };
    static tilek_buffer buffers[MOST];
    const tilek_limits *limits = backend->limits(device);
    int count = 0;
    tilek_status status = TILEK_OK;
    CHECK(backend->allocate(device, (size_t)limits->allocation + 1, &buffers[0], &why) != TILEK_OK);
    if (limits->allocation < limits->memory)
        CHECK(backend->allocate(device, (size_t)limits->allocation + 1, &buffers[0], &why) == TILEK_UNSUPPORTED && strstr(why.text, "larger than") != NULL);
    while (count < MOST && (status = backend->allocate(device, (size_t)limits->allocation, &buffers[count], &why)) == TILEK_OK)
        ++count;
    CHECK(status == TILEK_NO_MEMORY && (uint64_t)count <= limits->memory / limits->allocation);
    while (count > 0)
        backend->release(device, &buffers[--count]);
    CHECK(backend->allocate(device, 1 << 20, &buffers[0], &why) == TILEK_OK);
    backend->release(device, &buffers[0]);
}

/* a = a * 0.5 + a. */
static void grow(tilek_entry *entry, const tilek_buffer *a, int queue)
{
    const float half = 0.5f;
    const int64_t count = COUNT, shift = 0;
    const tilek_argument arguments[] = {buffer_argument(a), buffer_argument(a), buffer_argument(a), value_argument(&half, sizeof half), value_argument(&count, sizeof count),
                                        value_argument(&shift, sizeof shift)};
    CHECK(backend->run(device, queue, entry, 6, arguments, (int64_t[]){4, 1, 1}, (int64_t[]){GROUP, 1, 1}, NULL, &why) == TILEK_OK);
}

static void expect_first(const tilek_buffer *a, double value)
{
    double first;
    CHECK(backend->read(device, 0, a, 0, &first, sizeof first, &why) == TILEK_OK && first == value);
}

static void *grow_elsewhere(void *entry)
{
    double ones[COUNT];
    for (int i = 0; i < COUNT; ++i)
        ones[i] = 1;
    tilek_buffer a = filled(ones, sizeof ones);
    CHECK(backend->record(device, &why) == TILEK_UNSUPPORTED);
    grow(entry, &a, 0);
    expect_first(&a, 1.5);
    backend->release(device, &a);
    return NULL;
}

/* Recorded launches run when they are played, in any queue; meanwhile other threads use the device as ever. */
static void case_record(void)
{
    double ones[COUNT];
    int64_t most;
    int from_cache;
    tilek_program *program;
    tilek_entry *entry;
    tilek_graph *graph, *empty;
    pthread_t other;
    if (!backend->limits(device)->records) {
        CHECK(backend->record == NULL || backend->record(device, &why) == TILEK_UNSUPPORTED);
        printf("no recordings\n");
        return;
    }
    for (int i = 0; i < COUNT; ++i)
        ones[i] = 1;
    tilek_buffer a = filled(ones, sizeof ones);
    CHECK(build_as(add_text, TILEK_USES_DOUBLE, 0, NULL, &program, &from_cache) == TILEK_OK);
    CHECK(backend->find(device, program, "add", &entry, &most, &why) == TILEK_OK);
    grow(entry, &a, 0);
    CHECK(backend->record(device, &why) == TILEK_OK);
    for (int k = 0; k < 2; ++k)
        grow(entry, &a, TILEK_RECORDING_QUEUE);
    CHECK(pthread_create(&other, NULL, grow_elsewhere, entry) == 0 && pthread_join(other, NULL) == 0);
    CHECK(backend->recorded(device, &graph, &why) == TILEK_OK && graph != NULL);
    expect_first(&a, 1.5);
    for (int queue = 0; queue < 2; ++queue) {
        CHECK(backend->play(device, 3 * queue, graph, &why) == TILEK_OK && backend->wait(device, 3 * queue, &why) == TILEK_OK);
        expect_first(&a, queue == 0 ? 1.5 * 2.25 : 1.5 * 2.25 * 2.25);
    }
    CHECK(backend->record(device, &why) == TILEK_OK && backend->recorded(device, &empty, &why) == TILEK_OK);
    CHECK(backend->run(device, TILEK_RECORDING_QUEUE, entry, 0, NULL, (int64_t[]){1, 1, 1}, (int64_t[]){1, 1, 1}, NULL, &why) == TILEK_INVALID);
    CHECK(backend->play(device, 0, empty, &why) == TILEK_OK && backend->wait(device, 0, &why) == TILEK_OK);
    backend->forget(device, graph);
    backend->forget(device, empty);
    backend->release(device, &a);
    backend->drop(device, program);
}

/* A recording that is disturbed by what CUDA forbids its thread leaves nothing, and the next one goes well. */
static void case_spoiled(void)
{
    const int64_t value = 7;
    tilek_graph *graph;
    tilek_buffer buffer;
    CHECK(backend->record(device, &why) == TILEK_OK);
    CHECK(backend->allocate(device, sizeof value, &buffer, &why) != TILEK_OK);
    CHECK(backend->recorded(device, &graph, &why) != TILEK_OK && graph == NULL);
    buffer = filled(&value, sizeof value);
    backend->release(device, &buffer);
    CHECK(backend->record(device, &why) == TILEK_OK && backend->recorded(device, &graph, &why) == TILEK_OK);
    backend->forget(device, graph);
}

static void *launch_often(void *argument)
{
    for (int k = 0; k < 5; ++k)
        add_on(1, argument, 0);
    return NULL;
}

/* One entry of one program in several threads, each with its own arguments. */
static void case_threads(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    tilek_program *program;
    int from_cache;
    CHECK(build_as(add_text, TILEK_USES_DOUBLE, 0, NULL, &program, &from_cache) == TILEK_OK);
    for (int k = 0; k < THREADS; ++k)
        CHECK(pthread_create(&threads[k], NULL, launch_often, program) == 0);
    for (int k = 0; k < THREADS; ++k)
        CHECK(pthread_join(threads[k], NULL) == 0);
    backend->drop(device, program);
}

/* Kernels that are wrong, for the stand-in: a device may hang or be quietly wrong. */
static void loses_device(const char *text, const char *name)
{
    int64_t values[GROUP] = {0}, most;
    tilek_program *program;
    tilek_entry *entry;
    int from_cache;
    tilek_buffer buffer = filled(values, sizeof values);
    CHECK(build_as(text, 0, 0, NULL, &program, &from_cache) == TILEK_OK);
    CHECK(backend->find(device, program, name, &entry, &most, &why) == TILEK_OK);
    const tilek_argument argument = buffer_argument(&buffer);
    tilek_status status = backend->run(device, 0, entry, 1, &argument, (int64_t[]){1, 1, 1}, (int64_t[]){GROUP, 1, 1}, NULL, &why);
    if (status == TILEK_OK)
        status = backend->wait(device, 0, &why);
    CHECK(status == TILEK_DEVICE_LOST);
    CHECK(backend->read(device, 0, &buffer, 0, values, sizeof values, &why) == TILEK_DEVICE_LOST && values[0] == 0);
    backend->release(device, &buffer);
    backend->drop(device, program);
}

static void case_divergent(void) { loses_device(divergent_text, "divergent"); }
static void case_stray(void) { loses_device(stray_text, "stray"); }

static void case_describe(void)
{
    const tilek_limits *limits = backend->limits(device);
    CHECK(limits->name[0] != '\0' && limits->driver[0] != '\0' && limits->compute_units > 0 && limits->group_total > 0);
    CHECK(limits->grid[0] > 0 && limits->group[0] > 0 && limits->memory > 0 && limits->allocation > 0);
    printf("name=%s\ndriver=%s\ndouble=%d gpu=%d units=%lld group=%lld\n", limits->name, limits->driver, limits->has_double, limits->is_gpu,
           (long long)limits->compute_units, (long long)limits->group_total);
}

int main(int count, char **words)
{
    static const struct { const char *name; void (*run)(void); } cases[] = {
        {"add", case_add}, {"sum", case_sum}, {"contract", case_contract}, {"refusals", case_refusals},
        {"threads", case_threads}, {"record", case_record}, {"spoiled", case_spoiled}, {"memory", case_memory}, {"divergent", case_divergent}, {"stray", case_stray}, {"describe", case_describe}};
    if (count != 3)
        return 2;
    backend = strcmp(words[1], "cuda") == 0 ? tilek_cuda_backend() : tilek_opencl_backend();
    const tilek_status status = backend->open(-1, NULL, &device, &why);
    if (status != TILEK_OK) {
        printf("%s\n", why.text);
        return status == TILEK_NO_DEVICE ? SKIPPED : 1;
    }
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k)
        if (strcmp(cases[k].name, words[2]) == 0) {
            cases[k].run();
            backend->shutdown();
            return 0;
        }
    return 2;
}
