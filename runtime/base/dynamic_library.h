/* dynamic_library.h: libraries that are opened when needed, never linked. */
#ifndef TILEK_DYNAMIC_LIBRARY_H
#define TILEK_DYNAMIC_LIBRARY_H

#include <stddef.h>

/* A function that a library must have, and where its address goes in the table of function
 * pointers. */
typedef struct tilek_symbol { const char *name; size_t offset; } tilek_symbol;

/* Whether the program was linked statically: then a library that it opens brings a second C
 * library, and the two break each other. */
int tilek_program_is_static(void);

/* The first of `names` (ended by NULL) that opens; NULL where none does. */
void *tilek_library_open(const char *const names[]);

/* Fills the table; the name of the first function that is missing, or NULL where all are there. */
const char *tilek_library_bind(void *library, size_t count, const tilek_symbol symbols[], void *table);

/* A handle on the running program and all it was started with (libraries that a tool preloads among
 * them). */
void *tilek_library_program(void);

/* Keeps the library that holds `address` loaded to the end of the process, whoever closes it. */
void tilek_library_keep(const void *address);

/* Whether the two addresses are in different libraries (or the program and a library). */
int tilek_library_differs(const void *address, const void *other);

#endif
