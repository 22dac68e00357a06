/* wavefront_queue.c: tiles of wavefronts in one order for all threads, wavefront after wavefront; a
 * free thread takes the next. All that a tile waits for comes before it in that order, so the
 * thread with the first unfinished tile never waits, and all make progress. No wavefront ends with
 * threads that have nothing to do while others still work: those take the tiles of the next one. */
#define _POSIX_C_SOURCE 200809L
#include "host/wavefront_queue.h"

#include "base/shared_constants.h"
#include "host/thread_pool.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TILES = 1 << 14, MOST_VALUES = 4 };

typedef struct wave {
    int64_t number, lower, tiles;
    int64_t first; /* its first tile's place among all */
    int done;      /* atomic: tiles that are through */
    int64_t values[MOST_VALUES];
} wave;

struct tilek_wavefront_queue {
    const tilek_launch_shape *launch;
    tilek_host_call call;
    tilek_tile numbers[2]; /* of the loop's two tiles */
    int64_t axes[TILEK_AXES];
    int64_t count, width, tiles;
    int64_t next;         /* atomic: the next tile to begin */
    wave waves[TILEK_MOST_WAVES];
    int done[MOST_TILES]; /* atomic: 1 where a tile is through */
};

tilek_wavefront_queue *tilek_wavefronts_new(void) { return calloc(1, sizeof(tilek_wavefront_queue)); }

int tilek_wavefronts_take(const tilek_launch_shape *launch, const tilek_planned *planned)
{
    const tilek_loop_shape *loop = launch->loops;
    if (launch->loop_count != 1 || launch->reduction_count != 0 || launch->value_count > MOST_VALUES) return 0;
    if (loop->tile_count != 2 || loop->kinds[0] != TILEK_TILE_DYNAMIC || loop->kinds[1] != TILEK_TILE_THREAD) return 0;
    for (int index = 0; index < launch->value_count; ++index)
        if (launch->value_sizes[index] > sizeof(int64_t)) return 0;
    return planned->bounds[0].step == 1 && planned->bounds[0].trip <= MOST_TILES;
}

int tilek_wavefronts_add(tilek_wavefront_queue *waves, const tilek_launch_shape *launch, const tilek_planned *planned,
                         const tilek_host_call *call, int64_t number)
{
    const tilek_bounds *bounds = &planned->bounds[0];
    wave *added = &waves->waves[waves->count];
    if (waves->count > 0 && (waves->launch != launch || waves->waves[waves->count - 1].number + 1 != number)) return 0;
    if (waves->count == TILEK_MOST_WAVES || waves->tiles + bounds->trip > MOST_TILES) return 0;
    if (waves->count == 0) {
        waves->launch = launch;
        waves->call = *call;
        memcpy(waves->numbers, call->tiles[0], sizeof waves->numbers);
        memcpy(waves->axes, call->axes, sizeof waves->axes);
        waves->call.axes = waves->axes;
        waves->call.partials = NULL;
    }
    *added = (wave){number, bounds->lower, bounds->trip, waves->tiles, 0, {0}};
    for (int index = 0; index < launch->value_count; ++index)
        memcpy(&added->values[index], call->values[index], launch->value_sizes[index]);
    ++waves->count;
    waves->tiles += bounds->trip;
    waves->width = tilek_maximum(waves->width, bounds->trip);
    return 1;
}

int64_t tilek_wavefronts_tiles(const tilek_wavefront_queue *waves) { return waves->tiles; }
int64_t tilek_wavefronts_count(const tilek_wavefront_queue *waves) { return waves->count; }
int64_t tilek_wavefronts_width(const tilek_wavefront_queue *waves) { return waves->width; }

void tilek_wavefronts_begin(tilek_wavefront_queue *waves)
{
    waves->next = 0;
    for (int64_t index = 0; index < waves->count; ++index) waves->waves[index].done = 0;
    memset(waves->done, 0, (size_t)waves->tiles * sizeof *waves->done);
}

void tilek_wavefronts_clear(tilek_wavefront_queue *waves) { waves->count = waves->width = waves->tiles = 0; }

/* One tile as a launch of its own: its loop has the one iteration. */
static void run_tile(const tilek_wavefront_queue *waves, const wave *front, int64_t column)
{
    const tilek_bounds bounds = {column, column, 1, 1}, *const loops[] = {&bounds};
    const tilek_tile *const tiles[] = {waves->numbers};
    const void *values[MOST_VALUES];
    tilek_host_call call = waves->call;
    for (int index = 0; index < MOST_VALUES; ++index) values[index] = &front->values[index];
    call.loops = loops;
    call.tiles = tiles;
    call.values = values;
    waves->launch->host(&call, 0, 1);
}

/* Waits for the tile of a wavefront in a column, if it has one there. */
static void await_tile(const tilek_wavefront_queue *waves, const wave *front, int64_t column)
{
    if (column < front->lower || column - front->lower >= front->tiles) return;
    tilek_await(&waves->done[front->first + (column - front->lower)], 1);
}

void tilek_wavefronts_run(void *context, int64_t part)
{
    tilek_wavefront_queue *waves = context;
    int64_t current = 0, complete = 0; /* wavefronts before `complete` are through */
    (void)part;
    for (;;) {
        const int64_t tile = __atomic_fetch_add(&waves->next, 1, __ATOMIC_RELAXED);
        wave *front;
        int64_t column;
        if (tile >= waves->tiles) return;
        while (tile >= waves->waves[current].first + waves->waves[current].tiles) ++current;
        front = &waves->waves[current];
        column = front->lower + (tile - front->first);
        /* A wavefront need not have the columns of those around it: of those before the last, all
         * are waited for. */
        for (; complete < current - 1; ++complete)
            tilek_await(&waves->waves[complete].done, (int)waves->waves[complete].tiles);
        if (current > 0) {
            await_tile(waves, front - 1, column - 1);
            await_tile(waves, front - 1, column);
        }
        run_tile(waves, front, column);
        __atomic_store_n(&waves->done[tile], 1, __ATOMIC_RELEASE);
        (void)__atomic_add_fetch(&front->done, 1, __ATOMIC_RELEASE);
    }
}
