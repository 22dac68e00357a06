/* rank.c: the place of a process among ranks. Usage: rank [CORES] prints "RANK LOCAL_RANK CORES DEVICE GPU"; without CORES those that it may use.
 * DEVICE is that of three alike, of which none is a GPU; GPU that of two GPUs behind a processor. */
#include <stdio.h>
#include <stdlib.h>

#include "host/cores.h"
#include "device/common/device_choice.h"
#include "base/rank.h"

int main(int count, char **words)
{
    static const tilek_limits processors[3] = {{.name = "Processor A"}, {.name = "Processor B"}, {.name = "Processor C"}};
    static const tilek_limits mixed[3] = {{.name = "Host"}, {.name = "GPU one", .is_gpu = 1}, {.name = "GPU two", .is_gpu = 1}};
    const long long cores = (long long)(count > 1 ? tilek_cores_of_rank(strtol(words[1], NULL, 10)) : tilek_core_count());
    if (tilek_device_of_rank(3, sizeof mixed[0], mixed, "none") != -1)
        return 1;
    printf("%s%lld %lld %lld %d %d\n", tilek_rank_prefix(), (long long)tilek_rank(), (long long)tilek_local_rank(), cores,
           tilek_device_of_rank(3, sizeof processors[0], processors, "processor"), tilek_device_of_rank(3, sizeof mixed[0], mixed, "gpu"));
    return 0;
}
