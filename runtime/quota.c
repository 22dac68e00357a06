/* quota.c: the processor time that control groups allow. */
#define _POSIX_C_SOURCE 200809L
#include "quota.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PATH = 4096, LINE = 8192 };

/* A hierarchy with the processors' controller: where it is mounted, the group there that the mount shows as its root, and the process's own group. */
typedef struct hierarchy { int version; char mount[PATH], shown[PATH], group[PATH]; } hierarchy;

/* Whether `word` is among words with commas between them. */
static int has_word(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += length)
        if ((at == words || at[-1] == ',') && strchr(",\n", at[length]) != NULL) return 1;
    return 0;
}

static FILE *open_file(const char *root, const char *name)
{
    char path[2 * PATH + 64];
    return snprintf(path, sizeof path, "%s%s", root, name) < (int)sizeof path ? fopen(path, "r") : NULL;
}

/* A line of mountinfo: NUMBER PARENT DEVICE SHOWN MOUNT OPTIONS… - TYPE SOURCE OPTIONS. */
static int read_mount(const char *line, hierarchy *found)
{
    const char *const type = strstr(line, " - ");
    char options[LINE] = "";
    if (type == NULL || sscanf(line, "%*s %*s %*s %4095s %4095s", found->shown, found->mount) != 2) return 0;
    if (strncmp(type, " - cgroup2 ", 11) == 0) return found->version = 2;
    if (strncmp(type, " - cgroup ", 10) != 0 || sscanf(type, " - cgroup %*s %8191s", options) != 1 || !has_word(options, "cpu")) return 0;
    return found->version = 1;
}

/* A line of /proc/self/cgroup: NUMBER:CONTROLLERS:GROUP, with no controllers in version 2. */
static int read_group(char *line, hierarchy *found)
{
    char *const controllers = strchr(line, ':'), *const group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL) return 0;
    *group = '\0';
    if (found->version == 2 ? controllers[1] != '\0' : !has_word(controllers + 1, "cpu")) return 0;
    return sscanf(group + 1, "%4095[^\n]", found->group) == 1;
}

static int find_group(const char *root, hierarchy *found)
{
    FILE *const file = open_file(root, "/proc/self/cgroup");
    char line[LINE];
    int is_known = 0;
    while (file != NULL && !is_known && fgets(line, sizeof line, file) != NULL) is_known = read_group(line, found);
    if (file != NULL) (void)fclose(file);
    return is_known;
}

static int64_t read_number(const char *root, const char *folder, const char *name)
{
    char path[2 * PATH + 32];
    int64_t number = -1;
    FILE *file;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path || (file = open_file(root, path)) == NULL) return -1;
    if (fscanf(file, "%" SCNd64, &number) != 1) number = -1;
    (void)fclose(file);
    return number;
}

/* The two numbers of cpu.max, "max" for none. */
static void read_pair(const char *root, const char *folder, int64_t *quota, int64_t *period)
{
    char path[2 * PATH + 32];
    FILE *file;
    if (snprintf(path, sizeof path, "%s/cpu.max", folder) >= (int)sizeof path || (file = open_file(root, path)) == NULL) return;
    if (fscanf(file, "%" SCNd64 " %" SCNd64, quota, period) != 2) *quota = -1;
    (void)fclose(file);
}

static int64_t cores_of(const char *root, const char *folder, int version)
{
    int64_t quota = -1, period = -1;
    if (version == 2) read_pair(root, folder, &quota, &period);
    if (version == 1) quota = read_number(root, folder, "cpu.cfs_quota_us");
    if (version == 1) period = read_number(root, folder, "cpu.cfs_period_us");
    return quota > 0 && period > 0 ? tilek_ceiling_quotient(quota, period) : INT64_MAX;
}

/* From the process's own group up to the one that is mounted; those above it are not seen. */
static int64_t least_of(const char *root, const hierarchy *found)
{
    const size_t shown = strcmp(found->shown, "/") == 0 ? 0 : strlen(found->shown), mount = strlen(found->mount);
    const int is_below = strncmp(found->group, found->shown, shown) == 0;
    char folder[2 * PATH];
    int64_t cores = INT64_MAX;
    (void)snprintf(folder, sizeof folder, "%s%s", found->mount, is_below ? found->group + shown : "");
    for (;;) {
        char *slash;
        cores = tilek_minimum(cores, cores_of(root, folder, found->version));
        slash = strrchr(folder + mount, '/');
        if (slash == NULL) return cores;
        *slash = '\0';
    }
}

int64_t tilek_core_quota(const char *root)
{
    FILE *const file = open_file(root, "/proc/self/mountinfo");
    char line[LINE];
    int64_t cores = INT64_MAX;
    hierarchy found;
    if (file == NULL) return cores;
    while (fgets(line, sizeof line, file) != NULL)
        if (read_mount(line, &found) && find_group(root, &found)) cores = tilek_minimum(cores, least_of(root, &found));
    (void)fclose(file);
    return cores;
}
