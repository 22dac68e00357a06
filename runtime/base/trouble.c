/* trouble.c: what keeps a kernel from running as it should. */
#define _POSIX_C_SOURCE 200809L
#include "base/trouble.h"

#include "base/environment.h"

void tilek_trouble(const char *file, int line, const char *format, ...)
{
    const int strict = tilek_get_settings()->strict;
    va_list arguments;
    va_start(arguments, format);
    tilek_print_line(strict ? "error" : "warning", file, line, format, arguments);
    va_end(arguments);
    if (strict) tilek_leave_program(TILEK_EXIT_STRICT);
}
