/* program_text.h: what both device back ends do before a compiler sees a program, and how both choose by name. Internal. */
#ifndef TILEK_PROGRAM_TEXT_H
#define TILEK_PROGRAM_TEXT_H

#include "base/cache.h"
#include "device/common/backend.h"

/* The build's source after a #define of each constant, its lines numbered as in the source alone. `suffix` makes a literal 64-bit in the
 * dialect ("L", "LL"). To be freed by the caller; NULL where memory is short. Definitions stand in the text rather than in the
 * compiler's options, whose length and quoting drivers treat differently. */
char *tilek_program_text(const tilek_build *build, const char *suffix);

/* The disk cache's key of a compiled text. */
tilek_cache_key tilek_program_key(const char *backend, const tilek_limits *limits, const char *options, const char *text);

/* Whether a device of this name is meant by TILEK_DEVICE=part; letters match in either case. */
int tilek_name_contains(const char *name, const char *part);

/* The device of this process among `count`, whose limits lie `stride` bytes apart: the first whose name contains `name_part` (NULL: any), or where ranks of a program
 * share the machine the one whose turn it is of those like the first. -1: none has such a name. */
int tilek_device_of_rank(int count, size_t stride, const tilek_limits *first, const char *name_part);

#endif
