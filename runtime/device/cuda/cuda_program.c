/* cuda_program.c: device programs, compiled by NVRTC or from the disk cache. */
#define _POSIX_C_SOURCE 200809L
#include "device/cuda/cuda_program.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/locks.h"
#include "base/message.h"
#include "device/common/program_text.h"

/* The compiler, found once, when a program is not in the cache. */
static struct {
    int searched;
    tilek_status status;
    tilek_message why;
    tilek_nvrtc_api api;
} compiler; /* guarded by TILEK_LOCK_COMPILER until it was searched */

static tilek_status get_compiler(const tilek_nvrtc_api **api, tilek_message *why)
{
    tilek_lock(TILEK_LOCK_COMPILER);
    if (!compiler.searched) {
        compiler.searched = 1;
        compiler.status = tilek_nvrtc_load(&compiler.api, &compiler.why);
    }
    const tilek_status status = compiler.status;
    if (status != TILEK_OK)
        *why = compiler.why;
    tilek_unlock(TILEK_LOCK_COMPILER);
    *api = &compiler.api;
    return status;
}

/* ---- Compiling ------------------------------------------------------------------------------- */

/* A program in machine code for `architecture`, or in PTX, which the driver translates. */
typedef struct target { int architecture, machine_code; } target;

/* Machine code where the compiler knows the device; else PTX for the newest architecture before it.
 * 0: it knows none. */
static int target_of(const tilek_nvrtc_api *api, int capability, target *chosen)
{
    enum { MOST = 256 };
    int count = 0, known[MOST];
    *chosen = (target){0, 0};
    if (api->nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count <= 0 || count > MOST ||
        api->nvrtcGetSupportedArchs(known) != NVRTC_SUCCESS)
        return 0;
    for (int k = 0; k < count; ++k)
        if (known[k] <= capability && known[k] > chosen->architecture)
            chosen->architecture = known[k];
    chosen->machine_code = chosen->architecture == capability;
    return chosen->architecture > 0;
}

enum { OPTIONS = 4, OPTION_BYTES = 48 };
typedef struct option_list { int count; char text[OPTIONS][OPTION_BYTES]; } option_list;

static option_list compiler_options(unsigned flags, target chosen)
{
    option_list options = {.count = 0};
    (void)snprintf(options.text[options.count++], OPTION_BYTES, "--gpu-architecture=%s_%d",
                   chosen.machine_code ? "sm" : "compute", chosen.architecture);
    if (flags & TILEK_FAST_MATH)
        (void)snprintf(options.text[options.count++], OPTION_BYTES, "--use_fast_math");
    /* NVRTC fuses multiply-adds by default, and so does fast math. This option comes last, so that
     * the host's flags decide. */
    (void)snprintf(options.text[options.count++], OPTION_BYTES, "--fmad=%s",
                   flags & (TILEK_CONTRACT | TILEK_FAST_MATH) ? "true" : "false");
    return options;
}

static tilek_status compile_failed(const tilek_nvrtc_api *api, const tilek_build *build, nvrtcProgram program,
                                   nvrtcResult error, tilek_message *why)
{
    size_t size = 0;
    char *log = NULL;
    if (api->nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS && size > 1)
        log = calloc(size + 1, 1);
    if (log != NULL)
        (void)api->nvrtcGetProgramLog(program, log);
    tilek_say(why, "NVRTC refuses kernel %s (%s): %s", build->name, api->nvrtcGetErrorString(error),
              log != NULL ? log : "it left no log");
    free(log);
    return TILEK_COMPILE;
}

/* The compiled program, to be freed by the caller; NULL where NVRTC has none. */
static unsigned char *compiled_code(const tilek_nvrtc_api *api, nvrtcProgram program, target chosen, size_t *size)
{
    nvrtcResult error = chosen.machine_code ? api->nvrtcGetCUBINSize(program, size)
                                            : api->nvrtcGetPTXSize(program, size);
    unsigned char *code = error == NVRTC_SUCCESS && *size > 0 ? malloc(*size) : NULL;
    if (code != NULL)
        error = chosen.machine_code ? api->nvrtcGetCUBIN(program, (char *)code)
                                    : api->nvrtcGetPTX(program, (char *)code);
    if (error == NVRTC_SUCCESS)
        return code;
    free(code);
    return NULL;
}

static tilek_status compile(const tilek_nvrtc_api *api, const tilek_build *build, const char *text, target chosen,
                            unsigned char **code, size_t *size, tilek_message *why)
{
    const option_list options = compiler_options(build->flags, chosen);
    const char *words[OPTIONS];
    nvrtcProgram program = NULL;
    for (int k = 0; k < options.count; ++k)
        words[k] = options.text[k];
    nvrtcResult error = api->nvrtcCreateProgram(&program, text, build->name, 0, NULL, NULL);
    if (error != NVRTC_SUCCESS) {
        tilek_say(why, "NVRTC does not take kernel %s: %s", build->name, api->nvrtcGetErrorString(error));
        return TILEK_COMPILE;
    }
    error = api->nvrtcCompileProgram(program, options.count, words);
    tilek_status status = TILEK_OK;
    if (error != NVRTC_SUCCESS)
        status = compile_failed(api, build, program, error, why);
    else if ((*code = compiled_code(api, program, chosen, size)) == NULL) {
        tilek_say(why, "NVRTC compiled kernel %s but gives no code", build->name);
        status = TILEK_COMPILE;
    }
    (void)api->nvrtcDestroyProgram(&program);
    return status;
}

/* Compiles, loads and keeps; where the driver is older than the compiler, its machine code may not
 * load and PTX is no better. */
static tilek_status compile_and_load(tilek_device *device, const tilek_build *build, const char *text,
                                     const tilek_cache_key *key, CUmodule *module, tilek_message *why)
{
    const tilek_nvrtc_api *api;
    unsigned char *code = NULL;
    size_t size = 0;
    target chosen;
    tilek_status status = get_compiler(&api, why);
    if (status != TILEK_OK)
        return status;
    if (!target_of(api, device->capability, &chosen)) {
        tilek_say(why, "CUDA's compiler library has no architecture for %s (compute capability %d.%d)",
                  device->limits.name, device->capability / 10, device->capability % 10);
        return TILEK_COMPILE;
    }
    status = compile(api, build, text, chosen, &code, &size, why);
    if (status != TILEK_OK)
        return status;
    const CUresult error = device->api->cuModuleLoadData(module, code);
    if (error == CUDA_SUCCESS)
        tilek_cache_write(key, code, size);
    else {
        tilek_say(why, "the CUDA driver does not load kernel %s: %s", build->name,
                  tilek_cuda_error(device->api, error));
        status = error == CUDA_ERROR_OUT_OF_MEMORY ? TILEK_NO_MEMORY : TILEK_COMPILE;
    }
    free(code);
    return status;
}

/* ---- Programs -------------------------------------------------------------------------------- */

static tilek_status obtain(tilek_device *device, const tilek_build *build, const char *text, CUmodule *module,
                           int *from_cache, tilek_message *why)
{
    char options[OPTION_BYTES];
    unsigned char *code = NULL;
    size_t size = 0;
    (void)snprintf(options, sizeof options, "sm_%d flags %u", device->capability,
                   build->flags & (TILEK_CONTRACT | TILEK_FAST_MATH));
    const tilek_cache_key key = tilek_program_key("CUDA", &device->limits, options, text);
    if (tilek_cache_read(&key, &code, &size)) {
        *from_cache = device->api->cuModuleLoadData(module, code) == CUDA_SUCCESS;
        free(code);
        if (*from_cache)
            return TILEK_OK;
    }
    return compile_and_load(device, build, text, &key, module, why);
}

tilek_status tilek_cuda_build(tilek_device *device, const tilek_build *build, tilek_program **program, int *from_cache,
                              tilek_message *why)
{
    *program = NULL;
    *from_cache = 0;
    tilek_program *made = calloc(1, sizeof *made);
    char *text = tilek_program_text(build, "LL");
    tilek_status status = TILEK_NO_MEMORY;
    const CUresult entered = tilek_cuda_enter(device);
    if (made == NULL || text == NULL)
        tilek_say(why, "no memory for the text of kernel %s", build->name);
    else if (entered != CUDA_SUCCESS)
        status = tilek_cuda_failed(device, entered, "a program was made", why);
    else
        status = obtain(device, build, text, &made->module, from_cache, why);
    if (entered == CUDA_SUCCESS)
        tilek_cuda_leave(device);
    free(text);
    if (status != TILEK_OK) {
        free(made);
        return status;
    }
    (void)pthread_mutex_init(&made->lock, NULL);
    *program = made;
    return TILEK_OK;
}

void tilek_cuda_drop(tilek_device *device, tilek_program *program)
{
    if (program == NULL)
        return;
    for (tilek_entry *entry = program->entries, *next; entry != NULL; entry = next) {
        next = entry->next;
        free(entry);
    }
    if (tilek_cuda_enter(device) == CUDA_SUCCESS) {
        (void)device->api->cuModuleUnload(program->module);
        tilek_cuda_leave(device);
    }
    (void)pthread_mutex_destroy(&program->lock);
    free(program);
}

tilek_status tilek_cuda_find(tilek_device *device, tilek_program *program, const char *name, tilek_entry **entry,
                             int64_t *group_total, tilek_message *why)
{
    int most = 0;
    *entry = NULL;
    tilek_entry *made = calloc(1, sizeof *made);
    if (made == NULL) {
        tilek_say(why, "no memory for kernel %s", name);
        return TILEK_NO_MEMORY;
    }
    CUresult error = tilek_cuda_enter(device);
    if (error == CUDA_SUCCESS) {
        error = device->api->cuModuleGetFunction(&made->function, program->module, name);
        if (error == CUDA_SUCCESS)
            error = device->api->cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, made->function);
        tilek_cuda_leave(device);
    }
    if (error != CUDA_SUCCESS) {
        free(made);
        tilek_say(why, "the device program has no usable kernel %s: %s", name, tilek_cuda_error(device->api, error));
        return TILEK_COMPILE;
    }
    (void)pthread_mutex_lock(&program->lock);
    made->next = program->entries;
    program->entries = made;
    (void)pthread_mutex_unlock(&program->lock);
    *entry = made;
    *group_total = most;
    return TILEK_OK;
}
