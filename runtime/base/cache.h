/* cache.h: compiled device programs on disk.
 *
 * One file an entry, in TILEK_CACHE_DIR or the user's cache folder. An entry is checked in full on
 * every read: what is damaged, or was written for another key, is removed and reported as absent.
 * Entries appear whole or not at all, so processes share a folder without locks. Nothing here
 * fails: without a usable folder there is no cache. */
#ifndef TILEK_CACHE_H
#define TILEK_CACHE_H

#include <stddef.h>

#include "base/sha256.h"

typedef struct tilek_cache_key { unsigned char digest[TILEK_SHA256_BYTES]; } tilek_cache_key;

/* The key of all that determines an entry, in order. No two different lists of parts have the same
 * key. */
tilek_cache_key tilek_cache_key_of(size_t count, const char *const parts[]);

/* 1: *bytes (to be freed by the caller) holds the *size bytes that were written under the key. 0:
 * there are none. */
int tilek_cache_read(const tilek_cache_key *key, unsigned char **bytes, size_t *size);

void tilek_cache_write(const tilek_cache_key *key, const unsigned char *bytes, size_t size);

#endif
