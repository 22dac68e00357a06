#define _POSIX_C_SOURCE 200809L
#include "dynamic_library.h"

#include <dlfcn.h>
#include <string.h>

void *tilek_library_open(const char *const names[])
{
    for (; *names != NULL; ++names) {
        void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (library != NULL)
            return library;
    }
    return NULL;
}

const char *tilek_library_bind(void *library, size_t count, const tilek_symbol symbols[], void *table)
{
    for (size_t k = 0; k < count; ++k) {
        void *address = dlsym(library, symbols[k].name);
        if (address == NULL)
            return symbols[k].name;
        /* POSIX lets an address from dlsym be a function's; ISO C has no cast for it, so the bytes are copied. */
        memcpy((char *)table + symbols[k].offset, &address, sizeof address);
    }
    return NULL;
}

void *tilek_library_program(void) { return dlopen(NULL, RTLD_NOW | RTLD_LOCAL); }
