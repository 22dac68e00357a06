/* cpu_quota.c: the processor time that control groups allow. */
#define _POSIX_C_SOURCE 200809L
#include "host/cpu_quota.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH = 4096, LINE = 8192, JOINED = 2 * PATH + 64 };

/* A hierarchy with the processors' controller: where it is mounted, the group there that the mount
 * shows as its root, and the process's own group. */
typedef struct hierarchy { int version; char mount[PATH], shown[PATH], group[PATH]; } hierarchy;

/* Threads that launch may have small stacks: texts stand in memory of their own. `line` is a
 * file's, `options` part of one; `name` and `path` are a file's without and with the root, `folder`
 * the group's that is looked at. */
typedef struct texts {
    hierarchy mounted;
    char line[LINE], options[LINE], folder[JOINED], name[JOINED], path[JOINED];
} texts;

/* Whether `word` is among words with commas between them. */
static int has_word(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (const char *match = words; (match = strstr(match, word)) != NULL; match += length)
        if ((match == words || match[-1] == ',') && strchr(",\n", match[length]) != NULL) return 1;
    return 0;
}

static FILE *open_file(const char *root, const char *name, texts *text)
{
    return snprintf(text->path, JOINED, "%s%s", root, name) < JOINED ? fopen(text->path, "r") : NULL;
}

/* A line of mountinfo: NUMBER PARENT DEVICE SHOWN MOUNT OPTIONS… - TYPE SOURCE OPTIONS. */
static int read_mount(texts *text)
{
    hierarchy *const mounted = &text->mounted;
    const char *const type = strstr(text->line, " - ");
    if (type == NULL || sscanf(text->line, "%*s %*s %*s %4095s %4095s", mounted->shown, mounted->mount) != 2) return 0;
    if (strncmp(type, " - cgroup2 ", 11) == 0) return mounted->version = 2;
    if (strncmp(type, " - cgroup ", 10) != 0 || sscanf(type, " - cgroup %*s %8191s", text->options) != 1 ||
        !has_word(text->options, "cpu"))
        return 0;
    return mounted->version = 1;
}

/* A line of /proc/self/cgroup: NUMBER:CONTROLLERS:GROUP, with no controllers in version 2. */
static int read_group(texts *text)
{
    char *const controllers = strchr(text->line, ':'), *const group = controllers != NULL ? strchr(controllers + 1, ':')
                                                                                          : NULL;
    if (group == NULL) return 0;
    *group = '\0';
    if (text->mounted.version == 2 ? controllers[1] != '\0' : !has_word(controllers + 1, "cpu")) return 0;
    return sscanf(group + 1, "%4095[^\n]", text->mounted.group) == 1;
}

static int find_group(const char *root, texts *text)
{
    FILE *const file = open_file(root, "/proc/self/cgroup", text);
    int is_known = 0;
    while (file != NULL && !is_known && fgets(text->line, LINE, file) != NULL) is_known = read_group(text);
    if (file != NULL) (void)fclose(file);
    return is_known;
}

static FILE *open_in_folder(const char *root, const char *name, texts *text)
{
    return snprintf(text->name, JOINED, "%s/%s", text->folder, name) < JOINED ? open_file(root, text->name, text)
                                                                              : NULL;
}

static int64_t read_number(const char *root, const char *name, texts *text)
{
    FILE *const file = open_in_folder(root, name, text);
    int64_t number = -1;
    if (file == NULL) return -1;
    if (fscanf(file, "%" SCNd64, &number) != 1) number = -1;
    (void)fclose(file);
    return number;
}

/* The two numbers of cpu.max, "max" for none. */
static void read_pair(const char *root, texts *text, int64_t *quota, int64_t *period)
{
    FILE *const file = open_in_folder(root, "cpu.max", text);
    if (file == NULL) return;
    if (fscanf(file, "%" SCNd64 " %" SCNd64, quota, period) != 2) *quota = -1;
    (void)fclose(file);
}

static int64_t cores_of_folder(const char *root, texts *text)
{
    int64_t quota = -1, period = -1;
    if (text->mounted.version == 2) read_pair(root, text, &quota, &period);
    if (text->mounted.version == 1) quota = read_number(root, "cpu.cfs_quota_us", text);
    if (text->mounted.version == 1) period = read_number(root, "cpu.cfs_period_us", text);
    return quota > 0 && period > 0 ? tilek_ceiling_quotient(quota, period) : INT64_MAX;
}

/* From the process's own group up to the one that is mounted; those above it are not seen. */
static int64_t least_of(const char *root, texts *text)
{
    const hierarchy *const mounted = &text->mounted;
    const size_t shown = strcmp(mounted->shown, "/") == 0 ? 0 : strlen(mounted->shown), mount = strlen(mounted->mount);
    const int is_below = strncmp(mounted->group, mounted->shown, shown) == 0;
    int64_t cores = INT64_MAX;
    (void)snprintf(text->folder, JOINED, "%s%s", mounted->mount, is_below ? mounted->group + shown : "");
    for (;;) {
        char *slash;
        cores = tilek_minimum(cores, cores_of_folder(root, text));
        slash = strrchr(text->folder + mount, '/');
        if (slash == NULL) return cores;
        *slash = '\0';
    }
}

int64_t tilek_core_quota(const char *root)
{
    texts *const text = malloc(sizeof *text);
    FILE *const file = text != NULL ? open_file(root, "/proc/self/mountinfo", text) : NULL;
    int64_t cores = INT64_MAX;
    while (file != NULL && fgets(text->line, LINE, file) != NULL)
        if (read_mount(text) && find_group(root, text)) cores = tilek_minimum(cores, least_of(root, text));
    if (file != NULL) (void)fclose(file);
    free(text);
    return cores;
}
