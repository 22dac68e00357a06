/* opencl_wheel.c: what it takes to use OpenCL from wheels in a C program.
 *
 * pyopencl's wheel holds an ICD loader (ocl-icd) that differs from the system's in two ways. It
 * looks for drivers in $PYOPENCL_HOME/.libs as well as in /etc/OpenCL/vendors, and crashes without
 * the variable. And the drivers' files named there (*.icd; pocl-binary-distribution puts PoCL's
 * there) hold a bare soname, which resolves only where the driver is loaded already. Whatever
 * loader has *.icd files beside it gets PYOPENCL_HOME and its drivers loaded first. */
#define _POSIX_C_SOURCE 200809L
#include "device/opencl/opencl_wheel.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dynamic_library.h"

enum { PATH_BYTES = 4096 };

/* Loads the driver that FOLDER/NAME, an *.icd file, gives the soname of. A driver that does not
 * load is left out, as a loader would. */
static void load_driver(const char *folder, const char *name)
{
    char path[PATH_BYTES], driver[PATH_BYTES / 2];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = length > 0 && length < PATH_BYTES ? fopen(path, "r") : NULL;
    if (file == NULL)
        return;
    if (fgets(driver, sizeof driver, file) != NULL) {
        driver[strcspn(driver, "\r\n")] = '\0';
        const int full = driver[0] == '/' ? snprintf(path, sizeof path, "%s", driver)
                                          : snprintf(path, sizeof path, "%s/%s", folder, driver);
        if (full > 0 && full < PATH_BYTES)
            (void)tilek_library_open((const char *[]){path, NULL}); /* held open for the loader */
    }
    (void)fclose(file);
}

static int load_drivers(const char *folder)
{
    int drivers = 0;
    DIR *directory = opendir(folder);
    if (directory == NULL)
        return 0;
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        const size_t length = strlen(entry->d_name);
        if (length > 4 && strcmp(entry->d_name + length - 4, ".icd") == 0) {
            load_driver(folder, entry->d_name);
            ++drivers;
        }
    }
    (void)closedir(directory);
    return drivers;
}

int tilek_opencl_prepare_wheel(const char *loader)
{
    char folder[PATH_BYTES];
    const char *slash = strrchr(loader, '/');
    if (slash == NULL || slash == loader || (size_t)(slash - loader) >= sizeof folder)
        return 0;
    memcpy(folder, loader, (size_t)(slash - loader));
    folder[slash - loader] = '\0';
    if (load_drivers(folder) == 0)
        return 0;
    char *parent = strrchr(folder, '/');
    if (parent != NULL && parent != folder) {
        *parent = '\0';
        /* once, in the search for a library; no later call changes the environment */
        (void)setenv("PYOPENCL_HOME", folder, 1);
    }
    return 1;
}

/* ---- PoCL on processors newer than its compiler ---------------------------------------------- */

#if defined(__GNUC__) && defined(__x86_64__)

/* The widest processor that this one contains, of those that an older LLVM knows; at most 7
 * characters, as "generic" has. */
static const char *known_processor(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return "skx";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2"))
        return "haswell";
    return "x86-64";
}

/* PoCL asks LLVM for the processor's name, gets "generic" for one that is younger than it, and then
 * hands that to a compiler that has no such processor: every build fails (pocl issues 512 and 1049;
 * later versions read POCL_LLVM_CPU_NAME). The wheel is older than every processor on sale, so the
 * name is put right in its device's record. The places of the fields are those of the one build
 * that the wheel holds; it is known by its version, and each field is checked by what must stand
 * there. */
void tilek_opencl_repair_pocl(const tilek_opencl_api *api, cl_device_id device)
{
    enum { DRIVER_FIELD = 568, TRIPLE_FIELD = 632, PROCESSOR_FIELD = 640 };
    static const char version[] = "3.0-rc2", triple[] = "x86_64-unknown-linux-gnu", unknown[] = "generic";
    char driver[sizeof version], device_version[256] = "";
    char *fields[3];
    if (api->clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof driver, driver, NULL) != CL_SUCCESS ||
        strcmp(driver, version) != 0 ||
        api->clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof device_version - 1, device_version, NULL) !=
            CL_SUCCESS ||
        strstr(device_version, "PoCL") == NULL || strstr(device_version, "x86_64-unknown-linux-gnu-generic") == NULL)
        return;
    memcpy(&fields[0], (const char *)device + DRIVER_FIELD, sizeof fields[0]);
    memcpy(&fields[1], (const char *)device + TRIPLE_FIELD, sizeof fields[1]);
    memcpy(&fields[2], (const char *)device + PROCESSOR_FIELD, sizeof fields[2]);
    if (strcmp(fields[0], version) == 0 && strcmp(fields[1], triple) == 0 && strcmp(fields[2], unknown) == 0)
        strcpy(fields[2], known_processor());
}

#else

void tilek_opencl_repair_pocl(const tilek_opencl_api *api, cl_device_id device)
{
    (void)api;
    (void)device;
}

#endif
