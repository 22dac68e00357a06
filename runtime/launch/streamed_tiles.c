/* streamed_tiles.c: the model of streamed tiles, with a device's multiprocessors, operations and
 * bandwidth. */
#include "launch/streamed_tiles.h"

#include "base/shared_constants.h"

/* Instructions of a worker: for an element of a statement, and for a column at a position (it loads
 * and stores it, and copies it for its neighbours); and how many times as long a position takes at
 * the ends of a chunk, where planes have tests. */
#define INSTRUCTIONS_OF_STATEMENT 9.0
#define INSTRUCTIONS_OF_POSITION 45.0
#define TESTED_POSITION 2.3

/* Seconds before a launch begins; rates of devices that tell none. */
#define SECONDS_OF_LAUNCH 5e-6
#define OPERATIONS 1e13
#define BANDWIDTH 1e12

/* A multiprocessor takes as long for one gang as for two: in GPGPU-Sim a position of 5 points takes
 * 964 cycles of one, 924 of two, and 995 of three. */
#define FEWEST_GANGS 2

/* With more time steps or planes the defaults stay: sums would leave 64 bits. */
#define MOST ((int64_t)1 << 40)

/* The most chunks that are tried, for each multiprocessor. */
#define MOST_GANGS 8

static double larger(double a, double b) { return a > b ? a : b; }

/* Seconds of all launches with so many time steps and chunks of planes. */
static double seconds(const tilek_stream *stream, const tilek_limits *limits, int64_t degree, int64_t chunks)
{
    const double units = (double)tilek_maximum(limits->compute_units, 1);
    const double operations = (limits->flops_float > 0 ? limits->flops_float : OPERATIONS) / 2;
    const double bandwidth = limits->bandwidth > 0 ? limits->bandwidth : BANDWIDTH;
    const double launches = 2 * (double)tilek_ceiling_quotient(stream->steps, 2 * degree);
    const int64_t chunk = tilek_ceiling_quotient(stream->planes, chunks);
    const int64_t lost = stream->reach + stream->growth * (degree - 1);
    double gangs = (double)chunks, columns = 1, instructions;
    for (int side = 0; side < 2; ++side) {
        const tilek_stream_side *each = &stream->sides[side];
        if (each->length == 0) continue;
        gangs *= (double)tilek_ceiling_quotient(
            each->extent, tilek_maximum(each->length - each->reach - each->growth * (degree - 1), 1));
        columns *= (double)each->length;
    }
    instructions = INSTRUCTIONS_OF_POSITION + INSTRUCTIONS_OF_STATEMENT * (double)(stream->statements * degree);
    {
        const double busiest = larger((double)(int64_t)((gangs + units - 1) / units), FEWEST_GANGS);
        const double positions = (double)chunk + TESTED_POSITION * 2 * (double)lost;
        const double computing = busiest * positions * columns * instructions * units / operations;
        const double moving = gangs * (double)(chunk + 2 * lost) * columns * (double)stream->bytes / bandwidth;
        return launches * (SECONDS_OF_LAUNCH + larger(computing, moving));
    }
}

void tilek_choose_stream(const tilek_stream *stream, const tilek_limits *limits, int64_t *degree, int64_t *chunk)
{
    const int64_t most_steps = *degree, units = tilek_maximum(limits->compute_units, 1);
    double least = 0;
    if (stream->steps < 1 || stream->planes < 1 || stream->steps > MOST || stream->planes > MOST) return;
    for (int64_t steps = 1; steps <= most_steps; ++steps) {
        /* unless fewer steps need no more pairs of launches */
        const int64_t pairs = tilek_ceiling_quotient(stream->steps, 2 * steps);
        if (steps > tilek_ceiling_quotient(stream->steps, 2 * pairs)) continue;
        for (int64_t chunks = 1; chunks <= tilek_minimum(MOST_GANGS * units, stream->planes); ++chunks) {
            const double cost = seconds(stream, limits, steps, chunks);
            if (least > 0 && cost >= least) continue;
            least = cost;
            *degree = steps;
            *chunk = tilek_ceiling_quotient(stream->planes, chunks);
        }
    }
}
