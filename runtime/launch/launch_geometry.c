/* launch_geometry.c: the counts and strides of one launch. */
#define _POSIX_C_SOURCE 200809L
#include "launch/launch_geometry.h"

#include "base/bounded_arithmetic.h"
#include "base/message.h"
#include "base/shared_constants.h"

#include <inttypes.h>
#include <string.h>

enum { GANGS_PER_THREAD = 4, DIMENSIONS = 3 };

/* Instances of a launch whose partial values are formed in an order: so many that any number of
 * threads has about as much to do each, and few enough that combining their values takes no
 * time. */
enum { MOST_CHUNKS = 2048, CHUNK_OPERATIONS = 1024 };

static int uses(const tilek_launch_shape *launch, int axis) { return (launch->axes >> axis & 1u) != 0; }

static int is_distributed(tilek_tile_kind kind) { return kind >= TILEK_TILE_THREAD; }

/* Whether a dynamic tile takes what the counts of axes leave of the loop, so that they need not
 * cover it. */
static int has_dynamic(const tilek_loop_shape *loop)
{
    for (int tile = 0; tile < loop->tile_count; ++tile)
        if (loop->kinds[tile] == TILEK_TILE_DYNAMIC) return 1;
    return 0;
}

/* The worker axis of a loop; -1 where it has none. */
static int worker_axis(const tilek_loop_shape *loop)
{
    for (int tile = 0; tile < loop->tile_count; ++tile)
        if (loop->kinds[tile] == TILEK_TILE_WORKER) return loop->axes[tile];
    return -1;
}

/* The arguments of a loop's tiles, with the launch's points of a worker in place of the plan's.
 * Returns these points. */
static int64_t take_arguments(const tilek_loop_shape *loop, const tilek_call *call, const tilek_geometry *geometry,
                              int64_t *arguments)
{
    const int axis = worker_axis(loop);
    int64_t points = 1;
    for (int tile = 0; tile < loop->tile_count; ++tile) {
        arguments[tile] = call->tile_arguments[loop->first_argument + tile];
        if (loop->kinds[tile] != TILEK_TILE_STATIC || axis < 0) continue;
        points = arguments[tile] /= geometry->divisors[axis - TILEK_AXIS_WORKER];
    }
    return points;
}

/* How many of `tile` its loop needs so that nothing is left for the dynamic tile: what its
 * enclosing extent holds, over the counts of the other tiles there, and 1 for a loop without
 * iterations. Axes that are still open count as 1. */
static int64_t needed(const tilek_loop_shape *loop, const int64_t *arguments, int64_t trip, const int64_t *axes,
                      int tile)
{
    int64_t extent = trip, others = 1;
    int from = 0;
    for (int outer = 0; outer < tile; ++outer) {
        if (loop->kinds[outer] != TILEK_TILE_SIZE) continue;
        from = outer + 1;
        extent = arguments[outer];
    }
    for (int other = from; other < loop->tile_count; ++other) {
        if (other == tile || loop->kinds[other] == TILEK_TILE_DYNAMIC) continue;
        if (is_distributed(loop->kinds[other]))
            others = tilek_bounded_product(others, axes[loop->axes[other]] > 0 ? axes[loop->axes[other]] : 1);
        else if (arguments[other] > 0) others = tilek_bounded_product(others, arguments[other]);
        if (loop->kinds[other] == TILEK_TILE_SIZE) break;
    }
    return tilek_maximum(tilek_ceiling_quotient(extent, others), 1);
}

/* The largest need of an axis over the loops, 0 where none uses it; *must says that some loop has
 * no dynamic tile, so that need is to be met. */
static int64_t need_of(const tilek_launch_shape *launch, const tilek_call *call, const tilek_geometry *geometry,
                       int axis, int *must)
{
    int64_t need = 0;
    *must = 0;
    for (int index = 0; index < launch->loop_count; ++index) {
        const tilek_loop_shape *loop = &launch->loops[index];
        int64_t arguments[TILEK_MAX_TILES];
        int place = -1;
        for (int tile = 0; tile < loop->tile_count; ++tile)
            if (is_distributed(loop->kinds[tile]) && loop->axes[tile] == axis) place = tile;
        if (place < 0) continue;
        *must |= !has_dynamic(loop);
        (void)take_arguments(loop, call, geometry, arguments);
        need = tilek_maximum(need, needed(loop, arguments, geometry->bounds[index]->trip, geometry->axes, place));
    }
    return need;
}

/* The time of a step of the sequential loop on the busiest multiprocessor: what a worker computes,
 * reads and copies in it, for each worker there. Fewer workers than hide latencies take as long as
 * these. `longest` is the dimension of a gang's longest side along which points can be halved,
 * first where they are more than a vector; -1: there is none. */
static int64_t step_time(const tilek_launch_shape *launch, const tilek_call *call, const tilek_machine *machine,
                         const tilek_geometry *geometry, const int64_t *workers, int *longest)
{
    int64_t gangs = 1, points = 1, vectors = 0, copied = 0, gang = 1, busiest, most = 0;
    *longest = -1;
    for (int dimension = 0; dimension < DIMENSIONS; ++dimension)
        if (uses(launch, TILEK_AXIS_WORKER + dimension)) gang *= workers[dimension];
    for (int index = 0; index < launch->loop_count; ++index) {
        int64_t arguments[TILEK_MAX_TILES];
        const int axis = worker_axis(&launch->loops[index]);
        const int64_t along = take_arguments(&launch->loops[index], call, geometry, arguments),
                      side = axis < 0 ? 1 : along * workers[axis - TILEK_AXIS_WORKER];
        gangs = tilek_bounded_product(gangs, tilek_ceiling_quotient(geometry->bounds[index]->trip, side));
        points *= along;
        vectors += axis < 0 ? 0 : tilek_ceiling_quotient(along, TILEK_VECTOR_POINTS);
        copied += axis < 0 ? 0 : side;
        if (along % 2 == 0 && side + (along > TILEK_VECTOR_POINTS ? INT32_MAX : 0) > most) {
            most = side + (along > TILEK_VECTOR_POINTS ? INT32_MAX : 0);
            *longest = axis - TILEK_AXIS_WORKER;
        }
    }
    busiest = tilek_ceiling_quotient(gangs, tilek_maximum(machine->limits->compute_units, 1));
    return tilek_bounded_product(tilek_maximum(tilek_bounded_product(busiest, gang), TILEK_HIDING_WORKERS),
                                 points + vectors + tilek_ceiling_quotient(TILEK_COPIED_POINTS * copied, gang));
}

/* Gives workers fewer points where gangs with all points are too few for the multiprocessors.
 * Halves a gang's longest side, so that the gang reads least. */
static void choose_points(const tilek_launch_shape *launch, const tilek_call *call, const tilek_machine *machine,
                          tilek_geometry *geometry)
{
    static const int64_t preferred[DIMENSIONS][DIMENSIONS] = TILEK_PREFERRED_WORKERS;
    int64_t workers[DIMENSIONS], best[DIMENSIONS] = {1, 1, 1}, least = INT64_MAX;
    int open = 0, longest = 0;
    for (int axis = TILEK_AXIS_GANG; axis < TILEK_AXIS_WORKER; ++axis)
        if (uses(launch, axis) && geometry->axes[axis] > 0) return;
    for (int axis = TILEK_AXIS_WORKER; axis < TILEK_AXES; ++axis)
        open += uses(launch, axis) && geometry->axes[axis] <= 0;
    for (int dimension = 0, place = 0; dimension < DIMENSIONS; ++dimension) {
        const int axis = TILEK_AXIS_WORKER + dimension;
        workers[dimension] = geometry->axes[axis];
        if (uses(launch, axis) && geometry->axes[axis] <= 0) workers[dimension] = preferred[open - 1][place++];
    }
    while (longest >= 0) {
        const int64_t time = step_time(launch, call, machine, geometry, workers, &longest);
        if (time < least) {
            least = time;
            memcpy(best, geometry->divisors, sizeof best);
        }
        if (longest >= 0) geometry->divisors[longest] *= 2;
    }
    memcpy(geometry->divisors, best, sizeof best);
}

/* How many gangs cover the launch's loops in one round; 0 where tiles or the user decide that. */
static int64_t covering_gangs(const tilek_launch_shape *launch, const tilek_call *call, const tilek_geometry *geometry)
{
    int64_t most[TILEK_AXIS_WORKER] = {0}, gangs = 1;
    for (int axis = TILEK_AXIS_GANG; axis < TILEK_AXIS_WORKER; ++axis)
        if (uses(launch, axis) && geometry->axes[axis] > 0) return 0;
    for (int index = 0; index < launch->loop_count; ++index) {
        const tilek_loop_shape *loop = &launch->loops[index];
        const int axis = worker_axis(loop);
        int64_t arguments[TILEK_MAX_TILES], cover;
        int gang = -1;
        for (int tile = 0; tile < loop->tile_count; ++tile) {
            if (loop->kinds[tile] == TILEK_TILE_SIZE) return 0;
            if (loop->kinds[tile] == TILEK_TILE_GANG) gang = loop->axes[tile];
        }
        if (!has_dynamic(loop) || gang < 0) return 0;
        cover = tilek_ceiling_quotient(geometry->bounds[index]->trip,
            take_arguments(loop, call, geometry, arguments) * (axis < 0 ? 1 : geometry->axes[axis]));
        most[gang] = tilek_maximum(most[gang], cover);
    }
    for (int axis = TILEK_AXIS_GANG; axis < TILEK_AXIS_WORKER; ++axis)
        if (uses(launch, axis)) gangs = tilek_bounded_product(gangs, most[axis]);
    return gangs;
}

/* Halves the workers of gangs that are fewer than the multiprocessors, the last of the axes `open`
 * first: workers along the first one are neighbours in memory. */
static void spread_gangs(const tilek_launch_shape *launch, const tilek_call *call, const tilek_machine *machine,
                         const int *open, int count, tilek_geometry *geometry)
{
    int64_t workers = 1;
    for (int axis = TILEK_AXIS_WORKER; axis < TILEK_AXES; ++axis)
        workers *= uses(launch, axis) ? geometry->axes[axis] : 1;
    for (int place = count - 1; place >= 0 && workers > TILEK_LEAST_WORKERS;) {
        const int64_t gangs = covering_gangs(launch, call, geometry);
        if (gangs == 0 || gangs >= machine->limits->compute_units) return;
        if (geometry->axes[open[place]] == 1) { --place; continue; }
        geometry->axes[open[place]] /= 2;
        workers /= 2;
    }
}

/* Whether each gang runs all iterations of the loops over an axis of workers. */
static int held_by_gang(const tilek_launch_shape *launch, int axis)
{
    for (int index = 0; index < launch->loop_count; ++index) {
        const tilek_loop_shape *loop = &launch->loops[index];
        if (worker_axis(loop) != axis) continue;
        for (int tile = 0; tile < loop->tile_count; ++tile)
            if (loop->kinds[tile] != TILEK_TILE_WORKER && loop->kinds[tile] != TILEK_TILE_DYNAMIC) return 0;
    }
    return 1;
}

/* Gives gangs that copy the rows of their tiles more workers along the last of several axes `open`,
 * though no more than `preferred`. */
static void add_copying_workers(const tilek_launch_shape *launch, const tilek_machine *machine, const int *open,
                                int count, int64_t preferred, tilek_geometry *geometry)
{
    const int last = open[count - 1];
    int64_t workers = 1;
    for (int axis = TILEK_AXIS_WORKER; axis < TILEK_AXES; ++axis)
        workers *= uses(launch, axis) ? geometry->axes[axis] : 1;
    while (workers < TILEK_COPYING_WORKERS && 2 * workers <= machine->group_total &&
           2 * geometry->axes[last] <= tilek_minimum(preferred, machine->limits->group[last - TILEK_AXIS_WORKER])) {
        geometry->axes[last] *= 2;
        workers *= 2;
    }
}

/* Workers of a group that nothing is said about: 128, 32 x 8 or 32 x 4 x 2, so that workers that
 * run in step are neighbours; 256 of one that reduces or runs all iterations; fewer where the
 * device or the loops hold fewer, along the first axis whole groups of lanes where a gang runs all
 * iterations. Loops inside tiles, whose bounds the launch does not know, hold what the largest tile
 * does. On processors a group of several dimensions has two along the first: where a barrier stands
 * under a condition, PoCL 3 runs the first worker of 1 x 3 twice. */
static void choose_device_workers(const tilek_launch_shape *launch, const tilek_call *call,
                                  const tilek_machine *machine, tilek_geometry *geometry)
{
    static const int64_t preferred[DIMENSIONS][DIMENSIONS] = TILEK_PREFERRED_WORKERS;
    int64_t given = 1, chosen = 1;
    int open[DIMENSIONS], count = 0, must, in_tiles = 0;
    for (int dimension = 0; dimension < DIMENSIONS; ++dimension) {
        const int axis = TILEK_AXIS_WORKER + dimension;
        if (!uses(launch, axis)) continue;
        if (geometry->axes[axis] > 0) given = tilek_bounded_product(given, geometry->axes[axis]);
        else open[count++] = axis;
    }
    for (int place = 0; place < count; ++place) {
        const int64_t known = need_of(launch, call, geometry, open[place], &must),
                      need = known > 0 ? known : machine->tile_extent,
                      least = place == 0 && count > 1 && !machine->limits->is_gpu ? 2 : 1,
                      enough = need > 0 ? tilek_maximum(need, least) : INT64_MAX;
        const int held = held_by_gang(launch, open[place]), wide = held || launch->reduction_count > 0;
        int64_t workers = wide && count == 1 ? TILEK_WIDE_GANG_WORKERS : preferred[count - 1][place];
        in_tiles |= known == 0;
        while (workers > machine->limits->group[open[place] - TILEK_AXIS_WORKER] || workers / 2 >= enough) {
            if (workers == 1) break;
            workers /= 2;
        }
        if (place == 0 && known > 0 && held)
            workers = tilek_minimum(workers, TILEK_LANES * tilek_ceiling_quotient(known, TILEK_LANES));
        geometry->axes[open[place]] = workers;
        chosen *= workers;
    }
    for (int place = 0; place < count && tilek_bounded_product(given, chosen) > machine->group_total;) {
        if (geometry->axes[open[place]] == 1) { ++place; continue; }
        geometry->axes[open[place]] /= 2;
        chosen /= 2;
    }
    if (machine->limits->is_gpu && !in_tiles && launch->reduction_count == 0 &&
        (launch->axes & TILEK_LAUNCH_POINTS) == 0)
        spread_gangs(launch, call, machine, open, count, geometry);
    if (machine->limits->is_gpu && count > 1 && (launch->axes & TILEK_LAUNCH_COPIES) != 0)
        add_copying_workers(launch, machine, open, count, preferred[count - 1][count - 1], geometry);
}

/* A second look at chosen workers, once gangs stand: a loop without a dynamic tile must be
 * covered. */
static void cover(const tilek_launch_shape *launch, const tilek_call *call, tilek_geometry *geometry,
                  const int *was_open)
{
    int all_dynamic = 1;
    for (int index = 0; index < launch->loop_count; ++index) all_dynamic &= has_dynamic(&launch->loops[index]);
    if (all_dynamic) return;
    for (int axis = TILEK_AXES - 1; axis >= 0; --axis) {
        int must;
        int64_t need;
        if (!was_open[axis]) continue;
        need = need_of(launch, call, geometry, axis, &must);
        if (must) geometry->axes[axis] = tilek_maximum(geometry->axes[axis], need);
    }
}

/* The number of instances over which a launch with ordered reductions distributes `need` iterations
 * (0: not known), the same on every machine. What its iterations do may follow from bounds that the
 * launch does not name: rows of 3 elements are not worth a partial value each. */
static int64_t chunks_of(const tilek_launch_shape *launch, const tilek_machine *machine, int64_t need)
{
    int64_t chunk = launch->chunk;
    if (need <= 0) return TILEK_REDUCING_GANGS;
    if (machine->operations >= (double)need)
        chunk = tilek_maximum(chunk, (int64_t)(CHUNK_OPERATIONS * (double)need / machine->operations));
    return tilek_minimum(tilek_ceiling_quotient(need, chunk), MOST_CHUNKS);
}

static void choose_device(const tilek_launch_shape *launch, const tilek_call *call, const tilek_machine *machine,
                          tilek_geometry *geometry)
{
    const int64_t units = tilek_maximum(machine->limits->compute_units, 1);
    int must;
    if ((launch->axes & TILEK_LAUNCH_POINTS) != 0 && machine->divisors == NULL)
        choose_points(launch, call, machine, geometry);
    choose_device_workers(launch, call, machine, geometry);
    for (int axis = 0; axis < TILEK_AXIS_WORKER; ++axis) {
        int64_t need;
        if (!uses(launch, axis) || geometry->axes[axis] > 0) continue;
        need = need_of(launch, call, geometry, axis, &must);
        if (launch->chunk > 0 && !must && (need == 0 || axis == TILEK_AXIS_THREAD)) {
            geometry->axes[axis] = chunks_of(launch, machine, need);
            continue;
        }
        if (need == 0) need = 4 * units;
        if (!must && axis == TILEK_AXIS_THREAD) need = tilek_minimum(need, TILEK_THREADS_PER_UNIT * units);
        if (!must && launch->reduction_count > 0) need = tilek_minimum(need, TILEK_REDUCING_GANGS);
        geometry->axes[axis] = tilek_maximum(need, 1);
    }
}

/* On the host the outermost open gang axis is spread over the threads; the rest is left to the
 * loops inside, in the user's order. Where partial values are formed in an order, no number of
 * threads decides how many of them there are. */
static void choose_host(const tilek_launch_shape *launch, const tilek_call *call, const tilek_machine *machine,
                        tilek_geometry *geometry)
{
    const int64_t spread = machine->threads * GANGS_PER_THREAD;
    int taken = 0, must;
    for (int index = 0; index <= launch->loop_count; ++index) { /* the last round: axes of no loop with launch bounds */
        for (int axis = 0; axis < TILEK_AXIS_WORKER; ++axis) {
            int used = index == launch->loop_count;
            int64_t need, count;
            if (!uses(launch, axis) || geometry->axes[axis] > 0) continue;
            for (int tile = 0; !used && tile < launch->loops[index].tile_count; ++tile)
                used = is_distributed(launch->loops[index].kinds[tile]) && launch->loops[index].axes[tile] == axis;
            if (!used) continue;
            need = need_of(launch, call, geometry, axis, &must);
            count = axis == TILEK_AXIS_THREAD ? machine->threads : taken ? 1 : spread;
            if (launch->chunk > 0 && (axis == TILEK_AXIS_THREAD || !taken)) count = chunks_of(launch, machine, need);
            taken = 1;
            geometry->axes[axis] = tilek_maximum(need > 0 ? tilek_minimum(count, need) : count, 1);
        }
    }
}

/* Whether all values that the iterator may take are values of its type: one inner stride beyond the
 * last iteration, and where the tiles cover more than the iterations, the starts of those that have
 * none. */
static int fits(const tilek_loop_shape *loop, const tilek_bounds *bounds, const tilek_tile *tiles)
{
    int64_t steps = bounds->trip - 1, reach = 0, stride = 1, distance, last;
    for (int tile = 0; tile < loop->tile_count; ++tile)
        if (!is_distributed(loop->kinds[tile])) stride = tilek_maximum(stride, tiles[tile].stride);
    if (loop->tile_count == 1) stride = 1;
    for (int tile = 0; tile < loop->tile_count; ++tile)
        if (__builtin_mul_overflow(tiles[tile].count - 1, tiles[tile].stride, &distance) ||
            __builtin_add_overflow(reach, distance, &reach))
            return 0;
    steps = tilek_maximum(steps, reach);
    if (__builtin_add_overflow(steps, stride, &steps) || __builtin_mul_overflow(steps, bounds->step, &distance) ||
        __builtin_add_overflow(bounds->lower, distance, &last))
        return 0;
    return bounds->lower >= loop->iterator_minimum && bounds->lower <= loop->iterator_maximum &&
           last >= loop->iterator_minimum && last <= loop->iterator_maximum;
}

static tilek_status tile_loops(const tilek_launch_shape *launch, const tilek_call *call, tilek_geometry *geometry,
                               tilek_message *why)
{
    tilek_tile *tiles = geometry->values;
    for (int index = 0; index < launch->loop_count; ++index) {
        const tilek_loop_shape *loop = &launch->loops[index];
        int64_t arguments[TILEK_MAX_TILES];
        int exact;
        (void)take_arguments(loop, call, geometry, arguments);
        for (int tile = 0; tile < loop->tile_count; ++tile)
            if (is_distributed(loop->kinds[tile])) arguments[tile] = geometry->axes[loop->axes[tile]];
        if (tilek_tiles(geometry->bounds[index]->trip, loop->tile_count, loop->kinds, arguments, tiles, &exact) !=
            TILEK_OK) {
            tilek_say(why, "the tiles of loop %s cannot divide its %" PRId64 " iterations", loop->symbol,
                      geometry->bounds[index]->trip);
            return TILEK_UNSUPPORTED;
        }
        if (!geometry->empty && !fits(loop, geometry->bounds[index], tiles)) {
            tilek_say(why, "the tiles of loop %s pass the range of its iterator's type", loop->symbol);
            return TILEK_UNSUPPORTED;
        }
        geometry->tiles[index] = tiles;
        tiles += loop->tile_count;
    }
    return TILEK_OK;
}

static tilek_status check_device(const tilek_launch_shape *launch, const tilek_machine *machine,
                                 const tilek_geometry *geometry, tilek_message *why)
{
    int64_t total = 1;
    for (int dimension = 0; dimension < DIMENSIONS; ++dimension) {
        const int64_t workers = geometry->axes[TILEK_AXIS_WORKER + dimension];
        if (!uses(launch, TILEK_AXIS_WORKER + dimension)) continue;
        total = tilek_bounded_product(total, workers);
        if (workers > machine->limits->group[dimension]) total = INT64_MAX;
    }
    if (total <= machine->group_total) return TILEK_OK;
    tilek_say(why,
              "%" PRId64 " x %" PRId64 " x %" PRId64 " workers are more than a gang of %s can have here (%" PRId64 ")",
              geometry->axes[TILEK_AXIS_WORKER], geometry->axes[TILEK_AXIS_WORKER + 1],
              geometry->axes[TILEK_AXIS_WORKER + 2], machine->limits->name, machine->group_total);
    return TILEK_UNSUPPORTED;
}

/* The size of the parallel space; beyond int64 counts as unsupported. */
static tilek_status count_instances(const tilek_launch_shape *launch, tilek_geometry *geometry, tilek_message *why)
{
    geometry->instances = 1;
    if (uses(launch, TILEK_AXIS_THREAD)) {
        geometry->instances = geometry->axes[TILEK_AXIS_THREAD];
    } else {
        for (int axis = TILEK_AXIS_GANG; axis < TILEK_AXIS_WORKER; ++axis)
            geometry->instances = tilek_bounded_product(geometry->instances, geometry->axes[axis]);
    }
    if (geometry->instances < INT64_MAX / 16) return TILEK_OK;
    tilek_say(why, "the counts of its gangs multiply beyond 64 bits");
    return TILEK_UNSUPPORTED;
}

static tilek_status check_bounds(const tilek_launch_shape *launch, const tilek_geometry *geometry, tilek_message *why)
{
    for (int index = 0; index < launch->loop_count; ++index) {
        if (geometry->bounds[index]->trip >= 0) continue;
        tilek_say(why, "loop %s does not end", launch->loops[index].symbol);
        return TILEK_UNSUPPORTED;
    }
    return TILEK_OK;
}

tilek_status tilek_decide_geometry(const tilek_launch_shape *launch, const tilek_call *call,
                                   const tilek_machine *machine, tilek_geometry *geometry, tilek_message *why)
{
    int was_open[TILEK_AXES];
    tilek_status status = check_bounds(launch, geometry, why);
    if (status != TILEK_OK) return status;
    geometry->empty = (launch->axes & TILEK_LAUNCH_ALWAYS) == 0 && launch->loop_count > 0 &&
                      geometry->bounds[0]->trip == 0;
    for (int axis = 0; axis < TILEK_AXES; ++axis) {
        if (call->axes[axis] < 0 && uses(launch, axis)) {
            tilek_say(why, "a count of threads, gangs or workers is %" PRId64, call->axes[axis]);
            return TILEK_UNSUPPORTED;
        }
        /* threads take chunks in turn */
        const int is_said = call->axes[axis] > 0 && (axis != TILEK_AXIS_THREAD || launch->chunk == 0);
        was_open[axis] = uses(launch, axis) && !is_said;
        geometry->axes[axis] = !uses(launch, axis) ? 1 : is_said ? call->axes[axis] : 0;
    }
    for (int dimension = 0; dimension < DIMENSIONS; ++dimension)
        geometry->divisors[dimension] = machine->divisors != NULL ? machine->divisors[dimension] : 1;
    for (int dimension = 0; machine->workers != NULL && dimension < DIMENSIONS; ++dimension)
        if (was_open[TILEK_AXIS_WORKER + dimension])
            geometry->axes[TILEK_AXIS_WORKER + dimension] = machine->workers[dimension];
    if (machine->limits != NULL) choose_device(launch, call, machine, geometry);
    else choose_host(launch, call, machine, geometry);
    for (int axis = 0; axis < TILEK_AXES; ++axis) geometry->axes[axis] = tilek_maximum(geometry->axes[axis], 1);
    cover(launch, call, geometry, was_open);
    status = machine->limits != NULL ? check_device(launch, machine, geometry, why) : TILEK_OK;
    if (status == TILEK_OK) status = count_instances(launch, geometry, why);
    if (status == TILEK_OK) status = tile_loops(launch, call, geometry, why);
    return status;
}

int64_t tilek_groups(const tilek_geometry *geometry, int axis, const tilek_limits *limits)
{
    return tilek_minimum(geometry->axes[axis], limits->grid[axis == TILEK_AXIS_THREAD ? 0 : axis - TILEK_AXIS_GANG]);
}
