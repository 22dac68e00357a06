#define _GNU_SOURCE /* dladdr, RTLD_NODELETE */
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

void tilek_library_keep(const void *address)
{
    Dl_info library;
    if (dladdr(address, &library) != 0)
        (void)dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

int tilek_library_differs(const void *one, const void *other)
{
    Dl_info first, second;
    return dladdr(one, &first) != 0 && dladdr(other, &second) != 0 && first.dli_fbase != second.dli_fbase;
}
