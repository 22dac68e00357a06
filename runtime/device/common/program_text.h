/* program_text.h: what both device back ends do before a compiler sees a program. Internal. */
#ifndef TILEK_PROGRAM_TEXT_H
#define TILEK_PROGRAM_TEXT_H

#include "base/cache.h"
#include "device/common/backend.h"

/* The build's source behind #defines of its constants, of its arguments and of the entry points
 * that it leaves out; its lines are numbered as in the source alone. `suffix` makes a literal
 * 64-bit in the dialect ("L", "LL"). To be freed by the caller; NULL where memory is short.
 * Definitions stand in the text rather than in the compiler's options, whose length and quoting
 * drivers treat differently. */
char *tilek_program_text(const tilek_build *build, const char *suffix);

/* The disk cache's key of a compiled text. */
tilek_cache_key tilek_program_key(const char *backend, const tilek_limits *limits, const char *options,
                                  const char *text);

#endif
