/* streamed_tiles.c: the model of streamed tiles, with a device's multiprocessors, operations and
 * bandwidth. */
#include "launch/streamed_tiles.h"

#include "base/shared_constants.h"

/* Instructions of a worker: for an element of a statement, and for a column at a position (it loads
 * and stores it, and copies it for its neighbours). */
#define INSTRUCTIONS_OF_STATEMENT 9.0
#define INSTRUCTIONS_OF_POSITION 45.0

/* A walk begins with as many instructions as so many positions take: 670 of two time steps in
 * GPGPU-Sim, for the places where tests hold. */
#define POSITIONS_OF_BEGIN 8

/* Seconds before a launch begins; rates of devices that tell none. */
#define SECONDS_OF_LAUNCH 5e-6
#define OPERATIONS 1e13
#define BANDWIDTH 1e12

/* Up to so many columns of gangs, a multiprocessor waits at each position, for barriers and shared
 * memory: a column less makes it faster by half a column's time. With 192 to 480 columns of 2-D
 * stars GPGPU-Sim's cycles differ by 3 % from this. */
#define WAITING_COLUMNS 800

/* With more time steps or planes the defaults stay: sums would leave 64 bits. */
#define MOST ((int64_t)1 << 40)

/* The most chunks that are tried, for each multiprocessor; and how many times the fewest tiles
 * along the first side. */
#define MOST_GANGS 8
#define MOST_TILES 4

static double larger(double a, double b) { return a > b ? a : b; }

/* Elements that tiles of a launch of so many time steps touch beyond those that they keep. */
static int64_t lost_of(int64_t reach, int64_t growth, int64_t degree) { return reach + growth * (degree - 1); }

/* The fewest tiles along a side. */
static int64_t tiles_of(const tilek_stream_side *side, int64_t degree)
{
    const int64_t home = side->length - lost_of(side->reach, side->growth, degree);
    return tilek_maximum(tilek_ceiling_quotient(side->extent, tilek_maximum(home, 1)), 1);
}

/* The least length of a side for so many tiles, and no more than it may have. */
static int64_t length_of(const tilek_stream_side *side, int64_t degree, int64_t tiles)
{
    const int64_t lost = lost_of(side->reach, side->growth, degree);
    return tilek_minimum(tilek_ceiling_quotient(side->extent, tiles) + lost, side->length);
}

/* The columns of a gang whose planes have sides of these lengths (0: there is one side), with those
 * that workers step over in their last round. */
static int64_t columns_of(int64_t first, int64_t second)
{
    static const int64_t workers[][3] = TILEK_PREFERRED_WORKERS;
    const int64_t at_once = second > 0 ? workers[1][1] : TILEK_LANES;
    return at_once * tilek_ceiling_quotient(first, at_once) * tilek_maximum(second, 1);
}

/* Seconds of all launches with so many time steps, chunks of planes, and gangs side by side in a
 * chunk, each of so many columns. */
static double seconds(const tilek_stream *stream, const tilek_limits *limits, int64_t degree, int64_t chunks,
                      double beside, double columns)
{
    const double units = (double)tilek_maximum(limits->compute_units, 1);
    const double operations = (limits->flops_float > 0 ? limits->flops_float : OPERATIONS) / 2;
    const double bandwidth = limits->bandwidth > 0 ? limits->bandwidth : BANDWIDTH;
    const double launches = 2 * (double)tilek_ceiling_quotient(stream->steps, 2 * degree);
    const int64_t chunk = tilek_ceiling_quotient(stream->planes, chunks);
    const int64_t lost = lost_of(stream->reach, stream->growth, degree);
    const double gangs = beside * (double)chunks;
    const double instructions =
        INSTRUCTIONS_OF_POSITION + INSTRUCTIONS_OF_STATEMENT * (double)(stream->statements * degree);
    const double most_columns = (double)(int64_t)((gangs + units - 1) / units) * columns;
    const double busiest = larger(most_columns, (most_columns + WAITING_COLUMNS) / 2);
    const double positions = (double)(chunk + lost);
    const double computing = busiest * (positions + POSITIONS_OF_BEGIN) * instructions * units / operations;
    const double moving = gangs * positions * columns * (double)stream->bytes / bandwidth;
    return launches * (SECONDS_OF_LAUNCH + larger(computing, moving));
}

void tilek_choose_stream(const tilek_stream *stream, const tilek_limits *limits, tilek_stream_sizes *sizes)
{
    const int64_t most_steps = sizes->degree, units = tilek_maximum(limits->compute_units, 1);
    const tilek_stream_side *first = &stream->sides[0], *second = &stream->sides[1];
    double least = 0;
    for (int side = 0; side < 2; ++side) sizes->lengths[side] = stream->sides[side].length;
    if (stream->steps < 1 || stream->planes < 1 || stream->steps > MOST || stream->planes > MOST) return;
    for (int64_t degree = 1; degree <= most_steps; ++degree) {
        /* unless fewer steps need no more pairs of launches */
        const int64_t pairs = tilek_ceiling_quotient(stream->steps, 2 * degree), fewest = tiles_of(first, degree);
        const int64_t across = second->length > 0 ? tiles_of(second, degree) : 1;
        if (degree > tilek_ceiling_quotient(stream->steps, 2 * pairs)) continue;
        for (int64_t tiles = fewest; tiles <= MOST_TILES * fewest; ++tiles) {
            const int64_t length = length_of(first, degree, tiles);
            const int64_t columns = columns_of(length, second->length);
            const int64_t most = tilek_minimum(MOST_GANGS * units, stream->planes);
            for (int64_t chunks = 1; chunks <= most; ++chunks) {
                const double cost =
                    seconds(stream, limits, degree, chunks, (double)tiles * (double)across, (double)columns);
                if (least > 0 && cost >= least) continue;
                least = cost;
                sizes->degree = degree;
                sizes->chunk = tilek_ceiling_quotient(stream->planes, chunks);
                sizes->lengths[0] = length;
            }
        }
    }
}
