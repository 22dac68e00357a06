/* cache_limit.h: how much the folder of compiled device programs holds. */
#ifndef TILEK_CACHE_LIMIT_H
#define TILEK_CACHE_LIMIT_H

#include <stdint.h>
#include <time.h>

/* What writers call their files until these are whole: a dot, the entry's name, and something of
 * their own. */
#define TILEK_CACHE_TEMPORARY "."
#define TILEK_CACHE_SUFFIX ".bin"

/* Marks an open entry as used now. */
void tilek_cache_used(int file, const struct timespec *last);

/* Removes entries of the open folder, those that were used longest ago first, until all of them
 * have `limit` bytes at most; and what writers that were killed have left. Only files with names of
 * entries count, and are touched. Several processes may do so at the same time. */
void tilek_cache_limit(int folder, uint64_t limit);

#endif
