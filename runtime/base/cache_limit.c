/* cache_limit.c: eviction from the folder of compiled device programs. The time of an entry's last
 * change is that of its last use. */
#define _POSIX_C_SOURCE 200809L
#include "base/cache_limit.h"

#include "base/sha256.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DIGITS = 2 * TILEK_SHA256_BYTES,
    NAME_BYTES = DIGITS + sizeof TILEK_CACHE_SUFFIX,
    /* an entry that was used since then is not marked again: programs that start often would write
     * to the disk each time */
    MARK_SECONDS = 60,
    ABANDONED_SECONDS = 3600 /* no writer takes that long */
};

typedef struct entry { char name[NAME_BYTES]; struct timespec used; uint64_t bytes; } entry;
typedef struct entry_list { entry *entries; size_t count, room; uint64_t bytes; } entry_list;

/* Whether `text` begins with an entry's name. */
static int begins_with_entry(const char *text)
{
    return strspn(text, "0123456789abcdef") == DIGITS &&
           strncmp(text + DIGITS, TILEK_CACHE_SUFFIX, strlen(TILEK_CACHE_SUFFIX)) == 0;
}

void tilek_cache_used(int file, const struct timespec *last)
{
    const struct timespec now[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
    if (time(NULL) - last->tv_sec >= MARK_SECONDS) (void)futimens(file, now);
}

/* Without memory the entry is left out: less is evicted. */
static void add(entry_list *list, const char *name, const struct stat *status)
{
    entry *added;
    if (list->count == list->room) {
        const size_t room = list->room > 0 ? 2 * list->room : 64;
        entry *entries = realloc(list->entries, room * sizeof *entries);
        if (entries == NULL) return;
        list->entries = entries;
        list->room = room;
    }
    added = &list->entries[list->count++];
    memcpy(added->name, name, NAME_BYTES);
    added->used = status->st_mtim;
    added->bytes = (uint64_t)status->st_size;
    list->bytes += added->bytes;
}

static void look_at(int folder, const char *name, time_t now, entry_list *list)
{
    const int temporary = strncmp(name, TILEK_CACHE_TEMPORARY, strlen(TILEK_CACHE_TEMPORARY)) == 0;
    struct stat status;
    if (!begins_with_entry(temporary ? name + strlen(TILEK_CACHE_TEMPORARY) : name) ||
        (!temporary && strlen(name) != NAME_BYTES - 1))
        return;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) return;
    if (!temporary) add(list, name, &status);
    else if (now - status.st_mtim.tv_sec > ABANDONED_SECONDS) (void)unlinkat(folder, name, 0);
}

static int by_use(const void *left, const void *right)
{
    const struct timespec *a = &((const entry *)left)->used, *b = &((const entry *)right)->used;
    if (a->tv_sec != b->tv_sec) return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

void tilek_cache_limit(int folder, uint64_t limit)
{
    entry_list list = {NULL, 0, 0, 0};
    const time_t now = time(NULL);
    const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* closedir closes it */
    DIR *names = copy >= 0 ? fdopendir(copy) : NULL;
    if (names == NULL) {
        if (copy >= 0) (void)close(copy);
        return;
    }
    for (const struct dirent *file = readdir(names); file != NULL; file = readdir(names))
        look_at(folder, file->d_name, now, &list);
    (void)closedir(names);
    if (list.bytes > limit) qsort(list.entries, list.count, sizeof *list.entries, by_use);
    for (size_t index = 0; index < list.count && list.bytes > limit; ++index) {
        (void)unlinkat(folder, list.entries[index].name, 0); /* gone already: another process evicts too */
        list.bytes -= list.entries[index].bytes;
    }
    free(list.entries);
}
