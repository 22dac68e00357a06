/* disorder.c: stands between launches and the pool of threads (disorder.py). With CHECK_DISORDER the parts of a launch run one after the
 * other, the last first: no order is promised among them, and what depends on one shows in every run. With TILEK_NUM_THREADS large
 * each instance of the outermost axis is a part. */
#include <stdint.h>
#include <stdlib.h>

void tilek_parallel_of_pool(int64_t parts, void (*body)(void *context, int64_t part), void *context);
void tilek_parallel(int64_t parts, void (*body)(void *context, int64_t part), void *context);

void tilek_parallel(int64_t parts, void (*body)(void *context, int64_t part), void *context)
{
    if (getenv("CHECK_DISORDER") == NULL) {
        tilek_parallel_of_pool(parts, body, context);
        return;
    }
    for (int64_t part = parts; part-- > 0;)
        body(context, part);
}
