/* message.c: sentences for the user, each different line once. */
#define _POSIX_C_SOURCE 200809L
#include "base/message.h"

#include "base/locks.h"
#include "base/rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_LENGTH = 4096, LINES_KEPT = 512 };

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
    for (length = strlen(message->text); length > 0 && strchr(" \n", message->text[length - 1]) != NULL; --length)
        message->text[length - 1] = '\0';
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

/* Returns the line's length, its end included. */
static size_t write_line(char text[LINE_LENGTH], const char *kind, const char *file, int line, const char *format,
                         va_list arguments)
{
    int used = file != NULL
                 ? snprintf(text, LINE_LENGTH, "%.1000s:%d: tilek: %s%s: ", file, line, tilek_rank_prefix(), kind)
                 : snprintf(text, LINE_LENGTH, "tilek: %s%s: ", tilek_rank_prefix(), kind);
    if (used < 0) used = 0;
    (void)vsnprintf(text + used, LINE_LENGTH - (size_t)used - 1, format, arguments);
    return strlen(strcat(text, "\n"));
}

void tilek_print_line(const char *kind, const char *file, int line, const char *format, va_list arguments)
{
    char text[LINE_LENGTH];
    (void)write_line(text, kind, file, line, format, arguments);
    tilek_lock(TILEK_LOCK_MESSAGES);
    if (is_new(text)) {
        (void)fputs(text, stderr);
        (void)fflush(stderr);
    }
    tilek_unlock(TILEK_LOCK_MESSAGES);
}

void tilek_warn_at_once(const char *file, int line, const char *format, ...)
{
    char text[LINE_LENGTH];
    va_list arguments;
    va_start(arguments, format);
    (void)!write(STDERR_FILENO, text, write_line(text, "warning", file, line, format, arguments));
    va_end(arguments);
}

void tilek_end_at_once(const char *text)
{
    static const char before[] = "tilek: error: ";
    (void)!write(STDERR_FILENO, before, sizeof before - 1);
    (void)!write(STDERR_FILENO, text, strlen(text));
    (void)!write(STDERR_FILENO, "\n", 1);
    _exit(TILEK_EXIT_STRICT);
}

void tilek_warn(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tilek_print_line("warning", file, line, format, arguments);
    va_end(arguments);
}

/* set when the first launch or directive begins; before that nothing of the runtime's runs */
static int (*may_exit_now)(void);

void tilek_at_failure(int (*may_exit)(void)) { may_exit_now = may_exit; }

/* exit runs handlers that join the runtime's own threads, so one of those must leave without them;
 * and one of them may be what fails. */
void tilek_leave_program(int status)
{
    if (may_exit_now == NULL || may_exit_now()) exit(status);
    (void)fflush(NULL);
    _exit(status);
}

void tilek_fail(const char *file, int line, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tilek_print_line("error", file, line, format, arguments);
    va_end(arguments);
    tilek_leave_program(status);
}

void tilek_messages_free(void)
{
    tilek_lock(TILEK_LOCK_MESSAGES);
    while (printed_count > 0) free(printed[--printed_count]);
    tilek_unlock(TILEK_LOCK_MESSAGES);
}
