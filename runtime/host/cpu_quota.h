/* cpu_quota.h: the processor time that control groups allow. */
#ifndef TILEK_CPU_QUOTA_H
#define TILEK_CPU_QUOTA_H

#include "tilek.h"

/* How many cores' time the process may have, by the strictest of the control groups that it is in,
 * rounded up; INT64_MAX where none limits it. `root` is put before all paths; it is empty but in
 * tests. Versions 1 and 2 (cgroups(7), cpu.max, cpu.cfs_quota_us). */
int64_t tilek_core_quota(const char *root);

#endif
