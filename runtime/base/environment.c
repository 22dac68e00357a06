/* environment.c: the TILEK_… variables, read once. */
#define _POSIX_C_SOURCE 200809L
#include "base/environment.h"

#include "base/message.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_MIB = 256, MOST_CACHE_MIB = 1 << 20 };

static tilek_settings settings;
static pthread_once_t once = PTHREAD_ONCE_INIT;
/* atomic: launches ask often, and a call of pthread_once takes longer than to look here */
static int is_read;
static tilek_message rejection; /* of the first bad value under STRICT */
static int is_rejected;         /* atomic once the settings are read */
static char *owned[4]; /* copies of strings: the environment may change under us */

/* One item of TILEK_SIZES, [KERNEL.]NAME=VALUE. */
typedef struct given_size { const char *kernel, *name; int64_t value; int asked_for; } given_size;
static given_size *given_sizes; /* asked_for: atomic */
static int given_size_count;

/* The variable's value, NULL where it is unset or empty. */
static const char *value_of(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static const char *keep(int place, const char *text)
{
    owned[place] = malloc(strlen(text) + 1);
    return owned[place] != NULL ? strcpy(owned[place], text) : NULL;
}

/* Under STRICT the first bad value ends the program, but only when all are read: exit handlers ask
 * for the settings too. */
static void reject(const char *name, const char *value, const char *accepted)
{
    if (!settings.strict)
        tilek_warn(NULL, 0, "%s is \"%.200s\", which is not one of: %s; it is ignored", name, value, accepted);
    else if (!is_rejected) tilek_say(&rejection, "%s is \"%.200s\", which is not one of: %s", name, value, accepted);
    is_rejected = settings.strict;
}

static int read_switch(const char *name, int unset)
{
    const char *value = value_of(name);
    if (value == NULL) return unset;
    if (strcmp(value, "0") == 0) return 0;
    if (strcmp(value, "1") == 0) return 1;
    reject(name, value, "0, 1");
    return unset;
}

/* A whole number of at least `least`; 0 with *ok = 0 otherwise. */
static int64_t read_number(const char *value, int64_t least, int *ok)
{
    char *end;
    long long number;
    errno = 0;
    number = strtoll(value, &end, 10);
    *ok = *end == '\0' && errno == 0 && number >= least;
    return *ok ? (int64_t)number : 0;
}

static void read_target(void)
{
    static const char *const names[] = {"serial", "threads", "opencl", "cuda", "auto"};
    const char *value = value_of("TILEK_TARGET");
    if (value == NULL) return;
    for (int target = TILEK_SERIAL; target <= TILEK_AUTO; ++target) {
        if (strcmp(value, names[target]) == 0) {
            settings.target = (tilek_target)target;
            settings.target_given = target != TILEK_AUTO;
            return;
        }
    }
    reject("TILEK_TARGET", value, "cuda, opencl, threads, serial, auto");
}

static void read_opencl_form(void)
{
    static const char *const names[] = {"auto", "gpu", "cpu"};
    const char *value = value_of("TILEK_OPENCL_FORM");
    for (int form = TILEK_FORM_BY_DEVICE; value != NULL && form <= TILEK_FORM_CPU; ++form) {
        if (strcmp(value, names[form]) != 0) continue;
        settings.opencl_form = (tilek_opencl_form)form;
        return;
    }
    if (value != NULL) reject("TILEK_OPENCL_FORM", value, "auto, gpu, cpu");
}

static void read_device(void)
{
    const char *value = value_of("TILEK_DEVICE");
    int is_number;
    int64_t number;
    settings.device = -1;
    if (value == NULL) return;
    number = read_number(value, 0, &is_number);
    if (is_number) settings.device = number;
    else if (value[0] == '-' || value[0] == '+')
        reject("TILEK_DEVICE", value, "a device's number from 0, a part of a device's name");
    else settings.device_name = keep(0, value);
}

static void read_subdevices(void)
{
    const char *value = value_of("TILEK_SUBDEVICES");
    int ok = 1;
    settings.subdevices = value != NULL ? read_number(value, 1, &ok) : 1;
    if (ok && settings.subdevices <= TILEK_MOST_SUBDEVICES) return;
    reject("TILEK_SUBDEVICES", value, "a number from 1 to 16");
    settings.subdevices = 1;
}

static void read_version(void)
{
    const char *value = value_of("TILEK_VERSION");
    int ok = 1;
    settings.version = value != NULL ? read_number(value, 0, &ok) : -1;
    if (ok) return;
    reject("TILEK_VERSION", value, "a version's number from 0");
    settings.version = -1;
}

static void read_profile(void)
{
    const char *value = value_of("TILEK_PROFILE");
    const size_t length = value != NULL ? strlen(value) : 0;
    if (value == NULL || strcmp(value, "0") == 0) return;
    if (strcmp(value, "1") == 0) settings.profile = 1;
    else if (length > 5 && strcmp(value + length - 5, ".json") == 0) settings.trace = keep(1, value);
    else reject("TILEK_PROFILE", value, "0, 1, a file's name that ends in .json");
}

static void read_cache_size(void)
{
    const char *value = value_of("TILEK_CACHE_SIZE");
    int ok = 1;
    int64_t size = value != NULL ? read_number(value, 0, &ok) : CACHE_MIB;
    if (!ok || size > MOST_CACHE_MIB) {
        reject("TILEK_CACHE_SIZE", value, "a number of MiB from 0 to 1048576");
        size = CACHE_MIB;
    }
    settings.cache_bytes = size << 20;
}

static void read_tolerance(void)
{
    const char *value = value_of("TILEK_TOLERANCE");
    char *end;
    double number;
    settings.tolerance = -1;
    if (value == NULL) return;
    number = strtod(value, &end);
    if (*end == '\0' && number >= 0 && isfinite(number)) settings.tolerance = number;
    else reject("TILEK_TOLERANCE", value, "a number from 0, relative");
}

static int is_word(const char *text)
{
    return text[0] != '\0' &&
           text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* Parses `item`, and changes it; returns whether it is valid. */
static int read_size(char *item, given_size *size)
{
    char *equals = strchr(item, '='), *dot;
    int ok;
    if (equals == NULL) return 0;
    *equals = '\0';
    dot = strchr(item, '.');
    if (dot != NULL) *dot = '\0';
    *size = (given_size){dot != NULL ? item : NULL, dot != NULL ? dot + 1 : item, read_number(equals + 1, 1, &ok), 0};
    return ok && equals[1] >= '0' && equals[1] <= '9' && size->value <= INT32_MAX && is_word(size->name) &&
           (dot == NULL || is_word(item));
}

static void read_sizes(void)
{
    const char *value = value_of("TILEK_SIZES");
    int items = 1, ok = 1;
    char *item;
    if (value == NULL || keep(3, value) == NULL) return;
    for (const char *next = value; *next != '\0'; ++next) items += *next == ',';
    given_sizes = calloc((size_t)items, sizeof *given_sizes);
    if (given_sizes == NULL) return;
    item = owned[3];
    for (int index = 0; index < items && ok; ++index) {
        char *comma = strchr(item, ',');
        if (comma != NULL) *comma = '\0';
        ok = read_size(item, &given_sizes[index]);
        item = comma != NULL ? comma + 1 : item;
    }
    given_size_count = ok ? items : 0;
    if (!ok)
        reject(
            "TILEK_SIZES", value,
            "NAME=SIZE or KERNEL.NAME=SIZE with sizes from 1, several with commas between them "
            "(i_size=32,lu.j_size=8)");
}

/* A size for one kernel takes precedence over a size for all. */
int64_t tilek_given_size(const char *kernel, const char *name, int64_t usual)
{
    given_size *given = NULL;
    (void)tilek_get_settings();
    for (int index = 0; index < given_size_count; ++index) {
        given_size *size = &given_sizes[index];
        if (strcmp(size->name, name) != 0 || (size->kernel != NULL && strcmp(size->kernel, kernel) != 0)) continue;
        __atomic_store_n(&size->asked_for, 1, __ATOMIC_RELAXED);
        if (given == NULL || given->kernel == NULL || size->kernel != NULL) given = size;
    }
    return given != NULL ? given->value : usual;
}

void tilek_sizes_finish(void)
{
    for (int index = 0; index < given_size_count; ++index) {
        const given_size *size = &given_sizes[index];
        if (__atomic_load_n(&size->asked_for, __ATOMIC_RELAXED)) continue;
        if (size->kernel != NULL)
            tilek_warn(NULL, 0, "TILEK_SIZES names %s.%s, and no kernel %s with a tile size %s ran", size->kernel,
                       size->name, size->kernel, size->name);
        else tilek_warn(NULL, 0, "TILEK_SIZES names %s, and no kernel with a tile size of that name ran", size->name);
    }
}

/* More threads than the pool allows are only a warning, also under STRICT: a program runs on
 * machines of many sizes. */
static void read_threads(void)
{
    const char *value = value_of("TILEK_NUM_THREADS");
    int ok = 1;
    if (value != NULL) settings.threads = read_number(value, 1, &ok);
    if (!ok) reject("TILEK_NUM_THREADS", value, "a number from 1");
    if (settings.threads <= TILEK_MOST_THREADS) return;
    tilek_warn(NULL, 0, "TILEK_NUM_THREADS is %.40s, and there are %d threads at most; these are used", value,
               (int)TILEK_MOST_THREADS);
    settings.threads = TILEK_MOST_THREADS;
}

/* As OMP_STACKSIZE: a number, and behind it the unit. Below 64K the runtime itself would have no
 * room. */
static void read_stack_size(void)
{
    static const char *const units = "bkmg";
    const char *value = value_of("TILEK_STACKSIZE");
    char *end;
    const char *unit = units + 1;
    long long number;
    int64_t bytes = 0;
    if (value == NULL) return;
    errno = 0;
    number = strtoll(value, &end, 10);
    if (end == value || errno != 0) number = 0;
    end += strspn(end, " \t");
    if (*end != '\0') unit = strchr(units, tolower((unsigned char)*end++));
    end += strspn(end, " \t");
    if (unit == NULL || *end != '\0' || number <= 0 ||
        __builtin_mul_overflow((int64_t)number, (int64_t)1 << 10 * (unit - units), &bytes) || bytes < 65536 ||
        (uint64_t)bytes > SIZE_MAX / 2)
        reject("TILEK_STACKSIZE", value,
               "a size from 64K, with B, K, M or G behind the number (K where there is none)");
    else settings.stack_bytes = bytes;
}

static void read_all(void)
{
    const char *cache = value_of("TILEK_CACHE_DIR");
    settings.strict = read_switch("TILEK_STRICT", 0);
    settings.specialize = read_switch("TILEK_SPECIALIZE", 1);
    settings.graphs = read_switch("TILEK_GRAPHS", 1);
    settings.persistent = read_switch("TILEK_PERSISTENT", 1);
    settings.verify = read_switch("TILEK_VERIFY", 0);
    settings.adapt = read_switch("TILEK_ADAPT", 0);
    read_target();
    read_opencl_form();
    read_device();
    read_subdevices();
    read_version();
    read_profile();
    read_tolerance();
    read_cache_size();
    read_sizes();
    read_threads();
    read_stack_size();
    if (cache != NULL) settings.cache_directory = keep(2, cache);
    __atomic_store_n(&is_read, 1, __ATOMIC_RELEASE);
}

const tilek_settings *tilek_get_settings(void)
{
    if (!__atomic_load_n(&is_read, __ATOMIC_ACQUIRE)) (void)pthread_once(&once, read_all);
    if (__atomic_load_n(&is_rejected, __ATOMIC_RELAXED) && __atomic_exchange_n(&is_rejected, 0, __ATOMIC_ACQ_REL))
        tilek_fail(NULL, 0, TILEK_EXIT_STRICT, "%s", rejection.text);
    return &settings;
}

void tilek_settings_free(void)
{
    free(given_sizes);
    given_sizes = NULL;
    given_size_count = 0;
    for (int place = 0; place < 4; ++place) {
        free(owned[place]);
        owned[place] = NULL;
    }
    settings.device_name = settings.trace = settings.cache_directory = NULL;
}
