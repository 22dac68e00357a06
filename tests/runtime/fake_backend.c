/* fake_backend.c: a device in host memory. */
#define _POSIX_C_SOURCE 200809L
#include "fake_backend.h"

#include "base/message.h"
#include "device/cuda/cuda_device.h"
#include "device/opencl/opencl_device.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct kept_call kept_call;
struct tilek_device { kept_call *waiting[TILEK_DEVICE_QUEUES]; }; /* guarded by `mutex` */
struct tilek_entry { const fake_kernel *kernel; const tilek_program *program; };
struct tilek_program { int specialized, constant_count, argument_count; tilek_constant constants[64]; tilek_number_argument arguments[64]; tilek_entry entries[8]; int entry_count; };

enum { MOST_DEVICES = 4, HEADER = 16 };

fake_device_state fake = {.is_gpu = 1, .devices = 1};
static struct tilek_device devices[MOST_DEVICES];
static fake_kernel kernels[32];
static int kernel_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void fake_register(const tilek_launch_shape *launch, void (*body)(const fake_call *call)) { kernels[kernel_count++] = (fake_kernel){launch, body}; }

/* Counts a call of the interface that may fail; whether it is the one that does. */
static int counts_down(int *counter, int *countdown)
{
    int fails;
    (void)pthread_mutex_lock(&mutex);
    ++*counter;
    ++fake.calls;
    fails = *countdown > 0 && --*countdown == 0;
    fails |= fake.fail_call > 0 && --fake.fail_call == 0;
    (void)pthread_mutex_unlock(&mutex);
    return fails;
}

/* The same of a call that has no countdown of its own. */
static int call_fails(void)
{
    int counter = 0, never = 0;
    return counts_down(&counter, &never);
}

static tilek_status fail(tilek_message *why, tilek_status status, const char *step)
{
    tilek_say(why, "the fake device fails to %s", step);
    return status;
}

static tilek_status open_device(int64_t number, const char *name_part, tilek_device **device, tilek_message *why)
{
    (void)name_part;
    if (call_fails() || fake.absent || number >= fake.devices) return fail(why, TILEK_NO_DEVICE, "exist");
    *device = &devices[number > 0 ? number : 0];
    return TILEK_OK;
}

static tilek_limits known;

static void know_limits(void)
{
    strcpy(known.name, "fake");
    known.is_gpu = fake.is_gpu;
    known.shares_memory = fake.shares_memory;
    known.has_double = !fake.no_double;
    known.records = 1;
    known.compute_units = 4;
    known.group_total = 1024;
    known.bandwidth = 1e11;
    for (int dimension = 0; dimension < 3; ++dimension) {
        known.grid[dimension] = 7; /* small: gangs must wrap */
        known.group[dimension] = 1024;
    }
}

static const tilek_limits *limits(const tilek_device *device)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)device;
    (void)pthread_once(&once, know_limits);
    return &known;
}

static tilek_status allocate(tilek_device *device, size_t bytes, tilek_buffer *buffer, tilek_message *why)
{
    char *block;
    if (counts_down(&fake.allocations, &fake.fail_allocate)) return fail(why, TILEK_NO_MEMORY, "allocate");
    block = malloc(HEADER + bytes);
    if (block == NULL) return fail(why, TILEK_NO_MEMORY, "allocate");
    memcpy(block, &device, sizeof device);
    (void)pthread_mutex_lock(&mutex);
    if (bytes > fake.largest) fake.largest = bytes;
    (void)pthread_mutex_unlock(&mutex);
    buffer->object = memset(block + HEADER, 0x5a, bytes); /* what a fresh buffer holds must not matter */
    buffer->bytes = bytes;
    (void)__atomic_add_fetch(&fake.live_buffers, 1, __ATOMIC_RELAXED);
    return TILEK_OK;
}

/* A device that is given another one's memory ends the program. */
static void check_owner(const tilek_device *device, const tilek_buffer *buffer)
{
    const tilek_device *owner;
    if (buffer->object == NULL || buffer->address != 0) return;
    memcpy(&owner, (const char *)buffer->object - HEADER, sizeof owner);
    if (owner != device) abort();
}

/* `address` marks what is not to be freed. */
static tilek_status share(tilek_device *device, void *start, size_t bytes, tilek_buffer *buffer, tilek_message *why)
{
    (void)device;
    if (call_fails()) return fail(why, TILEK_NO_MEMORY, "share");
    *buffer = (tilek_buffer){start, 1, bytes};
    return TILEK_OK;
}

static tilek_status reclaim(tilek_device *device, int queue, const tilek_buffer *buffer, tilek_message *why)
{
    (void)device, (void)queue;
    if (call_fails()) return fail(why, TILEK_DEVICE_LOST, "reclaim");
    fake.reclaims += buffer->address == 1;
    return TILEK_OK;
}

static void release(tilek_device *device, tilek_buffer *buffer)
{
    (void)device;
    if (buffer->address != 0) memset(buffer, 0, sizeof *buffer);
    if (buffer->object != NULL) (void)__atomic_sub_fetch(&fake.live_buffers, 1, __ATOMIC_RELAXED);
    if (buffer->object != NULL) free((char *)buffer->object - HEADER);
    memset(buffer, 0, sizeof *buffer);
}

static void catch_up(tilek_device *device, int queue);

static tilek_status write_buffer(tilek_device *device, int queue, const tilek_buffer *buffer, size_t offset, const void *source, size_t bytes, tilek_message *why)
{
    catch_up(device, queue);
    check_owner(device, buffer);
    if (counts_down(&fake.writes, &fake.fail_write) || offset + bytes > buffer->bytes) return fail(why, TILEK_DEVICE_LOST, "write");
    memcpy((char *)buffer->object + offset, source, bytes);
    return TILEK_OK;
}

static tilek_status read_buffer(tilek_device *device, int queue, const tilek_buffer *buffer, size_t offset, void *destination, size_t bytes, tilek_message *why)
{
    catch_up(device, queue);
    check_owner(device, buffer);
    if (counts_down(&fake.reads, &fake.fail_read) || offset + bytes > buffer->bytes) return fail(why, TILEK_DEVICE_LOST, "read");
    memcpy(destination, (const char *)buffer->object + offset, bytes);
    return TILEK_OK;
}

static tilek_status build(tilek_device *device, const tilek_build *wanted, tilek_program **program, int *from_cache, tilek_message *why)
{
    static int never;
    (void)device;
    const int fails = counts_down(&fake.builds, &never);
    fake.parametric += !wanted->specialized;
    for (int index = 0; index < wanted->unreached_count; ++index) fake.unreached += strcmp(wanted->unreached[index], "add") == 0;
    *from_cache = 0;
    if (fails) return fail(why, TILEK_DEVICE_LOST, "build");
    if (fake.refuse_build) return fail(why, TILEK_COMPILE, "compile");
    *program = calloc(1, sizeof **program);
    if (*program == NULL) return fail(why, TILEK_NO_MEMORY, "build");
    (void)__atomic_add_fetch(&fake.live_programs, 1, __ATOMIC_RELAXED);
    (*program)->specialized = wanted->specialized;
    (*program)->constant_count = wanted->constant_count;
    if (wanted->constant_count > 0) memcpy((*program)->constants, wanted->constants, (size_t)wanted->constant_count * sizeof(tilek_constant));
    (*program)->argument_count = wanted->argument_count;
    if (wanted->argument_count > 0) memcpy((*program)->arguments, wanted->arguments, (size_t)wanted->argument_count * sizeof(tilek_number_argument));
    return TILEK_OK;
}

static void drop(tilek_device *device, tilek_program *program)
{
    (void)device;
    (void)__atomic_sub_fetch(&fake.live_programs, 1, __ATOMIC_RELAXED);
    free(program);
}

static tilek_status find(tilek_device *device, tilek_program *program, const char *name, tilek_entry **entry, int64_t *group_total, tilek_message *why)
{
    (void)device;
    if (call_fails()) return fail(why, TILEK_DEVICE_LOST, "find an entry");
    *group_total = fake.group_total > 0 ? fake.group_total : 1024;
    for (int index = 0; index < kernel_count; ++index) {
        if (strcmp(kernels[index].launch->entry, name) != 0) continue;
        *entry = &program->entries[program->entry_count++];
        **entry = (tilek_entry){&kernels[index], program};
        return TILEK_OK;
    }
    return fail(why, TILEK_COMPILE, "find the entry");
}

static int64_t constant(const tilek_program *program, const char *name)
{
    for (int index = 0; index < program->constant_count; ++index)
        if (strcmp(program->constants[index].name, name) == 0) return program->constants[index].value;
    abort(); /* the core forgot a constant */
}

static int is_argument(const tilek_program *program, const char *entry, const char *name)
{
    for (int index = 0; index < program->argument_count; ++index)
        if (strcmp(program->arguments[index].entry, entry) == 0 && strcmp(program->arguments[index].name, name) == 0) return 1;
    return 0;
}

/* Gives every parameter its value, from the arguments or the program's constants. */
static void bind(const tilek_entry *entry, int argument_count, const tilek_argument arguments[], fake_call *call)
{
    const tilek_launch_shape *launch = entry->kernel->launch;
    int next = 0;
    for (int index = 0; index < launch->parameter_count; ++index) {
        const tilek_parameter *parameter = &launch->parameters[index];
        if (entry->program->specialized && parameter->constant != NULL && !is_argument(entry->program, launch->entry, parameter->constant)) {
            call->numbers[index] = constant(entry->program, parameter->constant);
            continue;
        }
        if (arguments[next].kind == TILEK_ARGUMENT_BUFFER) call->pointers[index] = arguments[next].buffer->object;
        else if (parameter->kind == TILEK_PARAMETER_SCALAR || parameter->kind == TILEK_PARAMETER_VALUE) call->scalars[index] = arguments[next].value;
        else memcpy(&call->numbers[index], arguments[next].value, sizeof call->numbers[index]);
        ++next;
    }
    if (next != argument_count) abort(); /* the core passed another number of arguments than the entry has */
}

/* All gangs; `fails`: half of them. */
static void run_gangs(const tilek_entry *entry, fake_call *call, int fails)
{
    for (call->gang[2] = 0; call->gang[2] < call->groups[2]; ++call->gang[2])
        for (call->gang[1] = 0; call->gang[1] < call->groups[1]; ++call->gang[1])
            for (call->gang[0] = 0; call->gang[0] < (fails ? 1 : call->groups[0]); ++call->gang[0]) entry->kernel->body(call);
}

/* ---- Launches that wait, and recordings ------------------------------------------------------------------------------- */

struct kept_call { kept_call *next; const tilek_entry *entry; fake_call call; char bytes[32][16]; };

struct tilek_graph { kept_call *first, **end; int playing; };

static tilek_graph *recording; /* guarded by `mutex`, and the recording thread's alone until it ends */

static tilek_status record(tilek_device *device, tilek_message *why)
{
    tilek_graph *made = NULL;
    int busy;
    (void)device;
    if (counts_down(&fake.records, &fake.fail_record)) return fail(why, TILEK_DEVICE_LOST, "record");
    (void)pthread_mutex_lock(&mutex);
    busy = recording != NULL;
    if (!busy && (made = recording = calloc(1, sizeof *made)) != NULL) made->end = &made->first;
    (void)pthread_mutex_unlock(&mutex);
    return busy ? fail(why, TILEK_UNSUPPORTED, "record two at once") : made != NULL ? TILEK_OK : fail(why, TILEK_NO_MEMORY, "record");
}

/* Values are copied: the core's are gone when the launch runs. */
static kept_call *keep(const tilek_entry *entry, const fake_call *call, int argument_count, const tilek_argument arguments[])
{
    kept_call *kept = calloc(1, sizeof *kept);
    if (kept == NULL) abort();
    kept->entry = entry;
    kept->call = *call;
    for (int argument = 0; argument < argument_count; ++argument)
        for (int index = 0; index < 32; ++index)
            if (arguments[argument].kind == TILEK_ARGUMENT_VALUE && call->scalars[index] == arguments[argument].value)
                kept->call.scalars[index] = memcpy(kept->bytes[index], arguments[argument].value, arguments[argument].size);
    return kept;
}

/* Runs what waits in a queue. */
static void catch_up(tilek_device *device, int queue)
{
    kept_call *next;
    (void)pthread_mutex_lock(&mutex);
    next = device->waiting[queue];
    device->waiting[queue] = NULL;
    (void)pthread_mutex_unlock(&mutex);
    while (next != NULL) {
        kept_call *const one = next;
        run_gangs(one->entry, &one->call, 0);
        next = one->next;
        free(one);
    }
}

static void leave_waiting(tilek_device *device, int queue, kept_call *kept)
{
    kept_call **end;
    (void)pthread_mutex_lock(&mutex);
    for (end = &device->waiting[queue]; *end != NULL;) end = &(*end)->next;
    *end = kept;
    (void)pthread_mutex_unlock(&mutex);
}

static tilek_status enter(tilek_device *device, tilek_message *why)
{
    (void)device;
    if (call_fails()) return fail(why, TILEK_DEVICE_LOST, "be entered");
    (void)__atomic_add_fetch(&fake.entered, 1, __ATOMIC_RELAXED);
    return TILEK_OK;
}

static void leave(tilek_device *device)
{
    (void)device;
    if (__atomic_sub_fetch(&fake.entered, 1, __ATOMIC_RELAXED) < 0) abort();
}

static void forget(tilek_device *device, tilek_graph *graph)
{
    (void)device;
    if (__atomic_exchange_n(&graph->playing, 1, __ATOMIC_ACQ_REL)) abort();
    while (graph->first != NULL) {
        kept_call *kept = graph->first;
        graph->first = kept->next;
        free(kept);
    }
    free(graph);
    (void)__atomic_sub_fetch(&fake.live_graphs, 1, __ATOMIC_RELAXED);
}

static tilek_status recorded(tilek_device *device, tilek_graph **graph, tilek_message *why)
{
    static int ends;
    const int fails = counts_down(&ends, &fake.fail_recorded);
    (void)__atomic_add_fetch(&fake.live_graphs, 1, __ATOMIC_RELAXED);
    (void)pthread_mutex_lock(&mutex);
    *graph = recording;
    recording = NULL;
    (void)pthread_mutex_unlock(&mutex);
    if (!fails) return TILEK_OK;
    forget(device, *graph);
    *graph = NULL;
    return fail(why, TILEK_DEVICE_LOST, "end a recording");
}

/* Two threads with one graph end the program. */
static tilek_status play(tilek_device *device, int queue, tilek_graph *graph, tilek_message *why)
{
    (void)device, (void)queue;
    if (counts_down(&fake.plays, &fake.fail_play)) return fail(why, TILEK_NO_MEMORY, "play");
    if (__atomic_exchange_n(&graph->playing, 1, __ATOMIC_ACQ_REL)) abort();
    for (kept_call *kept = graph->first; kept != NULL; kept = kept->next) {
        fake_call call = kept->call;
        run_gangs(kept->entry, &call, 0);
    }
    __atomic_store_n(&graph->playing, 0, __ATOMIC_RELEASE);
    return TILEK_OK;
}

/* ---- Launches -------------------------------------------------------------------------------------------------------- */

static tilek_status run(tilek_device *device, int queue, tilek_entry *entry, int argument_count, const tilek_argument arguments[], const int64_t groups[3],
                        const int64_t group[3], int64_t *nanoseconds, tilek_message *why)
{
    fake_call call;
    const int fails = counts_down(&fake.runs, &fake.fail_run);
    for (int argument = 0; argument < argument_count; ++argument)
        if (arguments[argument].kind == TILEK_ARGUMENT_BUFFER) check_owner(device, arguments[argument].buffer);
    memset(&call, 0, sizeof call);
    bind(entry, argument_count, arguments, &call);
    memcpy(call.groups, groups, sizeof call.groups);
    memcpy(call.group, group, sizeof call.group);
    (void)pthread_mutex_lock(&mutex);
    fake.most_workers = tilek_maximum(fake.most_workers, group[0] * group[1] * group[2]);
    fake.most_groups = tilek_maximum(fake.most_groups, groups[0] * groups[1] * groups[2]);
    (void)pthread_mutex_unlock(&mutex);
    if (nanoseconds != NULL) *nanoseconds = 1000;
    if (queue == TILEK_RECORDING_QUEUE) {
        *recording->end = keep(entry, &call, argument_count, arguments);
        recording->end = &(*recording->end)->next;
    } else if (fake.lazy && !fails) {
        leave_waiting(device, queue, keep(entry, &call, argument_count, arguments));
    } else if (!fails || nanoseconds != NULL) { /* one that is waited for may fail half-way */
        run_gangs(entry, &call, fails);
    }
    return fails ? fail(why, TILEK_DEVICE_LOST, "finish a kernel") : TILEK_OK;
}

static tilek_status wait_queue(tilek_device *device, int queue, tilek_message *why)
{
    static int never;
    if (queue == TILEK_RECORDING_QUEUE) abort();
    catch_up(device, queue);
    return counts_down(&never, &fake.fail_wait) ? fail(why, TILEK_DEVICE_LOST, "wait") : TILEK_OK;
}

/* A leak on the device ends the program with a status that no test expects. */
static void shut_down(void)
{
    ++fake.shutdowns;
    if (fake.live_buffers != 0 || fake.live_programs != 0 || fake.live_graphs != 0 || fake.entered != 0) abort();
}

static tilek_status open_nothing(int64_t number, const char *name_part, tilek_device **device, tilek_message *why)
{
    (void)number, (void)name_part, (void)device;
    return fail(why, TILEK_NO_DEVICE, "be CUDA");
}

const tilek_backend *tilek_opencl_backend(void)
{
    static const tilek_backend backend = {.name = "OpenCL", .open = open_device, .limits = limits, .allocate = allocate, .release = release, .share = share, .reclaim = reclaim, .write = write_buffer, .read = read_buffer,
                                          .build = build, .drop = drop, .find = find, .run = run, .enter = enter, .leave = leave, .record = record, .recorded = recorded, .play = play, .forget = forget, .wait = wait_queue, .shutdown = shut_down};
    return &backend;
}

const tilek_backend *tilek_cuda_backend(void)
{
    static const tilek_backend backend = {.name = "CUDA", .open = open_nothing, .limits = limits, .allocate = allocate, .release = release, .write = write_buffer, .read = read_buffer,
                                          .build = build, .drop = drop, .find = find, .run = run, .wait = wait_queue, .shutdown = shut_down};
    return &backend;
}
