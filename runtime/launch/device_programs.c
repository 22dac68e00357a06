/* device_programs.c: device programs of a kernel: specialisation, and the memory of what was
 * built. */
#define _POSIX_C_SOURCE 200809L
#include "launch/device_programs.h"

#include "base/environment.h"
#include "base/locks.h"
#include "base/message.h"
#include "device/open_devices.h"
#include "kernel/profile.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CONSTANTS = 256, MOST_SPECIALIZED = 8 };

static int is_number(tilek_parameter_kind kind)
{
    return kind != TILEK_PARAMETER_ARRAY && kind != TILEK_PARAMETER_SCALAR && kind != TILEK_PARAMETER_PARTIALS &&
           kind != TILEK_PARAMETER_VALUE;
}

/* The value of an integer scalar. Numbers above INT64_MAX wrap round, and back in the program. */
static int64_t scalar_number(const void *value, size_t size)
{
    int64_t number = 0;
    if (size == sizeof(int8_t)) return *(const int8_t *)value;
    if (size == sizeof(int16_t)) return *(const int16_t *)value;
    if (size == sizeof(int32_t)) return *(const int32_t *)value;
    memcpy(&number, value, size < sizeof number ? size : sizeof number);
    return number;
}

int64_t tilek_number_of(const tilek_parameter *parameter, const tilek_device_arrays *device_arrays,
                        const tilek_geometry *geometry, const int64_t *sizes)
{
    const int index = parameter->index, dimension = parameter->dimension;
    switch (parameter->kind) {
    case TILEK_PARAMETER_ORIGIN: return device_arrays->arrays[index].origin;
    case TILEK_PARAMETER_LENGTH:
        return device_arrays->kernel->arrays[index].storage == TILEK_ROWS
                 ? device_arrays->arrays[index].geometry->length[dimension]
                 : device_arrays->call->arrays[index].extent[dimension];
    case TILEK_PARAMETER_LOWER: return device_arrays->arrays[index].geometry->lower[dimension];
    case TILEK_PARAMETER_LOOP_LOWER: return geometry->bounds[index]->lower;
    case TILEK_PARAMETER_LOOP_STEP: return geometry->bounds[index]->step;
    case TILEK_PARAMETER_LOOP_TRIP: return geometry->bounds[index]->trip;
    case TILEK_PARAMETER_TILE_COUNT: return geometry->tiles[index][dimension].count;
    case TILEK_PARAMETER_TILE_STRIDE: return geometry->tiles[index][dimension].stride;
    case TILEK_PARAMETER_AXIS_COUNT: return geometry->axes[index];
    case TILEK_PARAMETER_AXIS_ROUNDS:
        return tilek_ceiling_quotient(geometry->axes[index],
                                      tilek_groups(geometry, index,
                                                   device_arrays->place.backend->limits(device_arrays->place.device)));
    case TILEK_PARAMETER_TILE_ARGUMENT: return device_arrays->call->tile_arguments[index];
    case TILEK_PARAMETER_SIZE: return sizes[index];
    case TILEK_PARAMETER_SCALAR_NUMBER:
        return scalar_number(device_arrays->call->scalars[index], device_arrays->kernel->scalar_sizes[index]);
    case TILEK_PARAMETER_INDEX_BITS: return tilek_long_array(device_arrays) < 0 ? 32 : 64;
    default: return 0;
    }
}

/* What a call's programs may have as constants: each value with its parameter's name, or with NULL
 * where it says whether a launch is met. */
typedef struct number_list {
    int count; /* -1: the kernel is not to be specialised */
    int64_t values[MOST_CONSTANTS];
    const char *names[MOST_CONSTANTS];
} number_list;

/* Values of all parameters that may be constants, in order, and before those of each launch whether
 * some step meets it, where steps decide that; their number, or -1 where the kernel is not to be
 * specialised. */
static int gather_values(const tilek_variant *variant, const int64_t *const *numbers, number_list *list)
{
    int count = 0;
    for (int launch = 0; launch < tilek_entry_count(variant); ++launch) {
        if (variant->steps != NULL && count == MOST_CONSTANTS) return -1;
        if (variant->steps != NULL) {
            list->names[count] = NULL;
            list->values[count++] = numbers[launch] != NULL;
        }
        if (numbers[launch] == NULL) continue;
        for (int index = 0; index < variant->launches[launch].parameter_count; ++index) {
            const tilek_parameter *parameter = &variant->launches[launch].parameters[index];
            if (parameter->constant == NULL) continue;
            if (count == MOST_CONSTANTS || !is_number(parameter->kind)) return -1;
            list->names[count] = parameter->constant;
            list->values[count++] = numbers[launch][index];
        }
    }
    return count;
}

/* Whether a number may be an argument of specialised programs: tile sizes make loops ones that
 * compilers unroll, the index type and lengths of arrays hang on others. */
static int may_be_argument(const tilek_kernel *kernel, const tilek_parameter *parameter)
{
    if (parameter->kind == TILEK_PARAMETER_SIZE || parameter->kind == TILEK_PARAMETER_INDEX_BITS) return 0;
    for (const char *const *name = kernel->constant_numbers; name != NULL && *name != NULL; ++name)
        if (strcmp(*name, parameter->constant) == 0) return 0;
    return 1;
}

static tilek_changing *changing_of(const tilek_state *state, const tilek_variant *variant, const char *name)
{
    for (int index = 0; index < state->changing_count; ++index)
        if (state->changing[index].launches == variant->launches && strcmp(state->changing[index].name, name) == 0)
            return &state->changing[index];
    return NULL;
}

static int is_argument(const tilek_state *state, const tilek_variant *variant, const char *name)
{
    const tilek_changing *number = name != NULL ? changing_of(state, variant, name) : NULL;
    return number != NULL && number->is_argument;
}

/* Notes what the numbers are at this compilation. Without memory a number goes on being a constant.
 * The caller holds TILEK_LOCK_BUILDING. */
static void note_numbers(tilek_state *state, const tilek_variant *variant, const int64_t *const *numbers)
{
    int most = 0;
    for (int launch = 0; launch < tilek_entry_count(variant); ++launch) {
        for (int index = 0; numbers[launch] != NULL && index < variant->launches[launch].parameter_count; ++index) {
            const tilek_parameter *parameter = &variant->launches[launch].parameters[index];
            tilek_changing *number;
            if (parameter->constant == NULL || !may_be_argument(state->kernel, parameter)) continue;
            number = changing_of(state, variant, parameter->constant);
            if (number != NULL) {
                number->changes += number->last != numbers[launch][index];
                number->last = numbers[launch][index];
                continue;
            }
            number = realloc(state->changing, (size_t)(state->changing_count + 1) * sizeof *number);
            if (number != NULL) {
                state->changing = number;
                number[state->changing_count++] = (tilek_changing){variant->launches, parameter->constant,
                                                                   numbers[launch][index], 0, 0};
            }
        }
    }
    for (int index = 0; index < state->changing_count; ++index)
        most = state->changing[index].changes > most ? state->changing[index].changes : most;
    for (int index = 0; index < state->changing_count; ++index)
        state->changing[index].is_argument = most > 1 && state->changing[index].changes > 0;
}

/* Names for the values, each once; -1 where one name would have two values. */
static int name_values(const tilek_state *state, const tilek_variant *variant, const int64_t *const *numbers,
                       tilek_constant *constants)
{
    int count = 0;
    for (int launch = 0; launch < tilek_entry_count(variant); ++launch) {
        if (numbers[launch] == NULL) continue;
        for (int index = 0; index < variant->launches[launch].parameter_count; ++index) {
            const char *name = variant->launches[launch].parameters[index].constant;
            const tilek_parameter_kind kind = variant->launches[launch].parameters[index].kind;
            const int is_short = kind == TILEK_PARAMETER_LENGTH || kind == TILEK_PARAMETER_ORIGIN;
            int known = 0;
            if (name == NULL || is_argument(state, variant, name)) continue;
            while (known < count && strcmp(constants[known].name, name) != 0) ++known;
            if (known < count && constants[known].value != numbers[launch][index]) return -1;
            if (known == count)
                constants[count++] = (tilek_constant){name, numbers[launch][index], is_short};
        }
    }
    return count;
}

static int has_values(const tilek_device_program *built, int count, const int64_t *values)
{
    if (built->constant_count != count) return 0;
    if (built->is_argument == NULL) return memcmp(built->constants, values, (size_t)count * sizeof *values) == 0;
    for (int index = 0; index < count; ++index)
        if (!built->is_argument[index] && built->constants[index] != values[index]) return 0;
    return 1;
}

/* `place` NULL: on any device. Of several that will do the one with the fewest arguments. */
static const tilek_device_program *find_built(const tilek_state *state, const tilek_place *place, int specialized,
                                              int count, const int64_t *values)
{
    const tilek_device_program *best = NULL;
    for (const tilek_device_program *built = state->built; built != NULL; built = built->next) {
        if (place != NULL && (built->device != place->device || built->target != place->target)) continue;
        if (built->specialized != specialized) continue;
        if (!specialized) return built;
        if ((best == NULL || built->argument_count < best->argument_count) && has_values(built, count, values))
            best = built;
    }
    return best;
}

const unsigned char *tilek_passed(const tilek_device_program *built, const tilek_variant *variant, int launch)
{
    const unsigned char *passed = built->passed;
    for (int other = 0; passed != NULL && other < launch; ++other) passed += variant->launches[other].parameter_count;
    return passed;
}

static char *join(const char *const *pieces)
{
    size_t length = 0;
    char *text;
    for (int index = 0; pieces[index] != NULL; ++index) length += strlen(pieces[index]);
    text = malloc(length + 1);
    length = 0;
    for (int index = 0; text != NULL && pieces[index] != NULL; ++index) {
        strcpy(text + length, pieces[index]);
        length += strlen(pieces[index]);
    }
    if (text != NULL) text[length] = '\0';
    return text;
}

static tilek_status find_entries(const tilek_variant *variant, const tilek_place *place, tilek_device_program *built,
                                 const int64_t *const *numbers, tilek_message *why)
{
    for (int index = 0; index < tilek_entry_count(variant); ++index) {
        if (built->specialized && numbers[index] == NULL) continue;
        const tilek_status status = place->backend->find(place->device, built->program, variant->launches[index].entry,
                                                         &built->entries[index], &built->group_totals[index], why);
        if (status != TILEK_OK) return status;
    }
    return TILEK_OK;
}

/* The entry points of launches that no step meets, into `unreached`; their number. */
static int gather_unreached(const tilek_variant *variant, const int64_t *const *numbers, const char **unreached)
{
    int count = 0;
    for (int launch = 0; launch < tilek_entry_count(variant); ++launch)
        if (numbers[launch] == NULL) unreached[count++] = variant->launches[launch].entry;
    return count;
}

/* The numbers that entry points have as arguments, into `arguments` unless that is NULL; how
 * many. */
static int gather_arguments(const tilek_variant *variant, const tilek_device_program *built,
                            const int64_t *const *numbers, tilek_number_argument *arguments)
{
    int count = 0;
    for (int launch = 0; built->passed != NULL && launch < tilek_entry_count(variant); ++launch) {
        const tilek_launch_shape *shape = &variant->launches[launch];
        const unsigned char *passed = tilek_passed(built, variant, launch);
        int first = 1;
        for (int index = 0; numbers[launch] != NULL && index < shape->parameter_count; ++index) {
            if (shape->parameters[index].constant != NULL && !passed[index]) continue;
            if (passed[index] && arguments != NULL)
                arguments[count] = (tilek_number_argument){shape->entry, shape->parameters[index].constant, first};
            count += passed[index];
            first = 0;
        }
    }
    return count;
}

static tilek_status compile(tilek_state *state, const tilek_variant *variant, const tilek_place *place,
                            tilek_device_program *built, const int64_t *const *numbers, const tilek_constant *constants,
                            int constant_count, tilek_message *why)
{
    const tilek_kernel *kernel = state->kernel;
    const int64_t start = tilek_now();
    char *source = join(variant->program);
    const char **unreached = calloc((size_t)tilek_entry_count(variant), sizeof *unreached);
    const int unreached_count = unreached != NULL && built->specialized ? gather_unreached(variant, numbers, unreached)
                                                                        : 0;
    const int argument_count = gather_arguments(variant, built, numbers, NULL);
    tilek_number_argument *arguments = calloc((size_t)argument_count + 1, sizeof *arguments);
    const tilek_build build = {kernel->name,       kernel->file,    source,    kernel->flags,
                               built->specialized, constant_count,  constants, argument_count,
                               arguments,          unreached_count, unreached};
    int from_cache = 0;
    tilek_status status = TILEK_NO_MEMORY;
    if (source == NULL || unreached == NULL || arguments == NULL) {
        tilek_say(why, "memory is exhausted");
    } else {
        (void)gather_arguments(variant, built, numbers, arguments);
        status = place->backend->build(place->device, &build, &built->program, &from_cache, why);
        tilek_record(state, place->target, TILEK_ACTIVITY_COMPILE, start, tilek_now() - start, 0);
    }
    free(arguments);
    free(source);
    free(unreached);
    if (status != TILEK_OK) return status;
    status = find_entries(variant, place, built, numbers, why);
    if (status != TILEK_OK) place->backend->drop(place->device, built->program);
    return status;
}

/* Which numbers are arguments of a new program: flags behind its constants, one a constant and then
 * one a parameter of each entry point. */
static void set_arguments(const tilek_state *state, const tilek_variant *variant, tilek_device_program *built,
                          const number_list *list)
{
    unsigned char *of_constants = (unsigned char *)(built->constants + built->constant_count),
                  *of_parameters = of_constants + built->constant_count;
    for (int index = 0; index < built->constant_count; ++index) {
        of_constants[index] = (unsigned char)is_argument(state, variant, list->names[index]);
        built->argument_count += of_constants[index];
    }
    for (int launch = 0; launch < tilek_entry_count(variant); ++launch)
        for (int index = 0; index < variant->launches[launch].parameter_count; ++index)
            *of_parameters++ = (unsigned char)is_argument(state, variant,
                                                          variant->launches[launch].parameters[index].constant);
    if (built->argument_count == 0) return;
    built->is_argument = of_constants;
    built->passed = of_constants + built->constant_count;
}

static void free_program(tilek_device_program *built)
{
    free(built->entries);
    free(built->group_totals);
    free(built);
}

static tilek_device_program *new_program(const tilek_state *state, const tilek_variant *variant,
                                         const tilek_place *place, int specialized, int count, const number_list *list)
{
    size_t parameters = 0;
    tilek_device_program *built;
    const size_t launches = (size_t)tilek_entry_count(variant);
    for (size_t launch = 0; launch < launches; ++launch)
        parameters += (size_t)variant->launches[launch].parameter_count;
    built = calloc(1, sizeof *built + (size_t)count * (sizeof *list->values + 1) + parameters);
    if (built == NULL) return NULL;
    built->entries = calloc(launches, sizeof(tilek_entry *));
    built->group_totals = calloc(launches, sizeof(int64_t));
    if (built->entries == NULL || built->group_totals == NULL) {
        free_program(built);
        return NULL;
    }
    built->target = place->target;
    built->device = place->device;
    built->specialized = specialized;
    built->constant_count = count;
    if (count > 0) memcpy(built->constants, list->values, (size_t)count * sizeof *list->values);
    if (specialized) set_arguments(state, variant, built, list);
    return built;
}

/* A device with less shared memory than was planned for stages what fits in that. The number of
 * constants that say so. */
static int limit_local_bytes(tilek_state *state, const tilek_place *place, tilek_constant *constant)
{
    const int64_t there = place->backend->limits(place->device)->local_memory;
    if (there >= state->kernel->local_bytes) return 0;
    *constant = (tilek_constant){"TILEK_LOCAL_BYTES", there, 1};
    tilek_record_local_bytes(state, place->target, there);
    return 1;
}

/* The caller holds TILEK_LOCK_BUILDING. `constants` has room for one more. */
static tilek_status build(tilek_state *state, const tilek_variant *variant, const tilek_place *place,
                          const int64_t *const *numbers, tilek_constant *constants, int named,
                          const number_list *list, const tilek_device_program **result, tilek_message *why)
{
    const int specialized = named >= 0, count = specialized ? named : 0;
    tilek_device_program *built = new_program(state, variant, place, specialized, specialized ? list->count : 0, list);
    tilek_status status = TILEK_NO_MEMORY;
    if (built == NULL) tilek_say(why, "memory is exhausted");
    else
        status = compile(state, variant, place, built, numbers, constants,
                         count + limit_local_bytes(state, place, &constants[count]), why);
    tilek_state_lock();
    if (status == TILEK_OK) {
        /* devices that share a call count once */
        state->specialized_count += specialized && find_built(state, NULL, 1, list->count, list->values) == NULL;
        built->next = state->built;
        state->built = built;
        *result = built;
    } else if (built != NULL) {
        if (status == TILEK_COMPILE) state->refused |= 1u << place->target;
        free_program(built);
    }
    tilek_state_unlock();
    return status;
}

tilek_status tilek_program_for(tilek_state *state, const tilek_variant *variant, const tilek_place *place,
                               const int64_t *const *numbers, const tilek_device_program **built, tilek_message *why)
{
    number_list list;
    tilek_constant constants[MOST_CONSTANTS + 1];
    const int count = tilek_get_settings()->specialize ? gather_values(variant, numbers, &list) : -1;
    const int64_t *const values = list.values;
    int named, full;
    tilek_status status = TILEK_OK;
    tilek_state_lock();
    *built = count > 0 ? find_built(state, place, 1, count, values) : NULL;
    full = count <= 0 ||
           (state->specialized_count >= MOST_SPECIALIZED && find_built(state, NULL, 1, count, values) == NULL);
    if (*built == NULL && full) *built = find_built(state, place, 0, 0, NULL);
    tilek_state_unlock();
    if (*built != NULL) return TILEK_OK;
    list.count = count;
    tilek_lock(TILEK_LOCK_BUILDING); /* threads that need the same program wait for it instead of compiling it again */
    tilek_state_lock(); /* another thread may have built it meanwhile */
    *built = full ? find_built(state, place, 0, 0, NULL) : find_built(state, place, 1, count, values);
    tilek_state_unlock();
    if (*built == NULL) {
        tilek_state_lock(); /* the profile reads the list */
        if (!full) note_numbers(state, variant, numbers);
        tilek_state_unlock();
        named = full ? -1 : name_values(state, variant, numbers, constants);
        if (named < 0 && !full) { /* one name with two values: the program has arguments alone */
            tilek_state_lock();
            *built = find_built(state, place, 0, 0, NULL);
            tilek_state_unlock();
        }
        if (*built == NULL) status = build(state, variant, place, numbers, constants, named, &list, built, why);
    }
    tilek_unlock(TILEK_LOCK_BUILDING);
    return status;
}

void tilek_programs_drop(tilek_state *state)
{
    while (state->built != NULL) {
        tilek_device_program *built = state->built;
        state->built = built->next;
        tilek_backend_of(built->target)->drop(built->device, built->program);
        free_program(built);
    }
}

/* Held, so that no checker takes them for lost. */
static tilek_device_program *parents_programs;

void tilek_programs_abandon(tilek_state *state)
{
    while (state->built != NULL) {
        tilek_device_program *built = state->built;
        state->built = built->next;
        built->next = parents_programs;
        parents_programs = built;
    }
}
