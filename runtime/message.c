/* message.c: sentences for the user, each different line once. */
#define _POSIX_C_SOURCE 200809L
#include "message.h"

#include "environment.h"
#include "rank.h"
#include "state.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_LENGTH = 4096, LINES_KEPT = 512 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *printed[LINES_KEPT];
static int printed_count;

/* Compilers' logs end with empty lines, after which the sentence could not go on. */
void tilek_say(tilek_message *message, const char *format, ...)
{
    size_t length;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message->text, sizeof message->text, format, arguments);
    va_end(arguments);
    for (length = strlen(message->text); length > 0 && strchr(" \n", message->text[length - 1]) != NULL; --length) message->text[length - 1] = '\0';
}

/* Whether this line is new; it is remembered. With the memory full, every line counts as new. */
static int is_new(const char *line)
{
    for (int index = 0; index < printed_count; ++index)
        if (strcmp(printed[index], line) == 0) return 0;
    if (printed_count < LINES_KEPT) {
        char *copy = malloc(strlen(line) + 1);
        if (copy != NULL) printed[printed_count++] = strcpy(copy, line);
    }
    return 1;
}

static void print_line(const char *kind, const char *file, int line, const char *format, va_list arguments)
{
    char text[LINE_LENGTH];
    int used = file != NULL ? snprintf(text, sizeof text, "%.1000s:%d: tilek: %s%s: ", file, line, tilek_rank_prefix(), kind)
                            : snprintf(text, sizeof text, "tilek: %s%s: ", tilek_rank_prefix(), kind);
    if (used < 0) return;
    (void)vsnprintf(text + used, sizeof text - (size_t)used - 1, format, arguments);
    (void)pthread_mutex_lock(&mutex);
    if (is_new(text)) {
        (void)fprintf(stderr, "%s\n", text);
        (void)fflush(stderr);
    }
    (void)pthread_mutex_unlock(&mutex);
}

void tilek_warn(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("warning", file, line, format, arguments);
    va_end(arguments);
}

/* exit runs handlers that join the runtime's own threads, so one of those must leave without them; what was measured is said all the same. */
static void leave(int status)
{
    if (!tilek_is_own_thread()) exit(status);
    tilek_profile_finish();
    (void)fflush(NULL);
    _exit(status);
}

void tilek_fail(const char *file, int line, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("error", file, line, format, arguments);
    va_end(arguments);
    leave(status);
}

void tilek_trouble(const char *file, int line, const char *format, ...)
{
    const int strict = tilek_get_settings()->strict;
    va_list arguments;
    va_start(arguments, format);
    print_line(strict ? "error" : "warning", file, line, format, arguments);
    va_end(arguments);
    if (strict) leave(TILEK_EXIT_STRICT);
}

void tilek_messages_free(void)
{
    (void)pthread_mutex_lock(&mutex);
    while (printed_count > 0) free(printed[--printed_count]);
    (void)pthread_mutex_unlock(&mutex);
}
