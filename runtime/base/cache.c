/* cache.c: one file an entry.
 *
 * Layout of an entry: magic (8 bytes), key (32), SHA-256 of the payload (32), length of the payload
 * (8, little-endian), payload. The key is stored so that an entry under another entry's name is not
 * taken; the hash finds damage. Neither keeps out someone who may write to the folder: that is the
 * duty of the folder's owner and mode, checked on each use through the open descriptor. */
#define _POSIX_C_SOURCE 200809L
#include "base/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cache_limit.h"
#include "base/environment.h"
#include "base/message.h"

static const char magic[8] = {'t', 'i', 'l', 'e', 'k', '\r', '\n', '1'};

typedef struct entry_header {
    char magic[8];
    unsigned char key[TILEK_SHA256_BYTES];
    unsigned char hash[TILEK_SHA256_BYTES];
    unsigned char length[8];
} entry_header;

enum {
    NAME_BYTES = 2 * TILEK_SHA256_BYTES + sizeof TILEK_CACHE_SUFFIX,
    TEMPORARY_BYTES = NAME_BYTES + 64,
    PATH_BYTES = 4096
};

tilek_cache_key tilek_cache_key_of(size_t count, const char *const parts[])
{
    tilek_sha256 hash;
    tilek_cache_key key;
    tilek_sha256_begin(&hash);
    for (size_t k = 0; k < count; ++k) /* the terminator too: it tells "ab","c" from "a","bc" */
        tilek_sha256_add(&hash, parts[k], strlen(parts[k]) + 1);
    tilek_sha256_end(&hash, key.digest);
    return key;
}

/* ---- The folder ------------------------------------------------------------------------------ */

/* 0 where the environment names no place for a cache. An XDG path that is relative is to be
 * ignored, says its specification. */
static int folder_path(char path[PATH_BYTES])
{
    const char *chosen = tilek_get_settings()->cache_directory;
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int length = -1;
    if (chosen != NULL && *chosen != '\0')
        length = snprintf(path, PATH_BYTES, "%s", chosen);
    else if (cache != NULL && *cache == '/')
        length = snprintf(path, PATH_BYTES, "%s/tilek", cache);
    else if (home != NULL && *home == '/')
        length = snprintf(path, PATH_BYTES, "%s/.cache/tilek", home);
    return length > 0 && length < PATH_BYTES;
}

static void make_folders(char path[PATH_BYTES])
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700); /* a failure shows when the last one is opened */
        *slash = '/';
    }
    (void)mkdir(path, 0700);
}

/* A descriptor of the cache's folder, made where `make` says so; -1 where there is none that only
 * we can write to. */
static int open_folder(int make)
{
    char path[PATH_BYTES];
    if (!folder_path(path))
        return -1;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 && make && errno == ENOENT) {
        make_folders(path);
        folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (folder < 0) {
        if (make)
            tilek_warn(NULL, 0, "compiled kernels are not kept: %s: %s", path, strerror(errno));
        return -1;
    }
    struct stat status;
    if (fstat(folder, &status) != 0 || status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        tilek_warn(NULL, 0,
                   "compiled kernels are not kept: %s must belong to you and be writable by you alone (chmod 700)",
                   path);
        (void)close(folder);
        return -1;
    }
    return folder;
}

/* ---- Entries --------------------------------------------------------------------------------- */

static void entry_name(const tilek_cache_key *key, char name[NAME_BYTES])
{
    for (size_t k = 0; k < TILEK_SHA256_BYTES; ++k)
        (void)snprintf(name + 2 * k, 3, "%02x", key->digest[k]);
    (void)snprintf(name + 2 * TILEK_SHA256_BYTES, sizeof TILEK_CACHE_SUFFIX, TILEK_CACHE_SUFFIX);
}

static int read_all(int file, void *bytes, size_t size)
{
    for (char *next = bytes; size > 0;) {
        const ssize_t taken = read(file, next, size);
        if (taken < 0 && errno == EINTR)
            continue;
        if (taken <= 0)
            return 0;
        next += taken;
        size -= (size_t)taken;
    }
    return 1;
}

static int write_all(int file, const void *bytes, size_t size)
{
    for (const char *next = bytes; size > 0;) {
        const ssize_t taken = write(file, next, size);
        if (taken < 0 && errno == EINTR)
            continue;
        if (taken <= 0)
            return 0;
        next += taken;
        size -= (size_t)taken;
    }
    return 1;
}

static void hash_of(const unsigned char *bytes, size_t size, unsigned char digest[TILEK_SHA256_BYTES])
{
    tilek_sha256 hash;
    tilek_sha256_begin(&hash);
    tilek_sha256_add(&hash, bytes, size);
    tilek_sha256_end(&hash, digest);
}

/* The payload of an open entry; NULL where anything about it is not as it was written. */
static unsigned char *checked_payload(int file, const tilek_cache_key *key, size_t *size)
{
    struct stat status;
    entry_header header;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 || !read_all(file, &header, sizeof header) ||
        memcmp(header.magic, magic, sizeof magic) != 0 || memcmp(header.key, key->digest, sizeof header.key) != 0)
        return NULL;
    uint64_t length = 0;
    for (int k = 7; k >= 0; --k)
        length = length << 8 | header.length[k];
    if (length == 0 || (uint64_t)status.st_size < sizeof header || length != (uint64_t)status.st_size - sizeof header)
        return NULL;
    unsigned char *bytes = malloc((size_t)length);
    unsigned char digest[TILEK_SHA256_BYTES];
    if (bytes == NULL || !read_all(file, bytes, (size_t)length)) {
        free(bytes);
        return NULL;
    }
    hash_of(bytes, (size_t)length, digest);
    if (memcmp(digest, header.hash, sizeof digest) != 0) {
        free(bytes);
        return NULL;
    }
    tilek_cache_used(file, &status.st_mtim);
    *size = (size_t)length;
    return bytes;
}

int tilek_cache_read(const tilek_cache_key *key, unsigned char **bytes, size_t *size)
{
    char name[NAME_BYTES];
    *bytes = NULL;
    *size = 0;
    const int folder = open_folder(0);
    if (folder < 0)
        return 0;
    entry_name(key, name);
    const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0) {
        *bytes = checked_payload(file, key, size);
        (void)close(file);
        if (*bytes == NULL) /* whoever rebuilds it should not trip over it */
            (void)unlinkat(folder, name, 0);
    }
    (void)close(folder);
    return *bytes != NULL;
}

/* A new file for one writer: its process and the time keep it apart from those of other processes
 * and threads. */
static int make_temporary(int folder, const char *entry, char name[TEMPORARY_BYTES])
{
    for (int attempt = 0; attempt < 16; ++attempt) {
        struct timespec now;
        (void)clock_gettime(CLOCK_REALTIME, &now);
        (void)snprintf(name, TEMPORARY_BYTES, TILEK_CACHE_TEMPORARY "%s.%ld.%ld", entry, (long)getpid(),
                       (long)now.tv_nsec + attempt);
        const int file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

void tilek_cache_write(const tilek_cache_key *key, const unsigned char *bytes, size_t size)
{
    char name[NAME_BYTES], temporary[TEMPORARY_BYTES];
    entry_header header;
    const uint64_t limit = (uint64_t)tilek_get_settings()->cache_bytes;
    if (size == 0 || sizeof header + size > limit)
        return;
    const int folder = open_folder(1);
    if (folder < 0)
        return;
    entry_name(key, name);
    memcpy(header.magic, magic, sizeof magic);
    memcpy(header.key, key->digest, sizeof header.key);
    hash_of(bytes, size, header.hash);
    for (int k = 0; k < 8; ++k)
        header.length[k] = (unsigned char)((uint64_t)size >> (8 * k));
    const int file = make_temporary(folder, name, temporary);
    if (file >= 0) {
        /* No fsync: an entry torn by a power cut fails its check and is rebuilt. A full disk shows
         * in write or close. */
        const int written = write_all(file, &header, sizeof header) && write_all(file, bytes, size);
        if (close(file) != 0 || !written || renameat(folder, temporary, folder, name) != 0)
            (void)unlinkat(folder, temporary, 0);
    }
    tilek_cache_limit(folder, limit);
    (void)close(folder);
}
