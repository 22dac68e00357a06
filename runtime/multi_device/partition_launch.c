/* partition_launch.c: one launch on several devices. */
#define _POSIX_C_SOURCE 200809L
#include "multi_device/partitioned_call.h"

#include "base/message.h"
#include "kernel/profile.h"

/* The first iteration from which on all rows of `use` lie at `row` and beyond, where they grow with
 * iterations; where they shrink, the first one whose rows lie below `row`. */
static int64_t iteration_past(const tilek_row_use *use, const tilek_bounds *bounds, int64_t row)
{
    const int64_t slope = tilek_bounded_product(use->scale, bounds->step),
                  start = tilek_bounded_product(use->scale, bounds->lower);
    if (slope > 0)
        return tilek_ceiling_quotient(tilek_bounded_difference(row, tilek_bounded_sum(start, use->least)), slope);
    return tilek_bounded_sum(tilek_floor_quotient(tilek_bounded_difference(tilek_bounded_sum(start, use->greatest),
                                                                           row),
                                                  tilek_bounded_difference(0, slope)),
                             1);
}

/* Leaves of `inner` the iterations that do not touch the rows `lacked`, where these lie at one end
 * of those that the part touches; else none. */
static void cut(tilek_iterations *inner, const tilek_row_use *use, const tilek_bounds *bounds, tilek_row_range touched,
                tilek_row_range lacked)
{
    const int64_t slope = bounds != NULL ? tilek_bounded_product(use->scale, bounds->step) : 0;
    const int at_first = lacked.first == touched.first, at_end = lacked.end == touched.end;
    if (slope == 0 || at_first == at_end) {
        inner->end = inner->first;
    } else if ((slope > 0) == at_first) { /* the first iterations: later ones are past these rows */
        const int64_t past = iteration_past(use, bounds, slope > 0 ? lacked.end : lacked.first);
        inner->first = tilek_minimum(tilek_maximum(inner->first, past), inner->end);
    } else { /* the last ones, from the first that reaches these rows */
        const tilek_row_use reaching = {use->array, use->access, use->rank, use->scale, use->greatest, use->least, 0};
        const int64_t reached = iteration_past(&reaching, bounds, slope > 0 ? lacked.first : lacked.end);
        inner->end = tilek_maximum(tilek_minimum(inner->end, reached), inner->first);
    }
}

/* Leaves of a device's inner iterations those that touch only rows that it owns, or that have no
 * owner: these have no values yet. */
static void find_inner(const tilek_partition *partition, tilek_distribution *distribution, int device)
{
    for (int index = 0; index < distribution->division->use_count; ++index) {
        const tilek_row_use *use = &distribution->division->uses[index];
        const tilek_row_range touched = tilek_rows_of(partition, use, distribution->bounds,
                                                      distribution->parts[device]);
        tilek_row_range lacked = {touched.first, touched.first};
        int64_t end;
        for (int64_t row = touched.first; row < touched.end; row = end) {
            const uint64_t owners = tilek_owners_at(&partition->arrays[use->array].ownership, row, &end);
            end = tilek_minimum(end, touched.end);
            if ((owners & tilek_bit_of(device)) == 0 && owners != 0) lacked.end = end;
            else if (lacked.first < lacked.end)
                cut(&distribution->inner[device], use, distribution->bounds, touched, lacked);
            if (lacked.end < end) lacked = (tilek_row_range){end, end};
        }
        if (lacked.first < lacked.end) cut(&distribution->inner[device], use, distribution->bounds, touched, lacked);
    }
}

/* Notes which rows a device lacks for its part. It counts as their owner from here on: moves are
 * performed in their order. */
static tilek_status find_moves(tilek_partition *partition, const tilek_distribution *distribution, int device,
                               tilek_message *why)
{
    for (int index = 0; index < distribution->division->use_count; ++index) {
        const tilek_row_use *use = &distribution->division->uses[index];
        const tilek_row_range touched = tilek_rows_of(partition, use, distribution->bounds,
                                                      distribution->parts[device]);
        tilek_row_ownership *ownership = &partition->arrays[use->array].ownership;
        int64_t end;
        for (int64_t row = touched.first; row < touched.end; row = end) {
            const uint64_t owners = tilek_owners_at(ownership, row, &end);
            const tilek_move lacked = {use->array, device, {row, end = tilek_minimum(end, touched.end)}, owners};
            tilek_status status;
            if ((owners & tilek_bit_of(device)) != 0 || owners == 0) continue;
            status = tilek_add_move(partition, &lacked, why);
            if (status != TILEK_OK) return status;
            if (!tilek_change_owners(ownership, row, end, ~(uint64_t)0, tilek_bit_of(device)))
                return tilek_no_memory(why);
        }
    }
    return TILEK_OK;
}

/* Whether rows that move are left alone by the inner iterations of the device that they come
 * from. */
static int may_overlap(const tilek_partition *partition, const tilek_distribution *distribution)
{
    for (int number = 0; number < partition->move_count; ++number) {
        const tilek_move *move = &partition->moves[number];
        const int from = (move->owners & TILEK_HOST_OWNS) != 0 ? -1 : tilek_device_among(move->owners);
        for (int index = 0; index < distribution->division->use_count && from >= 0; ++index) {
            const tilek_row_use *use = &distribution->division->uses[index];
            const tilek_row_range written = tilek_rows_of(partition, use, distribution->bounds,
                                                          distribution->inner[from]);
            if (use->array == move->array && (use->access & TILEK_WRITES) != 0 && written.first < move->which.end &&
                move->which.first < written.end)
                return 0;
        }
    }
    return 1;
}

/* Queues a stretch of a launch's iterations on a device. */
static tilek_status run_stretch(tilek_partition *partition, const tilek_distribution *distribution, int launch,
                                int device, tilek_iterations part, const void *const values[], int64_t *took,
                                tilek_message *why)
{
    tilek_device_job *job = &partition->jobs[device];
    const tilek_launch_shape *shape = &job->run.launches[launch];
    const tilek_planned *planned = &partition->jobs[0].run.planned[launch];
    tilek_machine machine = job->run.machine;
    tilek_bounds bounds = {0, 0, 1, 1};
    tilek_geometry geometry;
    tilek_status status;
    int64_t nanoseconds = 0;
    if (part.first >= part.end) return TILEK_OK;
    geometry.values = partition->tiles;
    for (int index = 0; index < shape->loop_count; ++index) geometry.bounds[index] = &planned->bounds[index];
    if (distribution->bounds != NULL) {
        bounds = *distribution->bounds;
        bounds.lower = tilek_value_at(distribution->bounds, part.first);
        bounds.trip = part.end - part.first;
        bounds.upper = tilek_value_at(&bounds, bounds.trip);
        geometry.bounds[distribution->division->loop] = &bounds;
    }
    if (job->run.group_totals != NULL)
        machine.group_total = tilek_minimum(machine.group_total, job->run.group_totals[launch]);
    machine.workers = job->run.planned[launch].workers; /* constants of the program */
    machine.divisors = job->run.planned[launch].divisors;
    status = tilek_decide_geometry(shape, partition->call, &machine, &geometry, why);
    if (status == TILEK_OK && !geometry.empty)
        status = tilek_job_run(job, launch, &geometry, NULL, values, job->profiling ? &nanoseconds : NULL, why);
    *took += nanoseconds;
    return status;
}

/* What stands before and behind the inner iterations of a part. */
static tilek_status run_borders(tilek_partition *partition, const tilek_distribution *distribution, int launch,
                                int device, const void *const values[], int64_t *took, tilek_message *why)
{
    const tilek_iterations part = distribution->parts[device], inner = distribution->inner[device];
    const tilek_iterations before = {part.first, inner.first}, behind = {inner.end, part.end};
    tilek_status status = run_stretch(partition, distribution, launch, device, before, values, took, why);
    if (status == TILEK_OK) status = run_stretch(partition, distribution, launch, device, behind, values, took, why);
    return status;
}

/* Whether later iterations write earlier rows: loops that go through rows both ways leave them
 * where they are, with the same devices. */
static int goes_down(const tilek_distribution *distribution)
{
    for (int index = 0; index < distribution->division->use_count; ++index) {
        const tilek_row_use *use = &distribution->division->uses[index];
        if ((use->access & TILEK_WRITES) != 0 && use->scale != 0)
            return (use->scale < 0) != (distribution->bounds->step < 0);
    }
    return 0;
}

/* Blocks that differ by one iteration at most, the first rows on the first device. */
void tilek_distribute(const tilek_partition *partition, int launch, const tilek_planned *planned,
                      tilek_distribution *distribution)
{
    const int64_t devices = partition->device_count;
    distribution->division = &partition->divisions[launch];
    distribution->bounds = distribution->division->loop < 0 ? NULL : &planned->bounds[distribution->division->loop];
    for (int device = 0; device < partition->device_count; ++device) {
        const int64_t trip = distribution->bounds != NULL ? distribution->bounds->trip : 1, share = trip / devices,
                      extra = trip % devices;
        distribution->parts[device] = (tilek_iterations){device * share + tilek_minimum(device, extra),
                                                         (device + 1) * share + tilek_minimum(device + 1, extra)};
        if (distribution->bounds == NULL)
            distribution->parts[device] = (tilek_iterations){0, device == partition->alone[launch]};
        else if (goes_down(distribution))
            distribution->parts[device] = (tilek_iterations){trip - distribution->parts[device].end,
                                                             trip - distribution->parts[device].first};
        distribution->inner[device] = distribution->parts[device];
    }
}

/* After the launch rows are owned by the devices that wrote them alone. */
static tilek_status note_writes(tilek_partition *partition, const tilek_distribution *distribution, tilek_message *why)
{
    for (int index = 0; index < distribution->division->use_count; ++index) {
        const tilek_row_use *use = &distribution->division->uses[index];
        if ((use->access & TILEK_WRITES) == 0) continue;
        for (int device = 0; device < partition->device_count; ++device) {
            const tilek_row_range written = tilek_rows_of(partition, use, distribution->bounds,
                                                          distribution->parts[device]);
            if (!tilek_change_owners(&partition->arrays[use->array].ownership, written.first, written.end, 0,
                                     tilek_bit_of(device)))
                return tilek_no_memory(why);
        }
    }
    return TILEK_OK;
}

tilek_status tilek_perform_partitioned(tilek_run *run, int launch, const void *const values[], tilek_message *why)
{
    tilek_device_job *job = run->context;
    tilek_partition *partition = job->owner;
    tilek_distribution distribution;
    const int64_t start = job->profiling ? tilek_now() : 0;
    tilek_status status = TILEK_OK;
    int64_t took = 0;
    int overlaps;
    partition->move_count = 0;
    tilek_distribute(partition, launch, &run->planned[launch], &distribution);
    for (int device = 0; device < partition->device_count && status == TILEK_OK; ++device) {
        find_inner(partition, &distribution, device);
        status = find_moves(partition, &distribution, device, why);
    }
    /* what moves has been computed, and what it goes over is no longer read */
    if (status == TILEK_OK && partition->move_count > 0) status = tilek_wait_for_partitions(partition, why);
    overlaps = partition->move_count == 0 || may_overlap(partition, &distribution);
    for (int device = 0; device < partition->device_count && status == TILEK_OK && overlaps; ++device)
        status = run_stretch(partition, &distribution, launch, device, distribution.inner[device], values, &took, why);
    if (status == TILEK_OK) status = tilek_perform_moves(partition, why);
    for (int device = 0; device < partition->device_count && status == TILEK_OK; ++device)
        status = overlaps ? run_borders(partition, &distribution, launch, device, values, &took, why)
                          : run_stretch(partition, &distribution, launch, device, distribution.parts[device], values,
                                        &took, why);
    if (status == TILEK_OK) status = note_writes(partition, &distribution, why);
    if (status == TILEK_OK && job->profiling)
        tilek_record_step(job->state, job->device_arrays.place.target, 0, launch, run->sizes, start, took,
                          tilek_share(run, launch, job->touched));
    return status;
}
