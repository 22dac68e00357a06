/* cache.c: the disk cache from the command line. Usage: cache hash BYTES | write KEY SIZE [LIMIT] | read KEY SIZE | hammer KEY SIZE ROUNDS.
 *
 * The payload of KEY with SIZE bytes is made up from both. `read` prints "hit" (and fails where the payload is another) or "miss". */
#define _XOPEN_SOURCE 700
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cache.h"

static unsigned char *payload(const char *key, size_t size)
{
    unsigned char *bytes = malloc(size + 1);
    for (size_t k = 0; bytes != NULL && k < size; ++k)
        bytes[k] = (unsigned char)(key[k % strlen(key)] + 31 * k);
    return bytes;
}

static tilek_cache_key key_of(const char *key) { return tilek_cache_key_of(2, (const char *[]){"test", key}); }

static int write_entry(const char *name, size_t size)
{
    const tilek_cache_key key = key_of(name);
    unsigned char *bytes = payload(name, size);
    if (bytes == NULL)
        return 1;
    tilek_cache_write(&key, bytes, size);
    free(bytes);
    return 0;
}

/* 1: the right payload; 0: none; -1: another. */
static int read_entry(const char *name, size_t size)
{
    const tilek_cache_key key = key_of(name);
    unsigned char *bytes, *expected = payload(name, size);
    size_t found;
    const int hit = tilek_cache_read(&key, &bytes, &found);
    const int right = hit && expected != NULL && found == size && memcmp(bytes, expected, size) == 0;
    free(bytes);
    free(expected);
    return hit ? (right ? 1 : -1) : 0;
}

static int hash(size_t size)
{
    unsigned char digest[TILEK_SHA256_BYTES], *bytes = payload("hash", size);
    tilek_sha256 state;
    if (bytes == NULL)
        return 1;
    tilek_sha256_begin(&state);
    for (size_t k = 0, step = 1; k < size; k += step, step = step * 3 % 70 + 1) /* pieces of every size around a block */
        tilek_sha256_add(&state, bytes + k, step < size - k ? step : size - k);
    tilek_sha256_end(&state, digest);
    for (int k = 0; k < TILEK_SHA256_BYTES; ++k)
        printf("%02x", digest[k]);
    printf("\n");
    free(bytes);
    return 0;
}

int main(int count, char **words)
{
    const char *what = count > 2 ? words[1] : "";
    const size_t size = count > 3 ? (size_t)strtoul(words[3], NULL, 10) : 0;
    if (strcmp(what, "hash") == 0)
        return hash((size_t)strtoul(words[2], NULL, 10));
    if (strcmp(what, "write") == 0) {
        if (count > 4) { /* a disk that takes no more bytes than this */
            const struct rlimit limit = {strtoul(words[4], NULL, 10), strtoul(words[4], NULL, 10)};
            (void)signal(SIGXFSZ, SIG_IGN);
            if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
                return 1;
        }
        return write_entry(words[2], size);
    }
    if (strcmp(what, "read") == 0) {
        const int found = read_entry(words[2], size);
        printf("%s\n", found == 1 ? "hit" : found == 0 ? "miss" : "wrong");
        return found < 0;
    }
    if (strcmp(what, "hammer") == 0 && count > 4) {
        int wrong = 0;
        for (long round = strtol(words[4], NULL, 10); round > 0; --round)
            wrong |= write_entry(words[2], size) != 0 || read_entry(words[2], size) < 0;
        return wrong;
    }
    return 2;
}
