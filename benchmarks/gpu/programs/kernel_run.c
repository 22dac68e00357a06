/* Runs a kernel by its name. The main function, the data and the hashes of what is left are those of
 * ../../polybench_support.c, whose settings are KERNEL, N, STEPS and, optionally, REPEATS.
 * With -DBY_HAND=FLAGS tilepragma's runtime, which is linked in, compiles the file that BY_HAND_CUDA
 * names, with these flags of a kernel, and launches it. */
#include "kernel_run.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *polybench_alloc_data(unsigned long long count, int size);
void polybench_free_data(void *base);
int polybench_size(const char *name);
const char *polybench_setting(const char *name);
void polybench_timer_start(void);
void polybench_timer_stop(void);

enum { MOST_KERNELS = 32, MOST_ARRAYS = 5 };
static struct { const char *name; void (*run)(int, int); } kernels[MOST_KERNELS];
static struct { void *base; size_t count, width; int places; } arrays[MOST_ARRAYS];
static int kernel_count, array_count;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(2);
}

void register_kernel(const char *name, void (*run)(int, int))
{
    if (kernel_count == MOST_KERNELS)
        fail(name, "too many kernels");
    kernels[kernel_count].name = name;
    kernels[kernel_count++].run = run;
}

void add_array(size_t count, size_t width, int places)
{
    if (array_count == MOST_ARRAYS)
        fail("add_array", "too many arrays");
    arrays[array_count].base = polybench_alloc_data(count, (int)width);
    arrays[array_count].count = count;
    arrays[array_count].width = width;
    arrays[array_count++].places = places;
}

void *run_array(int number)
{
    return arrays[number].base;
}

int run_repeats(void)
{
    return polybench_setting("REPEATS") != NULL ? polybench_size("REPEATS") : 1;
}

#ifdef BY_HAND
#include "device/cuda/cuda_device.h"

static tilek_device *device;
static tilek_program *program;
static tilek_buffer copies[MOST_ARRAYS];

static void check(tilek_status status, const tilek_message *why)
{
    if (status != TILEK_OK)
        fail("by hand", why->text);
}

const tilek_buffer *run_buffer(int number)
{
    return &copies[number];
}

static void copy_to_device(void)
{
    const tilek_backend *const cuda = tilek_cuda_backend();
    tilek_message why;
    check(cuda->open(0, NULL, &device, &why), &why);
    for (int k = 0; k < array_count; ++k) {
        const size_t bytes = arrays[k].count * arrays[k].width;
        check(cuda->allocate(device, bytes, &copies[k], &why), &why);
        check(cuda->write(device, 0, &copies[k], 0, arrays[k].base, bytes, &why), &why);
    }
}

static void copy_back(void)
{
    const tilek_backend *const cuda = tilek_cuda_backend();
    tilek_message why;
    for (int k = 0; k < array_count; ++k) {
        check(cuda->read(device, 0, &copies[k], 0, arrays[k].base, arrays[k].count * arrays[k].width, &why), &why);
        cuda->release(device, &copies[k]);
    }
}

static void build_program(void)
{
    static char source[1 << 16];
    FILE *const file = fopen(BY_HAND_CUDA, "r");
    const tilek_build build = {.name = "by hand", .file = BY_HAND_CUDA, .source = source, .flags = BY_HAND};
    int from_cache;
    tilek_message why;
    if (file == NULL || fread(source, 1, sizeof source - 1, file) == 0 || !feof(file))
        fail(BY_HAND_CUDA, "cannot be read");
    (void)fclose(file);
    check(tilek_cuda_backend()->build(device, &build, &program, &from_cache, &why), &why);
}

void launch(const char *kernel, const int64_t size[3], const int64_t group[3], int count,
            const tilek_argument arguments[])
{
    const tilek_backend *const cuda = tilek_cuda_backend();
    tilek_entry *entry;
    tilek_message why;
    int64_t groups[3], most;
    if (kernel == NULL)
        fail("by hand", "nobody wrote this kernel");
    if (program == NULL)
        build_program();
    for (int k = 0; k < 3; ++k)
        groups[k] = (size[k] + group[k] - 1) / group[k];
    check(cuda->find(device, program, kernel, &entry, &most, &why), &why);
    check(cuda->run(device, 0, entry, count, arguments, groups, group, NULL, &why), &why);
}
#else
static void copy_to_device(void) {}
static void copy_back(void) {}
#endif

void begin_run(int n)
{
    polybench_timer_start();
    for (int k = 0; k < array_count; ++k)
        for (size_t i = 0; arrays[k].places && i < arrays[k].count; ++i)
            ((int *)arrays[k].base)[i] = (int)(((uint32_t)i * 2654435761u >> 8) % (uint32_t)n); /* scattered */
    copy_to_device();
}

void end_run(void)
{
    copy_back();
    polybench_timer_stop();
    while (array_count > 0)
        polybench_free_data(arrays[--array_count].base);
}

int polybench_main(int argc, char **argv)
{
    const char *const name = polybench_setting("KERNEL");
    const size_t length = name != NULL ? strcspn(name, ",") : 0;
    for (int k = 0; k < kernel_count; ++k)
        if (strlen(kernels[k].name) == length && strncmp(kernels[k].name, name, length) == 0) {
            kernels[k].run(polybench_size("N"), polybench_size("STEPS"));
            return 0;
        }
    (void)argc;
    fail(argv[0], "no such kernel");
    return 2;
}
