#define _GNU_SOURCE /* dladdr, RTLD_NODELETE */
#include "base/dynamic_library.h"

#include <dlfcn.h>
#ifdef __linux__
#include <link.h>
#endif
#include <string.h>

#ifdef __linux__
/* The first object is the program itself; one that needs libraries names its loader. */
static int look_for_loader(struct dl_phdr_info *object, size_t size, void *has_loader)
{
    (void)size;
    for (int index = 0; index < object->dlpi_phnum; ++index)
        *(int *)has_loader |= object->dlpi_phdr[index].p_type == PT_INTERP;
    return 1;
}

int tilek_program_is_static(void)
{
    int has_loader = 0;
    (void)dl_iterate_phdr(look_for_loader, &has_loader);
    return !has_loader;
}
#else
int tilek_program_is_static(void) { return 0; }
#endif

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
        /* POSIX lets an address from dlsym be a function's; ISO C has no cast for it, so the bytes
         * are copied. */
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

int tilek_library_differs(const void *address, const void *other)
{
    Dl_info library, other_library;
    return dladdr(address, &library) != 0 && dladdr(other, &other_library) != 0 &&
           library.dli_fbase != other_library.dli_fbase;
}
