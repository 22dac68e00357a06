/* wavefront_cases.c: tiles of several wavefronts at once: each begins when all is done that it may need, and each runs once. */
#define _POSIX_C_SOURCE 200809L
#include "kernels.h"
#include "host/thread_pool.h"
#include "host/wavefront_queue.h"

#include <string.h>
#include <time.h>

enum { WAVES = 40, COLUMNS = 12, PARTS = 4 };

static const tilek_tile_kind tile_kinds[] = {TILEK_TILE_DYNAMIC, TILEK_TILE_THREAD};
static const int tile_axes[] = {-1, 0};
static const tilek_loop_shape tile_loops[] = {{"c", 2, tile_kinds, tile_axes, 0, INT64_MIN, INT64_MAX}};
static const size_t value_sizes[] = {sizeof(int)};

static int lowers[WAVES], widths[WAVES];
static int runs[WAVES][COLUMNS], data[WAVES][COLUMNS]; /* `data` is written by its tile and read by those that need it: plain, for the sanitizer to see */

static int has(int wave, int64_t column) { return column >= lowers[wave] && column < lowers[wave] + widths[wave]; }

static void tile_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    const int wave = *(const int *)call->values[0];
    const int64_t column = call->loops[0]->lower;
    int sum = 1;
    CHECK(first == 0 && last == 1 && call->loops[0]->trip == 1 && has(wave, column));
    if ((wave * 7 + column * 3) % 11 == 0) (void)nanosleep(&(struct timespec){0, 300000}, NULL); /* so that others overtake it, if they may */
    for (int before = 0; before < wave; ++before)
        for (int64_t other = column - (wave - before) < 0 ? 0 : column - (wave - before); other <= column; ++other)
            if (has(before, other)) {
                CHECK(data[before][other] > 0);
                sum = (sum + data[before][other]) % 1000 + 1;
            }
    data[wave][column] = sum;
    (void)__atomic_add_fetch(&runs[wave][column], 1, __ATOMIC_RELAXED);
}

static const tilek_launch_shape tile_launch = {"tiles", 1, tile_loops, 1u, tile_host, 0, NULL, 0, NULL, 1, value_sizes, 0};

/* A planned step of one loop with `width` tiles from `lower` on. */
static tilek_planned planned_of(tilek_bounds *bounds, int64_t lower, int64_t width)
{
    *bounds = (tilek_bounds){lower, lower + width - 1, 1, width};
    return (tilek_planned){.bounds = bounds};
}

static tilek_host_call call_of(const int *wave, const void **values, const tilek_tile *const *tiles)
{
    static const int64_t counts[TILEK_AXES];
    values[0] = wave;
    return (tilek_host_call){.values = values, .tiles = tiles, .axes = counts};
}

/* Wavefronts that begin anywhere, some of one tile, with gaps between them. */
void waves(void)
{
    static const tilek_tile numbers[2];
    const tilek_tile *const tiles[] = {numbers};
    unsigned state = 1;
    tilek_wavefront_queue *queued = tilek_wavefronts_new();
    CHECK(queued != NULL);
    for (int round = 0; round < 20; ++round) {
        memset(runs, 0, sizeof runs);
        memset(data, 0, sizeof data);
        for (int wave = 0; wave < WAVES; ++wave) {
            const void *values[1];
            tilek_bounds bounds;
            state = state * 1664525u + 1013904223u;
            lowers[wave] = (int)(state >> 8) % COLUMNS;
            widths[wave] = 1 + (int)(state >> 20) % (COLUMNS - lowers[wave]);
            const tilek_planned planned = planned_of(&bounds, lowers[wave], widths[wave]);
            const tilek_host_call call = call_of(&wave, values, tiles);
            CHECK(tilek_wavefronts_take(&tile_launch, &planned) && tilek_wavefronts_add(queued, &tile_launch, &planned, &call, 100 + wave));
        }
        tilek_wavefronts_begin(queued);
        tilek_parallel(round % 5 == 0 ? 1 : PARTS, tilek_wavefronts_run, queued);
        CHECK(tilek_wavefronts_count(queued) == WAVES && tilek_wavefronts_width(queued) <= COLUMNS);
        tilek_wavefronts_clear(queued);
        for (int wave = 0; wave < WAVES; ++wave)
            for (int column = 0; column < COLUMNS; ++column) CHECK(runs[wave][column] == has(wave, column));
    }
    free(queued);
}

/* What does not follow on what is queued waits for that to run; what is no such launch is not queued. */
void waves_apart(void)
{
    static const tilek_tile numbers[2];
    const tilek_tile *const tiles[] = {numbers};
    static const tilek_reduction sum[1];
    const void *values[1];
    const int wave = 0;
    tilek_bounds bounds;
    tilek_planned planned = planned_of(&bounds, 3, 2);
    const tilek_host_call call = call_of(&wave, values, tiles);
    tilek_launch_shape other = tile_launch;
    tilek_wavefront_queue *queued = tilek_wavefronts_new();
    int count = 0;
    CHECK(queued != NULL && tilek_wavefronts_add(queued, &tile_launch, &planned, &call, 5));
    CHECK(!tilek_wavefronts_add(queued, &tile_launch, &planned, &call, 7) && !tilek_wavefronts_add(queued, &tile_launch, &planned, &call, 5));
    CHECK(!tilek_wavefronts_add(queued, &other, &planned, &call, 6));
    CHECK(tilek_wavefronts_tiles(queued) == 2 && tilek_wavefronts_count(queued) == 1);
    while (tilek_wavefronts_add(queued, &tile_launch, &planned, &call, 6 + count)) ++count;
    CHECK(count > 8 && count < 1 << 20);
    tilek_wavefronts_clear(queued);
    CHECK(tilek_wavefronts_tiles(queued) == 0 && tilek_wavefronts_add(queued, &tile_launch, &planned, &call, -3));
    bounds.step = 2;
    CHECK(!tilek_wavefronts_take(&tile_launch, &planned));
    bounds = (tilek_bounds){0, INT64_MAX - 1, 1, INT64_MAX};
    CHECK(!tilek_wavefronts_take(&tile_launch, &planned));
    planned = planned_of(&bounds, 0, 1);
    other.reductions = sum;
    other.reduction_count = 1;
    CHECK(!tilek_wavefronts_take(&other, &planned));
    other = tile_launch;
    other.loop_count = 2;
    CHECK(!tilek_wavefronts_take(&other, &planned));
    free(queued);
}
