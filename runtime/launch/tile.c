/* tile.c: trip counts and Algorithm 1. The rule, word for word, heads tests/support/algorithm1.py;
 * a property test holds both equal. */
#include "tilek.h"

/* Unsigned arithmetic is exact where int64 would overflow: distances of two int64 fit uint64. */
static uint64_t magnitude(int64_t value) { return value < 0 ? UINT64_C(0) - (uint64_t)value : (uint64_t)value; }

/* Steps to cover `distance` exactly, or -1. */
static int64_t trip_until_equal(int64_t lower, int64_t upper, int64_t step)
{
    const uint64_t distance = upper > lower ? (uint64_t)upper - (uint64_t)lower : (uint64_t)lower - (uint64_t)upper;
    const uint64_t quotient = distance / magnitude(step);
    if (distance == 0) return 0;
    if ((upper > lower) != (step > 0) || distance % magnitude(step) != 0 || quotient > (uint64_t)INT64_MAX) return -1;
    return (int64_t)quotient;
}

int64_t tilek_trip(int64_t lower, int64_t upper, int64_t step, char comparison)
{
    const int upward = comparison == '<' || comparison == 'l';
    const int closed = comparison == 'l' || comparison == 'g';
    const int64_t from = upward ? lower : upper, to = upward ? upper : lower;
    uint64_t last;
    if (step == 0) return -1;
    if (comparison == '!') return trip_until_equal(lower, upper, step);
    if (from > to || (from == to && !closed)) return 0;
    if ((step > 0) != upward) return -1;
    last = ((uint64_t)to - (uint64_t)from - (closed ? 0 : 1)) / magnitude(step); /* number of the last iteration */
    return last >= (uint64_t)INT64_MAX ? -1 : (int64_t)last + 1;
}

/* a * b for positive numbers; INT64_MAX + 1 (as unsigned) stands for everything beyond int64. */
#define BEYOND ((uint64_t)INT64_MAX + 1)
static uint64_t product(uint64_t a, uint64_t b)
{
    if (a >= BEYOND || b >= BEYOND || (b != 0 && a > (uint64_t)INT64_MAX / b)) return BEYOND;
    return a * b;
}

static uint64_t ceiling(uint64_t a, uint64_t b) { return a / b + (a % b > 0); }

/* Count of the filling tile at `place`, whose own stride is `stride`. */
static uint64_t filling(int64_t trip, const tilek_tile_kind kinds[], const int64_t arguments[], int place,
                        uint64_t stride)
{
    uint64_t divisor = stride;
    for (int outer = place - 1; outer >= 0; --outer) {
        if (kinds[outer] == TILEK_TILE_SIZE) return ceiling((uint64_t)arguments[outer], divisor);
        divisor = product(divisor, (uint64_t)arguments[outer]);
    }
    return ceiling((uint64_t)trip, divisor);
}

/* The place of the dynamic tile, tile_count where there is none, -1 where the tiles are invalid. */
static int find_dynamic(int tile_count, const tilek_tile_kind kinds[], const int64_t arguments[])
{
    int dynamic = tile_count;
    for (int tile = 0; tile < tile_count; ++tile) {
        if (kinds[tile] == TILEK_TILE_DYNAMIC) {
            if (dynamic != tile_count) return -1;
            dynamic = tile;
        } else if (arguments[tile] < 1) {
            return -1;
        }
    }
    return dynamic;
}

tilek_status tilek_tiles(int64_t trip, int tile_count, const tilek_tile_kind kinds[], const int64_t arguments[],
                         tilek_tile tiles[], int *exact)
{
    const int dynamic = tile_count >= 0 && tile_count <= TILEK_MAX_TILES ? find_dynamic(tile_count, kinds, arguments)
                                                                         : -1;
    uint64_t stride = 1, points = 1;
    if (trip < 0 || dynamic < 0) return TILEK_INVALID;
    if (dynamic == tile_count && filling(trip, kinds, arguments, tile_count, 1) > 1) return TILEK_INVALID;
    for (int tile = tile_count - 1; tile >= 0; --tile) {
        uint64_t count;
        if (tile < dynamic && kinds[tile] == TILEK_TILE_SIZE) count = filling(trip, kinds, arguments, tile, stride);
        else if (tile == dynamic) count = filling(trip, kinds, arguments, tile, stride);
        else if (kinds[tile] == TILEK_TILE_SIZE) count = ceiling((uint64_t)arguments[tile], stride);
        else count = (uint64_t)arguments[tile];
        tiles[tile].count = (int64_t)count;
        tiles[tile].stride = (int64_t)stride;
        stride = product(stride, count > 0 ? count : 1);
        if (stride >= BEYOND) return TILEK_INVALID;
        points *= count;
    }
    *exact = points == (uint64_t)trip;
    return TILEK_OK;
}

void tilek_lengths(int64_t step, int tile_count, const tilek_tile tiles[], int64_t lengths[], int64_t strides[])
{
    for (int tile = 0; tile < tile_count; ++tile) {
        lengths[tile] = (int64_t)((uint64_t)tiles[tile].count * (uint64_t)tiles[tile].stride * (uint64_t)step);
        strides[tile] = (int64_t)((uint64_t)tiles[tile].stride * (uint64_t)step);
    }
}
