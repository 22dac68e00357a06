/* quota.c: prints how many cores' time the control groups below a folder allow; 0: any. */
#include "host/cpu_quota.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    const int64_t cores = argc == 2 ? tilek_core_quota(argv[1]) : -1;
    return printf("%lld\n", cores == INT64_MAX ? 0LL : (long long)cores) < 0;
}
