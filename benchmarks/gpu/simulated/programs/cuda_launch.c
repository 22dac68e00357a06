/* cuda_launch.c: the driver of TILEK_CUDA_LIBRARY and the compiler of TILEK_NVRTC_LIBRARY. */
#define _POSIX_C_SOURCE 200809L
#include "cuda_launch.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"

static void *driver, *module, *stream;
static cuda_address copies[MOST_ARRAYS];

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(2);
}

static void *open_named(const char *variable)
{
    const char *const path = getenv(variable);
    void *const library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL)
        fail(variable, path == NULL ? "not set" : dlerror());
    return library;
}

/* The address of a function, as a pointer to a function. */
static void bind(void *library, const char *name, void *function)
{
    void *const symbol = dlsym(library, name);
    if (symbol == NULL)
        fail(name, "not in the library");
    memcpy(function, &symbol, sizeof symbol);
}

static char *text_of(const char *path)
{
    FILE *const file = path != NULL ? fopen(path, "rb") : NULL;
    if (file == NULL)
        fail("SIMULATED_CUDA", "names no file that can be read");
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    char *const text = calloc(size + 1, 1);
    if (text == NULL || fread(text, 1, size, file) != size)
        fail(path, "cannot be read");
    fclose(file);
    return text;
}

/* PTX for compute capability 7.0, multiply-adds not contracted. */
static char *compiled(const char *text)
{
    static const char *const options[] = {"--gpu-architecture=compute_70", "--fmad=false"};
    void *const nvrtc = open_named("TILEK_NVRTC_LIBRARY");
    void *program = NULL;
    size_t size = 0;
    int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
    int (*compile)(void *, int, const char *const *);
    int (*get_size)(void *, size_t *), (*get_log_size)(void *, size_t *);
    int (*get)(void *, char *), (*get_log)(void *, char *);
    bind(nvrtc, "nvrtcCreateProgram", &create);
    bind(nvrtc, "nvrtcCompileProgram", &compile);
    bind(nvrtc, "nvrtcGetPTXSize", &get_size);
    bind(nvrtc, "nvrtcGetPTX", &get);
    bind(nvrtc, "nvrtcGetProgramLogSize", &get_log_size);
    bind(nvrtc, "nvrtcGetProgramLog", &get_log);
    if (create(&program, text, "naive.cu", 0, NULL, NULL) != 0)
        fail("NVRTC", "takes no program");
    if (compile(program, 2, options) != 0) {
        char *log;
        if (get_log_size(program, &size) != 0 || (log = calloc(size + 1, 1)) == NULL || get_log(program, log) != 0)
            fail("NVRTC", "refuses the program");
        fail("NVRTC", log);
    }
    char *code;
    if (get_size(program, &size) != 0 || (code = calloc(size + 1, 1)) == NULL || get(program, code) != 0)
        fail("NVRTC", "gives no code");
    return code;
}

static void start(void)
{
    int (*initialise)(unsigned), (*retain)(void **, int), (*push)(void *), (*load)(void **, const void *);
    int (*create)(void **, unsigned);
    void *context;
    if (driver != NULL)
        return;
    driver = open_named("TILEK_CUDA_LIBRARY");
    bind(driver, "cuInit", &initialise);
    bind(driver, "cuDevicePrimaryCtxRetain", &retain);
    bind(driver, "cuCtxPushCurrent_v2", &push);
    bind(driver, "cuModuleLoadData", &load);
    bind(driver, "cuStreamCreate", &create);
    if (initialise(0) != 0 || retain(&context, 0) != 0 || push(context) != 0 || create(&stream, 1) != 0)
        fail("TILEK_CUDA_LIBRARY", "the driver does not start");
    char *const text = text_of(getenv("SIMULATED_CUDA")), *const code = compiled(text);
    if (load(&module, code) != 0)
        fail("TILEK_CUDA_LIBRARY", "the module does not load");
    free(code);
    free(text);
}

cuda_address cuda_array(void *array)
{
    int (*allocate)(cuda_address *, size_t), (*copy)(cuda_address, const void *, size_t, void *);
    start();
    bind(driver, "cuMemAlloc_v2", &allocate);
    bind(driver, "cuMemcpyHtoDAsync_v2", &copy);
    for (int k = 0; k < run_array_count; ++k)
        if (run_arrays[k].base == array) {
            if (copies[k] == 0 && (allocate(&copies[k], run_arrays[k].bytes) != 0 ||
                                   copy(copies[k], array, run_arrays[k].bytes, stream) != 0))
                fail("the device", "no memory");
            return copies[k];
        }
    fail("the program", "passes an array that it has not");
    return 0;
}

void cuda_copy_back(void)
{
    int (*copy)(void *, cuda_address, size_t, void *), (*wait)(void *);
    start();
    bind(driver, "cuMemcpyDtoHAsync_v2", &copy);
    bind(driver, "cuStreamSynchronize", &wait);
    for (int k = 0; k < run_array_count; ++k)
        if (copies[k] != 0 && (copy(run_arrays[k].base, copies[k], run_arrays[k].bytes, stream) != 0 || wait(stream) != 0))
            fail("the device", "copies nothing back");
}

void cuda_launch(const char *kernel, const unsigned grid[3], const unsigned block[3], void *arguments[])
{
    int (*find)(void **, void *, const char *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                  void **);
    void *function;
    start();
    bind(driver, "cuModuleGetFunction", &find);
    bind(driver, "cuLaunchKernel", &launch);
    if (find(&function, module, kernel) != 0)
        fail(kernel, "no such kernel");
    if (launch(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], 0, stream, arguments, NULL) != 0)
        fail(kernel, "does not run");
}
