/* disorder.c: stands between launches and the pool of threads (disorder.py), and in the place of runtime/host/wavefront_queue.c. With CHECK_DISORDER the parts of a launch run one after the
 * other, the last first: no order is promised among them, and what depends on one shows in every run. With TILEK_NUM_THREADS large
 * each instance of the outermost axis is a part. Tiles of wavefronts that overlap run in the order farthest from that of the loops which their
 * waits allow: of those that wait for nothing the last. */
#define tilek_wavefronts_run tilek_wavefronts_run_of_pool
#include "host/wavefront_queue.c"
#undef tilek_wavefronts_run

#include <stdint.h>

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

static int is_through(const tilek_wavefront_queue *waves, const wave *of, int64_t column)
{
    return column < of->lower || column - of->lower >= of->tiles || waves->done[of->first + (column - of->lower)];
}

/* The last tile that waits for nothing, of wavefront `current` and those before; -1 where there is none. */
static int64_t last_ready(const tilek_wavefront_queue *waves, int64_t current)
{
    for (; current >= 0; --current) {
        const wave *own = &waves->waves[current];
        int64_t complete = 0;
        while (complete < current - 1 && waves->waves[complete].done == waves->waves[complete].tiles) ++complete;
        if (complete < current - 1) continue;
        for (int64_t tile = own->tiles; tile-- > 0;) {
            const int64_t column = own->lower + tile;
            if (waves->done[own->first + tile]) continue;
            if (current == 0 || (is_through(waves, own - 1, column - 1) && is_through(waves, own - 1, column))) return own->first + tile;
        }
    }
    return -1;
}

void tilek_wavefronts_run(void *context, int64_t part)
{
    tilek_wavefront_queue *waves = context;
    int64_t tile;
    if (getenv("CHECK_DISORDER") == NULL) {
        tilek_wavefronts_run_of_pool(context, part);
        return;
    }
    while ((tile = last_ready(waves, waves->count - 1)) >= 0) {
        int64_t current = 0;
        while (tile >= waves->waves[current].first + waves->waves[current].tiles) ++current;
        run_tile(waves, &waves->waves[current], waves->waves[current].lower + (tile - waves->waves[current].first));
        waves->done[tile] = 1;
        ++waves->waves[current].done;
    }
}
