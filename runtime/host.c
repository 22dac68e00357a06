/* host.c: running a call's host functions, on the caller or the pool. */
#define _POSIX_C_SOURCE 200809L
#include "launch.h"

#include "environment.h"
#include "message.h"
#include "numbers.h"
#include "present.h"
#include "profile.h"
#include "reduce.h"
#include "threads.h"

#include <stdlib.h>

/* Instances are dealt to the parts in one stretch each. */
typedef struct dealing {
    const tilek_launch_shape *launch;
    const tilek_host_call *call;
    int64_t instances, parts;
} dealing;

static void run_part(void *context, int64_t part)
{
    const dealing *deal = context;
    const int64_t share = deal->instances / deal->parts, extra = deal->instances % deal->parts;
    const int64_t first = part * share + tilek_minimum(part, extra);
    const int64_t last = first + share + (part < extra);
    if (first < last) deal->launch->host(deal->call, first, last);
}

static size_t align(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* One block for the partials of all reductions; *places point into it. NULL where memory is exhausted or none is needed. */
static void *make_partials(const tilek_launch_shape *launch, int64_t instances, void **places)
{
    size_t total = 0;
    char *block;
    for (int index = 0; index < launch->reduction_count; ++index) total += align(tilek_type_size(launch->reductions[index].type) * (size_t)instances);
    block = total > 0 ? malloc(total) : NULL;
    total = 0;
    for (int index = 0; index < launch->reduction_count && block != NULL; ++index) {
        places[index] = block + total;
        total += align(tilek_type_size(launch->reductions[index].type) * (size_t)instances);
    }
    return block;
}

enum { MOST_REDUCTIONS = 32 };

static tilek_status run_one(const tilek_launch_shape *launch, const tilek_call *call, const tilek_numbers *numbers, int64_t parts, tilek_message *why)
{
    void *places[MOST_REDUCTIONS];
    void *block = make_partials(launch, numbers->instances, places);
    const tilek_host_call host_call = {call->arrays, call->scalars, numbers->bounds, numbers->tiles, call->tile_arguments, numbers->axes, places, NULL, NULL};
    dealing deal = {launch, &host_call, numbers->instances, tilek_minimum(parts, numbers->instances)};
    if (launch->reduction_count > 0 && block == NULL) {
        tilek_say(why, "memory for the partial values of its reductions is exhausted");
        return TILEK_NO_MEMORY;
    }
    tilek_parallel(deal.parts, run_part, &deal);
    for (int index = 0; index < launch->reduction_count; ++index) {
        const tilek_reduction *reduction = &launch->reductions[index];
        (void)tilek_combine(reduction->operation, reduction->type, call->arrays[reduction->array].base, places[index], numbers->instances);
    }
    free(block);
    return TILEK_OK;
}

/* Numbers of every launch are decided before the first runs: a refusal then leaves the data as they were. */
static tilek_status decide_all(const tilek_kernel *kernel, const tilek_call *call, const tilek_machine *machine, tilek_numbers *numbers, tilek_message *why)
{
    const int *loop_map = kernel->host_loops;
    for (int index = 0; index < kernel->host_launch_count; ++index) {
        const tilek_launch_shape *launch = &kernel->host_launches[index];
        tilek_status status = tilek_decide(launch, loop_map, call, machine, &numbers[index], why);
        if (status != TILEK_OK) return status;
        if (launch->reduction_count > MOST_REDUCTIONS) {
            tilek_say(why, "a nest has %d reductions, and the runtime takes %d", launch->reduction_count, (int)MOST_REDUCTIONS);
            return TILEK_UNSUPPORTED;
        }
        loop_map += launch->loop_count;
    }
    return TILEK_OK;
}

static tilek_status run_all(tilek_state *state, const tilek_call *call, tilek_target target, const tilek_numbers *numbers, int64_t parts, tilek_message *why)
{
    const tilek_kernel *kernel = state->kernel;
    for (int index = 0; index < kernel->host_launch_count; ++index) {
        const int64_t start = tilek_profiling() ? tilek_now() : 0;
        tilek_status status;
        if (numbers[index].empty) continue;
        status = run_one(&kernel->host_launches[index], call, &numbers[index], parts, why);
        if (status != TILEK_OK && index == 0) return status;
        if (status != TILEK_OK) /* the first nests have run: nothing else can go on from here */
            tilek_fail(kernel->file, kernel->line, TILEK_EXIT_STRICT, "kernel %s: %s", kernel->name, why->text);
        if (tilek_profiling()) tilek_record(state, target, TILEK_ACTIVITY_KERNEL, start, tilek_now() - start,
                                            tilek_touched(kernel, call) / (size_t)kernel->host_launch_count);
    }
    return TILEK_OK;
}

int tilek_host_can_run(tilek_state *state, const tilek_call *call)
{
    const tilek_machine machine = {NULL, 1, 0};
    const int count = state->kernel->host_launch_count;
    tilek_numbers *numbers = count > 0 ? malloc((size_t)count * sizeof *numbers) : NULL;
    tilek_message unused;
    const int can = numbers != NULL && decide_all(state->kernel, call, &machine, numbers, &unused) == TILEK_OK;
    free(numbers);
    return can;
}

tilek_status tilek_run_host(tilek_state *state, const tilek_call *call, tilek_target target, tilek_message *why)
{
    const tilek_kernel *kernel = state->kernel;
    const tilek_settings *settings = tilek_get_settings();
    const int64_t wanted = call->axes[TILEK_AXIS_THREAD] > 0 ? call->axes[TILEK_AXIS_THREAD] : settings->threads > 0 ? settings->threads : tilek_core_count();
    const int64_t parts = target == TILEK_SERIAL ? 1 : wanted;
    const tilek_machine machine = {NULL, wanted, 0};
    tilek_numbers one, *numbers = &one;
    tilek_status status;
    if (kernel->host_launch_count > 1 && (numbers = malloc((size_t)kernel->host_launch_count * sizeof *numbers)) == NULL) {
        tilek_say(why, "memory is exhausted");
        return TILEK_NO_MEMORY;
    }
    status = decide_all(kernel, call, &machine, numbers, why);
    if (status == TILEK_OK) status = tilek_host_begins(state, call, why);
    if (status == TILEK_OK) status = run_all(state, call, target, numbers, parts, why);
    if (status == TILEK_OK) tilek_host_ended(state, call);
    if (numbers != &one) free(numbers);
    return status;
}
