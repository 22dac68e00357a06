/* nvrtc.c: NVRTC's calls on the host's C compiler. A program is preprocessed, its kernels are found by their word `__global__`, each
 * gets a function that unpacks the launch's parameters, and all becomes a shared library, the stand-in's machine code. */
#define _GNU_SOURCE
#include "standin.h"

#include <ctype.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SUCCESS = 0, OUT_OF_MEMORY = 1, INVALID_INPUT = 3, INVALID_OPTION = 5, COMPILATION = 6 };
enum { PATH_BYTES = 512 };

typedef struct _nvrtcProgram {
    char *source, *name, *log;
    char *image;
    size_t image_size;
} *nvrtcProgram;

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t length = 0;
    if (file == NULL)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && ftell(file) >= 0) {
        length = (size_t)ftell(file);
        rewind(file);
        text = calloc(length + 1, 1);
        if (text != NULL && fread(text, 1, length, file) != length) {
            free(text);
            text = NULL;
        }
    }
    (void)fclose(file);
    if (size != NULL)
        *size = length;
    return text;
}

static int write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return 0;
    const int written = fputs(text, file) >= 0;
    return fclose(file) == 0 && written;
}

/* Runs the compiler with its messages in `log`; 1 where it succeeds. */
static int run_compiler(const char *const arguments[], const char *log)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return 0;
    (void)posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (posix_spawnp(&child, arguments[0], &actions, NULL, (char *const *)arguments, environ) == 0)
        (void)waitpid(child, &status, 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- From CUDA C to C -------------------------------------------------------------------------------------------- */

static void blank(char *text, const char *word)
{
    for (char *at = strstr(text, word); at != NULL; at = strstr(at, word))
        memset(at, ' ', strlen(word));
}

/* Prints the parameter in [first, last), less its name, as a type. */
static void print_type(FILE *out, const char *first, const char *last)
{
    while (last > first && isspace((unsigned char)last[-1]))
        --last;
    while (last > first && (isalnum((unsigned char)last[-1]) || last[-1] == '_'))
        --last;
    (void)fprintf(out, "%.*s", (int)(last - first), first);
}

/* Of each parameter in (open, close): as an argument its value, taken from `parameters`, else its size with a comma behind. */
static void print_parameters(FILE *out, const char *open, const char *close, int as_arguments)
{
    int count = 0;
    const char *first = open + 1;
    while (first < close) {
        const char *end = memchr(first, ',', (size_t)(close - first));
        if (end == NULL)
            end = close;
        const char *word = first + strspn(first, " \t\n");
        if (word < end && !(strncmp(word, "void", 4) == 0 && word + 4 == close)) {
            (void)fprintf(out, as_arguments ? "%s*(" : "%ssizeof(", as_arguments && count > 0 ? ", " : "");
            print_type(out, first, end);
            if (as_arguments)
                (void)fprintf(out, "*)parameters[%d]", count);
            else
                (void)fprintf(out, "), ");
            ++count;
        }
        first = end + 1;
    }
}

/* One function that unpacks parameters, and their sizes closed by 0, for the kernel whose "void NAME(…)" is at `text`. 0 where that is not its form. */
static int print_call(FILE *out, const char *text)
{
    const char *open = strchr(text, '('), *close = open != NULL ? strchr(open, ')') : NULL;
    if (close == NULL)
        return 0;
    const char *last = open;
    while (last > text && isspace((unsigned char)last[-1]))
        --last;
    const char *name = last;
    while (name > text && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
        --name;
    (void)fprintf(out, "\n__attribute__((visibility(\"default\"))) void standin_call_%.*s(void **parameters)\n{\n    (void)parameters;\n    %.*s(",
                  (int)(last - name), name, (int)(last - name), name);
    print_parameters(out, open, close, 1);
    (void)fprintf(out, ");\n}\n__attribute__((visibility(\"default\"))) const unsigned long standin_sizes_%.*s[] = {", (int)(last - name), name);
    print_parameters(out, open, close, 0);
    (void)fprintf(out, "0};\n");
    return 1;
}

/* Writes the library's source: the preprocessed text and a call for each kernel. */
static int write_library(const char *path, char *text)
{
    static const char word[] = "__global__";
    FILE *out = fopen(path, "wb");
    if (out == NULL)
        return 0;
    char *kernels = strdup(text);
    int good = kernels != NULL;
    const int has_barriers = strstr(text, "standin_barrier(") != NULL;
    blank(text, word);
    (void)fputs(text, out);
    (void)fprintf(out, "\n__attribute__((visibility(\"default\"))) const int standin_has_barriers = %d;\n", has_barriers);
    for (const char *at = good ? strstr(kernels, word) : NULL; at != NULL && good; at = strstr(at + 1, word))
        good = print_call(out, at + strlen(word));
    free(kernels);
    return fclose(out) == 0 && good;
}

/* The program's options that mean something on a CPU: none. Others than NVRTC's own are refused. */
static int options_known(int count, const char *const options[])
{
    static const char *const known[] = {"--gpu-architecture=", "--fmad=", "--use_fast_math", "--std="};
    for (int k = 0; k < count; ++k) {
        int found = 0;
        for (size_t at = 0; at < sizeof known / sizeof known[0]; ++at)
            found |= strncmp(options[k], known[at], strlen(known[at])) == 0;
        if (!found)
            return 0;
    }
    return 1;
}

typedef struct build_files { char folder[PATH_BYTES], source[PATH_BYTES], preprocessed[PATH_BYTES], library_source[PATH_BYTES], library[PATH_BYTES], log[PATH_BYTES]; } build_files;

static int make_folder(build_files *files)
{
    const char *temporary = getenv("TMPDIR");
    if (temporary == NULL || *temporary == '\0')
        temporary = "/tmp";
    if (snprintf(files->folder, PATH_BYTES - 32, "%s/standin-XXXXXX", temporary) >= PATH_BYTES - 32 || mkdtemp(files->folder) == NULL)
        return 0;
    (void)snprintf(files->source, PATH_BYTES, "%.480s/program.c", files->folder);
    (void)snprintf(files->preprocessed, PATH_BYTES, "%.480s/program.i", files->folder);
    (void)snprintf(files->library_source, PATH_BYTES, "%.480s/library.c", files->folder);
    (void)snprintf(files->library, PATH_BYTES, "%.480s/library.so", files->folder);
    (void)snprintf(files->log, PATH_BYTES, "%.480s/log", files->folder);
    return 1;
}

static void remove_files(const build_files *files)
{
    (void)unlink(files->source);
    (void)unlink(files->preprocessed);
    (void)unlink(files->library_source);
    (void)unlink(files->library);
    (void)unlink(files->log);
    (void)rmdir(files->folder);
}

static int build_library(nvrtcProgram program, const build_files *files)
{
    const char *compiler = getenv("TILEK_STANDIN_CC");
    if (compiler == NULL || *compiler == '\0')
        compiler = "cc";
    char *text = strdup(program->source);
    if (text == NULL)
        return 0;
    blank(text, "extern \"C\"");
    if (getenv("TILEK_STANDIN_BLANK") != NULL)
        blank(text, getenv("TILEK_STANDIN_BLANK"));
    const int written = write_file(files->source, text);
    free(text);
    /* gcc 12's induction variable optimisation miscompiles a[(long long)(i + i) * m + j] in a nest whose inner bound is a conditional.
     * Contraction is off whatever --fmad says: the host that the results are compared with has no reason to fuse. */
    if (!written || !run_compiler((const char *const[]){compiler, "-std=c11", "-E", "-include", STANDIN_PRELUDE, files->source, "-o", files->preprocessed, NULL}, files->log))
        return 0;
    text = read_file(files->preprocessed, NULL);
    const int complete = text != NULL && write_library(files->library_source, text);
    free(text);
    return complete && run_compiler((const char *const[]){compiler, "-std=c11", "-O1", "-w", "-ffp-contract=off", "-fno-strict-aliasing", "-fno-ivopts", "-fPIC", "-shared", "-fvisibility=hidden",
                                                          files->library_source, "-o", files->library, "-lm", NULL}, files->log);
}

static int pack_library(nvrtcProgram program, const char *path)
{
    standin_image header = {.magic = STANDIN_MAGIC};
    char *library = read_file(path, &header.size);
    program->image_size = sizeof header + header.size;
    program->image = library != NULL ? malloc(program->image_size) : NULL;
    if (program->image != NULL) {
        memcpy(program->image, &header, sizeof header);
        memcpy(program->image + sizeof header, library, header.size);
    }
    free(library);
    return program->image != NULL;
}

static int fails(void)
{
    return standin_fails("nvrtc") || standin_fails("any");
}

/* ---- NVRTC's calls ----------------------------------------------------------------------------------------------- */

STANDIN_EXPORT int nvrtcVersion(int *major, int *minor)
{
    if (fails())
        return STANDIN_UNKNOWN;
    *major = 12;
    *minor = 0;
    return SUCCESS;
}

STANDIN_EXPORT int nvrtcGetNumSupportedArchs(int *count)
{
    if (fails())
        return STANDIN_UNKNOWN;
    *count = 3;
    return SUCCESS;
}

STANDIN_EXPORT int nvrtcGetSupportedArchs(int *architectures)
{
    if (fails())
        return STANDIN_UNKNOWN;
    memcpy(architectures, (const int[]){75, 80, 90}, 3 * sizeof(int));
    return SUCCESS;
}

STANDIN_EXPORT const char *nvrtcGetErrorString(int error)
{
    switch (error) {
    case SUCCESS: return "NVRTC_SUCCESS";
    case OUT_OF_MEMORY: return "NVRTC_ERROR_OUT_OF_MEMORY";
    case INVALID_INPUT: return "NVRTC_ERROR_INVALID_INPUT";
    case INVALID_OPTION: return "NVRTC_ERROR_INVALID_OPTION";
    default: return "NVRTC_ERROR_COMPILATION";
    }
}

STANDIN_EXPORT int nvrtcDestroyProgram(nvrtcProgram *program)
{
    if (program == NULL || *program == NULL)
        return INVALID_INPUT;
    free((*program)->source);
    free((*program)->name);
    free((*program)->log);
    free((*program)->image);
    free(*program);
    *program = NULL;
    return SUCCESS;
}

STANDIN_EXPORT int nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int headers, const char *const *texts, const char *const *names)
{
    if (fails())
        return STANDIN_UNKNOWN;
    (void)texts;
    (void)names;
    if (program == NULL || source == NULL || headers != 0)
        return INVALID_INPUT;
    *program = calloc(1, sizeof **program);
    if (*program == NULL)
        return OUT_OF_MEMORY;
    (*program)->source = strdup(source);
    (*program)->name = strdup(name != NULL ? name : "default_program");
    if ((*program)->source != NULL && (*program)->name != NULL)
        return SUCCESS;
    (void)nvrtcDestroyProgram(program);
    return OUT_OF_MEMORY;
}

STANDIN_EXPORT int nvrtcCompileProgram(nvrtcProgram program, int option_count, const char *const *options)
{
    if (fails())
        return STANDIN_UNKNOWN;
    build_files files;
    if (!options_known(option_count, options))
        return INVALID_OPTION;
    if (standin_fails("compile")) {
        program->log = strdup("the stand-in was told to fail\n\n");
        return COMPILATION;
    }
    if (!make_folder(&files))
        return OUT_OF_MEMORY;
    const int built = build_library(program, &files) && pack_library(program, files.library);
    program->log = read_file(files.log, NULL);
    remove_files(&files);
    return built ? SUCCESS : COMPILATION;
}

STANDIN_EXPORT int nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size)
{
    if (fails())
        return STANDIN_UNKNOWN;
    *size = program->log != NULL ? strlen(program->log) + 1 : 1;
    return SUCCESS;
}

STANDIN_EXPORT int nvrtcGetProgramLog(nvrtcProgram program, char *log)
{
    if (fails())
        return STANDIN_UNKNOWN;
    strcpy(log, program->log != NULL ? program->log : "");
    return SUCCESS;
}

STANDIN_EXPORT int nvrtcGetCUBINSize(nvrtcProgram program, size_t *size)
{
    if (fails())
        return STANDIN_UNKNOWN;
    *size = program->image_size;
    return program->image != NULL ? SUCCESS : INVALID_INPUT;
}

STANDIN_EXPORT int nvrtcGetCUBIN(nvrtcProgram program, char *code)
{
    if (fails())
        return STANDIN_UNKNOWN;
    if (program->image == NULL)
        return INVALID_INPUT;
    memcpy(code, program->image, program->image_size);
    return SUCCESS;
}

STANDIN_EXPORT int nvrtcGetPTXSize(nvrtcProgram program, size_t *size) {
    if (fails())
        return STANDIN_UNKNOWN;
    return nvrtcGetCUBINSize(program, size); }
STANDIN_EXPORT int nvrtcGetPTX(nvrtcProgram program, char *code) {
    if (fails())
        return STANDIN_UNKNOWN;
    return nvrtcGetCUBIN(program, code); }
