/* message.h: sentences for the user. */
#ifndef TILEK_MESSAGE_H
#define TILEK_MESSAGE_H

#include <stdarg.h>

/* A sentence for the user; truncated where longer. `text` is always terminated. */
typedef struct tilek_message { char text[2048]; } tilek_message;

#if defined(__GNUC__)
#define TILEK_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define TILEK_PRINTF(text, first)
#endif

/* Writes a sentence over `message`. */
void tilek_say(tilek_message *message, const char *format, ...) TILEK_PRINTF(2, 3);

/* One line "FILE:LINE: tilek: warning: …" (no location where file is NULL) on stderr, in one write.
 * Each different line is printed once. */
void tilek_warn(const char *file, int line, const char *format, ...) TILEK_PRINTF(3, 4);

/* As tilek_warn with "error:", then exit(status) with the program's exit handlers. */
void tilek_fail(const char *file, int line, int status, const char *format, ...) TILEK_PRINTF(4, 5);

/* For signal handlers, which can take no lock: the line, without its being remembered; the second
 * ends the program at once, with status 71. */
void tilek_warn_at_once(const char *file, int line, const char *format, ...) TILEK_PRINTF(3, 4);
void tilek_end_at_once(const char *text);

/* Sets the function that decides how a failure ends the program. Where it returns nonzero, exit is
 * called. Else it has printed the profile itself, and the program ends without exit handlers. */
void tilek_at_failure(int (*may_exit)(void));

/* For trouble.c: a line of this kind, as tilek_warn prints it; and the end of a failure. */
void tilek_print_line(const char *kind, const char *file, int line, const char *format, va_list arguments);
void tilek_leave_program(int status);

/* At exit: forgets which lines were printed. */
void tilek_messages_free(void);

enum { TILEK_EXIT_VERIFY = 70, TILEK_EXIT_STRICT = 71 };

#endif
