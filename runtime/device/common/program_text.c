/* program_text.c: what both device back ends do before a compiler sees a program. */
#include "device/common/program_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TILEK_TEXT_OF(number) #number
#define TILEK_TEXT(number) TILEK_TEXT_OF(number)

/* "#define NAME VALUE\n"; the smallest number has no literal of its own. snprintf's result. */
static int define(char *text, size_t size, const tilek_constant *constant, const char *suffix)
{
    if (constant->short_literal && constant->value >= 0 && constant->value <= INT32_MAX)
        suffix = "";
    if (constant->value == INT64_MIN)
        return snprintf(text, size, "#define %s (-%" PRId64 "%s - 1)\n", constant->name, INT64_MAX, suffix);
    if (constant->value < 0)
        return snprintf(text, size, "#define %s (%" PRId64 "%s)\n", constant->name, constant->value, suffix);
    return snprintf(text, size, "#define %s %" PRId64 "%s\n", constant->name, constant->value, suffix);
}

/* "#define TILEK_WITHOUT_ENTRY\n": the program leaves the entry point out. snprintf's result. */
static int leave_out(char *text, size_t size, const char *entry)
{
    return snprintf(text, size, "#define TILEK_WITHOUT_%s\n", entry);
}

/* The line that declares the arguments of one entry point, of which `build->arguments[first]` is
 * the first; *next: the first of the next entry point. snprintf's sum. */
static int declare_arguments(char *text, size_t size, const tilek_build *build, int first, const char *type, int *next)
{
    const char *entry = build->arguments[first].entry;
    int length = snprintf(text, size, "#define TILEK_ARGUMENTS_%s ", entry);
    for (*next = first; *next < build->argument_count && strcmp(build->arguments[*next].entry, entry) == 0; ++*next) {
        const tilek_number_argument *argument = &build->arguments[*next];
        length += snprintf(text == NULL ? NULL : text + length, text == NULL ? 0 : size - (size_t)length,
                           "%sconst %s %s", argument->first ? "" : ", ", type, argument->name);
    }
    return length + snprintf(text == NULL ? NULL : text + length, text == NULL ? 0 : size - (size_t)length, "\n");
}

char *tilek_program_text(const tilek_build *build, const char *suffix)
{
    static const char specialized[] = "#define TILEK_SPECIALIZED 1\n", first_line[] = "#line 1\n";
    const size_t source_size = strlen(build->source);
    const char *const type = strcmp(suffix, "LL") == 0 ? "long long" : "long";
    size_t size = sizeof specialized + sizeof first_line + source_size + 1;
    for (int k = 0; k < build->argument_count;)
        size += (size_t)declare_arguments(NULL, 0, build, k, type, &k);
    for (int k = 0; k < build->constant_count; ++k)
        size += (size_t)define(NULL, 0, &build->constants[k], suffix);
    for (int k = 0; k < build->unreached_count; ++k)
        size += (size_t)leave_out(NULL, 0, build->unreached[k]);
    char *text = malloc(size), *next = text;
    if (text == NULL)
        return NULL;
    *next = '\0';
    if (build->specialized)
        next += snprintf(next, size, "%s", specialized);
    for (int k = 0; k < build->constant_count; ++k)
        next += define(next, size - (size_t)(next - text), &build->constants[k], suffix);
    for (int k = 0; k < build->argument_count;)
        next += declare_arguments(next, size - (size_t)(next - text), build, k, type, &k);
    for (int k = 0; k < build->unreached_count; ++k)
        next += leave_out(next, size - (size_t)(next - text), build->unreached[k]);
    if (next != text)
        next += snprintf(next, size - (size_t)(next - text), "%s", first_line);
    memcpy(next, build->source, source_size + 1);
    return text;
}

tilek_cache_key tilek_program_key(const char *backend, const tilek_limits *limits, const char *options,
                                  const char *text)
{
    return tilek_cache_key_of(6, (const char *[]){TILEK_TEXT(TILEK_ABI), backend, limits->name, limits->driver, options,
                                                  text});
}
