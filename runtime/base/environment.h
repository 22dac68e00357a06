/* environment.h: the TILEK_… variables, read once. */
#ifndef TILEK_ENVIRONMENT_H
#define TILEK_ENVIRONMENT_H

#include "tilek.h"

typedef enum tilek_opencl_form { TILEK_FORM_BY_DEVICE, TILEK_FORM_GPU, TILEK_FORM_CPU } tilek_opencl_form;

/* TILEK_MOST_THREADS: the most parts that a launch has. */
enum { TILEK_MOST_SUBDEVICES = 16, TILEK_MOST_THREADS = 1024 };

typedef struct tilek_settings {
    tilek_target target;         /* TILEK_TARGET; meaningful where target_given */
    int target_given;
    int64_t device;              /* TILEK_DEVICE as a number; -1: none given */
    const char *device_name;     /* TILEK_DEVICE otherwise: part of a device's name; NULL: none given */
    int64_t subdevices;          /* TILEK_SUBDEVICES: parts of each OpenCL processor, 1 by default */
    int verify;                  /* TILEK_VERIFY */
    double tolerance;            /* TILEK_TOLERANCE, relative; negative: by type */
    int profile;                 /* TILEK_PROFILE: 1 = table at exit */
    const char *trace;           /* TILEK_PROFILE=FILE.json; NULL: none */
    int strict;                  /* TILEK_STRICT */
    int specialize;              /* TILEK_SPECIALIZE, 1 by default */
    int graphs;                  /* TILEK_GRAPHS, 1 by default */
    int adapt;                   /* TILEK_ADAPT */
    int persistent;              /* TILEK_PERSISTENT, 1 by default */
    int64_t version;             /* TILEK_VERSION; negative: as launches choose */
    tilek_opencl_form opencl_form; /* TILEK_OPENCL_FORM */
    int64_t threads;             /* TILEK_NUM_THREADS; 0: the cores */
    int64_t stack_bytes;         /* TILEK_STACKSIZE; 0: the process's limit */
    const char *cache_directory; /* TILEK_CACHE_DIR; NULL: the cache decides */
    int64_t cache_bytes;         /* TILEK_CACHE_SIZE, given in MiB */
} tilek_settings;

/* The tile size that TILEK_SIZES gives for `name` of a kernel, else `usual`. */
int64_t tilek_given_size(const char *kernel, const char *name, int64_t usual);

/* At exit: warns of names in TILEK_SIZES that no kernel has asked for. */
void tilek_sizes_finish(void);

/* The program's settings. The first call reads the environment and complains about bad values; the
 * strings live until exit. */
const tilek_settings *tilek_get_settings(void);

/* At exit: frees their strings. */
void tilek_settings_free(void);

#endif
